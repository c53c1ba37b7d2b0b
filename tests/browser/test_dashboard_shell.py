"""The shell of the dashboard: access, signing in, the keyboard, the theme."""

from dashboard import ESCAPE, SCREENS, go, sign_in


def test_browsers_get_the_page_and_programs_get_json(site):
    page = site.client.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff" and page.headers["vary"] == "accept"
    assert site.client.get("/").json()["name"] == "millrace"
    script = site.client.get("/dashboard/app.js")
    assert script.headers["content-type"].startswith("text/javascript")
    again = site.client.get("/dashboard/app.js", headers={"If-None-Match": script.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert site.client.get("/dashboard/none.js").status == 404


def test_a_wrong_key_is_an_error_and_a_good_one_is_kept_until_the_tab_is_closed(chromium, site):
    chromium.look(1280, dark=False)
    sign_in(chromium, site, key="mr_live_wrong", ready=".problem")
    chromium.wait_for(".problem", "unknown")
    assert "401" in " ".join(chromium.console())
    chromium.type("input[name=key]", site.client.key, clear=True)
    chromium.click("button[name=go]")
    chromium.wait_for("#nav a", "Jobs")
    chromium.open("about:blank")
    chromium.open(site.url + "/")
    chromium.wait_for("#nav a", "Jobs")
    chromium.click("button", "Sign out")
    chromium.wait_for("input[name=key]")
    chromium.open("about:blank")
    chromium.open(site.url + "/")
    chromium.wait_for("input[name=key]")


def test_a_key_without_the_scope_admin_sees_no_screens_of_administrators(chromium, site):
    made = site.client.post("/v1/admin/keys", {"name": "reader", "scopes": ["jobs:read", "models"]}).json()
    sign_in(chromium, site, key=made["key"])
    chromium.wait_for("h1", "Jobs")
    names = chromium.run("return [...document.querySelectorAll('#nav a')].map((a) => a.dataset.name)")
    assert names == [name for name in SCREENS if name not in ("overview", "workers", "dead", "keys")]
    chromium.click("button", "Sign out")
    chromium.wait_for("input[name=key]")


def test_the_keyboard_leads_everywhere_and_single_letters_can_be_switched_off(page, site):
    go(page, site, "jobs")
    page.press("g", "p")
    page.wait_for("h1", "Playground")
    page.run("document.activeElement.blur()")
    page.press("?")
    page.click("dialog label.checkbox-label")
    page.press(ESCAPE)
    page.eventually(lambda: page.run("return !document.querySelector('dialog')"))
    page.press("g", "j")
    assert page.text("h1") == "Playground"


def test_a_chosen_theme_stays_when_the_page_is_opened_again(page, site):
    page.click("button", "Theme")
    chosen = page.run("return document.documentElement.dataset.theme")
    assert chosen == "dark"
    page.open("about:blank")
    page.open(site.url + "/")
    page.wait_for("#nav a")
    assert page.run("return document.documentElement.dataset.theme") == chosen
