"""Real S3 servers of scripts/s3."""

import subprocess

from millrace import ROOT

WITHIN_S = 300


class S3:
    """A server with a folder of its own."""

    def __init__(self, folder, listen="127.0.0.1"):
        self.folder = folder
        self.url = None
        self._listen = listen

    def _run(self, command):
        script = [ROOT / "scripts" / "s3", command, "--listen", self._listen, "--dir", self.folder]
        done = subprocess.run(script, capture_output=True, text=True, timeout=WITHIN_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def start(self):
        self.url = self._run("start")
        return self.url

    def stop(self):
        self._run("stop")

    def kill(self):
        self._run("kill")

    def flags(self, prefix="jobs"):
        """The settings of a gateway whose blobs are here."""
        return [
            *("--blobs.url", f"s3://millrace/{prefix}"),
            *("--blobs.endpoint", self.url),
            *("--blobs.access-key", f"file:{self.folder}/access-key"),
            *("--blobs.secret-key", f"file:{self.folder}/secret-key"),
        ]

    def objects(self, prefix="jobs"):
        """The keys of blobs below `prefix`."""
        top = self.folder / "data" / "millrace" / prefix
        return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file() and path.parent.name != ".owner"}
