"""A model of the setting stt.models: pulled from a server on this machine, configured, and requested by clients."""

import hashlib
import http.server
import json
import os
import subprocess
import threading

import pytest
from millrace import BUILD, Gateway
from recordings import SAID, clip, errors, transcribe

ENGINE = next((folder for folder in (BUILD / "speech", BUILD.parent / "speech") if folder.exists()), None)
pytestmark = pytest.mark.skipif(ENGINE is None, reason="the speech engine is not fetched: scripts/setup run")
NAME = "dictation-en"
WRONG_AT_MOST = 0.1


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("MILLRACE_")}


@pytest.fixture(scope="module")
def pulled(tmp_path_factory):
    """The rows of millrace.yaml after a pull of the Moonshine model."""
    folder = tmp_path_factory.mktemp("pulled")
    model = ENGINE / "moonshine-en"

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(model))

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        files = [
            {
                "name": path.name,
                "url": f"http://127.0.0.1:{server.server_port}/{path.name}",
                "size": path.stat().st_size,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for path in sorted(model.iterdir())
        ]
        row = {"name": NAME, "family": "moonshine", "languages": ["en"], "licence": "MIT", "files": files}
        (folder / "catalogue.json").write_text(json.dumps({"models": [row]}))
        command = [BUILD / "millrace", "models", "pull", NAME, "--catalogue", folder / "catalogue.json", "--to", folder / NAME]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment())
        server.shutdown()
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def gateway(pulled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("configured")
    whisper = "  - {name: far-away, family: whisper, path: /nonexistent/whisper, languages: [de, fr]}\n"
    (folder / "millrace.yaml").write_text(pulled + whisper)
    started = Gateway(folder / "data", "--config", folder / "millrace.yaml").start()
    yield started
    started.close()


def test_a_pulled_model_transcribes(gateway):
    reply = transcribe(gateway, clip(4), model=NAME, language="en-GB")
    assert reply.status == 200, reply.body
    assert errors(reply.json()["text"], SAID[4]) <= WRONG_AT_MOST, reply.body
    job = gateway.client.get("/v1/jobs").json()["items"][0]
    assert job["model"] == NAME


def test_it_is_listed_with_its_languages(gateway):
    models = {model["id"]: model for model in gateway.client.get("/v1/models").json()["data"]}
    assert models[NAME]["languages"] == ["en"] and models[NAME]["provider"] == "millrace"
    assert models["far-away"]["languages"] == ["de", "fr"]


def test_another_language_names_the_models_that_know_it(gateway):
    reply = transcribe(gateway, clip(4), model=NAME, language="fr")
    assert reply.status == 422
    assert "for French (fr) use model 'far-away'" in reply.json()["error"]["message"], reply.body


def test_a_key_uses_it_only_if_its_list_has_it(gateway):
    made = gateway.client.post("/v1/admin/keys", {"name": "one-model", "scopes": ["audio"], "models": [NAME]})
    assert made.status == 200, made.body
    made = made.json()
    client = type(gateway.client)(gateway.url, made["key"])
    holder = type("Holder", (), {"client": client})
    assert transcribe(holder, clip(4), model=NAME).status == 200
    assert transcribe(holder, clip(4), model="millrace/sphinx-en").status == 403
    assert "far-away" not in transcribe(holder, clip(4), model=NAME, language="fr").body.decode()


def test_a_model_whose_files_are_missing_fails_its_jobs(gateway):
    reply = transcribe(gateway, clip(4), model="far-away", language="de")
    assert reply.status == 500 and "/nonexistent" not in reply.body.decode(), (reply.status, reply.body)
    assert "the model 'far-away' cannot be used on this worker" in reply.json()["error"]["message"]
    gateway.wait_for_log("/nonexistent/whisper cannot be read")
    assert transcribe(gateway, clip(4), model=NAME).status == 200


def test_the_command_uses_the_first_local_model_of_the_list(gateway, tmp_path):
    (tmp_path / "said.wav").write_bytes(clip(4))
    listed = [m["id"] for m in gateway.client.get("/v1/models").json()["data"] if m["capabilities"]["transcription"]]
    env = {**environment(), "MILLRACE_URL": gateway.url, "MILLRACE_API_KEY": gateway.client.key}
    done = subprocess.run(
        [BUILD / "millrace", "transcribe", tmp_path / "said.wav"], capture_output=True, text=True, timeout=120, check=False, env=env
    )
    assert done.returncode == 0, done.stderr
    assert gateway.client.get("/v1/jobs").json()["items"][0]["model"] == listed[0] == "millrace/moonshine-en"
