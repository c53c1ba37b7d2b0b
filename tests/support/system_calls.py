"""What a running process asks of the kernel, in order, by strace."""

import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

CALLS = "write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync,rename,renameat,renameat2,sendmsg,sendto"
LONGEST = 1 << 20  # bytes of an argument that are shown
ENDS_WITHIN_S = 30  # after the last process it follows
ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
LINE = re.compile(rb"(?P<thread>\d+) +(?P<call>\w+)\((?P<said>.*)", re.DOTALL)
RESUMED = re.compile(rb"(?P<thread>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<said>.*)", re.DOTALL)
UNFINISHED = b" <unfinished ...>"


@dataclass
class Call:
    name: str
    said: bytes  # arguments and result; of a descriptor also its path
    begun: int  # its place in the order of all beginnings and ends
    ended: int = None

    def of(self, path):
        return b"<" + str(path).encode() in self.said


@contextmanager
def traced(process):
    """The Calls of a process (tests/support/millrace.py) within the block; they are there after it. The process is killed
    at its end, for strace may not get away from one that is just about to start another."""
    trace = process.log.with_suffix(".calls")
    command = ["strace", "-f", "-y", "-xx", "-s", LONGEST, "-e", f"trace={CALLS}", "-o", trace, "-p", process.popen.pid]
    calls = []
    with subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True) as strace:
        said = strace.stderr.readline()
        if "attached" not in said:
            strace.kill()
            pytest.skip(f"strace cannot attach here: {said.strip()}")
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
            call = Call(begun["call"].decode(), unescaped(begun["said"]), place)
            calls.append(call)
            if begun["said"].endswith(UNFINISHED):
                running[begun["thread"]] = call
            else:
                call.ended = place
        elif resumed := RESUMED.match(line):
            call = running.pop(resumed["thread"])
            call.said += unescaped(resumed["said"])
            call.ended = place
    return calls


def unescaped(said):
    return ESCAPED.sub(lambda byte: bytes([int(byte[1], 16)]), said)
