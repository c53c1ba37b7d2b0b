"""Batches while they run: partial outputs, cancellation, expiry, lost files and keys, limits, and every endpoint."""

import json
import threading

import openai_replies
import pytest
import recordings
from batches import end, lines_of, output, start
from documents import data_uri, tiny_pdf
from millrace import Client, Gateway, eventually
from model_gateway import model_gateway
from sandboxed import local, reachable_folder
from sandboxed import start as start_sandboxed
from stored_files import upload
from upstream import Upstream

CHAT = "/v1/chat/completions"


class Held:
    """A gateway with a model whose replies wait for a gate, but for the word `now`."""

    def __init__(self, folder, more=""):
        self.gate = threading.Event()
        self.upstream = Upstream().__enter__()
        self.upstream.reply_always(self._answer)
        self.gateway = model_gateway(folder, [("up/held", "openai", "held", f"{self.upstream.url}/v1")], more)
        self.client = self.gateway.client

    def _answer(self, seen):
        text = seen.json["messages"][-1]["content"]
        reply = openai_replies.completion(text)
        return reply if text.startswith("now") else reply.held(self.gate)

    def words(self):
        return [seen.json["messages"][-1]["content"] for seen in self.upstream.requests]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.gate.set()
        self.gateway.close()
        self.upstream.__exit__(*error)


def held(text, **more):
    return {"model": "up/held", "messages": [{"role": "user", "content": text}], **more}


def counts(client, batch):
    return client.get(f"/v1/batches/{batch['id']}").json()


def wait_completed(client, batch, count):
    return eventually(lambda: counts(client, batch) if counts(client, batch)["request_counts"]["completed"] >= count else None, 30)


def wait_jobs(client, batch, count):
    return eventually(lambda: jobs if len(jobs := client.get(f"/v1/jobs?batch={batch['id']}").json()["items"]) >= count else None, 30)


def test_an_output_can_be_read_while_its_batch_runs(tmp_path):
    with Held(tmp_path) as run:
        batch = start(run.client, lines_of([held("now 0"), held("later"), held("now 1")]))
        partial = wait_completed(run.client, batch, 2)
        assert partial["status"] == "in_progress" and partial["error_file_id"] is None
        assert set(output(run.client, partial)) == {"line-0", "line-2"}
        assert run.client.get(f"/v1/files/{partial['output_file_id']}").status == 404
        stranger = Client(run.gateway.url, run.client.post("/v1/admin/keys", {"name": "b", "tenant": "b"}).json()["key"])
        assert stranger.get(f"/v1/files/{partial['output_file_id']}/content").status == 404
        assert stranger.get(f"/v1/batches/{batch['id']}").status == 404 and stranger.get(f"/v1/jobs?batch={batch['id']}").json()["items"] == []
        run.gate.set()
        done = end(run.client, batch)
        assert done["output_file_id"] == partial["output_file_id"] and set(output(run.client, done)) == {"line-0", "line-1", "line-2"}


def test_a_cancelled_batch_keeps_what_has_ended_and_names_the_rest(tmp_path):
    with Held(tmp_path, "batches: {window: 3}\n") as run:
        batch = start(run.client, lines_of([held("now"), *[held(f"word {i}") for i in range(10)]]))
        wait_completed(run.client, batch, 1)
        wait_jobs(run.client, batch, 4)
        cancelled = run.client.post(f"/v1/batches/{batch['id']}/cancel")
        assert cancelled.status == 200 and cancelled.json()["status"] == "cancelling"
        done = end(run.client, batch)
        assert done["status"] == "cancelled" and done["request_counts"] == {"total": 11, "completed": 1, "failed": 10}
        assert set(output(run.client, done)) == {"line-0"}
        errors = output(run.client, done, "error_file_id")
        codes = [line["error"]["code"] if line["error"] else line["response"]["body"]["error"]["code"] for line in errors.values()]
        assert sorted(codes) == ["batch_cancelled"] * 7 + ["job_cancelled"] * 3
        assert run.client.post(f"/v1/batches/{batch['id']}/cancel").json()["status"] == "cancelled"


def test_a_batch_that_has_ended_cannot_be_cancelled(tmp_path):
    with Held(tmp_path) as run:
        done = end(run.client, start(run.client, lines_of([held("now")])))
        refused = run.client.post(f"/v1/batches/{done['id']}/cancel")
        assert refused.status == 409 and "completed" in refused.json()["error"]["message"]


