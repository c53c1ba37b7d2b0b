"""The list of jobs, and the screen of one job."""

import json
import os
import subprocess

from dashboard import broken_job, go, local_machine, own_gateway, paused, sign_in
from documents import data_uri, tiny_pdf
from millrace import Client, Worker
from sandboxed import skip_without_commands
from still import Still

NAME = '<img src="x" onerror="alert(1)"> & März \u202egnp.fdp\u001b[2J ' + "a long name " * 12 + ".pdf"


def test_jobs_are_filtered_and_failed_ones_are_retried_together(page, site):
    failed = {broken_job(site.client), broken_job(site.client)}
    go(page, site, "jobs?status=failed&kind=ocr")
    for job in failed:
        page.wait_for(f"tr[data-id='{job}']")
        page.click(f"tr[data-id='{job}'] input")
    page.wait_for(".selection-bar", "2 jobs selected")
    page.click(".selection-bar button", "Retry 2")
    page.wait_for(".toast", "2 new jobs created")
    remade = site.client.get("/v1/jobs?kind=ocr").json()["items"]
    assert failed <= {job.get("retry_of") for job in remade}
    page.type("#search", "no such id")
    page.wait_for("h2", "No matching jobs")
    page.click("button", "Clear filters")
    page.wait_for("table.jobs tr[data-id]")


def test_waiting_jobs_are_found_by_model_and_age_and_cancelled_together(page, site):
    with paused(site, "chat"):
        chat = {"model": "mock/chat", "messages": "Never mind", "deferred": True}
        waiting = {site.client.post("/v1/chat/completions", chat).json()["request_id"] for _ in range(2)}
        other = site.client.submit_ocr(data_uri(tiny_pdf("Other"))).json()["id"]
        go(page, site, "jobs")
        page.wait_for(f"tr[data-id='{other}']")
        page.type("input[aria-label=Model]", "mock/chat")
        page.run("const s = document.querySelector(\"select[aria-label='Created within']\"); s.value = '3600'; s.dispatchEvent(new Event('change'))")
        page.eventually(lambda: page.run("return !document.querySelector(`tr[data-id='${arguments[0]}']`)", other))
        assert "since=3600" in page.run("return location.hash"), "the filter is in the URL"
        for job in waiting:
            page.click(f"tr[data-id='{job}'] input")
        page.click(".selection-bar button", "Cancel 2")
        page.click("dialog button", "Cancel them")
        page.wait_for(".toast", "2 jobs being cancelled")
        for job in waiting:
            page.wait_for(f"tr[data-id='{job}'] .chip", "cancelled")


def test_a_chat_is_found_by_the_first_words_of_its_message(page, site):
    with paused(site, "chat"):
        chat = {"model": "mock/chat", "messages": "Please\nsummarise the harbour report", "deferred": True}
        job = site.client.post("/v1/chat/completions", chat).json()["request_id"]
        other = site.client.submit_ocr(data_uri(tiny_pdf("Other"))).json()["id"]
        go(page, site, "jobs")
        page.wait_for(f"tr[data-id='{other}']")
        page.type("#search", "HARBOUR rep")
        page.wait_for(f"tr[data-id='{job}'] a", "Please summarise the harbour report")
        page.eventually(lambda: page.run("return !document.querySelector(`tr[data-id='${arguments[0]}']`)", other))
        site.client.post(f"/v1/jobs/{job}/cancel")


def test_an_administrator_sees_all_tenants_and_retries_all_that_failed(page, site):
    key = site.client.post("/v1/admin/keys", {"name": "elsewhere", "tenant": "elsewhere"}).json()["key"]
    other_tenant = Client(site.url, key)
    broken_job(other_tenant)
    go(page, site, "jobs?status=failed")
    assert "elsewhere" not in page.text("table.jobs")
    page.click("label.checkbox-label", "All tenants")
    page.wait_for("table.jobs td", "elsewhere")
    page.type("input[aria-label=Tenant]", "nowhere")
    page.wait_for("h2", "No matching jobs")
    page.type("input[aria-label=Tenant]", "elsewhere", clear=True)
    page.wait_for("table.jobs td", "elsewhere")
    page.click("button", "Retry all matching jobs")
    page.click("dialog button", "Confirm")
    page.wait_for(".toast", "created")
    assert any("retry_of" in job for job in other_tenant.get("/v1/jobs").json()["items"])
    page.click("button", "Retry all matching jobs")
    page.click("dialog button", "Confirm")
    page.wait_for(".toast", "Unchanged: 1 job (retried before)")


