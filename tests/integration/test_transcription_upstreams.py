"""Recordings that a provider's model transcribes: the same API, the same jobs, the same formats."""

import base64
import json
import threading
from email.parser import BytesParser

import pytest
from millrace import Gateway, eventually
from recordings import clip, silence, submit, transcribe
from upstream import json_reply

KEY = "Provider.Key.7c1f"
VERBOSE = {
    "task": "transcribe",
    "language": "german",
    "duration": 3.25,
    "text": "Guten Tag. Wie geht's?",
    "segments": [
        {"id": 0, "seek": 0, "start": 0.0, "end": 1.5, "text": " Guten Tag.", "tokens": [1, 2], "temperature": 0.0}
        | {"avg_logprob": -0.25, "compression_ratio": 1.1, "no_speech_prob": 0.01},
        {"id": 1, "seek": 0, "start": 1.5, "end": 3.25, "text": " Wie geht's?", "tokens": [3], "temperature": 0.0}
        | {"avg_logprob": -0.5, "compression_ratio": 1.1, "no_speech_prob": 0.01},
    ],
    "words": [{"word": "Guten", "start": 0.0, "end": 0.5}],
}


@pytest.fixture
def gateway(tmp_path, upstream):
    config = tmp_path / "millrace.yaml"
    row = f"provider: openai, base_url: '{upstream.url}/v1', api_key: env:THE_KEY"
    config.write_text(
        "models:\n"
        f"- {{name: whisper-1, {row}}}\n"
        f"- {{name: team/ears, model: m, abilities: [audio], {row}}}\n"
        f"- {{name: team/plain, model: gpt-4o-transcribe, {row}}}\n"
        f"- {{name: team/voxtral, model: voxtral-mini-latest, provider: mistral, base_url: '{upstream.url}/v1'}}\n"
        f"- {{name: team/chat, model: gpt-5, abilities: [chat], {row}}}\n"
        f"- {{name: team/speakers, model: gpt-4o-transcribe-diarize, {row}}}\n"
        f"- {{name: team/groq-whisper, model: whisper-large-v3, provider: groq, base_url: '{upstream.url}/v1', api_key: env:THE_KEY}}\n"
    )
    started = Gateway(tmp_path / "data", "--config", config, "--chat.tries", "2", env={"THE_KEY": KEY}).start()
    yield started
    started.close()


def fields(seen):
    """The multipart form of a request: its fields by name, each a list; the file as (name, bytes)."""
    head = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode()
    parts = {}
    for part in BytesParser().parsebytes(head + seen.body).get_payload():
        disposition = part["Content-Disposition"]
        name = part.get_param("name", header="content-disposition")
        value = part.get_payload(decode=True)
        file_name = part.get_filename()
        parts.setdefault(name, []).append((file_name, value) if "filename=" in disposition else value.decode())
    return parts


@pytest.mark.parametrize("model", ["whisper-1", "team/ears"])
def test_the_models_name_sends_a_recording_to_its_provider(gateway, upstream, model):
    upstream.reply(json_reply(VERBOSE))
    wishes = {"language": "de", "prompt": "Names: Ada", "temperature": "0.5"}
    reply = transcribe(gateway, clip(4), model=model, name="talk.wav", response_format="verbose_json", **wishes)
    assert reply.status == 200, reply.body
    body = reply.json()
    assert body["text"] == VERBOSE["text"] and body["language"] == "german" and body["duration"] == 3.25
    assert body["segments"] == VERBOSE["segments"] and "words" not in body
    assert "x-millrace-dropped-params" not in reply.headers
    (seen,) = upstream.requests
    assert seen.path == "/v1/audio/transcriptions" and seen.headers["authorization"] == f"Bearer {KEY}"
    sent = fields(seen)
    assert sent.pop("file") == [("talk.wav", clip(4))]
    assert sent == {
        "model": ["whisper-1" if model == "whisper-1" else "m"],
        "response_format": ["verbose_json"],
        **{name: [value] for name, value in wishes.items()},
    }


@pytest.mark.parametrize(("form", "begin"), [("srt", "1\n00:00:00,000 --> 00:00:01,500\nGuten Tag."), ("text", "Guten Tag. Wie")])
def test_the_models_times_are_in_every_format(gateway, upstream, form, begin):
    upstream.reply(json_reply(VERBOSE))
    reply = transcribe(gateway, clip(4), model="whisper-1", response_format=form)
    assert reply.status == 200 and reply.body.decode().startswith(begin), reply.body


