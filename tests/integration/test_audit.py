"""The audit log for operators: `millrace audit verify` and `export` on a real data directory."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
from datetime import datetime, timezone

import pytest
from millrace import BUILD, Gateway

MILLRACE = BUILD / "millrace"


def millrace(data, *arguments):
    return subprocess.run(
        [MILLRACE, *arguments, "--data", data], capture_output=True, text=True, timeout=120, check=False
    )


def exported(data, *arguments):
    done = millrace(data, "audit", "export", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def netstring(text):
    return b"%d:%s," % (len(text.encode()), text.encode())


def hash_of(row):
    """The hash as documented in docs/operations.md."""
    at = datetime.fromisoformat(row["at"].replace("Z", "+00:00")) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    milliseconds = at.days * 86_400_000 + at.seconds * 1000 + at.microseconds // 1000
    data = json.dumps(row["data"], separators=(",", ":"), ensure_ascii=False)
    fields = [str(row["seq"]), str(milliseconds), row["tenant"], row["actor"], row["act"], row["target"], data]
    return hashlib.sha256(bytes.fromhex(row["prev_hash"]) + b"".join(map(netstring, fields))).hexdigest()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The data directory of a stopped gateway; a key was made and revoked while it ran."""
    gateway = Gateway(tmp_path_factory.mktemp("audit") / "data", role="api").start()
    try:
        made = millrace(gateway.data, "keys", "create", "--name", "batch", "--scopes", "ocr")
        assert made.returncode == 0, made.stderr
        revoked = millrace(gateway.data, "keys", "revoke", made.stdout.split("_")[2])
        assert revoked.returncode == 0, revoked.stderr
        verified = millrace(gateway.data, "audit", "verify")  # while it runs
        assert verified.returncode == 0, verified.stderr
        gateway.terminate()
    finally:
        gateway.close()
    return gateway.data


@pytest.fixture
def copy(data, tmp_path):
    return shutil.copytree(data, tmp_path / "copy")


def tamper(copy, *statements):
    with sqlite3.connect(copy / "millrace.db") as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def test_keys_that_are_made_and_revoked_are_in_the_log(data):
    rows = [row for row in exported(data) if row["act"].startswith("key.") and row["actor"] == "cli"]
    assert [row["act"] for row in rows] == ["key.create", "key.revoke"]
    assert rows[0]["target"] == rows[1]["target"] and rows[0]["data"] == {"name": "batch", "scopes": "ocr"}
    assert "mr_live_" not in json.dumps(rows)


def test_the_first_key_was_made_by_the_gateway(data):
    first = next(row for row in exported(data) if row["act"] == "key.create")
    assert first["actor"] == "gateway" and first["data"]["name"] == "admin"


def test_an_export_can_be_verified_without_millrace(data):
    rows = exported(data)
    before = "0" * 64
    for number, row in enumerate(rows, 1):
        assert row["seq"] == number and row["prev_hash"] == before and row["hash"] == hash_of(row)
        before = row["hash"]
    verified = millrace(data, "audit", "verify")
    assert verified.returncode == 0 and f"{len(rows)} rows" in verified.stdout and before in verified.stdout


def test_an_export_continues_after_a_number(data):
    rows = exported(data)
    assert exported(data, "--after", "1") == rows[1:]
    assert exported(data, "--after", str(len(rows))) == []


@pytest.mark.parametrize(
    "row, statement",
    [
        (2, "UPDATE audit SET actor = 'somebody' WHERE seq = 2"),
        (2, "DELETE FROM audit WHERE seq = 2"),
        (1, "UPDATE audit SET data = '{}' WHERE seq = 1"),
        (1, "DELETE FROM audit"),
    ],
)
def test_a_row_that_was_changed_or_removed_is_named(copy, row, statement):
    tamper(copy, statement)
    verified = millrace(copy, "audit", "verify")
    assert verified.returncode == 1 and f"row {row}:" in verified.stderr, verified


def test_what_is_broken_can_still_be_exported(copy):
    tamper(copy, "UPDATE audit SET data = 'no' || char(10) || 'json' WHERE seq = 1")
    assert exported(copy)[0]["data"] == "no\njson"


def test_a_directory_without_a_store_is_an_error(tmp_path):
    for command in ("verify", "export"):
        done = millrace(tmp_path, "audit", command)
        assert done.returncode == 2 and "is not a data directory" in done.stderr
