"""The job queues beside row 25: small programs in tests/bench/peers, whose libraries are fetched at their first use."""

import shutil
import subprocess
from pathlib import Path

from millrace import BUILD
from report import report_progress

SOURCES = Path(__file__).resolve().parent / "peers"
BUILD_WITHIN_S = 3600


def _built(name, program, *commands):
    """The path of the program, or None if it cannot be built here."""
    folder = BUILD / "peers" / name
    if (folder / program).exists():
        return folder / program
    shutil.copytree(SOURCES / name, folder, dirs_exist_ok=True)
    for command in commands:
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BUILD_WITHIN_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            report_progress(f"  {name} is left out: {problem}")
            return None
        if done.returncode != 0:
            report_progress(f"  {name} is left out: {' '.join(command)}: {done.stderr.strip()[-300:]}")
            return None
    return folder / program


def built():
    """name → program, which takes a URL, the number of jobs and that of workers."""
    programs = {
        "awa": _built("awa", "target/release/awa_drain", ["cargo", "build", "--release"]),
        "River": _built("river", "river_drain", ["go", "mod", "tidy"], ["go", "build", "-o", "river_drain", "."]),
    }
    return {name: program for name, program in programs.items() if program}
