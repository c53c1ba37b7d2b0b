"""Batches: the list, one batch, why lines failed, cancelling, and a new batch of the failed lines."""

import json
import os
import subprocess

import pytest
from dashboard import ENTER, SCREENSHOTS, go, paused, sign_in, violations
from millrace import Client, Gateway, eventually
from sandboxed import reachable_folder
from stillness import Stillness

ENDPOINT = "/v1/chat/completions"
BOUNDARY = "b0undary"
FINAL = ("completed", "failed", "expired", "cancelled")
ROW = "tr[data-key='{}']"


def chat(text="Hello", model="mock/chat"):
    return {"model": model, "messages": [{"role": "user", "content": text}]}


def lines_of(bodies, **more):
    whole = {"method": "POST", "url": ENDPOINT, **more}
    return b"".join(json.dumps({"custom_id": f"line-{i}", **whole, "body": body}).encode() + b"\n" for i, body in enumerate(bodies))


def upload(client, content):
    named = '--{}\r\nContent-Disposition: form-data; name="{}"{}\r\n\r\n'
    head = named.format(BOUNDARY, "purpose", "") + "batch\r\n" + named.format(BOUNDARY, "file", '; filename="requests.jsonl"')
    body = head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    made = client.post("/v1/files", body, headers={"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"})
    assert made.status == 200, made.body
    return made.json()["id"]


def batch_of(client, content, path="/v1/batches", headers=None, **fields):
    given = {"input_file_id": upload(client, content), "completion_window": "24h"} if path == "/v1/batches" else {"input_files": [upload(client, content)]}
    made = client.post(path, {"endpoint": ENDPOINT, **given, **fields}, headers=headers)
    assert made.status == 200, made.body
    return made.json()["id"]


def ended(client, batch):
    def over():
        now = client.get(f"/v1/batches/{batch}").json()
        return now if now["status"] in FINAL else None

    return eventually(over, 60, "the batch ends")


def file_of(client, file):
    return client.get(f"/v1/files/{file}/content").body


def mixed():
    """Six lines, of which 1, 3 and 4 fail: two with a model that does not exist, one with a wrong body."""
    bodies = [chat(f"word {i}") for i in range(6)]
    bodies[1] = bodies[4] = chat(model="no/such-model")
    bodies[3] = {"model": "mock/chat", "messages": 7}
    return lines_of(bodies)


@pytest.fixture(scope="module")
def partly_failed(site):
    batch = ended(site.client, batch_of(site.client, mixed(), metadata={"run": "nightly"}))
    assert batch["status"] == "completed" and batch["request_counts"] == {"total": 6, "completed": 3, "failed": 3}
    return batch


@pytest.fixture(scope="module")
def invalid(site):
    bad = b'{"custom_id": "a"}\nnot JSON\n' + lines_of([chat()], url="/v1/embeddings")
    batch = ended(site.client, batch_of(site.client, bad))
    assert batch["status"] == "failed"
    return batch


def test_the_list_has_the_counts_of_each_batch_and_leads_to_it(page, site, partly_failed):
    page.press("g", "b")
    page.wait_for("h1", "Batches")
    row = ROW.format(partly_failed["id"])
    page.wait_for(row, "completed")
    for label, text in {"Endpoint": ENDPOINT, "Ended": "6 of 6", "Failed": "3", "Created": "ago", "Cost": "$0.00"}.items():
        page.wait_for(f"{row} [data-label={label}]", text)
    page.run("document.querySelector(arguments[0]).focus()", f"{row} a")
    page.press(ENTER)
    page.wait_for("h1 .chip", "completed")


def test_the_list_shows_new_states_without_moving(page, site):
    go(page, site, "batches")
    with paused(site, "chat"):
        batch = batch_of(site.client, lines_of([chat()]))
        page.wait_for(ROW.format(batch), "in progress")
        still = Stillness(page)
    page.wait_for(ROW.format(batch), "completed")
    still.holds()


def test_the_list_has_pages(page, site, partly_failed):
    page.run("""
      const real = window.fetch;
      const batch = (id) => ({ id, endpoint: '/v1/ocr', status: 'completed', created_at: 1e9, cost_usd: 0, request_counts: { total: 1, completed: 1, failed: 0 } });
      window.fetch = async (path, ...rest) => {
        if (!String(path).startsWith('/v1/batches?')) return real(path, ...rest);
        const after = new URLSearchParams(path.split('?')[1]).get('after');
        const body = after ? { data: [batch('batch_2-b')], has_more: false, last_id: 'batch_2-b' } : { data: [batch('batch_1-a')], has_more: true, last_id: 'batch_1-a' };
        window.asked = after;
        return new Response(JSON.stringify(body));
      };
    """)
    page.run("location.hash = '#/batches'")
    page.wait_for(ROW.format("batch_1-a"))
    page.click(".pager button", "Older")
    page.wait_for(ROW.format("batch_2-b"))
    assert page.run("return asked") == "batch_1-a"
    page.click(".pager button", "Newer")
    page.wait_for(ROW.format("batch_1-a"))