def test_word_timestamps_are_requested_and_returned(gateway, upstream):
    upstream.reply(json_reply(VERBOSE))
    more = {"response_format": "verbose_json", "timestamp_granularities[]": ["word"]}
    body = transcribe(gateway, clip(4), model="whisper-1", **more).json()
    assert body["words"] == VERBOSE["words"] and fields(upstream.requests[0])["timestamp_granularities[]"] == ["segment", "word"]


@pytest.mark.parametrize(
    ("model", "parameters", "dropped"),
    [
        ("whisper-1", {"timestamp_granularities[]": ["word"], "language": "de"}, None),
        ("team/plain", {"timestamp_granularities[]": ["word"]}, "timestamp_granularities"),
        ("team/plain", {"timestamp_granularities[]": ["segment"]}, "timestamp_granularities"),
        ("team/plain", {}, None),
        ("team/voxtral", {"timestamp_granularities[]": ["segment", "word"]}, "timestamp_granularities"),
        ("team/voxtral", {"timestamp_granularities[]": ["segment"]}, None),
        ("team/voxtral", {"timestamp_granularities[]": ["segment"], "language": "de"}, "timestamp_granularities"),
    ],
)
def test_timestamps_that_the_model_does_not_return_are_named(gateway, upstream, model, parameters, dropped):
    upstream.reply(*[json_reply({"text": "Good day."})] * 2)
    reply = transcribe(gateway, clip(4), model=model, response_format="verbose_json", **parameters)
    assert reply.status == 200 and reply.headers.get("x-millrace-dropped-params") == dropped, reply.body
    assert reply.json()["model"] == model
    strict = transcribe(gateway, clip(4), task="transcriptions?strict=true", model=model, response_format="verbose_json", **parameters)
    assert strict.status == (400 if dropped else 200) and len(upstream.requests) == (1 if dropped else 2), strict.body
    if dropped:
        assert strict.json()["error"]["param"] == dropped


def test_the_duration_for_a_model_without_times_is_measured_here(gateway, upstream):
    upstream.reply(json_reply({"text": "Good day.", "usage": {"type": "tokens", "total_tokens": 9}}))
    body = transcribe(gateway, clip(4), model="team/plain").json()
    assert body["text"] == "Good day." and body["duration"] == pytest.approx(3.29, abs=0.1)
    assert fields(upstream.requests[0])["response_format"] == ["json"]


def test_a_translation_is_sent_to_the_providers_translations_path(gateway, upstream):
    upstream.reply(json_reply({**VERBOSE, "text": "Good day.", "language": "english"}))
    reply = transcribe(gateway, clip(4), task="translations", model="whisper-1", response_format="json")
    assert reply.status == 200 and reply.json()["text"] == "Good day.", reply.body
    assert upstream.requests[0].path == "/v1/audio/translations"


def test_the_name_of_the_local_engine_is_reserved_and_a_chat_model_transcribes_nothing(gateway, upstream):
    assert transcribe(gateway, clip(4)).status == 200
    assert transcribe(gateway, clip(4), model="team/chat").status in (400, 404)
    assert not upstream.requests


def test_a_recording_for_a_provider_is_a_job_like_others(gateway, upstream):
    gate = threading.Event()
    upstream.reply(json_reply(VERBOSE).gated(0, gate))
    job = submit(gateway, clip(4), model="team/ears")
    upstream.wait_for(1)
    gate.set()
    ended = gateway.client.wait_terminal(job)
    assert ended["status"] == "succeeded" and ended["kind"] == "stt" and ended["model"] == "team/ears", ended
    assert ended["progress"] == {"done": 1, "total": 1}
    assert gateway.client.get(f"/v1/jobs/{job}/result").json()["text"] == VERBOSE["text"]


def test_a_cancel_closes_the_connection_to_the_provider(gateway, upstream):
    upstream.reply(json_reply(VERBOSE).gated(0, threading.Event()))
    job = submit(gateway, clip(4), model="team/ears")
    upstream.wait_for(1)
    assert gateway.client.post(f"/v1/jobs/{job}/cancel").status == 200
    eventually(lambda: gateway.client.job(job)["status"] == "cancelled")
    assert upstream.requests[0].disconnected.wait(30)


def test_a_failure_of_the_provider_is_retried_and_its_refusal_is_returned(gateway, upstream):
    upstream.reply(json_reply({"error": {"message": "broken"}}, 500), json_reply(VERBOSE))
    assert transcribe(gateway, clip(4), model="team/ears").json()["text"] == VERBOSE["text"]
    upstream.reply(json_reply({"error": {"message": "no such language"}}, 400))
    reply = transcribe(gateway, clip(4), model="team/ears")
    assert reply.status == 400 and "no such language" in reply.json()["error"]["message"], reply.body
    assert len(upstream.requests) == 3


