"""Nothing on a screen moves while what it says changes: measured, in a wide window and in a narrow one."""

import bad_documents
import pytest
from dashboard import broken_job, go
from documents import data_uri, scan_pdf, tiny_pdf
from millrace import Client, eventually
from PIL import Image, ImageDraw
from sandboxed import skip_without_commands
from stillness import Stillness

DOCUMENTS = 12


@pytest.fixture(params=[1280, 360])
def look(page, request):
    page.look(request.param, dark=False)
    return page


def changes(page, css, within_s=30):
    """Until what stands there says something else than now."""
    before = page.text(css)
    return lambda: page.eventually(lambda: page.text(css) != before, within_s, f"another text of {css} than {before!r}")


def queue(site, verb):
    assert site.client.post(f"/v1/admin/queues/ocr/{verb}").status == 200


def scan(number):
    """A page that takes a while to read."""
    image = Image.new("L", (1240, 1754), 255)
    for line in range(40):
        ImageDraw.Draw(image).text((100, 60 + 40 * line), f"Line {line} of document {number} waits until a slot is free")
    return scan_pdf([image])


def fail_with(client, document):
    job = client.submit_ocr(data_uri(document)).json()["id"]
    assert client.wait_terminal(job)["status"] == "failed"


def dead(site, code):
    return next(group["jobs"] for group in site.client.get("/v1/admin/dead").json()["items"] if group["code"] == code)


def test_the_overview_stays_where_it_is(look, site):
    broken_job(site.client)
    go(look, site, "overview")
    look.wait_for(".link.is-live", "live")
    look.wait_for("section[aria-label='OCR'] a", "See what failed")
    still = Stillness(look)
    other, failed = changes(look, ".figure"), changes(look, ".figure.bad")
    queue(site, "pause")
    jobs = [site.client.submit_ocr(data_uri(tiny_pdf(f"Sack {number}"))).json()["id"] for number in range(DOCUMENTS)]
    other()
    queue(site, "resume")
    for job in jobs:
        site.client.wait_terminal(job)
    broken_job(site.client)
    failed()
    still.holds()


def test_what_has_the_keyboard_keeps_it_and_goes_on(page, site):
    broken_job(site.client)
    go(page, site, "overview")
    page.wait_for(".link.is-live", "live")
    page.wait_for("section[aria-label='OCR'] a", "See what failed")
    page.run("window.held = document.querySelector(\"section[aria-label='OCR'] header a\"); held.focus()")
    other = changes(page, ".figure.bad")
    broken_job(site.client)
    other()
    assert page.run("return document.activeElement === held")


def test_the_last_bar_is_the_minute_that_is_not_over(page, site):
    go(page, site, "overview")
    bar = "section[aria-label='OCR'] svg rect"

    def lighter():
        broken_job(site.client)
        return page.run("return document.querySelector(arguments[0])?.textContent", f"{bar}.bad.unfinished")

    assert page.eventually(lighter).endswith("this minute, which is not over")
    assert page.run("return document.querySelectorAll(arguments[0]).length", f"{bar}.present") == 1
    assert page.text("section[aria-label='OCR'] .axis-names").endswith("this minute")


def test_queues_workers_and_their_leases_stay_where_they_are(look, site):
    go(look, site, "workers")
    look.click(".leases summary", "lease")
    look.wait_for(".leases li", "free")
    still = Stillness(look)
    waiting = changes(look, "table.steady td.number")
    queue(site, "pause")
    jobs = [site.client.submit_ocr(data_uri(scan(number))).json()["id"] for number in range(DOCUMENTS)]
    waiting()
    queue(site, "resume")
    look.wait_for(".leases li a[href^='#/jobs/ocr-']", within_s=60)
    look.wait_for(".leases li", "left")
    for job in jobs:
        assert site.client.wait_terminal(job)["status"] == "succeeded"
    look.wait_for(".leases summary", "Holds no lease")
    assert look.run("return document.querySelector('.leases').open")
    still.holds()


def test_machines_stay_where_they_are(look, site, request):
    skip_without_commands(site)
    name = f"still-{look.run('return innerWidth')}"
    path = f"/v1/machines/{site.client.post('/v1/machines', {'name': name}, headers={'Idempotency-Key': name}).json()['machine_id']}"
    request.addfinalizer(lambda: site.client.request("DELETE", path, headers={"Idempotency-Key": f"{name}-gone"}))
    eventually(lambda: site.client.get(path).json()["phase"] == "running", 60, "a machine that runs")
    go(look, site, "machines")
    look.wait_for(f"section[aria-label='{name}'] .chip", "running")
    still = Stillness(look)
    for verb, phase in [("sleep", "sleeping"), ("wake", "running")]:
        site.client.post(f"{path}/{verb}", {}, headers={"Idempotency-Key": f"{name}-{verb}"})
        look.wait_for(f"section[aria-label='{name}'] .chip", phase, within_s=60)
    still.holds()


def test_dead_letters_stay_where_they_are(look, site):
    broken_job(site.client)
    go(look, site, "dead")
    look.wait_for("section.dead-group button", "Retry")
    still = Stillness(look)
    other = changes(look, "section.dead-group header")
    broken_job(site.client)
    other()
    fail_with(site.client, bad_documents.encrypted())
    look.wait_for("section[aria-label='OCR: document_encrypted']")
    most = dead(site, "document_damaged") + 1  # the other group would lead now
    for _ in range(most - dead(site, "document_encrypted")):
        fail_with(site.client, bad_documents.encrypted())
    look.wait_for("section[aria-label='OCR: document_encrypted'] header", f"{most} jobs")
    still.holds()


def test_keys_stay_where_they_are(look, site):
    made = [site.client.post("/v1/admin/keys", {"name": f"still-{number}", "scopes": ["models"]}).json() for number in range(3)]
    go(look, site, "keys")
    row = f"tr[data-key='{made[1]['id']}']"
    look.wait_for(row, "live")
    still = Stillness(look)
    used = changes(look, row)
    assert Client(site.url, made[1]["key"]).get("/v1/models").status == 200
    used()
    site.client.request("DELETE", f"/v1/admin/keys/{made[1]['id']}")
    look.wait_for(row, "revoked")
    still.holds()


def test_models_stay_where_they_are(look, site):
    model, path, asked = {1280: ("mock/chat", "chat/completions", {"messages": "How long?"}), 360: ("mock/embedding", "embeddings", {"input": "How long?"})}[look.run("return innerWidth")]
    go(look, site, "models")
    look.wait_for(f"tr[data-key='{model}']", "–")
    still = Stillness(look)
    latency = changes(look, f"tr[data-key='{model}'] [data-label=Latency]")
    assert site.client.post(f"/v1/{path}", {"model": model, **asked}).status == 200
    latency()
    still.holds()
