"""A stream of audio or of images whose provider is silent sends heartbeats meanwhile, and continues."""

import json
import threading

import gemini_replies
import pytest
from chat_events import error_of
from millrace import Gateway, eventually
from open_stream import OpenStream
from upstream import Reply, json_reply, sse_reply

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
        f"- {{name: drawing, model: gemini-2.5-flash-image, provider: gemini, base_url: '{upstream.url}'}}\n"
    )
    instance = Gateway(tmp_path / "data", "--config", config, "--chat.heartbeat", "100ms").start()
    yield instance
    instance.close()


@pytest.mark.parametrize("kind", CASES)
def test_a_stream_that_waits_for_its_provider_sends_heartbeats_and_continues(gateway, upstream, kind):
    path, body, reply = CASES[kind]
    gate = threading.Event()
    upstream.reply(reply(gate))
    with OpenStream(gateway.client, path, body) as stream:
        assert stream.status == 200 and stream.headers["content-type"] == "text/event-stream"
        stream.read_until(b"data: ")
        assert LAST[kind] not in stream.read_until(HEARTBEAT + HEARTBEAT)
        gate.set()
        assert LAST[kind] in stream.rest()


def last_data(seen):
    *_, last = [each for each in seen.decode().split("\n\n") if "data: " in each]
    return json.loads(last.partition("data: ")[2])


def silent(reply):
    """The same reply, but the provider sends nothing until the gate is open; returns the reply and the gate."""
    gate = threading.Event()
    return reply(gate).held(gate), gate


@pytest.mark.parametrize("kind", CASES)
def test_a_stream_whose_provider_is_silent_sends_headers_and_heartbeats(gateway, upstream, kind):
    path, body, reply = CASES[kind]
    late, gate = silent(reply)
    upstream.reply(late)
    with OpenStream(gateway.client, path, body) as stream:
        assert stream.status == 200 and stream.headers["content-type"] == "text/event-stream"
        assert stream.read_until(HEARTBEAT + HEARTBEAT).replace(HEARTBEAT, b"") == b""
        assert "x-millrace-model" not in stream.headers
        gate.set()
        assert LAST[kind] in stream.rest() and b"dropped_params" not in stream.seen


@pytest.mark.parametrize("kind", CASES)
def test_a_failure_after_early_headers_is_an_event(gateway, upstream, kind):
    path, body, _ = CASES[kind]
    gate = threading.Event()
    upstream.reply(Reply(400, json_reply({"error": {"message": "not this"}}).pieces, before_head=gate))
    with OpenStream(gateway.client, path, body) as stream:
        stream.read_until(HEARTBEAT)
        gate.set()
        assert "not this" in error_of(stream.rest())["message"]
        request = stream.headers["x-request-id"]

    def logged():
        lines = [json.loads(line) for line in gateway.log.read_text().splitlines() if '"model_stream_failed"' in line]
        return [(line["request_id"], line["model"]) for line in lines]

    eventually(lambda: logged() == [(request, body["model"])], what="the log line of the failure")


def test_parameters_dropped_after_early_headers_are_named_by_the_last_event(gateway, upstream):
    path, body, _ = CASES["images"]
    body = {**body, "model": "drawing"}
    gate = threading.Event()
    upstream.reply(gemini_replies.drawing("AAAA").held(gate), gemini_replies.drawing("AAAA"))
    with OpenStream(gateway.client, path, body) as stream:
        stream.read_until(HEARTBEAT)
        gate.set()
        dropped = last_data(stream.rest())["dropped_params"]
    with OpenStream(gateway.client, path, body) as stream:
        assert "dropped_params" not in last_data(stream.rest())
        assert dropped == stream.headers["x-millrace-dropped-params"]


def test_audio_as_a_file_begins_with_its_first_bytes_and_contains_no_comment(gateway, upstream):
    path, body, _ = CASES["speech"]
    replies = []

    def receive():
        replies.append(gateway.client.post(path, {**body, "stream_format": "audio"}))

    late, gate = silent(sound)
    upstream.reply(late)
    reader = threading.Thread(target=receive)
    reader.start()
    upstream.wait_for(1)
    beating, _ = silent(sound)
    upstream.reply(beating)
    with OpenStream(gateway.client, path, body) as stream:
        stream.read_until(HEARTBEAT + HEARTBEAT)
    gate.set()
    reader.join()
    assert replies[0].status == 200 and replies[0].body == b"firstsecond"
    assert replies[0].headers["x-millrace-model"] == "voice"
