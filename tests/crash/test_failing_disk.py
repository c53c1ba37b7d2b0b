"""A disk whose writes to the database or its log fail for a moment, with a real ext4 and its page cache: no accepted job is
lost, however the gateway ends and restarts. test_failed_sync.py tests the rules one by one."""

import sqlite3
from contextlib import closing

import pytest
from failing_disk import FailingDisk, why_not_here
from ledger import Ledger
from millrace import eventually
from store_processes import StoreProcesses, accepted, as_after_a_boot, assert_kept

FILES = {"database": "millrace.db", "log": "millrace.db-wal"}
ORDERS = 60
MORE_ORDERS = 60  # enough to restart the log

pytestmark = [
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
    # Threads of a Ledger end with SystemExit (StoreProcesses.client).
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


class Scene:
    """Processes under load on a disk where writes to one of the store's files have started to fail."""

    def __init__(self, folder, disk, failing="database", workers=()):
        self.folder, self.disk = folder, disk
        self.data = disk.root / "data"
        self.processes = StoreProcesses(self.data, workers, logs=folder)
        self.ledger = Ledger(lambda: self.processes.client, open_per_thread=10)
        self._failing = failing

    def __enter__(self):
        self.processes.start()
        self.ledger.start(threads=4)
        self.ledger.wait_acknowledged(ORDERS)
        self.disk.fail_writes_to(self.data / FILES[self._failing])
        eventually(self.disk.failed_writes, what=f"a write to the {self._failing} fails")
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(self.processes.tails())
        self.processes.close()

    def wait_ends(self):
        ends = self.processes.wait_ends()
        self.disk.heal()
        assert set(ends) == {1}, ends

    def kill(self):
        self.processes.kill()
        self.disk.heal()

    def restart(self):
        """Restarts on the kernel's page cache, and continues."""
        self.processes.start()
        self.ledger.wait_acknowledged(self.ledger.acknowledged() + MORE_ORDERS)

    def stop(self):
        self.ledger.stop()
        self.ledger.check(self.processes.client)
        assert set(self.processes.terminate()) == {0}

    def assert_kept_on_disk(self):
        self.disk.disk.remount()
        assert_kept(self.data, accepted(self.ledger))

    def assert_a_new_start_keeps_all(self):
        self.restart()
        self.assert_kept_after_power_cut()
        self.stop()
        self.assert_kept_on_disk()

    def assert_kept_after_power_cut(self):
        submissions = accepted(self.ledger)
        cut = self.disk.power_cut(self.folder / "cut")
        as_after_a_boot(cut.place / "data", self.data)
        assert_kept(cut.place / "data", submissions)


@pytest.fixture
def disk(tmp_path):
    with FailingDisk(tmp_path) as failing:
        yield failing


@pytest.mark.parametrize("failing", FILES)
def test_the_disk_has_every_accepted_job_when_a_failed_sync_has_ended_the_gateway(tmp_path, disk, failing):
    with Scene(tmp_path, disk, failing) as scene:
        scene.wait_ends()
        scene.assert_kept_after_power_cut()
        scene.assert_kept_on_disk()


@pytest.mark.parametrize("failing", FILES)
def test_a_start_on_the_kernels_page_cache_writes_what_the_disk_lacks(tmp_path, disk, failing):
    with Scene(tmp_path, disk, failing) as scene:
        scene.wait_ends()
        scene.assert_a_new_start_keeps_all()


def test_a_start_repairs_the_store_while_a_reader_keeps_the_index_of_the_log(tmp_path, disk):
    """SQLite does not recover from the log while another program has the database open."""
    with Scene(tmp_path, disk) as scene, closing(sqlite3.connect(f"file:{scene.data}/millrace.db?mode=ro", uri=True)) as reader:
        assert reader.execute("SELECT count(*) FROM jobs").fetchall()[0][0] > 0
        scene.wait_ends()
        scene.restart()
        reader.close()
        scene.assert_kept_after_power_cut()
        scene.stop()
        scene.assert_kept_on_disk()


def test_a_gateway_killed_while_its_disk_fails_loses_no_accepted_job(tmp_path, disk):
    with Scene(tmp_path, disk) as scene:
        scene.kill()
        scene.assert_a_new_start_keeps_all()


def test_sigterm_while_the_disk_fails_is_no_success_and_loses_no_accepted_job(tmp_path, disk):
    with Scene(tmp_path, disk) as scene:
        assert scene.processes.terminate() == [1]
        scene.disk.heal()
        scene.assert_kept_on_disk()


def test_api_and_workers_end_together_and_lose_no_accepted_job(tmp_path, disk):
    with Scene(tmp_path, disk, workers=("one", "two")) as scene:
        scene.wait_ends()
        scene.assert_a_new_start_keeps_all()
