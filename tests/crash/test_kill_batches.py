"""kill -9 of the gateway while batches of four kinds run: each line has one output or error line, with its own answer."""

import json
import os
import random

from batches import lines_of, output, start
from documents import data_uri, tiny_pdf
from millrace import eventually
from sandboxed import local, reachable_folder
from sandboxed import start as start_sandboxed

LINES = int(os.environ.get("BATCH_LINES", "600"))  # of all batches; the figure, 10,000, takes some minutes
KILLS = int(os.environ.get("BATCH_KILLS", "12"))


def chat(number):
    return {"model": "mock/chat", "messages": [{"role": "user", "content": f"word {number}"}]}


def embedding(number):
    return {"model": "mock/embedding", "input": f"text {number}"}


def document(number):
    return {"model": "millrace/ocr", "document": {"type": "document_url", "document_url": data_uri(tiny_pdf(f"page {number}"))}}


def command(number):
    return {"command": ["sh", "-c", f"echo {number}"], "retry_on_worker_loss": True}


def text_of_chat(body):
    return body["choices"][0]["message"]["content"]


def text_of_document(body):
    return body["pages"][0]["markdown"].strip()


def text_of_command(body):
    return body["output"]["stdout"].strip()


def done(client, batch):
    now = client.get(f"/v1/batches/{batch['id']}").json()
    return now if now["status"] == "completed" else None


def ended(client, batches):
    return sum(sum(client.get(f"/v1/batches/{batch['id']}").json()["request_counts"][key] for key in ("completed", "failed")) for batch in batches)


def test_each_line_has_one_answer_over_many_kills(tmp_path):
    chance = random.Random(31)
    with reachable_folder() as folder:
        gateway = start_sandboxed(folder / "data", "--mock")
        try:
            count = LINES // 4
            kinds = [
                ("/v1/chat/completions", chat, text_of_chat, "word {}"),
                ("/v1/embeddings", embedding, None, ""),
                ("/v1/ocr", document, text_of_document, "page {}"),
                (f"/v1/machines/{local(gateway.client)}/executions", command, text_of_command, "{}"),
            ]
            batches = [start(gateway.client, lines_of([body(i) for i in range(count)], url), url) for url, body, _, _ in kinds]
            for kill in range(KILLS):
                # The moment of the kill is random in terms of progress; the first ones hit the validation.
                wanted = 0 if kill < 3 else min(ended(gateway.client, batches) + chance.randint(0, LINES // KILLS), LINES)
                eventually(lambda wanted=wanted: ended(gateway.client, batches) >= wanted, 120)
                gateway.kill()
                gateway.restart()
            for batch, (_, _, text, form) in zip(batches, kinds, strict=True):
                final = eventually(lambda batch=batch: done(gateway.client, batch), 600, json.dumps(batch))
                assert final["request_counts"] == {"total": count, "completed": count, "failed": 0}, final
                replies = output(gateway.client, final)
                assert set(replies) == {f"line-{i}" for i in range(count)}
                if text:
                    assert all(text(replies[f"line-{i}"]["response"]["body"]) == form.format(i) for i in range(count))
        finally:
            gateway.close()
