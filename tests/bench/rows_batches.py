"""Rows 29 to 31: batches: how fast lines are validated and stored, how fast a batch of chats ends, and the memory that a large input takes."""

import json
import threading
import time

import machine
import rows_accept
import rows_deferred
from batches import lines_of
from bench_run import picked
from report import Result
from stored_files import form

LINE_BYTES = 1024
PATH = "/v1/chat/completions"
ENDED = ("completed", "failed", "expired", "cancelled")


def _chat(model="mock/chat", size=LINE_BYTES):
    body = {"model": model, "messages": [{"role": "user", "content": "x"}]}
    body["messages"][0]["content"] *= 1 + size - len(json.dumps(body))
    return body


def _upload(client, content):
    body, content_type = form([("purpose", b"batch", None), ("file", content, "requests.jsonl")])
    return client.post("/v1/files", body, headers={"Content-Type": content_type}, timeout=600).json()["id"]


def _create(client, file):
    reply = client.post("/v1/batches", {"input_file_id": file, "endpoint": PATH, "completion_window": "24h"})
    assert reply.status == 200, reply.body
    return reply.json()["id"]


def _wait(client, batch, statuses):
    while True:
        now = client.get(f"/v1/batches/{batch}").json()
        if now["status"] in statuses:
            return now
        assert now["status"] not in ENDED, now
        time.sleep(0.01)


def _validated(bench, content, lines):
    """Lines per second from the creation of a batch until all its lines are stored; its process runs no jobs."""
    gateway = bench.gateway("--batches.direct", "1", "--batches.window", "1", role="api")
    file = _upload(gateway.client, content)
    began = time.monotonic()
    _wait(gateway.client, _create(gateway.client, file), ("in_progress",))
    rate = lines / (time.monotonic() - began)
    bench.end(gateway)
    return {"per_second": rate}


def validation(bench):
    lines = 10_000 if bench.quick else 50_000
    content = lines_of([_chat()] * lines)
    samples = bench.side_by_side(accept=lambda: rows_accept.accept(bench), lines=lambda: _validated(bench, content, lines))
    rate = {name: picked(values, "per_second") for name, values in samples.items()}
    return [Result(29, f"lines of a batch of {lines} validated and stored, 1 KB", "/s", rate["lines"], "durable accepts", rate["accept"], least=0.8)]


def _batch_ended(bench, content, chats):
    gateway = bench.gateway("--mock")
    file = _upload(gateway.client, content)
    began = time.monotonic()
    done = _wait(gateway.client, _create(gateway.client, file), ("completed",))
    took = time.monotonic() - began
    assert done["request_counts"]["completed"] == chats, done
    bench.end(gateway)
    return chats / took


def _deferred_ended(bench, chats):
    gateway = bench.gateway("--mock")
    body = bench.folder / "deferred-mock.json"
    body.write_text(json.dumps({**_chat(), "deferred": True}))
    flags = {"path": PATH, "body_file": body, "expect": 200, "connections": rows_deferred.CONNECTIONS, "requests": chats, "seconds": 600}
    began = time.monotonic()
    bench.load(gateway, header=rows_accept.headers(gateway.client.key), **flags)
    while rows_deferred.begun(gateway) < chats:
        time.sleep(0.02)
    took = time.monotonic() - began
    bench.end(gateway)
    return chats / took


def drain(bench):
    chats = 5_000 if bench.quick else 50_000
    content = lines_of([_chat()] * chats)
    rates = bench.side_by_side(
        rounds=3, deferred=lambda: _deferred_ended(bench, chats), batch=lambda: _batch_ended(bench, content, chats)
    )
    return [Result(30, f"{chats} mock chats as one batch, to its end", "/s", rates["batch"], "deferred requests", rates["deferred"])]


def _peak(bench, content):
    """MB of resident memory above that before the batch, while its input is validated."""
    gateway = bench.gateway("--batches.lines", "1000000", "--batches.window", "1", role="api")
    file = _upload(gateway.client, content)
    before, peak, over = machine.memory_mb(gateway.popen.pid), [0.0], threading.Event()

    def watch():
        while not over.wait(0.02):
            peak[0] = max(peak[0], machine.memory_mb(gateway.popen.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _wait(gateway.client, _create(gateway.client, file), ("in_progress",))
    over.set()
    watcher.join()
    bench.end(gateway)
    return peak[0] - before


def memory(bench):
    small, large = (lines_of([_chat(size=4096)] * lines) for lines in (250, 25_000 if bench.quick else 48_000))
    rates = bench.side_by_side(rounds=1, small=lambda: _peak(bench, small), large=lambda: _peak(bench, large))
    return [Result(31, f"memory more while an input of {len(large) >> 20} MB is validated", "MB", rates["large"], f"of {len(small) >> 20} MB", rates["small"])]
