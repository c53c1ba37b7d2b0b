"""The memory that a gateway and all its child processes use while something is done."""

import os
import threading
from pathlib import Path

EVERY_S = 0.2


def family(pid):
    """A process and all its descendants: (pid, resident bytes)."""
    parents, sizes = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            sizes[int(folder.name)] = int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        except (ProcessLookupError, FileNotFoundError, IndexError):
            pass
    members = {pid}
    while grown := {child for child, parent in parents.items() if parent in members} - members:
        members |= grown
    return {each: sizes.get(each, 0) for each in members}


class PeakMemory:
    """`with PeakMemory(pid) as peak: …`, then peak.own and peak.total: the growth since the start, in bytes."""

    def __init__(self, pid):
        self.pid, self.own, self.total = pid, 0, 0
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        sizes = family(self.pid)
        self._own_before, self._total_before = sizes[self.pid], sum(sizes.values())
        self._reset()
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._watcher.join()
        status = Path(f"/proc/{self.pid}/status").read_text()
        highest = int(status.split("VmHWM:")[1].split()[0]) * 1024
        self.own = highest - self._own_before

    def _reset(self):
        """Sets the kernel's peak of the first process (VmHWM) to what it uses now."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def _watch(self):
        while not self._done.wait(EVERY_S):
            self.total = max(self.total, sum(family(self.pid).values()) - self._total_before)
