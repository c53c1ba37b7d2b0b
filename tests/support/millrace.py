"""Millrace processes for tests: they can be started, killed and called over HTTP. Standard library only."""

import http.client
import json
import os
import select
import signal
import socket
import struct
import subprocess
import time
import urllib.parse
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MILLRACE_BUILD", ROOT / "build" / "dev"))
READY_WITHIN_S = 30
TERMINAL = {"succeeded", "failed", "cancelled", "expired"}


@dataclass
class Reply:
    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


@dataclass
class Process:
    """One `millrace` process. Its log goes to a file next to its data."""

    command: list
    log: Path
    env: dict = field(default_factory=dict)
    popen: subprocess.Popen = None
    url: str = None

    def start(self):
        self._spawn()
        line = self._first_line()
        assert line.startswith("millrace ready"), f"{self.command}: {line!r}\n{self.tail()}"
        self.url = line.split()[2] if len(line.split()) > 2 else None
        return self

    def start_and_kill(self, after_s):
        """Kills the process with kill -9 after this time, ready or not."""
        self._spawn()
        try:
            ended = self.popen.wait(after_s)
        except subprocess.TimeoutExpired:
            self.kill()
        else:
            raise AssertionError(f"{self.command} ended before it was killed: exit {ended}\n{self.tail()}")

    def _spawn(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
        env.update(self.env)
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen(
                [str(part) for part in self.command], stdout=subprocess.PIPE, stderr=log, env=env, start_new_session=True
            )

    def _first_line(self):
        deadline = time.monotonic() + READY_WITHIN_S
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.popen.stdout], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.popen.stdout.fileno(), 1) if ready else b""
            if not piece:
                return line.decode() or f"not ready: exit {self.popen.poll()}"
            line += piece
        return line.decode().strip()

    def tail(self, lines=40):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def wait_for_log(self, text, within_s=30):
        """Returns the lines of the log with `text` as soon as there is one. Lines are written a moment after the event."""
        def lines():
            return [line for line in self.log.read_text(errors="replace").splitlines() if text in line]
        return eventually(lines, within_s, f"{text!r} in {self.log}")

    def kill(self):
        """Kills only this process with kill -9; its children have to notice that."""
        if self.popen and self.popen.poll() is None:
            self.popen.kill()
        return self._reap()

    def terminate(self, within_s=40):
        if self.popen and self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
        return self._reap(within_s)

    def _reap(self, within_s=10):
        if not self.popen:
            return None
        code = self.popen.wait(within_s)
        self.popen.stdout.close()
        return code

    def pause(self):
        self.popen.send_signal(signal.SIGSTOP)

    def resume(self):
        self.popen.send_signal(signal.SIGCONT)


class Client:
    """Sends requests with the admin key of a data directory. `timeout`: for a reply; `connect_timeout`: the same by default."""

    def __init__(self, url, key, timeout=150, connect_timeout=None):
        self.address = urllib.parse.urlsplit(url)
        self.key = key
        self.timeout = timeout
        self.connect_timeout = connect_timeout

    def request(self, method, path, body=None, headers=None, timeout=None):
        headers = {"Authorization": f"Bearer {self.key}", **(headers or {})}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        timeout = timeout or self.timeout
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=self.connect_timeout or timeout)
        try:
            connection.connect()
            connection.sock.settimeout(timeout)
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            lowered = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, lowered, response.read())
        finally:
            connection.close()

    def get(self, path, **kwargs):
        return self.request("GET", path, **kwargs)

    def post(self, path, body=None, **kwargs):
        return self.request("POST", path, body=body, **kwargs)

    def submit_ocr(self, data_uri, key=None, **fields):
        """Submits an asynchronous OCR job; returns the response."""
        headers = {"Prefer": "respond-async"}
        if key:
            headers["Idempotency-Key"] = key
        body = {"document": {"type": "document_url", "document_url": data_uri}, **fields}
        reply = self.post("/v1/ocr", body, headers=headers)
        assert reply.status in (200, 202), (reply.status, reply.body)
        return reply

    def job(self, job_id, wait_s=None):
        headers = {"Prefer": f"wait={wait_s}"} if wait_s else {}
        reply = self.get(f"/v1/jobs/{job_id}", headers=headers)
        assert reply.status == 200, (reply.status, reply.body)
        return reply.json()

    def wait_terminal(self, job_id, within_s=120):
        deadline = time.monotonic() + within_s
        while True:
            job = self.job(job_id, wait_s=20)
            if job["status"] in TERMINAL:
                return job
            assert time.monotonic() < deadline, f"not terminal within {within_s} s: {job}"


