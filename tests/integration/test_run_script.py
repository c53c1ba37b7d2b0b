"""scripts/run reports errors before it builds."""

import re
import shutil
import subprocess

import pytest
from millrace import BUILD, ROOT


@pytest.fixture
def clone(tmp_path):
    """A clone in which installing and building only touch a file, and the gateway prints its flags."""
    (tmp_path / "app" / "config").mkdir(parents=True)
    shutil.copy(ROOT / "app" / "config" / "settings_table.cpp", tmp_path / "app" / "config")
    release = tmp_path / "build" / "release"
    release.mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "run", tmp_path / "scripts")
    for program, body in (
        (tmp_path / "scripts" / "setup", 'touch "$(dirname "$0")/../set-up"'),
        (tmp_path / "scripts" / "build", 'touch "$(dirname "$0")/../built"'),
        (release / "millrace", 'printf "%s\\n" "$@"'),
    ):
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    return tmp_path


def run(clone, *flags):
    return subprocess.run(
        [clone / "scripts" / "run", *flags], capture_output=True, text=True, timeout=60, check=False
    )


def is_touched(clone):
    return (clone / "set-up").exists() or (clone / "built").exists()


@pytest.mark.parametrize(
    "flags, expected",
    [
        (["--bogus"], "there is no flag --bogus"),
        (["--bogus=1"], "there is no flag --bogus"),
        (["--listen", "127.0.0.1:0", "--lisetn", "x"], "there is no flag --lisetn"),
        (["9000"], "9000 is not a flag"),
        (["--"], "-- is not a flag"),
        (["--data"], "--data takes a value"),
    ],
)
def test_a_wrong_flag_is_named_before_anything_is_installed_or_built(clone, flags, expected):
    refused = run(clone, *flags)
    assert refused.returncode == 2 and expected in refused.stderr and "--listen" in refused.stderr
    assert not is_touched(clone)


@pytest.mark.parametrize("flags", [["-h"], ["--help"], ["--data", "x", "--help"]])
def test_help_builds_nothing(clone, flags):
    helped = run(clone, *flags)
    assert helped.returncode == 0 and helped.stdout.startswith("Usage: scripts/run")
    assert not is_touched(clone)


def test_every_flag_of_the_gateway_is_passed_on_to_it(clone):
    helped = subprocess.run([BUILD / "millrace", "serve", "--help"], capture_output=True, text=True, check=True)
    names = [name for name in re.findall(r"(?<![\w-])--[a-z][a-z_.-]*", helped.stdout) if name != "--help"]
    assert len(names) > 20
    flags = [part for name in names for part in (name, "a b")]
    started = run(clone, *flags, "--data=here")
    assert started.returncode == 0, started.stderr
    assert started.stdout.splitlines() == ["serve", *flags, "--data=here"]
    assert is_touched(clone)