def test_failures_are_counted_by_code_and_the_files_are_downloaded(page, site, partly_failed):
    go(page, site, f"batches/{partly_failed['id']}")
    page.wait_for("[role=status]", "All lines have ended; 3 lines failed.")
    page.wait_for("tr[data-key=model_not_found] [data-label=Lines]", "2")
    page.wait_for("tr[data-key=model_not_found]", "line-")
    page.wait_for("tr[data-key=invalid_field] [data-label=Lines]", "1")
    page.wait_for("tr[data-key=invalid_field]", "line-3")
    for text in ("run: nightly", "in, ", "$0.00", ENDPOINT):
        page.wait_for(".description-list", text)
    page.eventually(lambda: page.run("return document.querySelector('.files').innerText.match(/\\d B|KiB/g)?.length") == 3, what="three sizes")
    assert page.run("return [...document.querySelectorAll('.stats dt')].map((e) => e.textContent + ' ' + e.nextSibling.firstChild.textContent).slice(0, 3)") == ["Lines 6", "Completed 3", "Failed 3"]
    for name, member in (("Output", "output_file_id"), ("Failed lines", "error_file_id")):
        content = file_of(site.client, partly_failed[member])
        page.click(".files button", name)
        eventually(lambda expected=content: any(f.read_bytes() == expected for f in page.folder.glob("*.jsonl")), what="the download")


def test_only_the_first_lines_of_a_large_error_file_are_read(page, site, partly_failed):
    page.run("""
      const [error_file, id] = arguments;
      const real = window.fetch;
      const line = JSON.stringify({ custom_id: 'x', response: { status_code: 503, body: {} }, error: null }) + '\\n';
      window.fetch = async (path, how) => {
        if (path === `/v1/files/${error_file}/content`) {
          window.range = how.headers.Range;
          return new Response(line.repeat(9000), { status: 206, headers: { 'content-range': 'bytes 0-8388607/99999999' } });
        }
        const response = await real(path, how);
        if (path !== `/v1/batches/${id}`) return response;
        return new Response(JSON.stringify({ ...await response.json(), request_counts: { total: 20000, completed: 0, failed: 20000 } }));
      };
    """, partly_failed["error_file_id"], partly_failed["id"])
    page.run(f"location.hash = '#/batches/{partly_failed['id']}'")
    page.wait_for("tr[data-key='status 503'] [data-label=Lines]", "5,000")
    page.wait_for(".legend", "first 5,000 of 20,000 failed lines")
    assert page.run("return range") == f"bytes=0-{(8 << 20) - 1}"


def test_an_input_that_is_not_valid_shows_its_lines(page, site, invalid):
    go(page, site, f"batches/{invalid['id']}")
    page.wait_for("h1", "failed")
    page.wait_for("[role=status]", "no line was sent")
    shown = page.run("return [...document.querySelectorAll('table.fixed-columns tbody tr')].map((tr) => [...tr.cells].map((td) => td.textContent))")
    errors = invalid["errors"]["data"]
    assert [each["line"] for each in errors] == [1, 2, 3]
    for row, error in zip(shown, errors, strict=True):
        assert row[:2] == [str(error["line"]), error["code"]] and error["message"] in row[2]
    assert page.run("return !document.querySelector('.heading button.danger')") and "Retry failed lines" not in page.text("main")


def test_a_running_batch_shows_its_rate_and_is_cancelled(page, site):
    with paused(site, "chat"):
        bodies = [chat("wait"), *[chat(model="no/such-model") for _ in range(3)]]
        batch = batch_of(site.client, lines_of(bodies))
        go(page, site, f"batches/{batch}")
        page.wait_for("[role=status]", "3 of 4 lines have ended; 3 lines failed.")
        assert page.run("const { max, value } = document.querySelector('.status-bar progress'); return [max, value]") == [4, 3]
        page.eventually(lambda: page.text(".stat:nth-child(4)").split("\n") == ["Rate", "0", "lines per minute"], what="the rate of two polls")
        page.wait_for(".connection", "every few seconds")
        page.click(".heading button", "Cancel")
        page.click("dialog button", "Back")
        assert site.client.get(f"/v1/batches/{batch}").json()["status"] == "in_progress"
        page.click(".heading button", "Cancel")
        page.click("dialog button", "Cancel it")
        page.wait_for("h1 .chip", "cancelled", within_s=60)
    page.wait_for("tr[data-key=model_not_found] [data-label=Lines]", "3")
    assert page.run("return !document.querySelector('.heading button.danger') && document.querySelector('.connection').hidden")


