"""The write-ahead log of a store is damaged while no process has it open. SQLite takes such a log for a shorter one, without an
error: a start notices it by `locks/last-commit`, reports how many commits are missing, and continues with what is there."""

import contextlib
import fcntl
import os
import shutil
import signal
import struct
import subprocess

import pytest
from documents import data_uri, tiny_pdf
from ledger import all_jobs
from millrace import BUILD, Gateway, eventually
from store_processes import events, integrity

JOBS = 20
FRAME = 8192 + 24  # a page in the log
COMMITS_AT, FRAMES_AT, COPIED_COMMITS_AT = 16, 32, 512 + 16


class Store:
    """A gateway without workers, so that only submissions change the store."""

    def __init__(self, folder):
        self.gateway = Gateway(folder / "data", role="api")
        self.data = self.gateway.data
        self.log = self.data / "millrace.db-wal"
        self.last = self.data / "locks" / "last-commit"
        self.accepted = []

    def start(self):
        self.gateway.start()
        return self

    def submit(self, jobs=JOBS):
        for number in range(jobs):
            reply = self.gateway.client.submit_ocr(data_uri(tiny_pdf(f"document {number}")))
            self.accepted.append(reply.json()["id"])

    def commits(self):
        """The last commit, and the last one that the database contains."""
        return self._number(COMMITS_AT), self._number(COPIED_COMMITS_AT)

    def frame_at(self, share):
        """Where a frame of the log begins: 0 is its first one, 1 its end. The file may be longer."""
        return 32 + int(self._number(FRAMES_AT) * share) * FRAME

    def _number(self, at):
        return struct.unpack_from("<Q", self.last.read_bytes().ljust(600, b"\0"), at)[0]

    def is_copied(self):
        return len(set(self.commits())) == 1

    def wait_copied(self):
        eventually(self.is_copied, 30, "a checkpoint of everything")

    @contextlib.contextmanager
    def no_checkpoints(self):
        """From the end of a running checkpoint on, the log keeps everything."""
        with open(self.data / "locks" / "checkpoint.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def kill_with_all_in_log(self, jobs=JOBS):
        with self.no_checkpoints():
            self.submit(jobs)
            self.gateway.kill()
        last, copied = self.commits()
        assert last > copied

    def kill_with_all_copied(self):
        """Stopped, the gateway commits nothing between the look and its end."""
        def stop_copied():
            self.wait_copied()
            self.gateway.popen.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, self.gateway.popen.pid, os.WSTOPPED | os.WNOWAIT)
            if self.is_copied():
                return True
            self.gateway.popen.send_signal(signal.SIGCONT)
            return False
        eventually(stop_copied, 60, "a stop right after a checkpoint")
        self.gateway.kill()

    def kill_after_submissions(self):
        """All of them are in the log only."""
        self.start().kill_with_all_in_log()

    def lost_after_start(self):
        self.start()
        lost = set(self.accepted) - set(all_jobs(self.gateway.client))
        assert self.gateway.client.get("/readyz").status in (200, 503)  # without workers
        return lost

    def missing(self):
        """The numbers of all starts that found something missing."""
        return [event["commits"] for event in events(self.gateway, "store_commits_missing")]

    def metric(self):
        lines = self.gateway.client.get("/metrics").body.decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("millrace_store_commits_missing "))

    def doctor(self):
        checked = subprocess.run([BUILD / "millrace", "doctor", "--data", self.data], capture_output=True, text=True, timeout=120)
        return next(line for line in checked.stdout.splitlines() if " store " in line)


@pytest.fixture
def store(tmp_path):
    one = Store(tmp_path)
    yield one
    one.gateway.close()


def change_byte(file, at):
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