def test_new_jobs_appear_automatically_and_cause_no_layout_shift_while_reading(page, site):
    first = broken_job(site.client)
    go(page, site, "jobs")
    page.wait_for(f"tr[data-id='{first}']")
    second = broken_job(site.client)
    page.wait_for(f"tr[data-id='{second}']")
    page.click(f"tr[data-id='{first}'] input")
    third = broken_job(site.client)
    page.wait_for(".new-jobs", "1 new job")
    assert page.run("return document.querySelector(`tr[data-id='${arguments[0]}']`)", third) is None
    page.click(".new-jobs")
    page.wait_for(f"tr[data-id='{third}']")
    assert page.run("return document.querySelector(`tr[data-id='${arguments[0]}'] input`).checked", first)


def test_the_list_shows_the_error_of_a_failed_job_and_no_row_moves(page, site):
    with paused(site, "ocr"):
        jobs = [site.client.submit_ocr(data_uri(document)).json()["id"] for document in (b"%PDF-1.4\nnothing more", tiny_pdf("One", "Two"))]
        go(page, site, "jobs?kind=ocr")
        page.wait_for(f"tr[data-id='{jobs[1]}'] .chip", "queued")
        still = Still(page, ["table.jobs tr", "table.jobs th"])
    page.wait_for(f"tr[data-id='{jobs[0]}'] .fill-width", "document_damaged")
    page.wait_for(f"tr[data-id='{jobs[1]}'] .fill-width", "2/2")
    still.check()
    assert page.run("return Math.max(...[...document.querySelectorAll('table.jobs tbody tr')].map((row) => row.getBoundingClientRect().height))") <= 40
    page.look(360, dark=False)
    page.wait_for(f"tr[data-id='{jobs[0]}'] .fill-width", "document_damaged")


def test_all_columns_of_all_tenants_jobs_can_be_read_at_once(page, site):
    tenant = "the-team-of-the-upper-mill"
    key = site.client.post("/v1/admin/keys", {"name": tenant, "tenant": tenant}).json()["key"]
    job = named_and_broken(Client(site.url, key))
    go(page, site, "jobs?all=1")
    page.wait_for(f"tr[data-id='{job}'] [data-label=Tenant]", tenant)
    beyond = page.run("""const table = document.querySelector('.table-container');
      return [...document.querySelectorAll(`tr[data-id='${arguments[0]}'] > td`)].filter((cell) => cell.getBoundingClientRect().right > table.getBoundingClientRect().right
        || (cell.dataset.label === 'Tenant' && cell.scrollWidth > cell.clientWidth)).map((cell) => cell.textContent)""", job)
    assert beyond == []


def named_and_broken(client):
    job = client.submit_ocr(data_uri(b"%PDF-1.4\nnothing more"), document_name=NAME).json()
    assert job["name"] == NAME and client.wait_terminal(job["id"])["status"] == "failed"
    return job["id"]


def test_a_job_has_its_documents_name_as_text_cut_where_it_is_long(page, site):
    job = named_and_broken(site.client)
    go(page, site, "jobs")
    for width in (1280, 390):
        page.look(width, dark=False)
        page.wait_for(f"tr[data-id='{job}'] .name", "März")
        shown = page.run("const e = document.querySelector(`tr[data-id='${arguments[0]}'] .name`);"
                         "const box = getComputedStyle(e).display === 'inline' ? e.closest('td') : e;"
                         "return [e.textContent, e.title, e.children.length, getComputedStyle(box).textOverflow, box.scrollWidth > box.clientWidth,"
                         " document.documentElement.scrollWidth <= innerWidth]", job)
        assert shown == [NAME, NAME, 0, "ellipsis", True, True], width
    page.look(1280, dark=False)
    go(page, site, f"jobs/{job}")
    page.wait_for(".heading .name", "März")
    go(page, site, "dead")
    page.wait_for("section[aria-label='OCR: document_damaged'] .name", "März")
    assert page.run("return document.querySelector('.dead-letter-group .name').title") == NAME


def test_the_list_and_a_running_job_are_marked_live_and_a_finished_job_is_not(page, site):
    with paused(site, "chat"):
        go(page, site, "jobs")
        page.wait_for(".connection.is-live", "live")
        chat = {"model": "mock/chat", "messages": "Never mind", "deferred": True}
        job = site.client.post("/v1/chat/completions", chat).json()["request_id"]
        go(page, site, f"jobs/{job}")
        page.wait_for(".connection.is-live", "live")
        site.client.post(f"/v1/jobs/{job}/cancel", {})
        page.wait_for("h1 .chip", "cancelled")
        page.eventually(lambda: page.run("return document.querySelector('.connection').hidden"), what="no mark")


def test_without_a_stream_the_list_shows_that_it_is_polled(chromium, site):
    key = site.client.post("/v1/admin/keys", {"name": "asks", "scopes": ["jobs:read", "models"]}).json()["key"]
    chromium.look(1280, dark=False)
    sign_in(chromium, site, key=key)
    chromium.wait_for(".connection:not(.is-live, .is-lost)", "every few seconds")
    chromium.click("button", "Sign out")
    chromium.wait_for("input[name=key]")