def test_a_batch_whose_key_was_revoked_says_why_it_was_cancelled(page, site):
    made = site.client.post("/v1/admin/keys", {"name": "soon-gone", "scopes": ["files:read", "files:write", "chat"]}).json()
    client = Client(site.url, made["key"])
    with paused(site, "chat"):
        batch = batch_of(client, lines_of([chat()]))
        go(page, site, f"batches/{batch}")
        page.wait_for("[role=status]", "0 of 1 line")
        assert site.client.request("DELETE", f"/v1/admin/keys/{made['id']}").status == 200
        page.wait_for("h1 .chip", "cancelled", within_s=60)
    page.wait_for(".notice.bad", "key_invalid")
    page.wait_for("table.fixed-columns tr")


@pytest.mark.parametrize("width", [1280, 360])
def test_a_batch_stays_where_it_is_while_it_runs_and_ends(page, site, width):
    page.look(width, dark=False)
    with paused(site, "chat"):
        batch = batch_of(site.client, lines_of([chat(), chat(model="no/such-model")]))
        go(page, site, f"batches/{batch}")
        page.wait_for("[role=status]", "1 of 2 lines have ended")
        page.wait_for(".files", "B")
        still = Stillness(page)
    page.wait_for("tr[data-key=model_not_found]")
    page.wait_for(".files li:nth-child(2)", "B")
    still.holds()


def test_rate_and_time_left_come_from_the_polls_of_the_last_minute(page):
    figures = """return import('/dashboard/batch_progress.js').then(({ LineRate, batchStats }) => {
      const rate = new LineRate();
      const texts = arguments[0].map(([now, completed]) => {
        rate.add(completed, now);
        const stats = batchStats({ status: 'in_progress', in_progress_at: 0, request_counts: { total: 1000, completed, failed: 0 } }, rate, now);
        return [...stats.querySelectorAll('strong')].slice(3).map((e) => e.textContent);
      });
      return texts;
    })"""
    polls = [[0, 0], [500, 50], [2000, 50], [60_000, 50], [61_000, 100], [121_000, 101]]
    assert page.run(figures, polls) == [["–", "–"], ["–", "–"], ["1,500", "38 s"], ["50", "19 min 0 s"], ["50", "18 min 9 s"], ["1.0", "14 h 59 min"]]


def test_a_retry_makes_a_new_batch_of_the_failed_lines_only(page, site, partly_failed):
    go(page, site, f"batches/{partly_failed['id']}")
    page.click(".heading button", "Retry failed lines")
    page.wait_for("dialog", "Retry 3 failed lines?")
    page.click("dialog button", "Retry them")
    page.wait_for(".description-list a", partly_failed["id"])
    made = page.run("return location.hash.split('/').at(-1)")
    again = ended(site.client, made)
    assert made != partly_failed["id"] and again["metadata"] == {"run": "nightly", "retry_of": partly_failed["id"]}
    assert again["endpoint"] == ENDPOINT and again["request_counts"]["total"] == 3
    lines = mixed().splitlines(keepends=True)
    assert file_of(site.client, again["input_file_id"]) == lines[1] + lines[3] + lines[4]
    page.wait_for("h1 .chip", "completed")


def test_a_retry_of_a_batch_of_mistrals_form_has_its_form_model_and_cost_limit(page, site):
    content = b"".join(json.dumps({"custom_id": str(i), "body": {"messages": chat(f"w{i}")["messages"] if i else 7}}).encode() + b"\n" for i in range(3))
    batch = ended(site.client, batch_of(site.client, content, path="/v1/batch/jobs", headers={"x-millrace-max-cost-usd": "5"}, model="mock/chat"))
    assert batch["request_counts"]["failed"] == 1
    go(page, site, f"batches/{batch['id']}")
    page.click(".heading button", "Retry failed lines")
    page.click("dialog button", "Retry them")
    page.wait_for(".description-list a", batch["id"])
    page.wait_for(".description-list", "$5.00")
    again = ended(site.client, page.run("return location.hash.split('/').at(-1)"))
    assert (again["status"], again["model"], again["request_counts"]) == ("completed", "mock/chat", {"total": 1, "completed": 0, "failed": 1})
    assert again["max_cost_usd"] == batch["max_cost_usd"] == 5
    assert file_of(site.client, again["input_file_id"]) == content.splitlines(keepends=True)[0]


