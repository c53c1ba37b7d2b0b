"""Rows 24 to 26: the store in PostgreSQL, its server and the bench on one machine."""

import contextlib
import subprocess

import postgres_peers
import rows_accept
from bench_run import picked
from millrace import BUILD
from postgres import Postgres
from report import Result

SLOTS = 256
HELD_S, HELD_QUICK_S = 300, 20  # how long a drain with an open snapshot lasts


class Databases:
    """A server; each round has a new database."""

    def __init__(self, bench, standby=False):
        self.server, self._number = Postgres(), 0
        bench.keep(self)
        self._url = self.server.start()
        if standby:
            self.server.standby()

    def kill(self):
        self.server.close()

    def fresh(self):
        if self._number:
            self.server.query(f"DROP DATABASE bench{self._number} WITH (FORCE)")
        self._number += 1
        self.server.query(f"CREATE DATABASE bench{self._number}")
        return f"{self._url.rsplit('/', 1)[0]}/bench{self._number}"


def accepts(bench):
    """Row 24: as row 1, with a synchronous standby."""
    databases = Databases(bench, standby=True)

    def measure(**more):
        return rows_accept.accept(bench, "--store.url", databases.fresh(), **more)

    samples = bench.side_by_side(accept=measure, accept_keys=lambda: measure(fresh_keys=1))
    p99_ms = [us / 1e3 for us in picked(samples["accept"], "p99_us")]
    return [
        Result(24, "accepts on PostgreSQL with a synchronous standby, 64 connections, 1 KB", "/s", picked(samples["accept"], "per_second"), least=8000),
        Result(24, "the same, a new Idempotency-Key each", "/s", picked(samples["accept_keys"], "per_second")),
        Result(24, "p99 of an accept at that load", "ms", p99_ms),
    ]


def _drain(bench, url, jobs):
    folder = bench.fresh_folder("drain")
    flags = ["--mode", "drain", "--data", folder / "data", "--url", url, "--slots", SLOTS, "--jobs", jobs]
    return bench.run_json([BUILD / "bench_jobs", *flags])


def drain(bench):
    databases = Databases(bench)
    jobs = 10_000 if bench.quick else 100_000
    what = f"drain of {jobs} jobs on PostgreSQL, {SLOTS} slots"

    def of_peer(program):
        return lambda: bench.run_json([program, databases.fresh(), jobs, SLOTS])

    peers = {name: of_peer(program) for name, program in postgres_peers.built().items()}
    samples = bench.side_by_side(ours=lambda: _drain(bench, databases.fresh(), jobs), **peers)
    rates = {name: picked(values, "per_second") for name, values in samples.items()}
    against = [Result(25, f"the same beside {name}", "jobs/s", rates["ours"], name, rates[name], least=1.0) for name in peers]
    return [Result(25, what, "jobs/s", rates["ours"], least=4000), *against]


@contextlib.contextmanager
def held_snapshot(url):
    """A session that holds a snapshot open, so that the server keeps every dead row."""
    with subprocess.Popen(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        session.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class;\n")
        session.stdin.flush()
        assert session.stdout.readline().strip().isdigit(), "the session holds no snapshot"
        try:
            yield
            assert session.poll() is None, "the session with the snapshot has ended"
        finally:
            session.stdin.close()


def drain_beside_snapshot(bench):
    """Row 26: the jobs of row 25, so many that their drain lasts for a while, and a snapshot as old as their store."""
    databases = Databases(bench)
    probe = _drain(bench, databases.fresh(), 10_000)["per_second"]
    jobs = int(probe * (HELD_QUICK_S if bench.quick else HELD_S))

    def held():
        url = databases.fresh()
        with held_snapshot(url):
            return _drain(bench, url, jobs)

    samples = bench.side_by_side(1, free=lambda: _drain(bench, databases.fresh(), jobs), held=held)
    ours, peer = (picked(samples[side], "per_second") for side in ("held", "free"))
    last, first = (picked(samples["held"], f"{part}_fifth") for part in ("last", "first"))
    return [
        Result(26, f"drain of {jobs} jobs on PostgreSQL beside an open snapshot", "jobs/s", ours, "without it", peer, least=0.8),
        Result(26, "its last fifth", "jobs/s", last, "its first fifth", first, least=0.8),
    ]
