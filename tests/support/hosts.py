"""Hosts for tests: network namespaces with a hostname and a link of their own, on one bridge."""

import ctypes
import functools
import os
import shutil
import subprocess

NEW_NETWORK = 0x40000000  # CLONE_NEWNET
NETWORK = "10.77.0"
PROGRAMS = ("ip", "nsenter", "unshare")
WITHIN_S = 30


@functools.cache
def why_not_here():
    """What this machine lacks; empty if nothing."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        return f"not here: {', '.join(missing)}"
    bridge = ["unshare", "--net", "--uts", "ip", "link", "add", "lan", "type", "bridge"]
    made = subprocess.run(bridge, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    return "" if made.returncode == 0 else f"no bridge in a network namespace: {made.stderr.strip()}"


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def call(function, *args):
    assert function(*args) == 0, os.strerror(ctypes.get_errno())


class Lan:
    """While it is entered, the thread, its new threads and its children are in a network namespace of their own, with the
    bridge of the hosts. Servers that hosts use listen on `address`."""

    address = f"{NETWORK}.1"

    def __enter__(self):
        self._c = ctypes.CDLL(None, use_errno=True)
        self._outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        call(self._c.unshare, NEW_NETWORK)
        self.hosts = []
        run("ip", "link", "add", "lan", "type", "bridge")
        run("ip", "address", "add", f"{self.address}/24", "dev", "lan")
        for device in ("lan", "lo"):
            run("ip", "link", "set", device, "up")
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            host.close()
        call(self._c.setns, self._outside, NEW_NETWORK)
        os.close(self._outside)

    def add_address(self, number):
        """Another address for servers, which remove_address takes away as if their host had vanished."""
        address = f"{NETWORK}.{number}"
        run("ip", "address", "add", f"{address}/24", "dev", "lan")
        return address

    def remove_address(self, address):
        run("ip", "address", "delete", f"{address}/24", "dev", "lan")

    def host(self):
        self.hosts.append(Host(len(self.hosts) + 1))
        return self.hosts[-1]


class Host:
    """A hostname and a network namespace, which a waiting process keeps."""

    def __init__(self, number):
        self.name = f"host{number}"
        self.address = f"{NETWORK}.{10 + number}"
        self._port = f"port{number}"  # the bridge's end of the link
        named = 'hostname "$0" && echo && exec cat'
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--uts", "sh", "-c", named, self.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._holder.stdout.readline() == b"\n", f"{self.name} was not made"
        run("ip", "link", "add", self._port, "type", "veth", "peer", "name", "eth0", "netns", self._holder.pid)
        run("ip", "link", "set", self._port, "master", "lan", "up")
        run(*self.command("ip", "address", "add", f"{self.address}/24", "dev", "eth0"))
        for device in ("eth0", "lo"):
            run(*self.command("ip", "link", "set", device, "up"))

    def command(self, *command):
        """The command, run on this host by the same process id."""
        return ["nsenter", f"--target={self._holder.pid}", "--net", "--uts", "--", *command]

    def cut(self):
        run("ip", "link", "set", self._port, "down")

    def mend(self):
        run("ip", "link", "set", self._port, "up")

    def close(self):
        self._holder.stdin.close()
        self._holder.wait(WITHIN_S)
        self._holder.stdout.close()


class Loopback:
    """A host that is only a name: its processes run on this machine, on loopback."""

    address = "127.0.0.1"

    def __init__(self, name):
        self.name = name

    def command(self, *command):
        return list(command)