def on_host(host, command):
    return host.command(*command) if host else command


def admin_key(data):
    return (Path(data) / "admin.key").read_text().strip()


class Gateway(Process):
    """`millrace serve` or `millrace api` on a data directory, with a client. `host`: of hosts.py."""

    def __init__(self, data, *args, role="serve", env=None, host=None):
        data = Path(data)
        data.parent.mkdir(parents=True, exist_ok=True)
        self.data = data
        self.key = None  # of the client; None: the admin key of the data directory
        address = host.address if host else "127.0.0.1"
        command = [BUILD / "millrace", role, "--data", data, "--listen", f"{address}:0", *args]
        super().__init__(on_host(host, command), data.parent / f"{data.name}.{role}.log", env or {})
        self.client = None

    def start(self):
        super().start()
        self.client = Client(self.url, self.key or admin_key(self.data))
        return self

    def restart(self):
        return self.start()

    def close(self):
        if self.popen and self.popen.poll() is None:
            self.kill()


class Worker(Process):
    """`millrace worker` on a data directory."""

    def __init__(self, data, *args, name=None, kinds="ocr", env=None, host=None):
        data = Path(data)
        data.parent.mkdir(parents=True, exist_ok=True)
        command = [BUILD / "millrace", "worker", "--kinds", kinds, "--data", data, *args]
        if name:
            command += ["--worker.name", name]
        super().__init__(on_host(host, command), data.parent / f"worker.{name or id(self)}.log", env or {})

    def close(self):
        if self.popen and self.popen.poll() is None:
            self.popen.send_signal(signal.SIGCONT)
            self.kill()


def time_of(text):
    """Seconds since 1970 of a time in a reply."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def eventually(condition, within_s=30, what="condition"):
    """Polls a condition for which there is no event, with a deadline; returns its first true value."""
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what}: not within {within_s} s"
        select.select([], [], [], 0.02)


class Kafka:
    """A separate real broker, controlled through scripts/kafka."""

    def __init__(self, folder, listen="127.0.0.1"):
        self.folder = Path(folder)
        self.address = None
        self._listen = listen

    def _run(self, *args):
        command = [ROOT / "scripts" / "kafka", *args, "--listen", self._listen, "--dir", self.folder]
        result = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=180, check=False)
        assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
        return result.stdout.strip()

    def start(self):
        port = self.address.rsplit(":", 1)[1] if self.address else "0"
        self.address = self._run("start", "--port", port)
        return self.address

    def stop(self):
        self._run("stop")

    def kill(self):
        self._run("kill")

    def wipe(self):
        self._run("wipe")

    def delete_topics(self, *names):
        """Deletes topics as an administrator's tool does: one DeleteTopics request (version 1) to the broker."""
        text = [len(name).to_bytes(2, "big") + name.encode() for name in names]
        body = struct.pack(">hhihi", 20, 1, 7, -1, len(names)) + b"".join(text) + struct.pack(">i", 30_000)
        host, port = self.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), 10) as broker:
            broker.settimeout(40)
            broker.sendall(struct.pack(">i", len(body)) + body)
            (length,) = struct.unpack(">i", broker.recv(4, socket.MSG_WAITALL))
            reply = broker.recv(length, socket.MSG_WAITALL)
        at, errors = 12, {}  # after correlation id, throttle time and count
        for _ in names:
            size = int.from_bytes(reply[at : at + 2], "big")
            errors[reply[at + 2 : at + 2 + size].decode()] = struct.unpack(">h", reply[at + 2 + size : at + 4 + size])[0]
            at += 4 + size
        assert errors == {name: 0 for name in names}, errors
