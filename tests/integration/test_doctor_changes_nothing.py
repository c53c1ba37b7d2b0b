"""`millrace doctor` changes nothing."""

import sqlite3
import subprocess

from millrace import BUILD, Gateway


def doctor(data):
    checked = subprocess.run([BUILD / "millrace", "doctor", "--data", data], capture_output=True, text=True, timeout=120)
    return checked.returncode, " ".join(checked.stdout.split())


def content_of(folder):
    def of(path):
        about = path.stat()
        return about.st_mode, about.st_mtime_ns, path.read_bytes() if path.is_file() else None

    return {path.relative_to(folder): of(path) for path in [folder, *folder.rglob("*")]}


def stopped(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    gateway.terminate()
    return gateway


def test_the_store_of_a_stopped_gateway_is_left_unchanged(tmp_path):
    gateway = stopped(tmp_path)
    before = content_of(gateway.data)
    code, text = doctor(gateway.data)
    assert code == 0 and "ok store" in text, text
    assert content_of(gateway.data) == before


def test_the_store_of_a_killed_gateway_is_left_unchanged(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    gateway.kill()
    before = content_of(gateway.data)
    code, text = doctor(gateway.data)
    assert code == 0 and "the next start recovers" in text, text
    assert content_of(gateway.data) == before


def test_an_emptied_database_is_a_fault_and_no_store_is_made_over_it(tmp_path):
    """The first page is that of an empty database; pepper and identity show that there was a store."""
    gateway = stopped(tmp_path)
    database = gateway.data / "millrace.db"
    database.unlink()
    empty = sqlite3.connect(database)
    empty.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x); DROP TABLE t; VACUUM")
    empty.close()
    before = content_of(gateway.data)
    code, text = doctor(gateway.data)
    assert code == 1 and "FAIL store" in text and "has no tables, but" in text and "estore a backup" in text, text
    assert content_of(gateway.data) == before
    refused = subprocess.run([*gateway.command], capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0 and "has no tables, but" in refused.stderr, refused.stderr
    assert database.read_bytes() == before[database.relative_to(gateway.data)][2]
