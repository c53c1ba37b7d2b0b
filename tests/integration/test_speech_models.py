"""Damaged, missing and too large speech models in a running gateway: what clients, the log and `millrace doctor` say."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from millrace import BUILD, Client, Gateway, eventually
from recordings import SAID, clip, errors, speech, submit, transcribe

ENGINE = next((folder for folder in (BUILD / "speech", BUILD.parent / "speech") if folder.exists()), None)
pytestmark = pytest.mark.skipif(ENGINE is None, reason="the speech engine is not fetched: scripts/setup run")
MOONSHINE, SPHINX = "millrace/moonshine-en", "millrace/sphinx-en"
UNUSABLE = f"the model '{MOONSHINE}' cannot be used on this worker; its log and `millrace doctor` show the reason"


@pytest.fixture
def engine(tmp_path):
    """A copy of the speech engine's folder: links, but its own tokens.txt."""
    copy = tmp_path / "speech"
    for folder in ("lib", "moonshine-en"):
        (copy / folder).mkdir(parents=True)
        for path in (ENGINE / folder).iterdir():
            (copy / folder / path.name).symlink_to(path.resolve())
    (copy / "version").write_bytes((ENGINE / "version").read_bytes())
    tokens = copy / "moonshine-en" / "tokens.txt"
    content = tokens.read_bytes()
    tokens.unlink()
    tokens.write_bytes(content)
    return copy


def doctor(data, *args):
    env = {key: value for key, value in os.environ.items() if not key.startswith("MILLRACE_")}
    command = [BUILD / "millrace", "doctor", "--data", data, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env).stdout


def text_of(gateway, model=SPHINX, **fields):
    reply = transcribe(gateway, clip(4), model=model, **fields)
    assert reply.status == 200, reply.body
    return reply.json()["text"]


def test_a_model_that_is_damaged_while_the_gateway_runs_is_named_in_the_log_and_by_doctor(engine, tmp_path):
    gateway = Gateway(tmp_path / "data", "--stt.engine", engine, "--stt.idle", "1s").start()
    try:
        tokens = engine / "moonshine-en" / "tokens.txt"
        whole = tokens.read_bytes()
        tokens.write_bytes(whole[:5000] + b"A" + whole[5001:] if whole[5000:5001] != b"A" else whole[:5000] + b"B" + whole[5001:])
        reply = transcribe(gateway, clip(4), model=MOONSHINE)
        assert reply.status == 500 and UNUSABLE in reply.json()["error"]["message"], reply.body
        gateway.wait_for_log(f"{tokens} is damaged: its SHA-256")
        found = doctor(tmp_path / "checked", "--stt.engine", engine)
        assert f"{tokens} is damaged: its SHA-256" in found and "run scripts/setup" in found, found
        assert text_of(gateway), "PocketSphinx answers"
        tokens.write_bytes(whole)
        assert errors(text_of(gateway, MOONSHINE), SAID[4]) <= 0.1, "it needs no restart"
    finally:
        gateway.close()


def test_without_the_folder_of_the_engine_the_small_model_is_the_default(tmp_path):
    nowhere = tmp_path / "nowhere"
    gateway = Gateway(tmp_path / "data", "--stt.engine", nowhere).start()
    try:
        gateway.wait_for_log(f"{nowhere}, does not exist: correct stt.engine")
        assert text_of(gateway, "whisper-1")
        assert MOONSHINE not in [model["id"] for model in gateway.client.get("/v1/models").json()["data"]]
    finally:
        gateway.close()


def test_too_little_memory_names_its_setting_instead_of_an_empty_text(tmp_path):
    gateway = Gateway(tmp_path / "data", "--stt.memory", "256MiB").start()
    try:
        reply = transcribe(gateway, clip(4), model=MOONSHINE)
        assert reply.status == 500 and reply.json()["error"]["code"] == "out_of_memory", reply.body
        assert "(256 MiB): raise stt.memory" in reply.json()["error"]["message"]
        assert text_of(gateway), "PocketSphinx answers"
    finally:
        gateway.close()


def test_two_tenants_at_once_get_their_own_texts_and_a_cancelled_job_frees_its_child(tmp_path):
    gateway = Gateway(tmp_path / "data", "--slots", "stt=1").start()
    try:
        cancelled = submit(gateway, speech(25), model=MOONSHINE)
        eventually(lambda: gateway.client.job(cancelled)["status"] == "running", what="the job runs")
        assert gateway.client.post(f"/v1/jobs/{cancelled}/cancel").status in (200, 202)
        made = gateway.client.post("/v1/admin/keys", {"name": "other", "tenant": "other", "scopes": ["audio"]})
        assert made.status == 200, made.body
        other = type("Holder", (), {"client": Client(gateway.url, made.json()["key"])})
        with ThreadPoolExecutor(2) as pool:
            mine = pool.submit(transcribe, gateway, clip(4), model=MOONSHINE)
            theirs = pool.submit(transcribe, other, clip(1), model=MOONSHINE)
        assert errors(mine.result().json()["text"], SAID[4]) <= 0.1, mine.result().body
        assert errors(theirs.result().json()["text"], SAID[1]) <= 0.15, theirs.result().body
        assert gateway.client.job(cancelled)["status"] == "cancelled"
    finally:
        gateway.close()
