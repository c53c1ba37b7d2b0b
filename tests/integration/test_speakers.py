"""Speakers of a recording, told apart by the local engine with real models (tests/support/speaker_models.py)."""

import base64
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from dialogues import PLAYER, READER, dialogue, right_share, sound_of
from millrace import BUILD, Gateway, eventually
from recordings import as_mp3, clip, silence, speech, submit, transcribe, wav
from sounds import decoded
from speaker_models import make_speaker_models

ENGINE = next((folder for folder in (BUILD / "speech", BUILD.parent / "speech") if folder.exists()), None)
pytestmark = pytest.mark.skipif(ENGINE is None, reason="the speech engine is not fetched: scripts/setup run")
MODEL = "millrace/moonshine-en"
RIGHT_AT_LEAST, RIGHT_ON_A_LINE = 0.9, 0.8
QUESTION, ANSWER = "Where did you leave the keys of the old mill this morning?", "They are on the table beside the window, under my hat."
SHORT = [("slt", QUESTION), ("rms", ANSWER), ("slt", "I looked there twice and found nothing at all."), ("rms", "Then the miller must have taken them with him.")]
LONG = [
    *SHORT,
    (READER, 0),
    ("slt", "That was read by somebody whom neither of us has ever met."),
    (PLAYER, 5),
    (READER, 3),
    ("rms", "He reads very well, and I would like to hear more of it."),
    ("slt", "The next chapter will be read to us on Monday evening."),
    (READER, 2),
    (PLAYER, 5),
    ("rms", "I shall be there in time, if the train is not late again."),
]


def models_folder():
    """The folder with the files; they are made once."""
    if folder := os.environ.get("MILLRACE_TEST_SPEAKERS"):
        return Path(folder)
    folder = BUILD.parent / "speakers"
    if not (folder / "embedding.onnx").exists():
        with tempfile.TemporaryDirectory(dir=BUILD.parent) as work:
            try:
                make_speaker_models(Path(work) / "made")
            except (OSError, subprocess.SubprocessError) as error:
                pytest.skip(f"the models for speakers cannot be fetched: {error}")
            folder.mkdir(exist_ok=True)
            for file in (Path(work) / "made").iterdir():  # embedding.onnx last
                file.replace(folder / file.name) if file.name != "embedding.onnx" else None
            (Path(work) / "made" / "embedding.onnx").replace(folder / "embedding.onnx")
    return folder


@pytest.fixture(scope="module")
def models():
    return models_folder()


def started(folder, segmentation, embedding, **settings):
    stt = {"speakers": {"segmentation": str(segmentation), "embedding": str(embedding)}, **settings}
    (folder / "millrace.yaml").write_text(json.dumps({"stt": stt}))
    return Gateway(folder / "data", "--config", folder / "millrace.yaml").start()


@pytest.fixture(scope="module")
def gateway(models, tmp_path_factory):
    gateway = started(tmp_path_factory.mktemp("speakers"), models / "segmentation.onnx", models / "embedding.onnx", range_pieces=1)
    yield gateway
    gateway.close()


@pytest.fixture(scope="module")
def short(gateway):
    return dialogue(gateway, SHORT)


@pytest.fixture(scope="module")
def long(gateway):
    return dialogue(gateway, LONG)


def diarized(gateway, sound, **fields):
    reply = transcribe(gateway, sound, **{"model": MODEL, "response_format": "diarized_json", **fields})
    assert reply.status == 200, reply.body
    return reply.json()


def speakers(answer):
    return {segment["speaker"] for segment in answer["segments"]}


def data_uri(sound, kind="wav"):
    return f"data:audio/{kind};base64,{base64.b64encode(sound).decode()}"


def test_two_speakers_of_one_piece(gateway, short):
    sound, turns = short
    answer = diarized(gateway, sound)
    assert speakers(answer) == {"A", "B"}, answer["segments"]
    assert answer["segments"][0]["speaker"] == "A" and answer["segments"][0]["type"] == "transcript.text.segment"
    assert right_share(answer["segments"], turns) >= RIGHT_AT_LEAST, answer["segments"]
    assert "keys of the old mill" in answer["text"].lower()