def test_a_retry_is_refused_if_the_input_is_too_large_or_gone(page, site):
    batch = ended(site.client, batch_of(site.client, mixed()))
    go(page, site, f"batches/{batch['id']}")
    page.run("""
      const [input] = arguments;
      const real = window.fetch;
      window.fetch = async (path, how) => {
        const response = await real(path, how);
        return path === `/v1/files/${input}` ? new Response(JSON.stringify({ ...await response.json(), bytes: 52428801 })) : response;
      };
    """, batch["input_file_id"])
    page.requests()
    page.click(".heading button", "Retry failed lines")
    page.click("dialog button", "Retry them")
    page.wait_for("#toasts .bad", "The input file has 50.0 MiB. This page retries only batches whose files have at most 50.0 MiB.")
    assert not [url for url in page.requests() if url.endswith("/content")]
    assert site.client.request("DELETE", f"/v1/files/{batch['input_file_id']}").status == 200
    page.open("about:blank")
    go(page, site, f"batches/{batch['id']}")
    page.wait_for(".files li", "deleted")
    page.click(".heading button", "Retry failed lines")
    page.click("dialog button", "Retry them")
    page.wait_for("#toasts .bad", "The input file has been deleted")
    assert all("404" in entry for entry in page.console())


def test_a_key_without_the_scope_is_told_which_one_is_missing(chromium, site, partly_failed):
    chromium.look(1280, dark=False)
    key = site.client.post("/v1/admin/keys", {"name": "no-files", "scopes": ["jobs:read", "models"]}).json()["key"]
    sign_in(chromium, site, key=key)
    for screen in ("batches", f"batches/{partly_failed['id']}"):
        go(chromium, site, screen)
        chromium.wait_for("[role=alert]", "files:read")
    chromium.console()
    reader = site.client.post("/v1/admin/keys", {"name": "reads-files", "scopes": ["jobs:read", "models", "files:read"]}).json()["key"]
    sign_in(chromium, site, key=reader)
    go(chromium, site, f"batches/{partly_failed['id']}")
    chromium.click(".heading button", "Retry failed lines")
    chromium.click("dialog button", "Retry them")
    chromium.wait_for("#toasts .bad", "files:write")
    chromium.console()


def test_a_batch_that_does_not_exist_is_a_sentence(page, site):
    go(page, site, "batches/batch_01932b6c-8a00-7000-8000-000000000001")
    page.wait_for("h1", "No such batch")
    page.click("main a", "Batches")
    page.wait_for("h1", "Batches")
    assert all("404" in entry for entry in page.console())


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [3840, 1280, 360])
def test_the_screens_fit_and_are_accessible(page, site, partly_failed, invalid, width, dark):
    page.look(width, dark)
    with paused(site, "chat"):
        running = batch_of(site.client, lines_of([chat(), chat(model="no/such-model")]))
        shown = {"batches": ("batches", f"{ROW.format(running)}"), "batch": (f"batches/{partly_failed['id']}", "tr[data-key=invalid_field]"),
                 "batch-invalid": (f"batches/{invalid['id']}", "table.fixed-columns"), "batch-running": (f"batches/{running}", ".heading button.danger")}
        for name, (address, ready) in shown.items():
            go(page, site, address)
            page.wait_for(ready)
            page.screenshot(SCREENSHOTS / f"{name}-{width}-{'dark' if dark else 'light'}.png")
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than {width}"
            assert violations(page) == "", name


def test_the_commands_of_the_empty_screen_make_a_batch(chromium, tmp_path):
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data", env={"MILLRACE_MOCK": "true"}).start()
        try:
            chromium.look(1280, dark=False)
            sign_in(chromium, gateway)
            go(chromium, gateway, "batches")
            chromium.wait_for(".empty", "No batches yet")
            commands = chromium.run("return [...document.querySelectorAll('.empty .code code')].map((e) => e.textContent)")
            env = {**os.environ, "MILLRACE_API_KEY": gateway.client.key}
            done = subprocess.run(["bash", "-ec", "\n".join(commands)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=True)
            batch = json.loads(done.stdout)["id"]
            chromium.wait_for(ROW.format(batch))
            assert Client(gateway.url, gateway.client.key).get(f"/v1/batches/{batch}").status == 200
            assert ended(gateway.client, batch)["request_counts"] == {"total": 2, "completed": 2, "failed": 0}
        finally:
            gateway.close()
            chromium.open("about:blank")
            chromium.console()
