"""Description and use of the machine: CPU time of process trees, foreign share, memory of a process. Linux only."""

import contextlib
import os
import platform
import threading
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def _stats():
    """pid → (parent, CPU seconds including children that were waited for)."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        found[int(entry.name)] = (int(fields[1]), sum(int(f) for f in fields[11:15]) / TICKS)
    return found


def tree(pid):
    """The living processes under `pid`, itself first."""
    stats, pids = _stats(), [pid]
    for known in pids:
        pids += [child for child, (parent, _) in stats.items() if parent == known]
    return pids


def tree_cpu_s(pid):
    """CPU seconds of a process, its living descendants, and the descendants that were waited for."""
    stats = _stats()
    return sum(stats[p][1] for p in tree(pid) if p in stats)


def running_ms(pids):
    """Milliseconds that the living threads of these processes have run; the resolution is finer than a clock tick."""
    threads = (t for pid in pids for t in Path(f"/proc/{pid}/task").iterdir())
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e6


def _machine_busy_s():
    fields = [int(f) for f in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    user, nice, system, _idle, _wait, irq, soft, steal = fields
    return (user + nice + system + irq + soft + steal) / TICKS


class ForeignWatch:
    """Share of the machine that processes other than ours used while the `with` lasted."""

    def __enter__(self):
        self._from = (_machine_busy_s(), tree_cpu_s(os.getpid()), os.times().elapsed)
        return self

    def __exit__(self, *_):
        busy, ours, began = self._from
        wall = max(0.01, os.times().elapsed - began) * os.cpu_count()
        foreign = _machine_busy_s() - busy - (tree_cpu_s(os.getpid()) - ours)
        self.share = min(1.0, max(0.0, foreign / wall))


def memory_mb(pid, field="VmRSS"):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no {field}")


def forget_peak(pid):
    """Resets the peak memory (VmHWM) of a process."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


class PeakWatch:
    """The largest peak memory of the processes below `pid`, also of short ones, while the context is open."""

    EVERY_S = 0.1

    def __init__(self, pid):
        self.pid, self.peak_mb = pid, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _watch(self):
        while not self._over.wait(self.EVERY_S):
            for process in tree(self.pid)[1:]:
                with contextlib.suppress(OSError, ValueError):  # it has ended
                    self.peak_mb = max(self.peak_mb, memory_mb(process, "VmHWM"))


def describe(folder):
    cpu = next((l.split(":", 1)[1].strip() for l in Path("/proc/cpuinfo").read_text().splitlines() if l.startswith("model name")), platform.machine())
    total = int(Path("/proc/meminfo").read_text().split()[1]) / 1024 / 1024
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    holding = [m for m in mounts if f"{folder}/".startswith(m[1].rstrip("/") + "/")]
    device, _, kind = max(holding, key=lambda m: len(m[1]))[:3]
    system = next((l.split("=", 1)[1].strip('"') for l in Path("/etc/os-release").read_text().splitlines() if l.startswith("PRETTY_NAME")), "Linux")
    return f"{os.cpu_count()} × {cpu}, {total:.0f} GiB, {system}, kernel {platform.release()}, {kind} on {device}"
