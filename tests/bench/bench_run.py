"""Shared by all rows: processes that are always ended, the load client, and rounds side by side."""

import json
import os
import subprocess

from millrace import BUILD, Gateway, Process
from report import report_progress

ROUNDS = 5
QUICK_ROUNDS = 3


class Bench:
    def __init__(self, folder, quick, selected):
        self.folder, self.quick, self.selected = folder, quick, selected
        self.rounds = QUICK_ROUNDS if quick else ROUNDS
        self._started, self._number = [], 0

    def fresh_folder(self, name):
        self._number += 1
        path = self.folder / f"{self._number:03}-{name}"
        path.mkdir()
        return path

    def gateway(self, *args, role="serve", env=None):
        """`millrace serve` or `api` on a new data directory."""
        return self.keep(Gateway(self.fresh_folder(role) / "data", *args, role=role, env=env).start())

    def server(self, program, *args):
        """Starts a bench server, which prints the port that it listens on."""
        folder = self.fresh_folder(program)
        return self.keep(Process([BUILD / program, *args], folder / "log").start())

    def keep(self, process):
        """Registers a process that is always ended; it must have kill()."""
        self._started.append(process)
        return process

    def end(self, process):
        self._started.remove(process)
        process.kill()

    def end_all(self):
        for process in list(self._started):
            self.end(process)

    def load(self, server, **flags):
        """Runs bench_load once against a server of ours; returns its line of JSON."""
        command = [BUILD / "bench_load", "--port", server.url.rsplit(":", 1)[1], "--path", "/v1/ocr"]
        for name, value in flags.items():
            for one in value if isinstance(value, list) else [value]:
                command += [f"--{name.replace('_', '-')}", one]
        return self.run_json(command)

    def run_json(self, command):
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=2400, check=False)
        assert done.returncode == 0, f"{command[0]}: {done.stderr.strip()}"
        return json.loads(done.stdout)

    def side_by_side(self, rounds=None, **sides):
        """Runs the sides in turn, round by round (A B A B …); name → list of samples."""
        samples = {name: [] for name in sides}
        rounds = rounds or self.rounds
        for number in range(rounds):
            for name, measure in sides.items():
                samples[name].append(measure())
            summary = ", ".join(f"{name} {brief(samples[name][-1])}" for name in sides)
            report_progress(f"  round {number + 1}/{rounds}: {summary}")
        return samples


def brief(sample):
    """The text for a sample in the progress line."""
    if isinstance(sample, dict):
        telling = [key for key in sample if key not in ("replies", "jobs", "seconds", "p90_us", "p999_us")]
        return " ".join(f"{key}={sample[key]:.4g}" for key in telling)
    return f"{sample:.4g}"


def picked(samples, key):
    return [sample[key] for sample in samples]


def apt_get(*arguments, cwd=None):
    """Runs apt-get as root, or through sudo."""
    root = [] if os.geteuid() == 0 else ["sudo"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([*root, "apt-get", "-qq", *arguments], check=True, env=environment, cwd=cwd, stdout=subprocess.DEVNULL)


def run_measured(command, stdout=subprocess.DEVNULL, env=None, cwd=None):
    """Runs a program to its end; returns (CPU seconds with its children, wall seconds)."""
    began = os.times().elapsed
    child = subprocess.Popen([str(c) for c in command], stdout=stdout, stderr=subprocess.PIPE, env={**os.environ, **(env or {})}, cwd=cwd)
    complaint = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stderr.close()
    assert child.returncode == 0, f"{command[0]}: exit {child.returncode}: {complaint.decode(errors='replace')[-400:]}"
    return usage.ru_utime + usage.ru_stime, os.times().elapsed - began
