"""Speech over a running gateway: the local voices, and those of a fake provider."""

import base64
import http.client
import json
import os
import signal
import threading
from pathlib import Path

import pytest
from millrace import Gateway, eventually
from model_gateway import model_gateway
from open_stream import OpenStream
from sounds import probed, seconds
from upstream import Reply, Upstream, json_reply

SPEECH = "/v1/audio/speech"
TEXT = "The mill turns by day and by night. Who owns the water owns the wheel."
FORMATS = {
    "mp3": ("audio/mpeg", "mp3"),
    "opus": ("audio/ogg", "opus"),
    "aac": ("audio/aac", "aac"),
    "flac": ("audio/flac", "flac"),
    "wav": ("audio/wav", "pcm_s16le"),
}
PCM_BYTES_PER_S = 48_000
SOUND = bytes(range(256)) * 40


@pytest.fixture(scope="module")
def upstream():
    with Upstream() as instance:
        yield instance


@pytest.fixture(scope="module")
def shared(tmp_path_factory, upstream):
    rows = [
        ("up/voice", "openai", "gpt-4o-mini-tts", f"{upstream.url}/v1"),
        ("up/textual", "openai", "m", f"{upstream.url}/v1"),  # models that fail are not called for a while
        ("up/torn", "openai", "m", f"{upstream.url}/v1"),
        ("up/groq", "groq", "orpheus", f"{upstream.url}/v1"),
        ("up/claude", "anthropic", "claude", upstream.url),
    ]
    gateway = model_gateway(tmp_path_factory.mktemp("speech"), rows)
    yield gateway
    gateway.close()


def body(**more):
    return {"model": "millrace/flite", "input": TEXT, "voice": "alloy", **more}


def speak(gateway, **more):
    return gateway.client.post(SPEECH, body(**more))


def pcm(gateway, **more):
    reply = speak(gateway, response_format="pcm", **more)
    assert reply.status == 200 and reply.headers["content-type"] == "audio/pcm", reply.body[:300]
    return reply.body


