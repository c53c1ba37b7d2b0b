"""Real PostgreSQL servers of scripts/postgres."""

import contextlib
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from millrace import ROOT, eventually

WITHIN_S = 120


class Postgres:
    """A server and perhaps a standby, with a folder of their own, which the user postgres can enter."""

    def __init__(self, listen="127.0.0.1"):
        self.folder = tempfile.mkdtemp(prefix="millrace-postgres-")
        os.chmod(self.folder, 0o755)
        self.url = None
        self._listen = listen
        self._paused = []  # process ids

    def close(self):
        self.resume()
        self._run("stop")
        self._run("wipe")

    def _run(self, command):
        script = [ROOT / "scripts" / "postgres", command, "--listen", self._listen, "--dir", self.folder]
        done = subprocess.run(script, capture_output=True, text=True, timeout=WITHIN_S)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def start(self):
        self.url = self._run("start")
        return self.url

    def standby(self):
        """Makes a synchronous standby; returns the URL that names both and finds the one that can be written."""
        standby = self._run("standby")
        return f"{self.url.rsplit('/', 1)[0]},{standby.split('@')[1]}?target_session_attrs=read-write"

    def promote(self):
        self.url = self._run("promote")
        return self.url

    def stop(self):
        self._run("stop")

    def kill(self):
        self._run("kill")

    def pause(self):
        """Stops the processes of the server: its host still answers, but it does not."""
        self._pause(self._server())

    def pause_standby(self):
        self._pause(self._standby())

    def resume(self):
        for pid in self._paused:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._paused = []

    def _pause(self, folder):
        parent = int((folder / "postmaster.pid").read_text().splitlines()[0])
        os.kill(parent, signal.SIGSTOP)  # no child is added from here on
        children = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, timeout=WITHIN_S, check=True).stdout
        self._paused = [parent, *map(int, children.split())]
        for pid in self._paused:
            os.kill(pid, signal.SIGSTOP)

    def detach_standby(self):
        """The standby runs, but gets nothing from the server any more."""
        standby = f"{self.url.rsplit(':', 1)[0]}:{self._standby().with_suffix('.port').read_text().strip()}/postgres"
        self.query("ALTER SYSTEM SET primary_conninfo = ''", standby)
        self.query("SELECT pg_reload_conf()", standby)
        eventually(lambda: self.query("SELECT count(*) FROM pg_stat_replication") == "0", what="the standby is detached")

    def waits_for_standby(self):
        """True while a COMMIT waits for the standby."""
        return self.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") != "0"

    def _server(self):
        return self._folder(is_server=True)

    def _standby(self):
        return self._folder(is_server=False)

    def _folder(self, is_server):
        promoted = Path(self.folder) / "primary"
        is_swapped = promoted.exists() and promoted.read_text().strip() == "standby"
        return Path(self.folder) / ("server" if is_server != is_swapped else "standby")

    def pid(self):
        """Of the server's first process."""
        return int((self._server() / "postmaster.pid").read_text().splitlines()[0])

    def query(self, sql, url=None):
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", url or self.url, "-c", sql]
        return subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=True).stdout.strip()
