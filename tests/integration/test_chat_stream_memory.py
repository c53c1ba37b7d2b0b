"""The memory of a stream that waits for its next frame."""

import threading
from pathlib import Path

import openai_replies
from model_gateway import model_gateway
from open_stream import OpenStream
from upstream import Upstream

CHAT = "/v1/chat/completions"
WARM, STREAMS = 50, 150
# docs/benchmarks.md, row 9: memory per stream, with a margin for the allocator. An earlier version took 26.
KIB_MAX = 16
PROMPT_BYTES = 16 << 10


def resident_kib(gateway):
    status = Path(f"/proc/{gateway.popen.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_a_stream_that_waits_holds_neither_its_request_nor_its_buffers(tmp_path):
    gate = threading.Event()
    with Upstream() as upstream:
        upstream.reply_always(openai_replies.stream("Grüße an die Welt").gated(2, gate))
        gateway = model_gateway(tmp_path, [("m", "openai", "m", f"{upstream.url}/v1")])
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "why " * (PROMPT_BYTES // 4)}]}
        streams = []
        try:
            for number in range(WARM + STREAMS):
                if number == WARM:
                    before = resident_kib(gateway)
                streams.append(OpenStream(gateway.client, CHAT, body))
                streams[-1].read_until(b"Gr")
            each = (resident_kib(gateway) - before) / STREAMS
        finally:
            gate.set()
            for stream in streams:
                stream.close()
            gateway.close()
    assert each <= KIB_MAX, f"{each:.1f} KiB a stream"
