"""Rows 1 and 2: accepting small jobs over HTTP, each on disk before its 202."""

import json

from bench_run import picked
from documents import data_uri, tiny_pdf
from report import Result

BODY_BYTES = 1024
CONNECTIONS = 64
RATE = 200


def small_body():
    """An OCR request of exactly 1 KB with a document inline."""
    text = "x"
    while len(_request(text + "xxx")) <= BODY_BYTES:
        text += "xxx"
    return _request(text).ljust(BODY_BYTES)


def _request(text):
    document = {"type": "document_url", "document_url": data_uri(tiny_pdf(text))}
    return json.dumps({"document": document}).encode()


def headers(key):
    return [f"Authorization: Bearer {key}", "Content-Type: application/json", "Prefer: respond-async"]


def _flags(bench, **more):
    body = bench.folder / "small.json"
    body.write_bytes(small_body())
    return {"body_file": body, "connections": CONNECTIONS, "warmup": 0.5 if bench.quick else 1, "seconds": 2 if bench.quick else 5, **more}


def _noop(bench, server, **more):
    return bench.load(server, header=headers("none"), **_flags(bench, **more))


def accept(bench, *args, **more):
    """Uses a new store for each round, so that all rounds are equal."""
    gateway = bench.gateway(*args, role="api")
    result = bench.load(gateway, header=headers(gateway.client.key), **_flags(bench, **more))
    bench.end(gateway)
    return result


def durable_accepts(bench):
    noop = bench.server("bench_noop")
    samples = bench.side_by_side(
        noop=lambda: _noop(bench, noop),
        accept=lambda: accept(bench),
        noop_keys=lambda: _noop(bench, noop, fresh_keys=1),
        accept_keys=lambda: accept(bench, fresh_keys=1),
    )
    rate = {name: picked(values, "per_second") for name, values in samples.items()}
    p99_ms = [us / 1e3 for us in picked(samples["accept"], "p99_us")]
    return [
        Result(1, "durable accepts, 64 connections, 1 KB", "/s", rate["accept"], "no-op POST", rate["noop"], least=0.4),
        Result(1, "the same, a new Idempotency-Key each", "/s", rate["accept_keys"], "no-op POST", rate["noop_keys"], least=0.2),
        Result(1, "p99 of a durable accept at that load", "ms", p99_ms),
    ]


def accept_latency(bench):
    noop = bench.server("bench_noop")
    pace = {"rate": RATE, "connections": 8, "seconds": 5 if bench.quick else 20}
    samples = bench.side_by_side(noop=lambda: _noop(bench, noop, **pace), accept=lambda: accept(bench, **pace))
    results = []
    for quantile in ("p50", "p99", "max"):
        ours, peer = ([us / 1e3 for us in picked(samples[side], f"{quantile}_us")] for side in ("accept", "noop"))
        results.append(Result(2, f"accept latency at {RATE}/s, {quantile}", "ms", ours, "no-op POST", peer))
    return results