def test_a_batch_expires_at_the_end_of_its_window(tmp_path):
    with Held(tmp_path, "batches: {window: 2}\n") as run:
        batch = start(run.client, lines_of([held("now"), *[held(f"word {i}") for i in range(5)]]), completion_window="3s")
        done = end(run.client, batch)
        assert done["status"] == "expired" and done["expired_at"] and done["expires_at"] == done["created_at"] + 3
        assert set(output(run.client, done)) == {"line-0"} and len(output(run.client, done, "error_file_id")) == 5


def test_only_a_window_of_lines_are_jobs_at_a_time(tmp_path):
    with Held(tmp_path, "batches: {window: 4}\n") as run:
        batch = start(run.client, lines_of([held(f"word {i}") for i in range(20)]))
        wait_jobs(run.client, batch, 4)
        direct = run.client.post(CHAT, held("now direct"))
        assert direct.status == 200
        assert len(run.client.get(f"/v1/jobs?batch={batch['id']}").json()["items"]) == 4
        run.gate.set()
        assert end(run.client, batch)["request_counts"]["completed"] == 20


def test_direct_requests_overtake_the_lines_of_their_own_tenant(tmp_path):
    with Held(tmp_path, "slots: [chat=1]\n") as run:
        batch = start(run.client, lines_of([held(f"word {i}") for i in range(50)]))
        wait_jobs(run.client, batch, 50)
        job = run.client.post(CHAT, held("direct", deferred=True)).json()["request_id"]
        run.gate.set()
        run.client.wait_terminal(job)
        before = run.words().index("direct")
        assert before <= 2, run.words()[:10]
        end(run.client, batch)


def test_a_deleted_file_does_not_stop_its_batch(tmp_path):
    with Held(tmp_path, "batches: {window: 1}\n") as run:
        batch = start(run.client, lines_of([held(f"word {i}") for i in range(5)]))
        wait_jobs(run.client, batch, 1)
        assert run.client.request("DELETE", f"/v1/files/{batch['input_file_id']}").status == 200
        run.gate.set()
        done = end(run.client, batch)
        assert done["status"] == "completed" and len(output(run.client, done)) == 5


def test_a_revoked_key_ends_its_batches(tmp_path):
    with Held(tmp_path, "batches: {window: 1}\n") as run:
        key = run.client.post("/v1/admin/keys", {"name": "short"}).json()
        batch = start(Client(run.gateway.url, key["key"]), lines_of([held(f"word {i}") for i in range(5)]))
        wait_jobs(run.client, batch, 1)
        assert run.client.request("DELETE", f"/v1/admin/keys/{key['id']}").status == 200
        done = end(run.client, batch)
        assert done["status"] == "cancelled" and [error["code"] for error in done["errors"]["data"]] == ["key_invalid"]
        assert len(output(run.client, done, "error_file_id")) == 5


def test_a_key_without_the_scope_of_the_endpoint_creates_no_batch(tmp_path):
    with Held(tmp_path) as run:
        key = run.client.post("/v1/admin/keys", {"name": "files", "scopes": ["files:read", "files:write"]}).json()["key"]
        client = Client(run.gateway.url, key)
        file = upload(client, lines_of([held("now")]), purpose="batch").json()
        reply = client.post("/v1/batches", {"input_file_id": file["id"], "endpoint": CHAT, "completion_window": "24h"})
        assert reply.status == 403 and "'chat'" in reply.json()["error"]["message"]


def test_limits_of_batches_have_names(tmp_path):
    with Held(tmp_path, "batches: {lines: 3, line_bytes: 2KiB, input_bytes: 8KiB, open_max: 1, window: 1}\n") as run:
        long = end(run.client, start(run.client, lines_of([held("now " + "x" * 3000)])))
        assert [error["code"] for error in long["errors"]["data"]] == ["line_too_long"]
        many = end(run.client, start(run.client, lines_of([held("now")] * 4)))
        assert [error["code"] for error in many["errors"]["data"]] == ["too_many_lines"] and "batches.lines" in many["errors"]["data"][0]["message"]
        large = upload(run.client, b"x" * 9000, purpose="batch").json()["id"]
        refused = run.client.post("/v1/batches", {"input_file_id": large, "endpoint": CHAT, "completion_window": "24h"})
        assert refused.status == 413 and "batches.input_bytes" in refused.json()["error"]["message"]
        batch = start(run.client, lines_of([held("one")]))
        file = upload(run.client, lines_of([held("now")]), purpose="batch").json()["id"]
        refused = run.client.post("/v1/batches", {"input_file_id": file, "endpoint": CHAT, "completion_window": "24h"})
        assert refused.status == 429 and "batches.open_max" in refused.json()["error"]["message"]
        run.gate.set()
        end(run.client, batch)