DAMAGES = {
    "cut": lambda store: os.truncate(store.log, store.frame_at(0.5) + 100),
    "last byte cut": lambda store: os.truncate(store.log, store.frame_at(1) - 1),
    "one byte": lambda store: change_byte(store.log, store.frame_at(0.5) + 1000),
    "first frame": lambda store: change_byte(store.log, store.frame_at(0) + 29),
    "header": lambda store: change_byte(store.log, 17),
    "empty": lambda store: os.truncate(store.log, 0),
    "deleted": lambda store: store.log.unlink(),
    "garbage": lambda store: store.log.write_bytes(os.urandom(store.log.stat().st_size)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_damaged_log_lacks_is_reported(store, damage):
    store.kill_after_submissions()
    last, copied = store.commits()
    DAMAGES[damage](store)
    lost = store.lost_after_start()
    assert len(lost) <= sum(store.missing()), "a job is lost without a word"
    assert sum(store.missing()) <= last - copied, "what is in the database is not lost"
    assert len(store.missing()) == 1 and store.metric() == store.missing()[0]
    assert (store.data / "missing-commits").read_text().count("\n") == 1
    assert store.gateway.terminate() == 0
    assert integrity(store.data) == ["ok"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_checkpoint_has_copied_is_not_lost(store, damage):
    store.start().submit()
    store.kill_with_all_copied()
    DAMAGES[damage](store)
    assert not store.lost_after_start() and store.missing() == []
    assert store.metric() == 0
    assert store.gateway.terminate() == 0
    assert integrity(store.data) == ["ok"]


def test_the_message_says_how_many_are_missing_since_when_and_what_to_do(store):
    store.start().submit()
    store.wait_copied()
    store.kill_with_all_in_log(jobs=1)
    os.truncate(store.log, store.frame_at(1) - 1)
    text = store.doctor()
    assert text.startswith("FAIL") and "commit" in text and " after 20" in text and str(store.log) in text
    assert len(store.lost_after_start()) == 1
    (event,) = events(store.gateway, "store_commits_missing")
    assert event["commits"] == 1 and event["since"].startswith("20")
    assert str(store.log) in event["reason"] and "restore a backup" in event["advice"]
    store.gateway.terminate()
    assert store.doctor().startswith("warn")
    (store.data / "missing-commits").unlink()
    assert store.doctor().startswith("ok")
    assert store.lost_after_start() and len(store.missing()) == 1, "it is reported once"


def test_nothing_is_reported_after_kills_stops_and_another_program(store):
    for end in ("kill", "stop", "kill", "sqlite"):
        store.start().submit(5)
        store.gateway.terminate() if end == "stop" else store.gateway.kill()
        if end == "sqlite":
            assert integrity(store.data) == ["ok"]
    assert not store.lost_after_start()
    assert store.missing() == [] and store.metric() == 0


def test_nothing_is_reported_after_a_restored_backup(store, tmp_path):
    store.start().submit(5)
    backup = tmp_path / "backup"
    subprocess.run([BUILD / "millrace", "backup", backup, "--data", store.data], check=True, capture_output=True, timeout=60)
    store.submit(5)
    store.gateway.kill()
    shutil.rmtree(store.data)
    shutil.copytree(backup, store.data)
    store.data.chmod(0o711)
    assert len(store.lost_after_start()) == 5
    assert store.missing() == [] and store.metric() == 0


def test_the_log_of_another_database_is_not_written_over_a_restored_one(store, tmp_path):
    store.start().submit(5)
    backup = tmp_path / "backup"
    subprocess.run([BUILD / "millrace", "backup", backup, "--data", store.data], check=True, capture_output=True, timeout=60)
    store.submit(5)
    store.kill_with_all_copied()
    shutil.copyfile(backup / "millrace.db", store.data / "millrace.db")
    before = store.log.read_bytes()
    refused = subprocess.run([BUILD / "millrace", "serve", "--data", store.data, "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "millrace.db was replaced" in refused.stderr, refused.stderr
    assert f"rm -f {store.log} {store.data}/millrace.db-shm" in refused.stderr
    assert store.doctor().startswith("FAIL") and store.log.read_bytes() == before
    for end in ("-wal", "-shm"):
        (store.data / f"millrace.db{end}").unlink(missing_ok=True)
    assert len(store.lost_after_start()) == 5 and store.missing() == []
    assert store.gateway.terminate() == 0
    assert integrity(store.data) == ["ok"]


def test_a_copy_of_the_whole_directory_of_a_killed_gateway_starts(store, tmp_path):
    store.start().submit(5)
    store.kill_with_all_copied()
    shutil.copytree(store.data, tmp_path / "moved")
    shutil.rmtree(store.data)
    shutil.copytree(tmp_path / "moved", store.data)
    store.data.chmod(0o711)
    assert not store.lost_after_start() and store.missing() == []


def test_a_restored_backup_does_not_report_what_was_missing_before_it(store, tmp_path):
    store.kill_after_submissions()
    os.truncate(store.log, store.frame_at(1) - 1)
    store.lost_after_start()
    noted = sum(store.missing())
    backup = tmp_path / "backup"
    subprocess.run([BUILD / "millrace", "backup", backup, "--data", store.data], check=True, capture_output=True, timeout=60)
    store.gateway.kill()
    assert noted > 0 and (store.data / "missing-commits").exists()
    shutil.rmtree(store.data)
    shutil.copytree(backup, store.data)
    store.data.chmod(0o711)
    assert not [file.name for file in store.data.iterdir() if "damaged" in file.name or file.name == "missing-commits"]
    store.start()
    assert store.metric() == 0


@pytest.mark.parametrize("command", [["keys", "list"], ["backup", "BACKUP"]])
def test_a_command_does_not_continue_without_commits(store, tmp_path, command):
    store.start().submit()
    store.wait_copied()
    store.kill_with_all_in_log(jobs=1)
    whole = store.log.read_bytes()
    os.truncate(store.log, store.frame_at(1) - 1)
    arguments = [str(tmp_path / "backup") if each == "BACKUP" else each for each in command]
    ended = subprocess.run([BUILD / "millrace", *arguments, "--data", store.data], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "1 commit after " in ended.stderr and "millrace doctor" in ended.stderr, ended.stderr
    store.log.write_bytes(whole)
    assert not store.lost_after_start() and store.missing() == []


@pytest.mark.parametrize("content", [None, b"", b"x", os.urandom(600), "longer"])
def test_a_start_does_not_need_the_number_of_the_last_commit(store, content):
    store.kill_after_submissions()
    if content is None:
        store.last.unlink()
    else:
        store.last.write_bytes(store.last.read_bytes() + bytes(5000) if content == "longer" else content)
    assert not store.lost_after_start() and store.missing() == []
    store.gateway.kill()
    os.truncate(store.log, 0)
    store.lost_after_start()
