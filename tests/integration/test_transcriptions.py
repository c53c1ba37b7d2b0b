"""Recordings through the local engine: every format, long ones in pieces, with the API and with the command."""

import json
import re
import subprocess

import pytest
from commands import MILLRACE, cli, environment
from millrace import Gateway, Worker, eventually
from recordings import SAID, as_mp3, clip, errors, silence, speech, submit, transcribe
from silent_gateway import SilentGateway

# The engine is for demonstration: on these clips about one word in four is wrong.
WRONG_AT_MOST = 0.5


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("gateway") / "data", "--stt.range-pieces", "1").start()
    yield gateway
    gateway.close()


def test_json_has_the_text_its_language_and_its_length(shared):
    reply = transcribe(shared, clip(4))
    assert reply.status == 200, reply.body
    body = reply.json()
    assert errors(body["text"], SAID[4]) <= WRONG_AT_MOST, body
    assert body["language"] == "english" and body["duration"] == pytest.approx(3.29, abs=0.1)
    assert body["usage"]["type"] == "duration" and body["usage"]["seconds"] == pytest.approx(3.29, abs=1)


def test_text_srt_and_vtt_are_plain_text(shared):
    bodies = {}
    for form in ("text", "srt", "vtt"):
        reply = transcribe(shared, clip(4), response_format=form)
        assert reply.status == 200 and reply.headers["content-type"].startswith("text/plain"), reply.headers
        bodies[form] = reply.body.decode()
    assert errors(bodies["text"], SAID[4]) <= WRONG_AT_MOST
    assert re.match(r"1\n00:00:00,\d{3} --> 00:00:0\d,\d{3}\n\S", bodies["srt"])
    assert re.match(r"WEBVTT\n\n(1\n)?00:00:00\.\d{3} --> 00:00:0\d\.\d{3}\n\S", bodies["vtt"])


def test_a_result_is_read_in_any_format_and_keeps_the_requested_one(shared):
    job = submit(shared, clip(4), response_format="text")
    ended = shared.client.wait_terminal(job, within_s=120)
    assert ended["status"] == "succeeded", ended
    path = f"/v1/jobs/{job}/result"
    text = shared.client.get(path)
    assert text.headers["content-type"].startswith("text/plain")
    verbose = shared.client.get(path + "?format=verbose_json").json()
    assert verbose["text"] + "\n" == text.body.decode() and verbose["segments"][-1]["end"] <= verbose["duration"] + 0.1
    assert shared.client.get(path + "?format=vtt").body.startswith(b"WEBVTT\n\n")
    assert shared.client.get(path + "?format=json").json()["duration"] == verbose["duration"]
    assert shared.client.get(path + "?format=words").status == 422
    assert shared.client.get(path).body == text.body


def test_verbose_json_has_segments_and_the_requested_words(shared):
    fields = {"response_format": "verbose_json", "timestamp_granularities[]": ["segment", "word"]}
    body = transcribe(shared, clip(4), **fields).json()
    assert body["task"] == "transcribe" and body["language"] == "english"
    names = {"id", "seek", "start", "end", "text", "tokens", "temperature", "avg_logprob", "compression_ratio", "no_speech_prob"}
    assert body["segments"] and all(set(each) == names for each in body["segments"])
    assert len(body["words"]) == len(body["text"].split())
    times = [word[end] for word in body["words"] for end in ("start", "end")]
    assert times == sorted(times) and times[-1] <= body["duration"] + 0.1


def test_english_is_its_own_translation(shared):
    body = transcribe(shared, clip(4), task="translations", response_format="verbose_json").json()
    assert body["task"] == "translate" and body["language"] == "english"
    assert errors(body["text"], SAID[4]) <= WRONG_AT_MOST


def test_silence_has_an_empty_transcript(shared):
    body = transcribe(shared, silence(3)).json()
    assert body["text"] == "" and body["duration"] == pytest.approx(3, abs=0.1)


def test_a_long_recording_is_transcribed_in_pieces_that_can_be_read_while_it_runs(shared):
    job = submit(shared, as_mp3(speech(150)), response_format="verbose_json")
    path = f"/v1/jobs/{job}"
    eventually(lambda: shared.client.job(job).get("progress", {}).get("done", 0) >= 1, within_s=120)
    partial = shared.client.get(path + "/result?partial=true")
    assert partial.status == 200 and partial.json()["text"]
    ended = shared.client.wait_terminal(job, within_s=240)
    assert ended["status"] == "succeeded" and ended["kind"] == "stt", ended
    total = ended["progress"]["total"]
    assert total >= 3 and ended["progress"]["done"] == total
    body = shared.client.get(path + "/result").json()
    assert len(body["text"]) >= len(partial.json()["text"])
    starts = [segment["start"] for segment in body["segments"]]
    assert starts == sorted(starts) and starts[-1] > 100 and body["duration"] == pytest.approx(150, abs=1)
    text = shared.client.get(path + "/events?limit=200").json()["items"]
    assert sorted(e["data"]["index"] for e in text if e["type"] == "piece") == list(range(total))