DIARIZED = {
    "task": "transcribe",
    "duration": 3.25,
    "text": "Hello. Hi, how are you?",
    "segments": [
        {"type": "transcript.text.segment", "id": "seg_0", "start": 0.0, "end": 1.5, "text": "Hello.", "speaker": "agent"},
        {"type": "transcript.text.segment", "id": "seg_1", "start": 1.5, "end": 3.25, "text": "Hi, how are you?", "speaker": "B"},
    ],
}
REFERENCE = "data:audio/wav;base64," + base64.b64encode(silence(3)).decode()
SPEAKERS = {"response_format": "diarized_json", "known_speaker_names[]": ["agent"], "known_speaker_references[]": [REFERENCE]}
CUT = {"chunking_strategy[type]": "server_vad", "chunking_strategy[threshold]": "0.5", "chunking_strategy[prefix_padding_ms]": "300"}


def events(reply):
    return [json.loads(line.removeprefix("data: ")) for line in reply.body.decode().splitlines() if line.startswith("data: ")]


def test_speakers_are_requested_and_returned_in_every_format(gateway, upstream):
    upstream.reply(json_reply(DIARIZED))
    reply = transcribe(gateway, clip(4), model="team/speakers", name="talk.wav", **SPEAKERS, **CUT)
    assert reply.status == 200 and "x-millrace-dropped-params" not in reply.headers, reply.body
    body = reply.json()
    assert {key: body[key] for key in DIARIZED} == DIARIZED
    sent = fields(upstream.requests[0])
    assert sent.pop("file") == [("talk.wav", clip(4))]
    expected = {"model": "gpt-4o-transcribe-diarize", **SPEAKERS, **CUT}
    assert sent == {name: value if isinstance(value, list) else [value] for name, value in expected.items()}
    path = f"/v1/jobs/{reply.headers['x-millrace-job']}/result"
    assert gateway.client.get(path).json()["segments"] == DIARIZED["segments"]
    assert gateway.client.get(path + "?format=vtt").body.decode().endswith("\n<v B>Hi, how are you?\n\n")
    assert "\nagent: Hello.\n" in gateway.client.get(path + "?format=srt").body.decode()
    assert [each["speaker"] for each in gateway.client.get(path + "?format=verbose_json").json()["segments"]] == ["agent", "B"]


def test_subtitles_of_a_model_for_speakers_name_them_and_are_read_in_that_format_later(gateway, upstream):
    upstream.reply(json_reply(DIARIZED))
    reply = transcribe(gateway, clip(4), model="team/speakers", response_format="srt")
    assert reply.status == 200 and b"\nagent: Hello.\n" in reply.body, reply.body
    sent = fields(upstream.requests[0])
    assert sent["response_format"] == ["diarized_json"] and sent["chunking_strategy"] == ["auto"]
    later = gateway.client.get(f"/v1/jobs/{reply.headers['x-millrace-job']}/result?format=diarized_json")
    assert later.json()["segments"] == DIARIZED["segments"]


def test_a_stream_sends_each_segment_with_its_speaker(gateway, upstream):
    upstream.reply(json_reply(DIARIZED))
    reply = transcribe(gateway, clip(4), model="team/speakers", stream="true", response_format="diarized_json")
    assert reply.status == 200 and "x-millrace-dropped-params" not in reply.headers, reply.body
    sent = events(reply)
    assert [each for each in sent if each["type"] == "transcript.text.segment"] == DIARIZED["segments"]
    deltas = [(each["segment_id"], each["delta"]) for each in sent if each["type"] == "transcript.text.delta"]
    assert deltas == [("seg_0", "Hello."), ("seg_1", " Hi, how are you?")]
    assert sent[-1]["type"] == "transcript.text.done" and sent[-1]["text"] == DIARIZED["text"]


def test_a_provider_with_another_protocol_gets_what_it_has_and_the_rest_is_named(gateway, upstream):
    segments = [{"type": "transcription_segment", "start": 0.0, "end": 1.0, "text": "Hallo.", "speaker_id": "speaker_1"}]
    upstream.reply(json_reply({"text": "Hallo.", "segments": segments}))
    more = {"model": "team/voxtral", "language": "de", **SPEAKERS, **CUT}
    reply = transcribe(gateway, clip(4), **more)
    assert reply.status == 200 and reply.json()["segments"][0]["speaker"] == "speaker_1", reply.body
    dropped = "chunking_strategy, known_speaker_names, known_speaker_references, language"
    assert reply.headers["x-millrace-dropped-params"] == dropped
    sent = fields(upstream.requests[0])
    assert sent["diarize"] == ["true"] and sent["timestamp_granularities"] == ["segment"] and len(sent) == 4, sent
    strict = transcribe(gateway, clip(4), task="transcriptions?strict=true", **more)
    assert strict.status == 400 and len(upstream.requests) == 1, strict.body


