"""`millrace doctor` finds a malformed store and secrets that do not fit it; it names the file and what to do."""

import os
import secrets
import shutil
import sqlite3
import subprocess
from contextlib import closing

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway

PAGE = 8192


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A store with some jobs, after a clean stop."""
    gateway = Gateway(tmp_path_factory.mktemp("used") / "data", role="api").start()
    try:
        for number in range(40):
            gateway.client.submit_ocr(data_uri(tiny_pdf(f"document {number}", "second page")))
        assert gateway.terminate() == 0
    finally:
        gateway.close()
    return gateway.data


@pytest.fixture
def data(used, tmp_path):
    shutil.copytree(used, tmp_path / "data")
    (tmp_path / "data").chmod(0o711)
    return tmp_path / "data"


def doctor(data):
    checked = subprocess.run([BUILD / "millrace", "doctor", "--data", data], capture_output=True, text=True, timeout=120)
    return checked.returncode, " ".join(checked.stdout.split())


def of_store(data, query):
    with closing(sqlite3.connect(data / "millrace.db")) as store:
        return [row[0] for row in store.execute(query)]


def root_page(data, name):
    return of_store(data, f"SELECT rootpage FROM sqlite_schema WHERE name = '{name}'")[0]


def overwrite(data, page, content, offset=0):
    with open(data / "millrace.db", "r+b") as file:
        file.seek((page - 1) * PAGE + offset)
        file.write(content)


def change_schema(data, statement):
    with closing(sqlite3.connect(data / "millrace.db")) as store:
        store.executescript(f"PRAGMA writable_schema = ON; {statement}")


def truncate(data):
    size = (data / "millrace.db").stat().st_size
    os.truncate(data / "millrace.db", size // 2 // PAGE * PAGE)


def truncate_within_a_page(data):
    os.truncate(data / "millrace.db", (data / "millrace.db").stat().st_size - 1000)


def lose_an_index_entry(data):
    """The index no longer has what its table has."""
    overwrite(data, root_page(data, an_index(data)), b"\x0a" + bytes(4) + (PAGE).to_bytes(2, "big") + b"\0")


def an_index(data):
    """One that has entries."""
    names = of_store(data, "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'jobs' AND sql IS NOT NULL")
    content = (data / "millrace.db").read_bytes()
    entries = {name: content[(root_page(data, name) - 1) * PAGE + 3 :][:2] for name in names}
    return next(name for name in names if entries[name] != b"\0\0")


DAMAGES = {
    "truncated": truncate,
    "truncated within a page": truncate_within_a_page,
    "a zeroed page": lambda data: overwrite(data, root_page(data, "jobs"), bytes(PAGE)),
    "a zeroed page of an index": lambda data: overwrite(data, root_page(data, an_index(data)), bytes(PAGE)),
    "a page of garbage": lambda data: overwrite(data, root_page(data, "job_specs"), secrets.token_bytes(PAGE)),
    "a changed magic": lambda data: overwrite(data, 1, b"X"),
    "another page size": lambda data: overwrite(data, 1, (4096).to_bytes(2, "big"), 16),
    "a garbage header": lambda data: overwrite(data, 1, secrets.token_bytes(100)),
    "an unreadable schema row": lambda data: change_schema(data, "UPDATE sqlite_schema SET sql = 'CREATE TABLE jobs (' WHERE name = 'jobs'"),
    "a wrong root page": lambda data: change_schema(data, "UPDATE sqlite_schema SET rootpage = 3 WHERE name = 'jobs'"),
    "a lost index": lambda data: change_schema(data, f"DROP INDEX {an_index(data)}"),
    "a lost table": lambda data: change_schema(data, "DROP TABLE job_parts"),
    "an index that lacks entries": lose_an_index_entry,
}


def test_a_whole_store_is_ok(data):
    code, text = doctor(data)
    assert code == 0 and "ok store" in text and "ok secrets" in text, text


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_malformed_store_is_named_with_what_to_do(data, damage):
    DAMAGES[damage](data)
    code, text = doctor(data)
    assert code == 1 and "FAIL store" in text, text
    assert str(data / "millrace.db") in text and "estore a backup" in text, text


def test_an_index_that_does_not_fit_can_be_rebuilt(data):
    lose_an_index_entry(data)
    code, text = doctor(data)
    assert code == 1 and f"sqlite3 {data}/millrace.db REINDEX" in text, text
    with closing(sqlite3.connect(data / "millrace.db")) as store:
        store.execute("REINDEX")
    assert doctor(data)[0] == 0


@pytest.mark.parametrize("name", ["pepper", "secret.key"])
@pytest.mark.parametrize("change", ["missing", "another", "empty", "cut"])
def test_a_secret_that_does_not_fit_is_named_with_what_to_do(data, name, change):
    secret = data / name
    own = secret.read_text()
    others = {"pepper": secrets.token_hex(32), "secret.key": "A" * 43 + "="}
    secret.unlink()
    if change != "missing":
        secret.write_text({"another": others[name], "empty": "", "cut": own[:10]}[change])
        secret.chmod(0o600)
    code, text = doctor(data)
    assert code == 1 and f"FAIL secrets {secret} " in text and "estore it from a backup" in text, text
    assert secret.exists() == (change != "missing"), "doctor changes nothing"
