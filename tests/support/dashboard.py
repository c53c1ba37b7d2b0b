"""Shared by the tests of the dashboard: signing in, opening a screen, example data, and accessibility checks."""

import contextlib
import json
from pathlib import Path

from documents import data_uri
from millrace import BUILD, Gateway
from npm_programs import node_package
from sandboxed import reachable_folder

SCREENSHOTS = Path(BUILD).parent / "screenshots"
SCREENS = ["overview", "jobs", "batches", "drop", "playground", "machines", "models", "workers", "dead", "keys", "usage"]
ENTER, ESCAPE = "\ue007", "\ue00c"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def sign_in(chromium, site, key=None, ready="#nav a"):
    chromium.open("about:blank")
    chromium.open(site.url + "/")
    chromium.run("sessionStorage.clear(); localStorage.clear()")
    chromium.open("about:blank")
    chromium.open(site.url + "/")
    chromium.type("input[name=key]", key or site.client.key)
    chromium.click("label.checkbox-label")
    chromium.click("button[name=go]")
    chromium.wait_for(ready)


def signed_in(chromium, site):
    """Signs in by storing the key in the tab. This is much faster than the form, which test_dashboard_shell covers."""
    here, key = json.dumps(site.url), json.dumps(site.client.key)
    keep = f"sessionStorage.clear(); localStorage.clear(); sessionStorage.setItem('millrace.key', {key})"
    before = chromium.cdp("Page.addScriptToEvaluateOnNewDocument", source=f"if (location.origin === {here}) {{ {keep} }}")["identifier"]
    chromium.open(site.url + "/")
    chromium.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=before)
    chromium.wait_for("#nav a")


def go(page, site, screen):
    page.open(f"{site.url}/#/{screen}")
    page.wait_for("main h1")


def broken_job(client):
    job = client.submit_ocr(data_uri(b"%PDF-1.4\nnothing more")).json()
    assert client.wait_terminal(job["id"])["status"] == "failed"
    return job["id"]


@contextlib.contextmanager
def own_gateway(chromium, **more):
    """A gateway that the test may stop, with its dashboard open."""
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data", **more)
        try:
            gateway.start()
            chromium.look(1280, dark=False)
            sign_in(chromium, gateway)
            yield gateway
        finally:
            gateway.close()
            chromium.open("about:blank")
            chromium.console()


@contextlib.contextmanager
def paused(site, *kinds):
    """Pauses the queues of these kinds within the block."""
    with contextlib.ExitStack() as resumed:
        for kind in kinds:
            resumed.callback(site.client.post, f"/v1/admin/queues/{kind}/resume", {})
            assert site.client.post(f"/v1/admin/queues/{kind}/pause", {}).status == 200
        yield


def local_machine(site):
    items = site.client.get("/v1/machines").json()["items"]
    return next(machine for machine in items if machine["name"] == "local")


def execution(site, *command):
    path = f"/v1/machines/{local_machine(site)['machine_id']}/executions"
    made = site.client.post(path, {"command": list(command)}, headers={"Idempotency-Key": f"browser-{hash(command)}"})
    assert made.status == 200, made.body
    return made.json()["execution_id"]


def violations(page):
    script = (node_package("axe-core", "4.10.2") / "axe.min.js").read_text()
    page.run(script + "; window.axe = axe")
    found = page.run_async(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {runOnly: arguments[0]}).then((r) => done({passed: r.passes.length,"
        " broken: r.violations.map((v) => [v.id, v.nodes.slice(0, 5).map((n) => n.html + ' ' + n.failureSummary)])}))",
        RULES,
    )
    assert found["passed"] > 10, "axe has checked hardly anything"
    return json.dumps(found["broken"], indent=1) if found["broken"] else ""