def test_a_job_with_a_large_reference_keeps_its_name(gateway, upstream):
    upstream.reply(json_reply({"error": {"message": "no such language", "code": "x"}}, 400))
    reference = "data:audio/wav;base64," + base64.b64encode(silence(7)).decode()
    assert len(reference) > 290_000
    more = {**SPEAKERS, "known_speaker_references[]": [reference]}
    accepted = transcribe(gateway, clip(4), name="talk.wav", headers={"Prefer": "respond-async"}, model="team/speakers", **more)
    assert accepted.status == 202 and accepted.json()["name"] == "talk.wav", accepted.body
    job = accepted.json()["id"]
    assert gateway.client.wait_terminal(job)["name"] == "talk.wav"
    assert [each["id"] for each in gateway.client.get("/v1/jobs?q=talk.w").json()["items"]] == [job]
    again = gateway.client.post(f"/v1/jobs/{job}/retry", {}).json()["id"]
    assert gateway.client.get(f"/v1/jobs/{again}").json()["name"] == "talk.wav"


def test_four_references_of_the_largest_size_fit(gateway, upstream):
    upstream.reply(json_reply(DIARIZED))
    largest = "data:audio/mpeg;base64," + base64.b64encode(b"ID3\x04" + bytes(1_179_000)).decode()
    assert 1_570_000 < len(largest) <= 1536 * 1024
    names = ["a", "b", "c", "d"]
    more = {"response_format": "diarized_json", "known_speaker_names[]": names, "known_speaker_references[]": [largest] * 4}
    reply = transcribe(gateway, clip(4), model="team/speakers", **more)
    assert reply.status == 200, reply.body
    assert fields(upstream.requests[0])["known_speaker_references[]"] == [largest] * 4


def test_a_model_for_speakers_gets_no_prompt(gateway, upstream):
    upstream.reply(json_reply(DIARIZED))
    more = {"model": "team/speakers", "response_format": "diarized_json", "prompt": "Ada speaks"}
    reply = transcribe(gateway, clip(4), **more)
    assert reply.status == 200 and reply.headers["x-millrace-dropped-params"] == "prompt", reply.body
    assert "prompt" not in fields(upstream.requests[0])
    assert transcribe(gateway, clip(4), task="transcriptions?strict=true", **more).status == 400


@pytest.mark.parametrize("model", ["openai/whisper-1", "openai/gpt-4o-transcribe"])
def test_openais_models_without_speakers_are_known(tmp_path, model):
    gateway = Gateway(tmp_path / "openai", env={"OPENAI_API_KEY": KEY}).start()
    try:
        reply = transcribe(gateway, clip(4), model=model, response_format="diarized_json")
        assert reply.status == 422 and "does not tell speakers apart" in reply.json()["error"]["message"], reply.body
    finally:
        gateway.close()


@pytest.mark.parametrize("model", ["millrace/sphinx-en", "team/groq-whisper"])
def test_a_model_that_tells_no_speakers_apart_is_refused_with_one_that_does(gateway, upstream, model):
    reply = transcribe(gateway, clip(4), model=model, response_format="diarized_json")
    assert reply.status == 422 and reply.json()["detail"][0]["loc"] == ["body", "response_format"], reply.body
    assert "gpt-4o-transcribe-diarize" in reply.json()["error"]["message"] and not upstream.requests


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"known_speaker_references[]": []}, ["known_speaker_references"]),
        ({"known_speaker_references[]": ["data:audio/wav;base64," + base64.b64encode(silence(1)).decode()]}, ["known_speaker_references", "0"]),
        ({"known_speaker_names[]": ["a"] * 5}, ["known_speaker_names"]),
        ({"chunking_strategy": "none"}, ["chunking_strategy"]),
        ({"chunking_strategy[type]": "none"}, ["chunking_strategy", "type"]),
    ],
)
def test_wrong_parameters_for_speakers_are_refused_with_their_names(gateway, upstream, wrong, place):
    reply = transcribe(gateway, clip(4), model="team/speakers", **{**SPEAKERS, **wrong})
    assert reply.status == 422 and reply.json()["detail"][0]["loc"] == ["body", *place], reply.body
    assert not upstream.requests