def events(reply):
    assert reply.status == 200 and reply.headers["content-type"] == "text/event-stream", reply.body[:300]
    lines = [line for line in reply.body.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def sound(pieces=(SOUND,), **more):
    return Reply(200, list(pieces), {"Content-Type": "audio/mpeg"}, chunked=True, **more)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_a_file_of_that_type_whatever_the_accept_header_says(shared, form):
    content_type, codec = FORMATS[form]
    reply = shared.client.post(SPEECH, body(response_format=form), headers={"Accept": "application/json"})
    assert reply.status == 200 and reply.headers["content-type"] == content_type, reply.body[:300]
    assert reply.headers["transfer-encoding"] == "chunked" and "content-length" not in reply.headers
    assert reply.headers["x-millrace-model"] == "millrace/flite"
    stream = probed(reply.body)
    assert stream["codec_name"] == codec and stream["channels"] == 1
    assert 2 < seconds(reply.body) < 12


def test_mp3_is_what_is_made_when_no_format_is_named(shared):
    assert probed(speak(shared).body)["codec_name"] == "mp3"


def test_pcm_is_24_khz_16_bit_mono(shared):
    raw = pcm(shared)
    assert len(raw) % 2 == 0
    assert abs(len(raw) / PCM_BYTES_PER_S - seconds(speak(shared, response_format="flac").body)) < 0.2


def test_the_names_of_openais_voices_are_flites(shared):
    own = {voice: len(pcm(shared, voice=voice)) for voice in ("slt", "rms", "awb", "kal16")}  # their noise differs
    assert len(set(own.values())) == 4
    names = ["alloy", "ash", "ballad", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer", "verse", "marin", "cedar"]
    for name in names:
        assert len(pcm(shared, voice=name)) in own.values(), name
    assert len(pcm(shared, voice={"id": "alloy"})) == own["slt"]


def test_speed_changes_the_length(shared):
    usual = len(pcm(shared))
    assert 0.4 < len(pcm(shared, speed=2)) / usual < 0.65
    assert 1.7 < len(pcm(shared, speed=0.5)) / usual < 2.3
    assert len(pcm(shared, speed=0.25)) > len(pcm(shared, speed=4))


@pytest.mark.parametrize(
    "more, place",
    [
        ({"input": ""}, "input"),
        ({"input": "a" * 4097}, "input"),
        ({"voice": "nobody"}, "voice"),
        ({"voice": {"id": "voice_1"}}, "voice"),
        ({"speed": 0.2}, "speed"),
        ({"speed": 4.5}, "speed"),
        ({"response_format": "ogg"}, "response_format"),
        ({"stream_format": "chunks"}, "stream_format"),
    ],
)
def test_what_is_wrong_is_422_and_named(shared, more, place):
    reply = speak(shared, **more)
    assert reply.status == 422, reply.body
    problem = reply.json()["detail"][0]
    assert problem["loc"] == ["body", place]
    if place == "voice":
        assert all(name in problem["msg"] for name in ("alloy", "verse", "kal16"))


def test_the_longest_text_is_spoken(shared):
    text = ("All the mills of the valley turn. " * 121)[:4096]
    assert len(text) == 4096 and len(pcm(shared, input=text, speed=4)) > 10 * PCM_BYTES_PER_S


def test_instructions_are_dropped_and_strict_refuses_that(shared):
    reply = speak(shared, instructions="softly")
    assert reply.status == 200 and reply.headers["x-millrace-dropped-params"] == "instructions"
    refused = shared.client.post(f"{SPEECH}?strict=true", body(instructions="softly"))
    assert refused.status == 400 and "instructions" in refused.json()["error"]["message"]


def test_an_unknown_model_is_404_and_the_error_names_the_nearest(shared):
    reply = speak(shared, model="millrace/flit")
    assert reply.status == 404 and "millrace/flite" in reply.json()["error"]["message"]


def test_events_carry_the_same_bytes_and_their_usage(shared):
    sent = events(speak(shared, stream_format="sse", response_format="pcm"))
    *deltas, done = sent
    assert [each["type"] for each in deltas] == ["speech.audio.delta"] * len(deltas) and done["type"] == "speech.audio.done"
    assert len(b"".join(base64.b64decode(each["audio"]) for each in deltas)) == len(pcm(shared))
    assert done["usage"]["input_tokens"] > 0
    assert done["usage"]["total_tokens"] == done["usage"]["input_tokens"] + done["usage"]["output_tokens"]


def test_the_model_is_listed_and_openais_names_are_aliases_of_it(shared):
    listed = {model["id"]: model for model in shared.client.get("/v1/models").json()["data"]}
    assert listed["millrace/flite"]["capabilities"]["audio"] is True
    for name in ("tts-1", "tts-1-hd", "gpt-4o-mini-tts"):
        assert speak(shared, model=name, input="Hello.").headers["x-millrace-model"] == "millrace/flite"
        model = shared.client.get(f"/v1/models/{name}").json()
        assert (model["id"], model["alias_of"], model["display_name"]) == (name, "millrace/flite", "Flite")
    assert "alias_of" not in listed["millrace/flite"]


def word_error_rate(reference, recognized):
    """Word error rate: edits from one text to the other, divided by the number of words in the reference."""
    row = list(range(len(recognized) + 1))
    for i, word in enumerate(reference, 1):
        left, row[0] = row[0], i
        for j, other in enumerate(recognized, 1):
            left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, left + (word != other))
    return row[-1] / len(reference)


def test_spoken_text_is_transcribed_correctly(shared):
    text = "This is a test of the voice. The weather was good in the morning. We went home when it began to rain."
    fields = {"model": b"millrace/sphinx-en", "file": speak(shared, input=text, response_format="flac").body}
    parts = b"".join(
        b'--edge\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
        % (name.encode(), b'; filename="a.flac"' if name == "file" else b"", value)
        for name, value in fields.items()
    )
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    reply = shared.client.post("/v1/audio/transcriptions", parts + b"--edge--\r\n", headers=headers)
    assert reply.status == 200, reply.body
    recognized = reply.json()["text"].lower().split()
    assert word_error_rate(text.lower().replace(".", "").split(), recognized) <= 0.25, recognized


def test_a_client_that_leaves_frees_its_child(tmp_path):
    gateway = Gateway(tmp_path / "data", "--speech.children", "1").start()
    try:
        long = "Round and round goes the wheel of the mill. " * 90
        for _ in range(3):
            with OpenStream(gateway.client, SPEECH, body(input=long[:4000], speed=0.25, response_format="flac")) as stream:
                assert stream.status == 200
                stream.read_until(b"fLaC")
        assert speak(gateway, input="Hello.").status == 200
        metrics = gateway.client.get("/metrics").body.decode()
        assert 'millrace_engine_children{engine="speech"} 1' in metrics
    finally:
        gateway.close()


def test_many_concurrent_clients_all_get_a_response(shared):
    replies = []
    threads = [threading.Thread(target=lambda n=n: replies.append(speak(shared, input=f"Number {n}."))) for n in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [reply.status for reply in replies] == [200] * 12


def test_a_process_without_an_engine_returns_an_error(tmp_path):
    gateway = Gateway(tmp_path / "data", "--speech.children", "0").start()
    try:
        reply = speak(gateway)
        assert reply.status == 503 and "speech.children" in reply.json()["error"]["message"]
    finally:
        gateway.close()


def test_the_provider_gets_the_requested_format(shared, upstream):
    upstream.reply(sound())
    parameters = {"voice": {"id": "voice_1"}, "speed": 1.5, "instructions": "softly", "response_format": "opus", "lang": "en"}
    reply = speak(shared, model="up/voice", **parameters)
    assert reply.status == 200 and reply.body == SOUND
    assert reply.headers["content-type"] == "audio/ogg" and reply.headers["x-millrace-model"] == "up/voice"
    seen = upstream.requests[-1]
    assert seen.path == "/v1/audio/speech" and seen.json == {"model": "gpt-4o-mini-tts", "input": TEXT, **parameters}


def test_a_providers_bytes_come_as_they_are_made(shared, upstream):
    gate = threading.Event()
    upstream.reply(sound([b"begin", gate, b"end"]))
    with OpenStream(shared.client, SPEECH, body(model="up/groq")) as stream:
        assert stream.status == 200 and stream.headers["transfer-encoding"] == "chunked"
        stream.read_until(b"begin")
        gate.set()
        assert stream.rest() == b"beginend"


def test_a_providers_bytes_are_sent_as_events_on_request(shared, upstream):
    upstream.reply(sound([SOUND[:100], SOUND[100:]]))
    *deltas, done = events(speak(shared, model="up/voice", stream_format="sse"))
    assert b"".join(base64.b64decode(each["audio"]) for each in deltas) == SOUND
    assert done["type"] == "speech.audio.done" and "stream_format" not in upstream.requests[-1].json


def test_a_failure_before_the_first_byte_is_retried(shared, upstream):
    upstream.reply(json_reply({"error": {"message": "busy"}}, 503, **{"retry-after-ms": "1"}), sound())
    reply = speak(shared, model="up/voice")
    assert reply.status == 200 and reply.headers["x-millrace-attempts"] == "2"


def test_a_providers_refusal_is_returned_and_a_text_response_is_an_error(shared, upstream):
    upstream.reply(json_reply({"error": {"message": "no such voice"}}, 400))
    reply = speak(shared, model="up/voice")
    assert reply.status == 400 and "no such voice" in reply.json()["error"]["message"]
    upstream.reply(*[json_reply({"audio": "no"})] * 3)
    assert speak(shared, model="up/textual").status == 502
    before = len(upstream.requests)
    assert speak(shared, model="up/claude").status == 400 and len(upstream.requests) == before


def test_audio_that_breaks_off_has_no_clean_end(shared, upstream):
    upstream.reply(sound([SOUND], cut=True))
    with pytest.raises(http.client.IncompleteRead):
        speak(shared, model="up/torn")
    upstream.reply(sound([SOUND], cut=True))
    *_, last = events(speak(shared, model="up/torn", stream_format="sse"))
    assert last["error"]["code"] == "upstream_error"


def test_a_client_that_reads_nothing_makes_the_provider_wait_and_one_that_leaves_ends_the_connection(shared, upstream):
    upstream.reply(sound([], endless=SOUND))
    with OpenStream(shared.client, SPEECH, body(model="up/voice")) as stream:
        seen = upstream.requests[-1]
        assert stream.status == 200 and seen.held.wait(30)
    assert seen.disconnected.wait(10)


def test_a_drain_ends_speech_that_is_being_sent(tmp_path, upstream):
    gateway = model_gateway(tmp_path, [("up/voice", "openai", "m", f"{upstream.url}/v1")])
    try:
        upstream.reply(sound([b"begin"], endless=b"more" * 1000))
        with OpenStream(gateway.client, SPEECH, body(model="up/voice")) as stream:
            stream.read_until(b"begin")
            ended = threading.Thread(target=lambda: (pytest.raises(Exception, stream.rest)))
            ended.start()
            assert gateway.terminate() == 0, gateway.tail()
            ended.join()
    finally:
        gateway.close()


def engine_children(gateway):
    """Process ids of the engine's children."""
    tasks = (Path("/proc") / str(gateway.popen.pid) / "task").glob("*/children")
    pids = [int(pid) for task in tasks for pid in task.read_text().split()]
    return [pid for pid in pids if b"--serve" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_child_that_dies_is_replaced(shared):
    assert speak(shared, input="Before.").status == 200
    children = eventually(lambda: engine_children(shared), what="the engine has a child process")
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not set(children) & set(engine_children(shared)), what="its end")
    assert eventually(lambda: speak(shared, input="After.").status == 200, what="a new child process speaks")
