"""The ways into a jail, each held open at once, and what was seen in each of them: by a probe inside and by root outside."""

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
from sandboxed import place, run, started
from terminal import Terminal

PROBE = Path(__file__).with_name("jail_probe.py")
PROBED = ("command", "login", "terminal")
WAYS = (*PROBED, "sftp", "engine")
MARKS = {"sftp": "internal-sftp", "engine": "millrace-engine"}  # in a name or command of the way's jail alone; of engines there are several


@dataclass
class Seen:
    """A process of a jail from outside, kept for when it has ended. `role`: first, sshd, engine or user."""

    role: str
    title: str
    descriptors: dict
    environment: dict
    status: dict
    namespaces: dict
    mounts: dict
    command: list
    is_at_home: bool


def role_of(inmate):
    if inmate.inner == 1:
        return "first"
    return next((role for role in ("sshd", "engine") if role in inmate.name), "user")


def seen(inmate):
    return Seen(
        role_of(inmate), str(inmate), inmate.descriptors(), inmate.environment(), inmate.status(), inmate.namespaces(), inmate.mounts(),
        inmate.command(), inmate.working_folder_is_of_the_jail(),
    )


def skip_without_ssh(gateway, way):
    if way in ("login", "terminal", "sftp") and "ssh_sessions_disabled" in gateway.log.read_text():
        pytest.skip("this host offers no SSH sessions: " + gateway.tail())


class Sftp:
    """The protocol's version 3, as far as it is needed."""

    REFUSED = 3  # SSH_FX_PERMISSION_DENIED

    def __init__(self, process):
        self.process = process
        assert self._ask(b"\x01" + struct.pack(">I", 3))[0] == 2

    def opens(self, path, flags):
        """None, or the code of the error."""
        name = path.encode()
        reply = self._ask(b"\x03" + struct.pack(">II", 1, len(name)) + name + struct.pack(">II", flags, 0))
        return struct.unpack(">I", reply[5:9])[0] if reply[0] == 101 else None

    def _ask(self, packet):
        self.process.stdin.write(struct.pack(">I", len(packet)) + packet)
        self.process.stdin.flush()
        return self.process.stdout.read(struct.unpack(">I", self.process.stdout.read(4))[0])


class Ways:
    """`inside[way]` is what the probe says, `outside[way]` a list of Seen (root only)."""

    def __init__(self, gateway, folder):
        self.gateway, self.runtime = gateway, folder
        self.inside, self.outside, self.sftp = {}, {}, None
        self.namespaces = jail_outside.namespaces_of("self")  # the gateway has those of who starts it
        done, output = run(gateway.client, ["sh", "-c", "cat > /workspace/probe.py"], stdin=PROBE.read_text())
        assert done["status"] == "succeeded", output

    def look(self, way):
        """Opens it, looks, and leaves it."""
        with getattr(self, f"by_{way}")():
            if way in PROBED:
                self.inside[way] = json.loads(run(self.gateway.client, ["cat", f"/workspace/{way}.json"])[1]["stdout"])
            if os.geteuid() == 0:
                jails = jail_outside.jails_with(self.gateway.popen.pid, MARKS.get(way, f"{way}.json"))
                assert len(jails) == 1 or (jails and way == "engine"), jails
                self.outside[way] = [seen(inmate) for jail in jails for inmate in jail]

    @staticmethod
    def words(way):
        return ["python3", "/workspace/probe.py", f"/workspace/{way}.json"]

    def environment(self):
        return environment(self.gateway, XDG_RUNTIME_DIR=str(self.runtime))

    @contextlib.contextmanager
    def by_command(self):
        client = self.gateway.client
        execution = started(client, self.words("command"))
        eventually(lambda: "probed" in client.get(place(execution) + "/output").json()["stdout"], 90, what="the probe of a command")
        yield
        client.request("DELETE", place(execution))

    @contextlib.contextmanager
    def by_login(self):
        command = [str(MILLRACE), "ssh", "local", "--", *self.words("login")]
        with subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "probed\n"
            yield
            process.terminate()

    @contextlib.contextmanager
    def by_terminal(self):
        terminal = Terminal([MILLRACE, "ssh", "local"], self.environment())
        terminal.type(" ".join(self.words("terminal")) + "\n")
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
        reply = self.gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(tiny_pdf("words"))}})
        assert reply.status == 200, reply.body
        yield
