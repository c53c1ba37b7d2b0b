"""The processes of one data directory, and what its store has to have after whatever happened to it: a whole database and
every accepted job, which comes to its end once."""

import json
import re
import sqlite3
import subprocess
import time
from contextlib import closing

from ledger import all_jobs
from millrace import TERMINAL, Gateway, Worker

ENDS_WITHIN_S = 10
SMALL_LOG = ("--store.wal-max", "1MiB")  # begun anew every few seconds under load


class StoreProcesses:
    """`millrace serve`, or `millrace api` with workers. `env(role)`: what a process of that role has in its environment.
    Their logs are in the folder `logs`, else beside the data."""

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
            raise SystemExit  # ends the thread of a Ledger that repeats an order
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
        """The exit codes, in the order of the processes; None: it runs on."""
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
    """Of the process's log, all its runs."""
    lines = (line for line in process.log.read_text(errors="replace").splitlines() if line.startswith("{"))
    return [event for event in map(json.loads, lines) if event["event"] == name]


def accepted(ledger):
    """The orders whose 202 the client has."""
    return [order for order in list(ledger.orders) if order.job]


def as_after_a_boot(cut, data):
    """Makes the files by which workers are known those of another boot, which a power cut means: else a start would wait for
    leases of this boot, and end the processes of this boot that the files name."""
    for lock in (data / "workers").glob("*.lock"):
        (cut / "workers").mkdir(mode=0o700, exist_ok=True)
        (cut / "workers" / lock.name).write_text(re.sub(r"\bboot .*", "boot before", lock.read_text()))


def integrity(data):
    with closing(sqlite3.connect(data / "millrace.db")) as store:
        return [row[0] for row in store.execute("PRAGMA integrity_check(3)")]


def assert_kept(data, orders, words=lambda order: [f"{order.nonce} page 0"]):
    """A new start on the directory has all of the orders, each with its own result; their database is whole."""
    gateway = Gateway(data, *SMALL_LOG).start()
    try:
        there = set(all_jobs(gateway.client))
        lost = [order.job for order in orders if order.job not in there]
        assert not lost, f"{len(lost)} of {len(orders)} accepted jobs are lost"
        for order in orders:
            _assert_ended_once(gateway.client, order, words(order))
        assert gateway.terminate() == 0, gateway.tail()
    finally:
        gateway.close()
    assert integrity(data) == ["ok"]


def _assert_ended_once(client, order, words):
    job = client.wait_terminal(order.job)
    assert job["status"] == "succeeded", (order, job)
    result = client.get(f"/v1/jobs/{order.job}/result")
    assert result.status == 200, (order, result.status, result.body)
    for page, text in zip(result.json()["pages"], words, strict=True):
        assert text in page["markdown"], (order, page)
    history = [event["type"] for event in client.get(f"/v1/jobs/{order.job}/events?limit=200").json()["items"]]
    assert [kind for kind in history if kind in TERMINAL] == history[-1:], (order, history)
