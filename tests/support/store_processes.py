"""The processes of one data directory, and checks of its store after faults: the database is intact, and every accepted job
exists and ends once."""

import json
import re
import sqlite3
import subprocess
import time
from contextlib import closing

from ledger import all_jobs
from millrace import TERMINAL, Gateway, Worker

ENDS_WITHIN_S = 10
SMALL_LOG = ("--store.wal-max", "1MiB")  # restarted every few seconds under load


class StoreProcesses:
    """`millrace serve`, or `millrace api` with workers. `env(role)`: environment variables of the process with this role.
    The logs are in the folder `logs`, by default next to the data."""

    def __init__(self, data, workers=(), env=lambda role: {}, logs=None):
        self.data = data
        self._logs = logs or data.parent
        self._workers = workers
        self._env = env
        self.all = []
        self._client = None
        self._is_closed = False

    @property
    def front(self):
        return self.all[0]

    @property
    def client(self):
        if self._is_closed:
            raise SystemExit  # ends the thread of a Ledger that repeats a submission
        return self._client

    def start(self):
        role = "api" if self._workers else "serve"
        self.all = [Gateway(self.data, *SMALL_LOG, role=role, env=self._env(role))]
        self.all += [Worker(self.data, *SMALL_LOG, name=name, env=self._env(name)) for name in self._workers]
        for process in self.all:
            process.log = self._logs / process.log.name
            process.start()
        self._client = self.front.client
        return self

    def of(self, role):
        return self.all[1 + self._workers.index(role)] if role in self._workers else self.front

    def wait_ends(self, within_s=ENDS_WITHIN_S):
        """The exit codes in the order of the processes; None if a process still runs."""
        deadline = time.monotonic() + within_s
        return [_exit_code(process, deadline) for process in self.all]

    def terminate(self):
        return [process.terminate() for process in reversed(self.all)]

    def kill(self):
        for process in self.all:
            process.close()

    def close(self):
        self._is_closed = True
        self.kill()

    def tails(self):
        return "\n".join(f"== {process.log.name}\n{process.tail(15)}" for process in self.all)


def _exit_code(process, deadline):
    try:
        return process.popen.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def events(process, name):
    """All events of this name in the log of the process, over all its runs."""
    lines = (line for line in process.log.read_text(errors="replace").splitlines() if line.startswith("{"))
    return [event for event in map(json.loads, lines) if event["event"] == name]


def accepted(ledger):
    """The submissions for which the client has received a 202."""
    return [submission for submission in list(ledger.submissions) if submission.job]


def as_after_a_boot(cut, data):
    """Makes the lock files of the workers look like those of another boot, as after a power cut. Otherwise a start would wait
    for leases of this boot, and end the processes of this boot that the files name."""
    for lock in (data / "workers").glob("*.lock"):
        (cut / "workers").mkdir(mode=0o700, exist_ok=True)
        (cut / "workers" / lock.name).write_text(re.sub(r"\bboot .*", "boot before", lock.read_text()))


def integrity(data):
    with closing(sqlite3.connect(data / "millrace.db")) as store:
        return [row[0] for row in store.execute("PRAGMA integrity_check(3)")]


def assert_kept(data, submissions, texts=lambda submission: [f"{submission.nonce} page 0"]):
    """Starts a gateway on the directory: it has all submissions, each with its result, and the database is intact."""
    gateway = Gateway(data, *SMALL_LOG).start()
    try:
        there = set(all_jobs(gateway.client))
        lost = [submission.job for submission in submissions if submission.job not in there]
        assert not lost, f"{len(lost)} of {len(submissions)} accepted jobs are lost"
        for submission in submissions:
            _assert_ended_once(gateway.client, submission, texts(submission))
        assert gateway.terminate() == 0, gateway.tail()
    finally:
        gateway.close()
    assert integrity(data) == ["ok"]


def _assert_ended_once(client, submission, texts):
    job = client.wait_terminal(submission.job)
    assert job["status"] == "succeeded", (submission, job)
    result = client.get(f"/v1/jobs/{submission.job}/result")
    assert result.status == 200, (submission, result.status, result.body)
    for page, text in zip(result.json()["pages"], texts, strict=True):
        assert text in page["markdown"], (submission, page)
    history = [event["type"] for event in client.get(f"/v1/jobs/{submission.job}/events?limit=200").json()["items"]]
    assert [kind for kind in history if kind in TERMINAL] == history[-1:], (submission, history)
