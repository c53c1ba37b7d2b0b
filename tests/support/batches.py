"""Batches: their inputs, their ends and their outputs."""

import json

from millrace import eventually
from stored_files import upload


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
