"""Two API nodes and three workers on three hosts, PostgreSQL with a synchronous standby, S3 and Kafka: any of them is killed
or cut off at any moment, and no job is lost or doubled."""

import collections
import os
import random
import subprocess
import time
from contextlib import closing

import pytest
from cluster import ANSWER_S, Cluster
from counting import CountingUpstream
from hosts import Lan, why_not_here
from ledger import Chats, Documents, Ledger, Scans, all_jobs
from millrace import ROOT, Kafka, eventually
from postgres import Postgres
from s3 import S3

FAULTS = ("api", "worker", "primary", "s3", "kafka", "link")
KILLS = int(os.environ.get("MILLRACE_TEST_CLUSTER_KILLS", len(FAULTS)))  # 60 by hand: docs/benchmarks.md
ACCEPTS_AFTER_PROMOTION_S = 5
WRITE_LOCK = "pg_advisory_xact_lock(hashtextextended('millrace ' || current_schema(), 0))"
YOUNG_S = 2  # so that a wait for the lock does not end by its own limit of 10 s
NOTICED_S = 6
WITHIN_S = 120  # while a host is cut off, the clients' requests to it take their time
MODEL = "team/words"
SMALL = (Documents(), Chats(MODEL), Documents(pages=2), Chats(MODEL), Scans())
LARGE = (Documents(padding=100_000), Documents(pages=40))  # blobs: while S3 is down, they wait
SLOTS = 6  # of a worker for OCR: more than all large jobs, which keep theirs while S3 is down

pytestmark = pytest.mark.skipif(bool(why_not_here()), reason=why_not_here())


@pytest.fixture
def lan():
    for script in ("kafka", "s3"):  # a LAN has no way to the jars
        subprocess.run([ROOT / "scripts" / script, "fetch"], check=True, timeout=300)
    with Lan() as instance:
        yield instance


@pytest.fixture
def postgres(lan):
    server = Postgres(listen=lan.address)
    server.start()
    yield server
    server.close()


@pytest.fixture
def s3(lan, tmp_path):
    server = S3(tmp_path / "s3", listen=lan.address)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def kafka(lan, tmp_path):
    broker = Kafka(tmp_path / "kafka", listen=lan.address)
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture
def upstream(lan):
    with CountingUpstream(at_a_time=1000, listen=lan.address) as instance:
        yield instance


@pytest.fixture
def cluster(lan, postgres, s3, kafka, upstream, tmp_path):
    config = tmp_path / "millrace.yaml"
    config.write_text(f"models:\n- {{name: {MODEL}, provider: openai, model: words, base_url: '{upstream.url}', api_key: env:UP_KEY}}\n")
    flags = ("--store.url", postgres.standby(), *s3.flags(), "--kafka", kafka.address, "--config", config, "--slots", f"ocr={SLOTS}")
    hosts = [lan.host() for _ in range(3)]
    instance = Cluster(tmp_path, hosts, flags, workers=3, env={"UP_KEY": "sk-0123456789"})
    try:
        yield instance.start()
    except BaseException:
        print(instance.tails())
        raise
    finally:
        instance.close()


class Ledgers:
    """What clients of a cluster submit: small jobs from some threads, and large ones from others."""

    def __init__(self, cluster, chance):
        self.anywhere = cluster.any_node()
        self.small, self.large = (
            Ledger(lambda: chance.choice(cluster.clients(ANSWER_S)), open_per_thread=count, works=works)
            for count, works in ((10, SMALL), (3, LARGE))
        )

    def start(self):
        self.small.start(threads=2)
        self.large.start(threads=1)

    def stop(self):
        for each in (self.small, self.large):
            each.stop()

    def wait_accepted(self, more=3):
        self.small.wait_acknowledged(self.small.acknowledged() + more, WITHIN_S)

    def wait_progress(self):
        for each in (self.small, self.large):
            each.wait_progress(self.anywhere)

    @property
    def submissions(self):
        return [*self.small.submissions, *self.large.submissions]

    def check(self):
        """Returns the number of jobs."""
        for each, other in ((self.small, self.large), (self.large, self.small)):
            each.check(self.anywhere, others={submission.job for submission in other.submissions})
        return len(self.submissions)

    def check_repeats(self, clients):
        """A repeated submission has the same job on each API node; each has its share of them here."""
        for number, submission in enumerate(self.submissions):
            assert submission.work.submit(clients[number % len(clients)], submission) == submission.job, submission
        for client in clients:
            assert set(all_jobs(client)) == {submission.job for submission in self.submissions}


