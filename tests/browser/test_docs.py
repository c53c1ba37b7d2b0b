"""The page at /docs in a real browser: it shows the content of /openapi.json, needs no key, and its commands run unchanged."""

import os
import subprocess

import pytest
from dashboard import SCREENSHOTS, violations
from documents import data_uri, tiny_pdf
from millrace import BUILD
from sandboxed import ended, skip_without_commands, started

# These calls are not possible for what has ended: the last job, and perhaps the batch that the command makes.
ELSE = {"retryJob": {409}, "cancelBatch": {409}, "cancelBatchJob": {409}}
ENDLESS = {"streamAdminEvents"}


@pytest.fixture
def page(chromium, site):
    """The open page, without a key. Afterwards, the console must be empty and no other host may have been contacted."""
    chromium.console(), chromium.requests()
    chromium.look(1280, dark=False)
    open_page(chromium, site)
    yield chromium
    foreign = [url for url in chromium.requests() if not url.startswith((site.url, "data:", "about:", "chrome:"))]
    assert foreign == []
    assert chromium.console() == []


def open_page(chromium, site, anchor=""):
    chromium.open("about:blank")
    chromium.open(f"{site.url}/docs{anchor}")
    chromium.wait_for("main .call h3", "/v1/ocr")


def operations(site):
    paths = site.client.get("/openapi.json").json()["paths"]
    return {each["operationId"]: each for methods in paths.values() for each in methods.values()}


def test_every_call_of_the_document_is_on_the_page_with_its_responses(page, site):
    shown = page.run("return [...document.querySelectorAll('main .call')].map((e) => e.id)")
    assert sorted(shown) == sorted(operations(site))
    page.run("document.querySelectorAll('#createOcr details').forEach((each) => { each.open = true })")
    page.wait_for("#createOcr details", "x-millrace-job")
    text = page.text("#createOcr")
    for word in ("document.document_url", "required", "Prefer", "429", "rate", "curl", "invoice.pdf"):
        assert word.lower() in text.lower(), word


def test_the_filter_keeps_the_calls_that_contain_all_words(page):
    page.type("input[type=search]", "jobs cancel")
    shown = page.run("return [...document.querySelectorAll('main .call:not([hidden])')].map((e) => e.id)")
    assert "cancelJob" in shown and "createOcr" not in shown
    page.type("input[type=search]", "no such thing", clear=True)
    page.wait_for("#no-matches", "No call")


def test_a_link_leads_to_its_call(page, site):
    open_page(page, site, "#createChatCompletion")
    page.wait_for(".contents a[aria-current]", "Create a chat completion")
    assert page.run("const top = document.getElementById('createChatCompletion').getBoundingClientRect().top; return top >= 0 && top < innerHeight")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_fits_and_is_accessible(page, width, dark):
    page.look(width, dark)
    page.run("for (const each of document.querySelectorAll('#createOcr details, #createExecution details')) each.open = true")
    page.screenshot(SCREENSHOTS / f"docs-{width}-{'dark' if dark else 'light'}.png")
    assert page.run("return document.documentElement.scrollWidth <= innerWidth"), f"wider than {width}"
    page.run("for (const each of [...document.querySelectorAll('main .call')].slice(24)) each.remove()")  # axe is slow on all of them
    assert violations(page) == ""


@pytest.fixture
def furnished(site, tmp_path):
    """What the commands use: files, an SSH key, and an object of each kind."""
    skip_without_commands(site)
    for number in range(3):
        ended(site.client, started(site.client, ["sh", "-c", f"seq {number + 3} > $MILLRACE_ARTIFACTS/{number}.txt"]))
    job = site.client.submit_ocr(data_uri(tiny_pdf("Hello"))).json()["id"]
    assert site.client.wait_terminal(job)["status"] == "succeeded"
    (tmp_path / "invoice.pdf").write_bytes(tiny_pdf("Invoice number 4711"))
    env = {**os.environ, "HOME": str(tmp_path), "MILLRACE_API_KEY": site.client.key, "MILLRACE_URL": site.url}
    speak = [BUILD / "millrace", "speak", "The mill turns.", "-o", "talk.mp3"]
    subprocess.run(speak, env=env, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    (tmp_path / ".ssh").mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / ".ssh" / "id_ed25519"], check=True)
    (tmp_path / ".curlrc").write_text('silent\nwrite-out = "%{stderr}%{http_code}\\n"\n')
    return tmp_path, env


def test_every_command_runs_unchanged(page, site, furnished):
    folder, env = furnished
    commands = page.run("return [...document.querySelectorAll('main .call')].map((e) => [e.id, e.querySelector('.code code').textContent])")
    documented = operations(site)
    assert len(commands) == len(documented)
    faults = []
    for name, command in commands:
        if name in ENDLESS:
            command = f"{command} --max-time 1 || true"
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=90)
        codes = done.stderr.split()
        status = int(codes[-1]) if codes and codes[-1].isdigit() else 0
        good = 200 <= status < 300 or status in ELSE.get(name, set())
        if not good or str(status) not in documented[name]["responses"]:
            faults.append(f"{name}: {status}\n{command}\n{done.stdout[:400]}{done.stderr[:400]}")
    assert not faults, "\n\n".join(faults)
