"""Rows 20 and 21: start of speech, uploads of recordings."""

import http.client
import io
import json
import os
import statistics
import time
import wave

import machine
from recordings import RATE, form
from report import Result
from rows_accept import headers
from spoken import FIRST_BYTE

FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
AUDIO_BYTES = 25 << 20


def _first_byte_ms(connection, key, encoding):
    body = {"model": "millrace/flite", "input": FIRST_BYTE, "voice": "alloy", "response_format": encoding}
    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    began = time.monotonic()
    connection.request("POST", "/v1/audio/speech", json.dumps(body), sent)
    reply = connection.getresponse()
    first = reply.read(1)
    took = time.monotonic() - began
    assert reply.status == 200 and first, (reply.status, reply.read(400))
    reply.read()
    return took * 1e3


def first_byte(bench):
    gateway = bench.gateway()
    address = gateway.client.address
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    request_count = 10 if bench.quick else 30

    def median_of(encoding):
        return statistics.median(_first_byte_ms(connection, gateway.client.key, encoding) for _ in range(request_count))

    samples = bench.side_by_side(**{encoding: lambda e=encoding: median_of(e) for encoding in FORMATS})
    connection.close()
    return [Result(20, f"speech: POST → first byte of {encoding}, p50", "ms", samples[encoding], most=50) for encoding in FORMATS]


def _write_upload(path):
    """Writes a new recording as a multipart form; returns its Content-Type."""
    head = io.BytesIO()
    with wave.open(head, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(os.urandom(AUDIO_BYTES - 44))
    body, content_type = form(head.getvalue(), model="millrace/sphinx-en")
    path.write_bytes(body)
    return content_type


def upload(bench):
    body = bench.folder / "upload.form"
    floor = bench.server("bench_floor", "--file", bench.folder / "floor.bin", "--bytes", AUDIO_BYTES)
    peaks = []

    def raw():
        _write_upload(body)
        return bench.load(floor, body_file=body, requests=1)["max_us"] / 1e3

    def accept():
        content_type = _write_upload(body)
        gateway = bench.gateway(role="api")
        idle = machine.memory_mb(gateway.popen.pid)
        machine.forget_peak(gateway.popen.pid)
        sent = [each for each in headers(gateway.client.key) if not each.startswith("Content-Type")] + [f"Content-Type: {content_type}"]
        took = bench.load(gateway, path="/v1/audio/transcriptions", header=sent, body_file=body, requests=1)["max_us"] / 1e3
        peaks.append(machine.memory_mb(gateway.popen.pid, "VmHWM") - idle)
        bench.end(gateway)
        return took

    samples = bench.side_by_side(raw=raw, accept=accept)
    return [
        Result(21, "25 MB recording, durable accept", "ms", samples["accept"], "receive + write + fsync", samples["raw"], most=2.0),
        Result(21, "peak memory of the gateway above idle", "MB", peaks, most=8),
    ]
