"""A stream of sound or of images whose provider pauses says meanwhile that it is still there, and goes on."""

import threading

import pytest
from millrace import Gateway
from open_stream import OpenStream
from upstream import Reply, sse_reply

HEARTBEAT = b": keep-alive\n\n"
PARTIAL = {"type": "image_generation.partial_image", "b64_json": "BBBB", "partial_image_index": 0}
COMPLETED = {"type": "image_generation.completed", "b64_json": "AAAA"}


def sound(gate):
    return Reply(200, [b"first", gate, b"second"], {"Content-Type": "audio/mpeg"}, chunked=True)


def pictures(gate):
    return sse_reply([(each["type"], each) for each in (PARTIAL, COMPLETED)]).gated(1, gate)


CASES = {
    "speech": ("/v1/audio/speech", {"model": "voice", "input": "Hello", "voice": "alloy", "stream_format": "sse"}, sound),
    "images": ("/v1/images/generations", {"model": "gpt-image-1", "prompt": "a mill", "stream": True, "partial_images": 1}, pictures),
}
LAST = {"speech": b"speech.audio.done", "images": b"image_generation.completed"}


@pytest.fixture
def gateway(tmp_path, upstream):
    config = tmp_path / "millrace.yaml"
    row = f"provider: openai, base_url: '{upstream.url}/v1'"
    config.write_text(
        f"models:\n- {{name: voice, model: gpt-4o-mini-tts, {row}}}\n- {{name: gpt-image-1, model: gpt-image-1, {row}}}\n"
    )
    instance = Gateway(tmp_path / "data", "--config", config, "--chat.heartbeat", "100ms").start()
    yield instance
    instance.close()


@pytest.mark.parametrize("kind", CASES)
def test_a_stream_that_waits_for_its_provider_beats_and_goes_on(gateway, upstream, kind):
    path, body, reply = CASES[kind]
    gate = threading.Event()
    upstream.reply(reply(gate))
    with OpenStream(gateway.client, path, body) as stream:
        assert stream.status == 200 and stream.headers["content-type"] == "text/event-stream"
        before = stream.read_until(HEARTBEAT)
        assert b"data: " in before and LAST[kind] not in before
        stream.read_until(HEARTBEAT + HEARTBEAT)
        gate.set()
        assert LAST[kind] in stream.rest()