def test_labels_are_the_same_in_all_ranges(gateway, long):
    sound, turns = long
    job = submit(gateway, sound, model=MODEL, response_format="diarized_json")
    assert gateway.client.wait_terminal(job, within_s=180)["status"] == "succeeded"
    assert gateway.client.job(job)["progress"]["total"] > 2
    answer = gateway.client.get(f"/v1/jobs/{job}/result").json()
    assert speakers(answer) == {"A", "B", "C", "D"}, answer["segments"]
    assert right_share(answer["segments"], turns) >= RIGHT_AT_LEAST, answer["segments"]
    assert "A: " in gateway.client.get(f"/v1/jobs/{job}/result?format=srt").body.decode()


def test_voices_on_a_telephone_line(gateway, long):
    sound, turns = long
    line = ["-af", "highpass=300,lowpass=3400", "-ar", "8000", "-c:a", "libgsm_ms", "-f", "wav"]
    encode = ["ffmpeg", "-v", "error", "-i", "-", *line, "-"]
    gsm = subprocess.run(encode, input=sound, capture_output=True, timeout=60, check=True).stdout
    answer = diarized(gateway, wav(decoded(gsm)), model="millrace/sphinx-en")
    assert right_share(answer["segments"], turns) >= RIGHT_ON_A_LINE, answer["segments"]


def test_a_stream_ends_with_the_speakers(gateway, short):
    sound, turns = short
    reply = transcribe(gateway, sound, model=MODEL, response_format="diarized_json", stream="true")
    events = [json.loads(line[6:]) for line in reply.body.decode().splitlines() if line.startswith("data: ")]
    kinds = [event["type"].removeprefix("transcript.text.") for event in events]
    segments = [event for event in events if event["type"] == "transcript.text.segment"]
    assert kinds == ["delta"] * len(segments) + ["segment"] * len(segments) + ["done"]
    assert right_share(segments, turns) >= RIGHT_AT_LEAST, segments
    assert "".join(event["delta"] for event in events if "delta" in event) == events[-1]["text"]


def test_known_speakers_have_their_names(gateway, long):
    sound, turns = long
    references = {"Ann": sound_of(gateway, "slt", ANSWER), "the reader": sound_of(gateway, READER, 0)}
    uris = [data_uri(wav(references["Ann"])), data_uri(as_mp3(wav(references["the reader"])), "mp3")]
    answer = diarized(gateway, sound, **{"known_speaker_names[]": list(references), "known_speaker_references[]": uris})
    assert speakers(answer) == {"Ann", "the reader", "A", "B"}, answer["segments"]
    names = {"slt": "Ann", READER: "the reader", "rms": "A", PLAYER: "B"}
    assert right_share(answer["segments"], turns, names) >= RIGHT_AT_LEAST, answer["segments"]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: data_uri(silence(3)), "there is no speech in it"),
        (lambda: data_uri(as_mp3(silence(12)), "mp3"), "a speaker's recording should be 2 to 10 seconds long"),
        (lambda: data_uri(clip(1)[:70_000]), "is cut off"),
        (lambda: data_uri(b"fLaC" + bytes(90_000), "flac"), "known_speaker_references[0] cannot be used"),
    ],
)
def test_a_reference_that_cannot_be_used_is_an_error_that_names_it(gateway, make, why):
    fields = {"known_speaker_names[]": "Ann", "known_speaker_references[]": make()}
    reply = transcribe(gateway, clip(4), model=MODEL, response_format="diarized_json", **fields)
    assert reply.status == 422, reply.body
    assert "known_speaker_references" in reply.body.decode() and why in reply.body.decode(), reply.body


def test_pocketsphinx_has_speakers_too(gateway, short):
    sound, turns = short
    answer = diarized(gateway, sound, model="millrace/sphinx-en")
    assert speakers(answer) == {"A", "B"}
    assert right_share(answer["segments"], turns) >= RIGHT_AT_LEAST, answer["segments"]


def test_silence_has_no_speakers_and_other_formats_have_none(gateway, short):
    assert diarized(gateway, silence(4))["segments"] == []
    verbose = transcribe(gateway, short[0], model=MODEL, response_format="verbose_json").json()
    assert all("speaker" not in segment for segment in verbose["segments"])


