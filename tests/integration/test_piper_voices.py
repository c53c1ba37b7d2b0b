"""Voices of the setting speech.models: spoken by sherpa-onnx in the engine's processes."""

import json
import os
import subprocess

import pytest
from millrace import BUILD, Gateway
from piper_voice import heard, make_voice
from recordings import clip, errors, transcribe
from sounds import probed

ENGINE = next((folder for folder in (BUILD / "speech", BUILD.parent / "speech") if folder.exists()), None)
pytestmark = pytest.mark.skipif(ENGINE is None, reason="the speech engine is not fetched: scripts/setup run")
SPEECH = "/v1/audio/speech"
LEXICON = "# German\nmühle || m yː l ə\nguten morgen || ɡ uː t n m ɔ ɹ ɡ ə n\ndie d iː\n"
# A folder with a real voice of Piper, converted as docs/audio.md shows; its test is skipped without one.
REAL_VOICE = os.environ.get("MILLRACE_TEST_VOICE", "")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    folder = tmp_path_factory.mktemp("voices")
    make_voice(folder / "small", n_speakers="3")
    make_voice(folder / "german", lexicon=LEXICON, language="German")
    (make_voice(folder / "damaged") / "tokens.txt").write_text("no tokens\n")
    broken = make_voice(folder / "broken") / "voice.onnx"
    broken.write_bytes(broken.read_bytes().replace(b"Reshape", b"Nothing"))
    rows = [
        {"name": "small", "path": f"{folder}/small"},
        {"name": "german", "path": f"{folder}/german", "languages": ["de"]},
        {"name": "damaged", "path": f"{folder}/damaged"},
        {"name": "broken", "path": f"{folder}/broken"},
        {"name": "gone", "path": f"{folder}/gone"},
    ]
    if REAL_VOICE:
        rows.append({"name": "real", "path": REAL_VOICE})
    (folder / "millrace.yaml").write_text(json.dumps({"speech": {"models": rows}}))
    started = Gateway(folder / "data", "--config", folder / "millrace.yaml").start()
    yield started
    started.close()


def speak(gateway, text, model="small", voice="alloy", form="pcm", **more):
    body = {"model": model, "input": text, "voice": voice, "response_format": form, **more}
    return gateway.client.post(SPEECH, body)


def said(gateway, text, **more):
    reply = speak(gateway, text, **more)
    assert reply.status == 200, reply.body[:300]
    return heard(reply.body)


def error(reply, status):
    assert reply.status == status, (reply.status, reply.body[:300])
    answer = reply.json()
    return json.dumps(answer)


def test_english_needs_no_lexicon_and_numbers_are_words(gateway):
    assert said(gateway, "The mill turns. Is it 42?") == ["ðə mˈɪl tˈɜːnz.", "ɪz ˈɪt fˈɔːɹti tˈuː?"]


def test_every_format_is_what_it_says(gateway):
    reply = speak(gateway, "Hello.", form="mp3")
    assert reply.headers["x-millrace-model"] == "small"
    assert probed(reply.body)["codec_name"] == "mp3"


def test_words_come_from_the_lexicon_whatever_their_case(gateway):
    assert said(gateway, "Guten Morgen, die MÜHLE!", model="german") == ["ɡuːtnmɔɹɡən, diː myːlə!"]


def test_words_that_the_lexicon_lacks_are_named_and_nothing_is_spoken(gateway):
    answer = error(speak(gateway, "Die Mühle dreht 3 Räder.", model="german"), 422)
    assert "3, dreht, r" in answer and "lexicon.txt" in answer


def test_a_speaker_is_chosen_by_its_number(gateway):
    loud = speak(gateway, "Hello.", voice="2")
    assert heard(loud.body, speaker=2) == said(gateway, "Hello.", voice="default")
    assert "default, 0 to 2" in error(speak(gateway, "Hello.", voice="3"), 422)
    assert "default, 0;" in error(speak(gateway, "Hello.", model="german", voice="slt"), 422)


def test_models_have_their_languages_and_speak(gateway):
    models = {model["id"]: model for model in gateway.client.get("/v1/models").json()["data"]}
    assert models["german"]["languages"] == ["de"] and models["german"]["provider"] == "millrace"
    assert models["small"]["capabilities"]["speech"] and not models["small"]["capabilities"]["transcription"]
    assert gateway.client.get("/v1/models/small").json()["id"] == "small"
    assert "german" in error(speak(gateway, "Hello.", model="germann"), 404)


def test_a_voice_does_not_transcribe(gateway):
    assert "does not transcribe recordings" in error(transcribe(gateway, clip(4), model="small"), 400)


def test_a_key_uses_it_only_if_its_list_has_it(gateway):
    made = gateway.client.post("/v1/admin/keys", {"name": "one-voice", "scopes": ["audio"], "models": ["german"]}).json()
    client = type(gateway.client)(gateway.url, made["key"])
    holder = type("Holder", (), {"client": client})
    assert speak(holder, "Die Mühle.", model="german").status == 200
    assert speak(holder, "Hello.", model="small").status == 403
    assert speak(holder, "Hello.", model="millrace/flite").status == 403


def test_a_voice_that_cannot_be_used_is_an_error_and_the_log_says_why(gateway):
    faults = {"gone": "gone cannot be read", "damaged": "line 1 is not a token", "broken": "its model is damaged"}
    for model, why in faults.items():
        answer = error(speak(gateway, "Hello.", model=model), 500)
        assert f"the model '{model}' cannot be used on this gateway" in answer
        gateway.wait_for_log(why)
    assert said(gateway, "Hello.")


def test_a_text_of_no_words_is_refused(gateway):
    assert "no text that the voice can speak" in error(speak(gateway, "..."), 422)


@pytest.mark.skipif(not REAL_VOICE, reason="MILLRACE_TEST_VOICE names no voice")
def test_a_real_voice_is_understood(gateway):
    text = "The old house stood at the end of a narrow road, and nobody had lived in it for many years."
    wav = speak(gateway, text, model="real", form="flac").body
    reply = transcribe(gateway, wav, model="millrace/moonshine-en")
    assert errors(reply.json()["text"], text) <= 0.15, reply.body


def test_a_configuration_with_mistakes_names_them(tmp_path):
    voice = make_voice(tmp_path / "voice")
    (tmp_path / "m.yaml").write_text(f"speech:\n  models:\n  - {{name: tts-1, path: {voice}}}\n  - {{name: b, path: voices}}\n")
    command = [BUILD / "millrace", "config", "check", "--config", tmp_path / "m.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert 'm.yaml:3: speech.models.name: "tts-1" is another name of the default local model' in done.stderr + done.stdout
    assert 'm.yaml:4: speech.models.path: "voices" does not begin with /' in done.stderr + done.stdout