def test_a_batch_stops_at_its_limit_of_costs(tmp_path):
    with Held(tmp_path) as run:
        batch = start(run.client, lines_of([held("now")] * 3), metadata={"max_cost_usd": "0.5"})
        done = end(run.client, batch)
        errors = output(run.client, done, "error_file_id")
        assert done["status"] == "completed" and done["request_counts"]["failed"] == 3
        assert {line["response"]["body"]["error"]["code"] for line in errors.values()} == {"budget_exceeded"}


def test_lines_that_are_refused_for_a_while_are_sent_again(tmp_path):
    with Held(tmp_path) as run:
        tenant = run.client.request("PUT", "/v1/admin/tenants/default", {"limits": {"running_jobs": 2}})
        assert tenant.status == 200, tenant.body
        done = end(run.client, start(run.client, lines_of([held(f"now {i}") for i in range(12)])), 120)
        assert done["request_counts"] == {"total": 12, "completed": 12, "failed": 0}


@pytest.fixture(scope="module")
def every():
    with reachable_folder() as folder:
        gateway = start_sandboxed(folder / "data", "--mock")
        yield gateway.client
        gateway.close()


def test_embeddings_images_and_speech_are_answered_directly(every):
    embeddings = end(every, start(every, lines_of([{"model": "mock/embedding", "input": f"text {i}"} for i in range(20)], "/v1/embeddings"), "/v1/embeddings"))
    assert embeddings["request_counts"]["completed"] == 20
    for line in output(every, embeddings).values():
        assert line["response"]["body"]["object"] == "list" and line["response"]["body"]["data"][0]["embedding"]
    images = end(every, start(every, lines_of([{"model": "mock/image", "prompt": "a mill"}], "/v1/images/generations"), "/v1/images/generations"))
    assert output(every, images)["line-0"]["response"]["body"]["data"], images
    speech = end(every, start(every, lines_of([{"model": "millrace/flite", "input": "Hello there", "voice": "alloy"}], "/v1/audio/speech"), "/v1/audio/speech"))
    body = output(every, speech)["line-0"]["response"]["body"]
    assert body["content_type"].startswith("audio/") and len(body["content_base64"]) > 1000


def test_documents_are_read_by_file_id_and_by_data_uri(every):
    file = upload(every, tiny_pdf("first mill"), "one.pdf", purpose="ocr").json()["id"]
    bodies = [
        {"model": "millrace/ocr", "document": {"type": "file", "file_id": file}},
        {"model": "millrace/ocr", "document": {"type": "document_url", "document_url": data_uri(tiny_pdf("second mill"))}},
        {"model": "millrace/ocr", "document": {"type": "document_url", "document_url": data_uri(b"no document")}},
    ]
    done = end(every, start(every, lines_of(bodies, "/v1/ocr"), "/v1/ocr"))
    replies = output(every, done)
    assert "first mill" in replies["line-0"]["response"]["body"]["pages"][0]["markdown"]
    assert "second mill" in replies["line-1"]["response"]["body"]["pages"][0]["markdown"]
    (bad,) = output(every, done, "error_file_id").values()
    assert bad["response"]["body"]["error"]["code"] == "document_unsupported", bad


def test_recordings_are_transcribed_by_file_id(every):
    file = upload(every, recordings.clip(1), "one.wav", purpose="user_data").json()["id"]
    url = "/v1/audio/transcriptions"
    bodies = [
        {"model": "millrace/sphinx-en", "file_id": file},
        {"model": "millrace/sphinx-en", "file_id": file, "response_format": "verbose_json", "timestamp_granularities": ["word"]},
        {"model": "millrace/sphinx-en", "file_id": file, "response_format": "text"},
        {"model": "millrace/sphinx-en"},
    ]
    done = end(every, start(every, lines_of(bodies, url), url), 120)
    replies = output(every, done)
    assert replies["line-0"]["response"]["body"]["text"] and replies["line-1"]["response"]["body"]["words"]
    assert isinstance(replies["line-2"]["response"]["body"], str)
    assert set(output(every, done, "error_file_id")) == {"line-3"}


