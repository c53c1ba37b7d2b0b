"""Descriptors, environment, namespaces and mounts of the processes in a gateway's jails, read on the host as root.
Standard library only."""

import ctypes
import fcntl
import os
import socket
from dataclasses import dataclass
from pathlib import Path

PIDFD_GETFD = 438
SIOCGSKNS = 0x894C  # the network namespace of a socket
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class JailedProcess:
    """A process in a jail. `inner` is its process id there."""

    pid: int
    inner: int
    name: str

    @property
    def place(self):
        return Path(f"/proc/{self.pid}")

    def __str__(self):
        return f"{self.name} (process {self.inner} of the jail)"

    def status(self):
        return status_of(self.pid)

    def environment(self):
        """Names and values. sshd overwrites them with its title and leaves blanks."""
        pairs = (pair.partition("=") for pair in (self.place / "environ").read_text(errors="replace").split("\0"))
        return {name: value for name, equals, value in pairs if equals}

    def command(self):
        return (self.place / "cmdline").read_text(errors="replace").split("\0")

    def namespaces(self):
        return namespaces_of(self.pid)

    def mounts(self):
        return mounts_of((self.place / "mountinfo").read_text().splitlines())

    def descriptors(self):
        """A dictionary from the number to its description, see `kind`."""
        return {int(name): self.kind(int(name)) for name in os.listdir(self.place / "fd")}

    def kind(self, number):
        link = os.readlink(self.place / "fd" / str(number))
        if link.startswith("socket:"):
            return self._socket(number)
        if link.startswith("pipe:"):
            return "pipe"
        if link.startswith("/memfd:"):
            return "sealed memory file" if self._is_sealed(number) else "memory file"
        if not link.startswith("/"):
            return link
        fdinfo = (self.place / "fdinfo" / str(number)).read_text()
        whose = "jail" if self._has_mount(fdinfo) else "host"
        return f"{link if whose == 'jail' or link == '/dev/null' else os.path.basename(link)} of the {whose}"

    def working_folder_is_in_the_jail(self):
        folder = os.open(self.place / "cwd", os.O_PATH)
        try:
            return self._has_mount(Path(f"/proc/self/fdinfo/{folder}").read_text())
        finally:
            os.close(folder)

    def _has_mount(self, fdinfo):
        number = next(line.split()[1] for line in fdinfo.splitlines() if line.startswith("mnt_id:"))
        return any(line.split()[0] == number for line in (self.place / "mountinfo").read_text().splitlines())

    def _socket(self, number):
        with socket.socket(fileno=self._taken(number)) as taken:
            family = taken.family
            namespace = fcntl.ioctl(taken.fileno(), SIOCGSKNS)
        try:
            same = os.fstat(namespace).st_ino == os.stat("/proc/self/ns/net").st_ino
        finally:
            os.close(namespace)
        name = family.name if isinstance(family, socket.AddressFamily) else f"AF {family}"
        return f"{name} socket of the {'host' if same else 'jail'}"

    def _is_sealed(self, number):
        """Whether nobody can change its bytes or its length."""
        with os.fdopen(self._taken(number)) as taken:
            return fcntl.fcntl(taken, fcntl.F_GET_SEALS) & SEALS == SEALS

    def _taken(self, number):
        pidfd = os.pidfd_open(self.pid)
        try:
            taken = LIBC.syscall(ctypes.c_long(PIDFD_GETFD), ctypes.c_long(pidfd), ctypes.c_long(number), ctypes.c_long(0))
            assert taken >= 0, os.strerror(ctypes.get_errno())
            return taken
        finally:
            os.close(pidfd)


def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def namespaces_of(pid):
    return {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in os.listdir(f"/proc/{pid}/ns")}


def mounts_of(lines):
    """A dictionary from the mount point to the type of the file system and `ro` or `rw`."""
    mounts = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        mounts[before.split()[4]] = (after.split()[0], before.split()[5].split(",")[0])
    return mounts


def descends(pid, ancestor):
    while pid > 1 and pid != ancestor:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return pid == ancestor


def jailed_processes(gateway):
    """The processes in all jails of the process `gateway`, grouped by pid namespace, with the first process of each jail first."""
    jails = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = status_of(int(folder.name))
            inner = int(status["NSpid"].split()[-1])
            if len(status["NSpid"].split()) < 2 or not descends(int(folder.name), gateway):
                continue
            jails.setdefault(os.readlink(folder / "ns/pid"), []).append(JailedProcess(int(folder.name), inner, status["Name"]))
        except OSError:
            continue  # it has ended meanwhile
    return [sorted(jail, key=lambda jailed: jailed.inner) for jail in jails.values()]


def jails_with(gateway, text):
    """The jails in which a process has `text` in its name or command."""
    return [jail for jail in jailed_processes(gateway) if any(text in jailed.name or text in " ".join(jailed.command()) for jailed in jail)]
