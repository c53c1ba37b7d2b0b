"""Real PostgreSQL servers of scripts/postgres."""

import os
import subprocess
import tempfile

from millrace import ROOT

WITHIN_S = 120


class Postgres:
    """A server and perhaps a standby, with a folder of their own, which the user postgres can enter."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="millrace-postgres-")
        os.chmod(self.folder, 0o755)
        self.url = None

    def close(self):
        self._run("stop")
        self._run("wipe")

    def _run(self, command):
        done = subprocess.run(
            [ROOT / "scripts" / "postgres", command, "--dir", self.folder], capture_output=True, text=True, timeout=WITHIN_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def start(self):
        self.url = self._run("start")
        return self.url

    def standby(self):
        return self._run("standby")

    def promote(self):
        return self._run("promote")

    def stop(self):
        self._run("stop")

    def kill(self):
        self._run("kill")

    def query(self, sql):
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", self.url, "-c", sql]
        return subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=True).stdout.strip()
