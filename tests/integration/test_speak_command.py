"""`millrace speak` against a running gateway."""

import json
import os
import subprocess
import wave

import pytest
from commands import MILLRACE, cli, environment, on_terminal
from millrace import Gateway
from sounds import probed, seconds

TEXT = "The mill turns by day and by night."
CODECS = {"mp3": "mp3", "ogg": "opus", "opus": "opus", "aac": "aac", "flac": "flac", "wav": "pcm_s16le"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("speak") / "data").start()
    yield gateway
    gateway.close()


def piped(gateway, *arguments, text=""):
    command = [str(MILLRACE), "speak", *map(str, arguments)]
    return subprocess.run(command, input=text.encode(), capture_output=True, env=environment(gateway), timeout=60, check=False)


@pytest.mark.parametrize("ending", CODECS)
def test_the_ending_of_the_file_is_its_format(shared, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    done = cli(shared, "speak", TEXT, "-o", path)
    assert done.returncode == 0 and done.stdout == "" == done.stderr, done.stderr
    assert probed(path.read_bytes())["codec_name"] == CODECS[ending]


def test_a_wav_file_has_its_length_in_its_header(shared, tmp_path):
    path = tmp_path / "out.wav"
    assert cli(shared, "speak", TEXT, "-o", path).returncode == 0
    with wave.open(str(path)) as sound:
        assert sound.getnframes() * 2 + 44 <= path.stat().st_size + 2 and 1 < sound.getnframes() / sound.getframerate() < 6


def test_arguments_are_one_text_and_speed_and_voice_are_sent(shared, tmp_path):
    usual, fast = tmp_path / "usual.flac", tmp_path / "fast.flac"
    assert cli(shared, "speak", *TEXT.split(), "-o", usual).returncode == 0
    assert cli(shared, "speak", TEXT, "--voice", "onyx", "--speed", "3", "-o", fast).returncode == 0
    assert seconds(fast.read_bytes()) < seconds(usual.read_bytes()) / 1.5


def test_standard_input_is_spoken_to_standard_output(shared):
    for arguments in (["-"], []):
        done = piped(shared, *arguments, "--format", "flac", text=TEXT)
        assert done.returncode == 0 and probed(done.stdout)["codec_name"] == "flac", done.stderr
    assert probed(piped(shared, TEXT).stdout)["codec_name"] == "mp3"


def test_audio_is_not_written_to_a_terminal(shared):
    with on_terminal(shared, "speak", TEXT) as terminal:
        terminal.until("-o out.mp3")
        assert terminal.end()[1] == 2


@pytest.mark.parametrize(
    "arguments, code, expected",
    [
        (["a" * 4097, "-o", "x.mp3"], 2, "4097 characters; at most 4096"),
        ([TEXT, "-o", "x.m4a"], 2, "--format"),
        ([TEXT, "-o", "no/such/folder/x.mp3"], 1, "x.mp3"),
        ([TEXT, "--voice", "nobody", "-o", "x.mp3"], 13, "kal16"),
        ([TEXT, "--model", "millrace/flit", "-o", "x.mp3"], 11, "millrace/flite"),
        ([TEXT, "--speed", "9", "-o", "x.mp3"], 2, "--speed"),
    ],
)
def test_an_invalid_request_is_an_error_and_leaves_no_file(shared, tmp_path, arguments, code, expected):
    done = cli(shared, "speak", *arguments, cwd=tmp_path)
    assert done.returncode == code and expected in done.stderr, (done.returncode, done.stderr)
    assert os.listdir(tmp_path) == []


def test_json_names_the_file(shared, tmp_path):
    path = tmp_path / "out.mp3"
    output = json.loads(cli(shared, "speak", TEXT, "-o", path, "--json").stdout)
    assert output == {"path": str(path), "bytes": path.stat().st_size, "model": "millrace/flite"}
