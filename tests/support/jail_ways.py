"""The ways into a jail, and the state of each jail: reported by a probe inside and read by root outside."""

import contextlib
import json
import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import jail_outside
import pytest
from commands import MILLRACE, environment
from documents import data_uri, tiny_pdf
from millrace import eventually
from sandboxed import execution_path, run, started
from terminal import Terminal

PROBE = Path(__file__).with_name("jail_probe.py")
PROBED = ("command", "login", "terminal")
WAYS = (*PROBED, "sftp", "engine")
STORED_BYTES = 65_536  # smaller documents have no file in the data directory
MARKS = {"sftp": "internal-sftp", "engine": "millrace-engine"}  # only in names or commands of this jail; several engines


@dataclass
class Seen:
    """A snapshot of a jailed process, read from outside. `role`: first, sshd, engine or user."""

    role: str
    title: str
    descriptors: dict
    environment: dict
    status: dict
    namespaces: dict
    mounts: dict
    command: list
    is_in_the_jail: bool


def role_of(jailed):
    if jailed.inner == 1:
        return "first"
    return next((role for role in ("sshd", "engine") if role in jailed.name), "user")


def seen(jailed):
    return Seen(
        role_of(jailed), str(jailed), jailed.descriptors(), jailed.environment(), jailed.status(), jailed.namespaces(), jailed.mounts(),
        jailed.command(), jailed.working_folder_is_in_the_jail(),
    )


def skip_without_ssh(gateway, way):
    if way in ("login", "terminal", "sftp") and "ssh_sessions_disabled" in gateway.log.read_text():
        pytest.skip("this host offers no SSH sessions: " + gateway.tail())


class Sftp:
    """A minimal client for SFTP version 3."""

    REFUSED = 3  # SSH_FX_PERMISSION_DENIED

    def __init__(self, process):
        self.process = process
        assert self._request(b"\x01" + struct.pack(">I", 3))[0] == 2

    def opens(self, path, flags):
        """Tries to open a file. Returns None, or the error code."""
        name = path.encode()
        reply = self._request(b"\x03" + struct.pack(">II", 1, len(name)) + name + struct.pack(">II", flags, 0))
        return struct.unpack(">I", reply[5:9])[0] if reply[0] == 101 else None

    def _request(self, packet):
        self.process.stdin.write(struct.pack(">I", len(packet)) + packet)
        self.process.stdin.flush()
        return self.process.stdout.read(struct.unpack(">I", self.process.stdout.read(4))[0])


class Ways:
    """`inside[way]` is the report of the probe, `outside[way]` a list of Seen (root only)."""

    def __init__(self, gateway, folder):
        self.gateway, self.runtime = gateway, folder
        self.inside, self.outside, self.sftp = {}, {}, None
        self.namespaces = jail_outside.namespaces_of("self")  # the gateway inherits those of this process
        done, output = run(gateway.client, ["sh", "-c", "cat > /workspace/probe.py"], stdin=PROBE.read_text())
        assert done["status"] == "succeeded", output

    def look(self, way):
        """Opens the way, takes the snapshots, and closes it."""
        with getattr(self, f"by_{way}")():
            if way in PROBED:
                self.inside[way] = json.loads(run(self.gateway.client, ["cat", f"/workspace/{way}.json"])[1]["stdout"])
            if os.geteuid() == 0:
                jails = jail_outside.jails_with(self.gateway.popen.pid, MARKS.get(way, f"{way}.json"))
                assert len(jails) == 1 or (jails and way == "engine"), jails
                self.outside[way] = [seen(jailed) for jail in jails for jailed in jail]

    @staticmethod
    def probe_command(way):
        return ["python3", "/workspace/probe.py", f"/workspace/{way}.json"]

    def environment(self):
        return environment(self.gateway, XDG_RUNTIME_DIR=str(self.runtime))

    @contextlib.contextmanager
    def by_command(self):
        client = self.gateway.client
        execution = started(client, self.probe_command("command"))
        eventually(lambda: "probed" in client.get(execution_path(execution) + "/output").json()["stdout"], 90, what="the command's probe")
        yield
        client.request("DELETE", execution_path(execution))

    @contextlib.contextmanager
    def by_login(self):
        command = [str(MILLRACE), "ssh", "local", "--", *self.probe_command("login")]
        with subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "probed\n"
            yield
            process.terminate()

    @contextlib.contextmanager
    def by_terminal(self):
        terminal = Terminal([MILLRACE, "ssh", "local"], self.environment())
        terminal.type(" ".join(self.probe_command("terminal")) + "\n")
        terminal.until("probed")
        yield
        terminal.close()

    @contextlib.contextmanager
    def by_sftp(self):
        command = [str(MILLRACE), "ssh", "local", "--ssh-option", "SessionType=subsystem", "--", "sftp"]
        with subprocess.Popen(command, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.sftp = Sftp(process)
            yield
            process.terminate()

    @contextlib.contextmanager
    def by_engine(self):
        stored = tiny_pdf("words") + b"%" * STORED_BYTES
        reply = self.gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(stored)}})
        assert reply.status == 200, reply.body
        yield
