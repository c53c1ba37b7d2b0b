"""Row 7: a 50 MB document as a 67 MB JSON body, on disk before its 202."""

import base64
import os

import machine
from report import Result
from rows_accept import headers

DOCUMENT_BYTES = 50_000_000


def _write_body(path):
    """A new document for each round, because the store deduplicates identical ones."""
    document = b"%PDF-1.7\n" + os.urandom(DOCUMENT_BYTES - 9)
    with open(path, "wb") as out:
        out.write(b'{"document": {"type": "document_url", "document_url": "data:application/pdf;base64,')
        out.write(base64.b64encode(document))
        out.write(b'"}}')
    return path.stat().st_size


def large_document(bench):
    body = bench.folder / "large.json"
    floor = bench.server("bench_floor", "--file", bench.folder / "floor.bin", "--bytes", DOCUMENT_BYTES)
    size = _write_body(body)
    peaks = []

    def raw():
        _write_body(body)
        return bench.load(floor, body_file=body, requests=1)["max_us"] / 1e3

    def accept():
        gateway = bench.gateway(role="api")
        idle = machine.memory_mb(gateway.popen.pid)
        machine.forget_peak(gateway.popen.pid)
        took = bench.load(gateway, header=headers(gateway.client.key), body_file=body, requests=1)["max_us"] / 1e3
        peaks.append((machine.memory_mb(gateway.popen.pid, "VmHWM") - idle) * 1024 * 1024 / size)
        bench.end(gateway)
        return took

    samples = bench.side_by_side(raw=raw, accept=accept)
    return [
        Result(7, "50 MB document in a 67 MB body, durable accept", "ms", samples["accept"], "receive + write + fsync", samples["raw"], most=2.0),
        Result(7, "peak memory of the gateway above idle", "× body", peaks, most=1.2),
    ]