def test_a_recording_above_the_bound_names_it(tmp_path):
    gateway = Gateway(tmp_path / "data", "--stt.duration-max", "2s").start()
    try:
        reply = transcribe(gateway, clip(4))
        assert reply.status == 422 and reply.json()["error"]["code"] == "audio_too_long", reply.body
        assert "stt.duration_max" in reply.json()["error"]["message"]
    finally:
        gateway.close()


def test_a_worker_of_kind_stt_alone_transcribes_what_an_api_accepts(tmp_path):
    gateway = Gateway(tmp_path / "data", role="api").start()
    worker = Worker(tmp_path / "data", kinds="stt").start()
    try:
        assert errors(transcribe(gateway, clip(4)).json()["text"], SAID[4]) <= WRONG_AT_MOST
    finally:
        worker.close()
        gateway.close()


def test_the_model_is_listed(shared):
    models = {model["id"]: model for model in shared.client.get("/v1/models").json()["data"]}
    assert models["millrace/sphinx-en"]["capabilities"]["audio"] is True
    assert shared.client.get("/v1/models/millrace/sphinx-en").json()["object"] == "model"


def test_the_command_writes_one_recording_to_standard_output(shared, tmp_path):
    (tmp_path / "said.wav").write_bytes(clip(4))
    done = cli(shared, "transcribe", tmp_path / "said.wav")
    assert done.returncode == 0, done.stderr
    assert errors(done.stdout, SAID[4]) <= WRONG_AT_MOST and done.stdout.endswith("\n")
    row = json.loads(cli(shared, "transcribe", tmp_path / "said.wav", "--json").stdout)
    assert row["status"] == "succeeded" and row["text"] == done.stdout and row["pieces"] >= 1


def key_for_audio(gateway):
    made = gateway.client.post("/v1/admin/keys", {"name": "audio", "scopes": ["audio", "jobs:read"]})
    assert made.status == 200, made.body
    return made.json()["key"]


@pytest.mark.parametrize(("engine", "model"), [([], "millrace/moonshine-en"), (["--stt.engine", "none"], "millrace/sphinx-en")])
def test_the_command_needs_no_list_of_models(tmp_path, engine, model):
    (tmp_path / "said.wav").write_bytes(clip(4))
    gateway = Gateway(tmp_path / "data", *engine).start()
    try:
        done = cli(gateway, "transcribe", tmp_path / "said.wav", env={"MILLRACE_API_KEY": key_for_audio(gateway)})
        assert done.returncode == 0, done.stderr
        assert gateway.client.get("/v1/jobs").json()["items"][0]["model"] == model
    finally:
        gateway.close()


def test_the_command_asks_a_busy_gateway_again_for_its_models(tmp_path):
    (tmp_path / "said.wav").write_bytes(clip(4))
    gateway = SilentGateway()
    command = [str(MILLRACE), "transcribe", str(tmp_path / "said.wav")]
    try:
        with subprocess.Popen(command, env=environment(gateway), stderr=subprocess.PIPE) as run:
            for status in (503, 429, 401):
                line, connection = gateway.next_request()
                assert line.startswith("GET /v1/models "), line
                gateway.answer(connection, status, '{"error": {"message": "no", "code": "x"}}', Content_Type="application/json")
            assert run.wait(60) == 10, run.stderr.read()
    finally:
        gateway.close()


def test_the_command_fills_a_folder_and_skips_what_is_done(shared, tmp_path):
    talks, out = tmp_path / "talks", tmp_path / "out"
    (talks / "more").mkdir(parents=True)
    (talks / "a.wav").write_bytes(clip(4))
    (talks / "more" / "b.mp3").write_bytes(as_mp3(clip(1)))
    (talks / "broken.ogg").write_bytes(b"OggS nothing of the kind")
    (talks / "notes.txt").write_text("none")
    first = cli(shared, "transcribe", talks, "-o", out, "--format", "srt")
    assert first.returncode == 1 and "broken.ogg" in first.stderr, first.stderr
    assert (out / "a.srt").read_text().startswith("1\n00:00:0") and (out / "more" / "b.srt").exists()
    assert "2 transcribed, 1 failed" in first.stderr
    second = cli(shared, "transcribe", talks, "-o", out, "--format", "srt")
    assert second.returncode == 1 and "2 of 3 recordings were transcribed before" in second.stderr
    third = cli(shared, "transcribe", talks / "a.wav", "-o", out, "--format", "text")
    assert third.returncode == 0 and (out / "a.txt").exists(), third.stderr
    (out / "a.srt").write_text("edited by hand")
    fourth = cli(shared, "transcribe", talks / "a.wav", "-o", out, "--format", "srt")
    assert fourth.returncode == 0 and "It was transcribed before" in fourth.stderr, fourth.stderr
    assert (out / "a.srt").read_text() == "edited by hand"


def test_the_command_refuses_what_the_gateway_would(shared, tmp_path):
    with open(tmp_path / "large.wav", "wb") as file:
        file.truncate((25 << 20) + 1)
    done = cli(shared, "transcribe", tmp_path / "large.wav")
    assert done.returncode == 1 and "audio_too_large" in done.stderr
    assert cli(shared, "transcribe", tmp_path / "missing.wav").returncode == 2