def test_the_files_are_pulled_and_the_printed_setting_is_valid(models, tmp_path):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(models))

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        files = [
            {
                "name": name,
                "url": f"http://127.0.0.1:{server.server_port}/{name}",
                "size": (models / name).stat().st_size,
                "sha256": hashlib.sha256((models / name).read_bytes()).hexdigest(),
            }
            for name in ("segmentation.onnx", "embedding.onnx")
        ]
        row = {"name": "voices", "family": "speakers", "licence": "MIT", "files": files}
        (tmp_path / "catalogue.json").write_text(json.dumps({"models": [row]}))
        command = [BUILD / "millrace", "models", "pull", "voices", "--catalogue", tmp_path / "catalogue.json", "--to", tmp_path / "voices"]
        pulled = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        server.shutdown()
    assert pulled.returncode == 0, pulled.stderr
    (tmp_path / "millrace.yaml").write_text(pulled.stdout)
    command = [BUILD / "millrace", "config", "check", "--config", tmp_path / "millrace.yaml"]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0 and str(tmp_path / "voices" / "embedding.onnx") in checked.stdout, checked.stdout + checked.stderr
    (tmp_path / "voices" / "embedding.onnx").unlink()
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "embedding.onnx is missing" in checked.stdout + checked.stderr


def test_the_doctor_tries_the_models(gateway):
    command = [BUILD / "millrace", "doctor", "--config", gateway.data.parent / "millrace.yaml", "--data", gateway.data.parent / "other"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "the voice of a sentence found by stt.speakers" in done.stdout, done.stdout + done.stderr


def test_damaged_models_are_named_in_the_log_and_leave_other_requests_alone(models, tmp_path):
    segmentation, embedding = tmp_path / "segmentation.onnx", tmp_path / "embedding.onnx"
    shutil.copy(models / "segmentation.onnx", segmentation)
    content = (models / "embedding.onnx").read_bytes()
    embedding.write_bytes(content.replace(b"BatchNormalization", b"NothingOfThisKind!"))
    gateway = started(tmp_path, segmentation, embedding)
    try:

        def refused(why):
            reply = transcribe(gateway, clip(4), model=MODEL, response_format="diarized_json")
            assert reply.status == 500, reply.body
            assert "speakers cannot be told apart on this worker" in reply.body.decode()
            gateway.wait_for_log(why)

        refused("the models of stt.speakers cannot be loaded")
        assert transcribe(gateway, clip(4), model=MODEL).status == 200
        embedding.write_bytes(content[:1_000_000])
        refused("embedding.onnx is cut off")
        embedding.unlink()
        refused("embedding.onnx is missing")
        embedding.write_bytes(content)
        assert speakers(diarized(gateway, clip(4))) == {"A"}
    finally:
        gateway.close()


def test_a_model_that_gives_no_numbers_leaves_the_text(models, tmp_path):
    content = (models / "embedding.onnx").read_bytes()
    operator, undefined = b"\x22\x04Sqrt", b"\x22\x04Acos"  # of more than 1, it is not a number
    assert content.count(operator) == 1
    (tmp_path / "embedding.onnx").write_bytes(content.replace(operator, undefined))
    gateway = started(tmp_path, models / "segmentation.onnx", tmp_path / "embedding.onnx")
    try:
        answer = diarized(gateway, clip(4))
        assert len(answer["text"]) > 10 and speakers(answer) == {""}, answer
        fields = {"known_speaker_names[]": "Ann", "known_speaker_references[]": data_uri(clip(4))}
        reply = transcribe(gateway, clip(4), model=MODEL, response_format="diarized_json", **fields)
        assert reply.status == 422 and "[0] cannot be used: no voice can be found in it" in reply.body.decode(), reply.body
    finally:
        gateway.close()


def test_too_little_memory_for_the_voices_leaves_the_text(models, tmp_path):
    gateway = started(tmp_path, models / "segmentation.onnx", models / "embedding.onnx", memory="256MiB")
    try:
        answer = diarized(gateway, speech(50), model="millrace/sphinx-en")
        assert len(answer["text"]) > 5 and speakers(answer) == {""}, answer
        gateway.wait_for_log("speech_voices_not_found")
        gateway.wait_for_log("raise stt.memory")
    finally:
        gateway.close()


def test_finished_pieces_survive_a_kill_with_their_voices(models, tmp_path):
    gateway = started(tmp_path, models / "segmentation.onnx", models / "embedding.onnx")
    try:
        sound, turns = dialogue(gateway, LONG)
        job = submit(gateway, sound, model=MODEL, response_format="diarized_json")
        eventually(lambda: gateway.client.job(job).get("progress", {}).get("done", 0) >= 1, within_s=120)
        gateway.kill()
        gateway.start()
        assert gateway.client.wait_terminal(job, within_s=180)["status"] == "succeeded"
        answer = gateway.client.get(f"/v1/jobs/{job}/result").json()
        assert right_share(answer["segments"], turns) >= RIGHT_AT_LEAST, answer["segments"]
    finally:
        gateway.close()