def test_commands_run_on_a_machine(every):
    url = f"/v1/machines/{local(every)}/executions"
    done = end(every, start(every, lines_of([{"command": ["sh", "-c", f"echo {i}"]} for i in range(5)] + [{"command": ["false"]}], url), url))
    replies = output(every, done)
    assert {key: value["response"]["body"]["output"]["stdout"] for key, value in replies.items()} == {f"line-{i}": f"{i}\n" for i in range(5)}
    assert set(output(every, done, "error_file_id")) == {"line-5"}


def test_an_output_may_expire(every):
    batch = start(every, lines_of([{"model": "mock/chat", "messages": "hi"}]), output_expires_after={"anchor": "created_at", "seconds": 3600})
    done = end(every, batch)
    file = every.get(f"/v1/files/{done['output_file_id']}").json()
    assert file["purpose"] == "batch_output" and file["expires_at"] - file["created_at"] == 3600
    assert json.loads(every.get(f"/v1/files/{file['id']}/content").body)["custom_id"] == "line-0"


def test_a_line_that_may_exceed_the_limit_of_costs_is_not_sent(tmp_path):
    config = tmp_path / "millrace.yaml"
    config.write_text("mock: true\nmodels:\n- {name: priced, provider: mock, output_max: 100, price: {prompt: 0, completion: 1000}}\n")
    gateway = Gateway(tmp_path / "data", "--config", config).start()
    try:
        # A line may cost 0.1 dollars; it costs 0.003.
        bodies = [{"model": "priced", "messages": "one two three"}] * 40
        done = end(gateway.client, start(gateway.client, lines_of(bodies), metadata={"max_cost_usd": "0.15"}))
        assert done["status"] == "completed" and done["max_cost_usd"] == 0.15 and 0 < done["cost_usd"] <= 0.15
        assert done["request_counts"]["completed"] == round(done["cost_usd"] / 0.003) > 0
        errors = output(gateway.client, done, "error_file_id")
        assert {line["response"]["body"]["error"]["param"] for line in errors.values()} == {"max_cost_usd"}
    finally:
        gateway.close()


def test_lines_that_are_refused_do_not_hold_the_others(tmp_path):
    with Upstream() as upstream:
        upstream.reply_always(lambda seen: openai_replies.refusal(429) if seen.json["input"] == ["bad"] else openai_replies.embeddings([[1.0]]))
        gateway = model_gateway(tmp_path, [("up/e", "openai", "e", f"{upstream.url}/v1")])
        try:
            bodies = [{"model": "up/e", "input": ["bad"]}] * 8 + [{"model": "up/e", "input": ["good"]}] * 100
            batch = start(gateway.client, lines_of(bodies, "/v1/embeddings"), "/v1/embeddings")
            wait_completed(gateway.client, batch, 100)
            gateway.client.post(f"/v1/batches/{batch['id']}/cancel")
            done = end(gateway.client, batch)
            assert done["request_counts"] == {"total": 108, "completed": 100, "failed": 8}
        finally:
            gateway.close()


def test_an_input_of_empty_lines_holds_nobody(tmp_path):
    with Held(tmp_path) as run:
        empty = [start(run.client, b"\n" * (20 << 20)) for _ in range(3)]
        batch = start(run.client, lines_of([held("now")]))
        assert end(run.client, batch, 10)["status"] == "completed"
        for each in empty:
            assert [error["code"] for error in end(run.client, each)["errors"]["data"]] == ["empty_file"]


def test_direct_lines_stop_at_the_limit_of_costs(tmp_path):
    with Upstream() as upstream:
        upstream.reply_always(lambda seen: openai_replies.embeddings([[1.0]]))
        config = tmp_path / "millrace.yaml"
        config.write_text(f"models:\n- {{name: e, provider: openai, base_url: '{upstream.url}/v1', api_key: env:UP_KEY, price: {{prompt: 1000, completion: 0}}}}\n")
        gateway = Gateway(tmp_path / "data", "--config", config, env={"UP_KEY": "sk-0123456789"}).start()
        try:
            batch = start(gateway.client, lines_of([{"model": "e", "input": "x"}] * 20, "/v1/embeddings"), "/v1/embeddings", metadata={"max_cost_usd": "0.005"})
            done = end(gateway.client, batch)
            one = done["cost_usd"] / done["request_counts"]["completed"]
            assert 0 < done["cost_usd"] < 0.005 + one and len(upstream.requests) == done["request_counts"]["completed"], done
            assert {line["error"]["code"] for line in output(gateway.client, done, "error_file_id").values()} == {"budget_exceeded"}
        finally:
            gateway.close()
