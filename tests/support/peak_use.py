"""The memory and processor time that a gateway and all its child processes use while something is done."""

import os
import threading
from pathlib import Path

EVERY_S = 0.2


TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")


def family(pid):
    """A process and all its descendants: {pid: (resident bytes, processor time in seconds with that of ended children)}."""
    parents, sizes = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except (ProcessLookupError, FileNotFoundError):
            continue
        parents[int(folder.name)] = int(fields[1])
        sizes[int(folder.name)] = (int(fields[21]) * PAGE, sum(map(int, fields[11:15])) / TICKS)
    members = {pid}
    while grown := {child for child, parent in parents.items() if parent in members} - members:
        members |= grown
    return {each: sizes.get(each, (0, 0)) for each in members}


class PeakUse:
    """`with PeakUse(pid) as peak: …`, then the growth since the start: `own` bytes of this process, `total` bytes of it
    and its descendants, and `cpu_s`, their processor time."""

    def __init__(self, pid):
        self.pid, self.own, self.total, self.cpu_s = pid, 0, 0, 0
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._own_before = family(self.pid)[self.pid][0]
        self._before = self._sums()
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")  # VmHWM begins again at what is used now
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._watcher.join()
        self._look()
        status = Path(f"/proc/{self.pid}/status").read_text()
        self.own = int(status.split("VmHWM:")[1].split()[0]) * 1024 - self._own_before

    def _sums(self):
        used = family(self.pid).values()
        return sum(size for size, _ in used), sum(seconds for _, seconds in used)

    def _look(self):
        size, seconds = self._sums()
        self.total = max(self.total, size - self._before[0])
        self.cpu_s = max(self.cpu_s, seconds - self._before[1])

    def _watch(self):
        while not self._done.wait(EVERY_S):
            self._look()
