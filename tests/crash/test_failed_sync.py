"""A failed sync of the database or its log ends every process of the store: the kernel has dropped the data that it could not
write, and no later sync would report that (tests/support/power_cut.py)."""

import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from documents import data_uri, tiny_pdf
from ledger import Ledger, all_jobs
from millrace import Gateway, eventually
from power_cut import image
from store_faults import StoreFaults
from store_processes import StoreProcesses, accepted, as_after_a_boot, assert_kept, events

FILES = {"database": "millrace.db", "log": "millrace.db-wal"}
POWER_CUTS = ("none", "all", 1, 2)
WORKERS = ("one", "two")
LARGE_BYTES = 40_000  # size of a document that is stored in a separate file
LOG_MAX_BYTES = 1 << 20  # the value that StoreProcesses sets

# StoreProcesses ends a thread of the ledger by SystemExit.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")

# Threads of a Ledger end with SystemExit (StoreProcesses.client).
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Scene:
    """A store under load with a recorded fault."""

    def __init__(self, folder, workers=()):
        self.folder = folder
        self.faults = StoreFaults(folder / "data", record=True)
        self.processes = StoreProcesses(self.faults.data, workers, self.faults.env).start()
        self.ledger = Ledger(lambda: self.processes.client, open_per_thread=10)

    def load(self, submissions=20):
        self.ledger.start(threads=2)
        self.ledger.wait_acknowledged(submissions)

    def assert_accepted_jobs_are_kept(self):
        """Checks the images of power cuts at this moment, and a new start on the current directory."""
        assert_kept_in_power_cuts(self.folder, self.faults, accepted(self.ledger))
        self.faults.disarm()
        self.processes.start()
        self.ledger.stop()
        self.ledger.check(self.processes.client)
        assert set(self.processes.terminate()) == {0}, self.processes.tails()


def assert_kept_in_power_cuts(folder, faults, submissions, **kwargs):
    record = faults.recorded()
    for mode in POWER_CUTS:
        cut = folder / f"cut-{mode}" / "data"
        cut.parent.mkdir()
        image(record, faults.data, cut, mode)
        as_after_a_boot(cut, faults.data)
        assert_kept(cut, submissions, **kwargs)


@contextmanager
def scene(folder, workers=()):
    store = Scene(folder, workers)
    try:
        yield store
    except BaseException:
        print(store.processes.tails())
        raise
    finally:
        store.processes.close()


def failed_files(process):
    return [Path(event["file"]).name for event in events(process, "store_sync_failed")]


@pytest.mark.parametrize("failing", FILES)
def test_a_failed_sync_ends_serve_and_loses_no_accepted_job(tmp_path, failing):
    with scene(tmp_path) as store:
        store.load()
        store.faults.arm(failing)
        assert store.processes.wait_ends() == [1], f"{store.faults.hits()} syncs failed"
        assert set(failed_files(store.processes.front)) == {FILES[failing]}
        store.assert_accepted_jobs_are_kept()


def test_one_failed_sync_of_many_that_succeed_is_enough(tmp_path):
    with scene(tmp_path) as store:
        store.load()
        store.faults.arm("database", times=1)
        assert store.processes.wait_ends() == [1]
        assert store.faults.hits() == 1
        store.assert_accepted_jobs_are_kept()


def snapshot(data):
    """A reader that holds a snapshot of the store until it is closed."""
    reader = sqlite3.connect(f"file:{data / 'millrace.db'}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM jobs").fetchall()
    return closing(reader)


def test_pages_that_a_checkpoint_copied_without_a_sync_are_not_lost_by_the_sync_that_fails_later(tmp_path):
    """A checkpoint copies up to the oldest snapshot that a reader still needs, and SQLite does not sync then. Another reader
    first prevents that everything is copied and synced."""
    with scene(tmp_path) as store:
        store.load()
        log = store.faults.data / FILES["log"]
        with snapshot(store.faults.data) as keeps_all:
            eventually(lambda: log.stat().st_size > 2 * LOG_MAX_BYTES, what="the log is long")
            with snapshot(store.faults.data):
                store.faults.arm("database")
                keeps_all.close()
                assert store.processes.wait_ends() == [1]
        store.assert_accepted_jobs_are_kept()


