"""The appearance of each screen: it fits, it is accessible, and a screenshot is taken, light and dark."""

import pytest
from dashboard import SCREENS, SCREENSHOTS, broken_job, execution, go, local_machine, violations
from documents import data_uri, tiny_pdf
from sandboxed import skip_without_commands


@pytest.fixture(scope="module")
def furnished(site):
    """Creates data for every screen."""
    skip_without_commands(site)
    job = site.client.submit_ocr(data_uri(tiny_pdf("Delivery note 88", "Twelve sacks of flour", "Signed by the miller"))).json()["id"]
    site.client.wait_terminal(job)
    broken_job(site.client)
    chat = site.client.post("/v1/chat/completions", {"model": "mock/chat", "messages": "A list:\n\n- one\n- two", "deferred": True}).json()["request_id"]
    site.client.wait_terminal(chat)
    command = execution(site, "sh", "-c", "for i in 1 2 3; do echo grinding $i; done; echo 'no more corn' >&2; exit 3")
    site.client.wait_terminal(command)
    return {"job-ocr": f"jobs/{job}", "job-chat": f"jobs/{chat}", "job-exec": f"jobs/{command}",
            "machine": f"machines/{local_machine(site)['machine_id']}"}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [3840, 1280, 360])
def test_every_screen_fits_is_accessible_and_has_its_picture_taken(page, site, furnished, width, dark):
    page.look(width, dark)
    shown = {**{screen: screen for screen in SCREENS}, **furnished}
    for name, address in shown.items():
        go(page, site, address)
        page.eventually(lambda: page.run("return !document.querySelector('main').innerText.includes('Loading …')"))
        if address.startswith("jobs/"):
            page.wait_for(".document-page .picture img, .bubble, .terminal span")
        page.screenshot(SCREENSHOTS / f"{name}-{width}-{'dark' if dark else 'light'}.png")
        assert page.run("return document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than {width}"
        assert violations(page) == "", name


def test_the_sign_in_page_is_accessible_too(chromium, site):
    chromium.look(1280, dark=True)
    sign_in_page = site.url + "/"
    chromium.open("about:blank")
    chromium.open(sign_in_page)
    chromium.run("sessionStorage.clear()")
    chromium.open("about:blank")
    chromium.open(sign_in_page)
    chromium.wait_for("input[name=key]")
    chromium.screenshot(SCREENSHOTS / "sign-in-1280-dark.png")
    assert violations(chromium) == ""