class Faults:
    """What happens to the parts of a cluster while jobs are accepted and run."""

    def __init__(self, cluster, lan, postgres, s3, kafka, ledgers, chance):
        self._cluster, self._lan = cluster, lan
        self._postgres, self._s3, self._kafka = postgres, s3, kafka
        self._ledgers, self._chance = ledgers, chance
        self.accepting_after_s = collections.defaultdict(list)  # by fault

    def api(self):
        self._restart(self._chance.choice(self._cluster.apis))

    def worker(self):
        self._restart(self._chance.choice(self._cluster.workers))

    def _restart(self, process):
        process.kill()
        self._ledgers.wait_accepted()
        process.start()

    def primary(self):
        self._postgres.kill()
        promoted = time.monotonic()
        self._postgres.promote()
        self._wait_accepting("primary", promoted)
        self._postgres.standby()

    def s3(self):
        self._restart_part(self._s3)

    def kafka(self):
        self._restart_part(self._kafka)

    def _restart_part(self, part):
        part.kill()
        self._ledgers.wait_accepted(self._chance.randint(0, 10))
        part.start()

    def link(self):
        """Some cuts are longer than the leases of the host's jobs."""
        host = self._chance.choice(self._lan.hosts)
        cut = time.monotonic()
        host.cut()
        self._wait_accepting("link", cut)
        if self._chance.random() < 0.5:
            self._ledgers.wait_progress()
        self._ledgers.wait_accepted(self._chance.randint(1, 10))
        host.mend()

    def _wait_accepting(self, fault, since):
        self._ledgers.wait_accepted(1)
        self.accepting_after_s[fault].append(time.monotonic() - since)


class HeldLock:
    """Another writer that holds the write lock of the store."""

    def __init__(self, url):
        self._psql = subprocess.Popen(["psql", "-XqAt", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._psql.stdin.write(f"BEGIN; SELECT 1 FROM {WRITE_LOCK};\n")
        self._psql.stdin.flush()
        assert self._psql.stdout.readline() == "1\n"

    def close(self):
        self._psql.communicate("ROLLBACK;\n", WITHIN_S)


def test_a_host_that_is_cut_off_while_it_waits_for_the_write_lock_never_gets_it(lan, postgres, tmp_path):
    host = lan.host()
    waiting = f"SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND client_addr = '{host.address}'"
    young = f"{waiting} AND clock_timestamp() - query_start < interval '{YOUNG_S} s'"
    with closing(Cluster(tmp_path, [host], ("--store.url", postgres.url), apis=1, workers=1).start()):
        with closing(HeldLock(postgres.url)):
            eventually(lambda: postgres.query(young) == "2", what="the API node and the worker wait for the lock")
            host.cut()
            eventually(lambda: postgres.query(waiting) == "0", NOTICED_S, "the server ends both sessions")


def test_jobs_are_accepted_soon_after_the_promotion_if_the_host_of_the_primary_has_vanished(lan, tmp_path):
    vanishing = lan.add_address(2)
    with closing(Postgres(listen=f"{vanishing},{lan.address}")) as postgres:
        postgres.start()
        with closing(Cluster(tmp_path, [lan.host()], ("--store.url", postgres.standby()), apis=1, workers=1).start()) as cluster:
            (client,) = cluster.clients(ANSWER_S)
            ledger = Ledger(lambda: client)
            ledger.start(threads=2)
            ledger.wait_acknowledged(10)
            lan.remove_address(vanishing)
            eventually(lambda: client.get("/readyz").status == 503, NOTICED_S, "the API node notices it")
            postgres.kill()
            promoted = time.monotonic()
            postgres.promote()
            ledger.wait_acknowledged(ledger.acknowledged() + 1)
            accepting = time.monotonic() - promoted
            print(f"accepting {accepting:.1f} s after the promotion")
            ledger.stop()
            assert ledger.check(client) >= 10
            assert accepting <= ACCEPTS_AFTER_PROMOTION_S
            lan.add_address(2)


def plan_of(chance):
    """The short form has each fault once."""
    plan = [*FAULTS, *(chance.choice(FAULTS) for _ in range(KILLS - len(FAULTS)))]
    chance.shuffle(plan)
    return plan


def test_no_job_is_lost_or_doubled_whatever_part_fails(cluster, lan, postgres, s3, kafka):
    seed = int(os.environ.get("MILLRACE_TEST_SEED", "30"))
    chance = random.Random(seed)
    ledgers = Ledgers(cluster, random.Random(seed + 1))
    faults = Faults(cluster, lan, postgres, s3, kafka, ledgers, chance)
    began = time.monotonic()
    ledgers.start()
    for number, fault in enumerate(plan_of(chance)):
        ledgers.wait_progress()
        ledgers.wait_accepted(chance.randint(0, 10))
        print(f"{time.monotonic() - began:6.1f} s: fault {number}: {fault}, {len(ledgers.submissions)} jobs", flush=True)
        getattr(faults, fault)()
    ledgers.wait_progress()
    ledgers.stop()
    jobs = ledgers.check()
    for client in cluster.clients():
        eventually(lambda client=client: client.get("/readyz").status == 200, what="each API node accepts")
    ledgers.check_repeats(cluster.clients())
    repeats = sum(submission.repeats for submission in ledgers.submissions)
    print(f"{KILLS} faults, {jobs} jobs, {repeats} requests repeated, {time.monotonic() - began:.0f} s")
    for fault, seconds in faults.accepting_after_s.items():
        print(f"accepting after {fault}: {', '.join(f'{each:.1f} s' for each in seconds)}")
    assert max(faults.accepting_after_s["primary"]) <= ACCEPTS_AFTER_PROMOTION_S
