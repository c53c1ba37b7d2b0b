"""Published clients from PyPI, installed once into the build folder, run as separate programs."""

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from millrace import BUILD


@contextlib.contextmanager
def one_at_a_time(folder):
    """A lock between test programs that run concurrently: the first one creates what they share."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def python_with(*requirements):
    """A Python with these packages, installed on first use."""
    name = hashlib.sha256(" ".join(requirements).encode()).hexdigest()[:12]
    folder = Path(BUILD).parent / "venv" / name
    with one_at_a_time(folder):
        done = folder / "complete"
        if not done.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, capture_output=True)
            install = [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
            result = subprocess.run(install, capture_output=True, text=True, check=False)
            assert result.returncode == 0, result.stderr
            done.touch()
    return folder / "bin" / "python"


def run_with(requirements, program, *arguments, timeout=180):
    """Runs the program text; returns its standard output. A failure shows its error output."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MILLRACE_", "PYTHON"))}
    command = [python_with(*requirements), "-c", program, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, env=environment)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return result.stdout
