"""/v1/batches and /v1/batch/jobs: many requests in one file."""

import json

import pytest
from millrace import Gateway, eventually
from test_files import upload


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("batches") / "data", "--mock").start()
    yield gateway
    gateway.close()


def lines_of(bodies, url="/v1/chat/completions"):
    return b"".join(
        json.dumps({"custom_id": f"line-{i}", "method": "POST", "url": url, "body": body}).encode() + b"\n" for i, body in enumerate(bodies)
    )


def chat(text, **more):
    return {"model": "mock/chat", "messages": [{"role": "user", "content": text}], **more}


def start(client, content, endpoint="/v1/chat/completions", **fields):
    file = upload(client, content, purpose="batch").json()
    reply = client.post("/v1/batches", {"input_file_id": file["id"], "endpoint": endpoint, "completion_window": "24h", **fields})
    assert reply.status == 200, reply.body
    return reply.json()


def end(client, batch, seconds=60):
    def over():
        now = client.get(f"/v1/batches/{batch['id']}").json()
        return now if now["status"] in ("completed", "failed", "expired", "cancelled") else None

    return eventually(over, seconds)


def output(client, batch, which="output_file_id"):
    """The lines of a file of the batch, by custom_id; each occurs once."""
    if batch[which] is None:
        return {}
    lines = [json.loads(line) for line in client.get(f"/v1/files/{batch[which]}/content").body.splitlines()]
    by_id = {line["custom_id"]: line for line in lines}
    assert len(by_id) == len(lines)
    return by_id


def test_each_line_of_chat_has_one_completion(shared):
    batch = start(shared.client, lines_of([chat(f"word {i}") for i in range(50)]), metadata={"run": "a"})
    assert (batch["status"], batch["object"], batch["metadata"]) == ("validating", "batch", {"run": "a"})
    done = end(shared.client, batch)
    assert done["status"] == "completed" and done["request_counts"] == {"total": 50, "completed": 50, "failed": 0}
    replies = output(shared.client, done)
    assert set(replies) == {f"line-{i}" for i in range(50)}
    for i in range(50):
        response = replies[f"line-{i}"]["response"]
        assert response["status_code"] == 200 and f"word {i}" in response["body"]["choices"][0]["message"]["content"]
    assert done["error_file_id"] is None and done["usage"]["total_tokens"] > 0
