"""The system calls of a running process in order, recorded by strace."""

import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

CALLS = "write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync,rename,renameat,renameat2,sendmsg,sendto"
LONGEST = 1 << 20  # bytes of an argument that are recorded
ENDS_WITHIN_S = 30  # after the end of the last traced process
ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
LINE = re.compile(rb"(?P<thread>\d+) +(?P<call>\w+)\((?P<details>.*)", re.DOTALL)
RESUMED = re.compile(rb"(?P<thread>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<details>.*)", re.DOTALL)
UNFINISHED = b" <unfinished ...>"


@dataclass
class Call:
    name: str
    details: bytes  # arguments and result; descriptors with their path
    begun: int  # its position in the order of all beginnings and ends
    ended: int = None

    def of(self, path):
        return b"<" + str(path).encode() in self.details


@contextmanager
def traced(process):
    """Records the Calls of a process (tests/support/millrace.py) within the block; the list is filled after the block. The
    process is killed at the end of the block, because strace may not be able to detach from a process that is about to fork."""
    trace = process.log.with_suffix(".calls")
    command = ["strace", "-f", "-y", "-xx", "-s", LONGEST, "-e", f"trace={CALLS}", "-o", trace, "-p", process.popen.pid]
    calls = []
    with subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True) as strace:
        details = strace.stderr.readline()
        if "attached" not in details:
            strace.kill()
            pytest.skip(f"strace cannot attach here: {details.strip()}")
        try:
            yield calls
        finally:
            process.kill()
            try:
                strace.wait(ENDS_WITHIN_S)
            finally:
                strace.kill()
    calls += read(trace.read_bytes().splitlines())


def read(lines):
    calls, running = [], {}
    for place, line in enumerate(lines):
        if begun := LINE.match(line):
            call = Call(begun["call"].decode(), unescaped(begun["details"]), place)
            calls.append(call)
            if begun["details"].endswith(UNFINISHED):
                running[begun["thread"]] = call
            else:
                call.ended = place
        elif resumed := RESUMED.match(line):
            call = running.pop(resumed["thread"])
            call.details += unescaped(resumed["details"])
            call.ended = place
    return calls


def unescaped(details):
    return ESCAPED.sub(lambda byte: bytes([int(byte[1], 16)]), details)
