"""systemd-analyze checks the unit of the Debian package; systemd need not run."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = ROOT / "packaging" / "millrace.service"
EXPOSURE_TENTHS = 35  # of 100; a service without any hardening has 96

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def root(tmp_path):
    """A root with the unit, the programs that it starts and the targets that it names."""
    units = tmp_path / "usr/lib/systemd/system"
    units.mkdir(parents=True)
    for name in ("network-online", "sysinit", "basic", "shutdown", "multi-user"):
        (units / f"{name}.target").write_text("[Unit]\nDescription=stands in\n")
    shutil.copy(UNIT, units)
    for program in ("usr/bin/millrace", "bin/sh"):
        (tmp_path / program).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy("/bin/true", tmp_path / program)
    return tmp_path


def verified(root):
    ran = analyze(f"--root={root}", "--man=no", "verify", UNIT.name)
    return ran.returncode == 0 and not ran.stdout + ran.stderr, ran.stdout + ran.stderr


def test_systemd_finds_no_fault_in_the_unit(root):
    assert verified(root) == (True, "")


def test_a_fault_would_be_found(root):
    unit = root / "usr/lib/systemd/system" / UNIT.name
    unit.write_text(unit.read_text().replace("ProtectSystem=", "ProtectSytem="))
    assert not verified(root)[0]


def test_the_unit_is_exposed_as_little_as_its_jails_allow():
    ran = analyze("security", "--offline=true", f"--threshold={EXPOSURE_TENTHS}", UNIT)
    assert ran.returncode == 0, ran.stdout[-200:]
