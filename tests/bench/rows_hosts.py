"""Rows 27 and 28: several hosts on PostgreSQL and S3 without Kafka, all on one machine. What many slots cost the server, and how
many more pages more hosts read."""

import os
import select
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import machine
from bench_run import picked
from bench_scans import scanned_document
from cluster import Cluster
from documents import data_uri
from hosts import Loopback
from millrace import eventually
from postgres import Postgres
from report import Result
from rows_deferred import Setup
from s3 import S3

SLOTS, SLOT_HOSTS, JOB_MS = 512, 4, 1000
WARM_UP_S = 5
SHARE = 0.4  # of a core for each host of row 28, so that four of them and the servers fit on two cores
SCANS_PER_HOST = 12
ENDS_WITHIN_S = 900
CPU_GROUPS, PERIOD_US = Path("/sys/fs/cgroup/cpu"), 100_000


class Share(Loopback):
    """A host whose processes get a share of a core. Needs root, and cgroups of version 1."""

    def __init__(self, name):
        super().__init__(name)
        self._group = CPU_GROUPS / f"millrace-bench-{os.getpid()}-{name}"

    def open(self):
        self._group.mkdir()
        (self._group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (self._group / "cpu.cfs_quota_us").write_text(str(int(PERIOD_US * SHARE)))

    def close(self):
        if self._group.exists():
            eventually(lambda: not (self._group / "cgroup.procs").read_text(), what=f"{self.name} has no process left")
            self._group.rmdir()

    def command(self, *command):
        return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', self._group, *command]


@contextmanager
def _cluster(bench, hosts, *flags, **options):
    """A started API node, workers on the hosts that are not started yet, and the server of their jobs."""
    folder = bench.fresh_folder("cluster")
    with ExitStack() as stack:
        postgres, s3 = stack.enter_context(closing(Postgres())), S3(folder / "s3")
        stack.callback(s3.kill)
        postgres.start()
        s3.start()
        shared = ["--store.url", postgres.url, *s3.flags(), *flags]
        front = stack.enter_context(closing(Cluster(folder, [Loopback("front")], shared, apis=1, **options)))
        behind = stack.enter_context(closing(Cluster(folder, hosts, shared, apis=0, workers=len(hosts), **options)))
        front.start()
        yield front.apis[0], behind.workers, postgres


def _ended(postgres):
    return int(postgres.query("SELECT count(*) FROM jobs WHERE completed_at IS NOT NULL"))


def _pause(seconds):
    select.select([], [], [], seconds)


def _jobs_of_slots(setup, seconds):
    hosts = [Loopback(f"host{number}") for number in range(SLOT_HOSTS)]
    flags = ["--config", setup.settings, "--slots", f"chat={SLOTS // SLOT_HOSTS}"]
    with _cluster(setup.bench, hosts, *flags, kinds="chat", env=setup.env) as (api, workers, postgres):
        setup.submit(api, "free", requests=SLOTS * (seconds + 3 * WARM_UP_S), seconds=600)
        for worker in workers:
            worker.start()
        _pause(WARM_UP_S)
        before, used = _ended(postgres), machine.tree_cpu_s(postgres.pid())
        _pause(seconds)
        done, used = _ended(postgres) - before, machine.tree_cpu_s(postgres.pid()) - used
        return {"per_second": done / seconds, "cores": used / seconds}


def slots(bench):
    """Row 27: a worker with 128 slots on each of four hosts. Each job waits a second for its provider."""
    setup = Setup(bench, "--delay-ms", JOB_MS)
    rounds = 1 if bench.quick else 3
    samples = bench.side_by_side(rounds, slots=lambda: _jobs_of_slots(setup, 10 if bench.quick else 30))["slots"]
    what = f"jobs of {JOB_MS / 1000:.0f} s on {SLOTS} slots of {SLOT_HOSTS} hosts"
    return [
        Result(27, what, "/s", picked(samples, "per_second"), least=480),
        Result(27, "CPU of PostgreSQL meanwhile", "cores", picked(samples, "cores"), most=0.7),
    ]


# Asks rarely: each question is a process on the same cores.
def _wait_for_pages(postgres, count):
    deadline = time.monotonic() + ENDS_WITHIN_S
    while _ended(postgres) < count:
        assert time.monotonic() < deadline, f"{_ended(postgres)} of {count} pages were read within {ENDS_WITHIN_S} s"
        _pause(1)


def _pages_per_second(bench, pages, count):
    hosts = [Share(f"host{number}") for number in range(count)]
    with ExitStack() as stack:
        for host in hosts:
            stack.callback(host.close)
            host.open()
        api, workers, postgres = stack.enter_context(_cluster(bench, hosts, "--slots", "ocr=1", kinds="ocr"))
        for number in range(SCANS_PER_HOST * count):
            assert api.client.submit_ocr(data_uri(pages[number % len(pages)])).status == 202
        for worker in workers:
            worker.start()
        _wait_for_pages(postgres, SCANS_PER_HOST * count)
        first, last = postgres.query("SELECT min(started_at), max(completed_at) FROM jobs").split("|")
        return SCANS_PER_HOST * count * 1000 / (int(last) - int(first))


def hosts(bench):
    """Row 28: scanned pages on one, two and four hosts that each have a share of a core."""
    pages = [scanned_document(1, first=number)[0] for number in range(6)]
    sides = {f"hosts{count}": lambda count=count: _pages_per_second(bench, pages, count) for count in (1, 2, 4)}
    samples = bench.side_by_side(1 if bench.quick else 3, **sides)
    one = samples["hosts1"]
    what = f"scanned pages on {{}} hosts with {SHARE:g} cores each"
    return [
        Result(28, what.format(2), "pages/s", samples["hosts2"], "one host", one, least=1.8),
        Result(28, what.format(4), "pages/s", samples["hosts4"], "one host", one, least=3.5),
    ]