def test_a_stream_that_receives_nothing_is_not_live(chromium):
    with own_gateway(chromium) as gateway:
        go(chromium, gateway, "jobs")
        chromium.wait_for(".connection.is-live", "live")
        gateway.pause()
        try:
            chromium.wait_for(".connection:not(.is-live)", "")
        finally:
            gateway.resume()
        chromium.wait_for(".connection.is-live", "live", within_s=40)


def test_a_live_list_shows_changes_of_another_process(chromium):
    with own_gateway(chromium, role="api") as gateway:
        worker = Worker(gateway.data)
        try:
            go(chromium, gateway, "jobs")
            chromium.wait_for(".connection.is-live", "live")
            job = gateway.client.submit_ocr(data_uri(b"%PDF-1.4\nnothing more")).json()["id"]
            chromium.wait_for(f"tr[data-id='{job}'] .chip", "queued")
            worker.start()
            chromium.wait_for(f"tr[data-id='{job}'] .chip", "failed", within_s=60)
            chromium.wait_for(".connection.is-live", "live")
        finally:
            worker.close()


def test_a_failed_job_shows_the_reason_and_what_to_do(page, site):
    go(page, site, f"jobs/{broken_job(site.client)}")
    page.wait_for(".notice.bad", "document_damaged")
    page.wait_for(".notice.bad", "qpdf")
    page.click(".heading button", "Retry")
    page.wait_for(".description-list", "Retry of")


SQUARE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


def again(page, site):
    """Runs the first copied command of the screen; returns its output."""
    page.wait_for(".side-column .code", "$MILLRACE_API_KEY")
    command = page.run("return document.querySelector('.side-column .code code').textContent")
    env = {**os.environ, "MILLRACE_API_KEY": site.client.key}
    done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_a_deferred_chat_is_shown_as_a_conversation_of_its_messages_and_the_response(page, site):
    messages = [
        {"role": "system", "content": "You are a miller's bookkeeper."},
        {"role": "user", "content": [{"type": "text", "text": "What is *this*?"}, {"type": "image_url", "image_url": {"url": SQUARE}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "12 sacks"},
        {"role": "user", "content": "It's later: answer me"},
    ]
    made = site.client.post("/v1/chat/completions", {"model": "mock/chat", "messages": messages, "deferred": True, "temperature": 0.5})
    job = made.json()["request_id"]
    go(page, site, f"jobs/{job}")
    page.wait_for(".bubble.assistant", "It's later: answer me")
    roles = page.run("return [...document.querySelectorAll('.bubble')].map((e) => e.getAttribute('aria-label'))")
    assert roles == ["system", "user", "assistant", "tool", "user", "assistant"]
    assert "What is *this*?" in page.text(".bubble.user"), "the user's text is shown unchanged"
    page.eventually(lambda: page.run("return document.querySelector('.bubble.user img')?.naturalWidth") == 1)
    page.wait_for(".bubble summary", "Calls look_up")
    remade = again(page, site)["request_id"]
    assert remade != job
    assert site.client.get(f"/v1/jobs/{remade}/request").json()["body"] == site.client.get(f"/v1/jobs/{job}/request").json()["body"]


def test_a_long_conversation_is_repeated_from_its_stored_request(page, site):
    made = site.client.post("/v1/chat/completions", {"model": "mock/chat", "messages": "word " * 2000, "deferred": True})
    go(page, site, f"jobs/{made.json()['request_id']}")
    page.wait_for(".side-column .code", "/request")
    remade = again(page, site)["request_id"]
    assert site.client.get(f"/v1/jobs/{remade}/request").json()["body"]["messages"][0]["content"] == "word " * 2000


def test_a_command_shows_its_inputs_and_is_repeated_with_new_values_of_its_environment(page, site):
    skip_without_commands(site)
    path = f"/v1/machines/{local_machine(site)['machine_id']}/executions"
    body = {"command": ["sh", "-c", "echo 'a word:' $WORD"], "env": {"WORD": "secret"}, "cwd": "/tmp"}
    job = site.client.post(path, body, headers={"Idempotency-Key": "with-environment"}).json()["execution_id"]
    go(page, site, f"jobs/{job}")
    page.wait_for(".description-list code", "sh -c 'echo '\\''a word:'\\'' $WORD'")
    page.wait_for(".terminal", "a word: secret")
    page.wait_for(".side-column p", "the value of WORD")
    assert "secret" not in page.text(".side-column"), "values of the environment are never shown"
    remade = again(page, site)
    assert remade["command"] == body["command"] and remade["cwd"] == "/tmp"