@pytest.mark.parametrize(("failing", "role"), [("database", "api"), ("database", "one"), ("log", "api"), ("log", "two")])
def test_a_failed_sync_in_one_process_ends_all_of_the_store(tmp_path, failing, role):
    with scene(tmp_path, WORKERS) as store:
        store.load()
        store.faults.arm(failing, role=role)
        eventually(lambda: store.faults.hits(failing), what=f"a sync of the {failing} in {role} fails")
        assert store.processes.wait_ends() == [1, 1, 1]
        for process in store.processes.all:
            if process is store.processes.of(role):
                assert set(failed_files(process)) == {FILES[failing]}
            else:
                assert events(process, "store_peer_failed") and not failed_files(process)
        store.assert_accepted_jobs_are_kept()


@pytest.mark.parametrize("failing", FILES)
def test_processes_that_have_nothing_to_do_end_as_well(tmp_path, failing):
    with scene(tmp_path, WORKERS) as store:
        store.faults.arm(failing, times=1)
        with suppress(AssertionError, OSError):  # one process may have ended before its reply
            store.processes.client.submit_ocr(data_uri(tiny_pdf("the only one")))
        assert store.processes.wait_ends() == [1, 1, 1]
        assert store.faults.hits() == 1


def test_sigterm_after_a_failed_sync_is_no_success(tmp_path):
    with scene(tmp_path) as store:
        store.load()
        store.faults.arm("database", times=1)
        eventually(lambda: store.faults.hits("database"), what="a sync of the database fails")
        assert store.processes.terminate() == [1]


@pytest.mark.parametrize("failing", FILES)
def test_a_sync_that_fails_while_the_gateway_drains_is_no_success(tmp_path, failing):
    with scene(tmp_path) as store:
        store.load()
        store.faults.arm(failing)
        (code,) = store.processes.terminate()
        assert store.faults.hits(failing) > 0, "nothing was synced, so the test proves nothing"
        assert code == 1
        assert set(failed_files(store.processes.front)) == {FILES[failing]}
        store.assert_accepted_jobs_are_kept()


# Blobs

@dataclass
class LargeSubmission:
    job: str
    nonce: str


def submit_large(client, nonce):
    document = data_uri(tiny_pdf(nonce, padding=LARGE_BYTES))
    reply = client.post("/v1/ocr", {"document": {"document_url": document}}, headers={"Prefer": "respond-async"})
    return reply, LargeSubmission(reply.json().get("id"), nonce)


@pytest.mark.parametrize("failing", ["blob", "folder"])
def test_a_document_whose_sync_fails_makes_no_job_and_the_gateway_continues(tmp_path, failing):
    faults = StoreFaults(tmp_path / "data")
    gateway = Gateway(faults.data, env=faults.env()).start()
    try:
        faults.arm(failing, times=1)
        refused, _ = submit_large(gateway.client, "refused")
        assert refused.status in (500, 503) and faults.hits(failing) == 1, refused.body
        assert all_jobs(gateway.client) == []
        reply, submission = submit_large(gateway.client, "accepted")
        assert reply.status == 202, reply.body
        assert all_jobs(gateway.client) == [submission.job]
        assert gateway.terminate() == 0, gateway.tail()
    finally:
        gateway.close()


def test_no_power_cut_takes_the_document_of_an_accepted_job(tmp_path):
    """Syncs of blobs and folders fail in between."""
    faults = StoreFaults(tmp_path / "data", record=True)
    gateway = Gateway(faults.data, role="api", env=faults.env()).start()
    submissions = []
    try:
        for number in range(12):
            faults.arm(("blob", "folder")[number % 2], times=number % 3 == 0)
            reply, submission = submit_large(gateway.client, f"document {number}")
            assert reply.status == (500 if number % 3 == 0 else 202), reply.body
            submissions += [submission] if reply.status == 202 else []
        gateway.kill()
    finally:
        gateway.close()
    assert_kept_in_power_cuts(tmp_path, faults, submissions, texts=lambda submission: [submission.nonce])
