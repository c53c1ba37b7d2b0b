"""A data directory of an older version: the tables of an older schema, filled with SQL of that schema."""

import os
import sqlite3
import time
from pathlib import Path

from millrace import ROOT

MIGRATIONS = sorted((ROOT / "storage" / "migrations").glob("*.sql"))
NEWEST = len(MIGRATIONS)
HOUR_MS = 3_600_000
QUEUED, RUNNING, WAITING, SUCCEEDED = 0, 1, 2, 3
NAMES = ["queued", "running", "waiting", "succeeded", "failed", "cancelled", "expired"]


def uuid7(at_ms):
    random = bytearray(os.urandom(10))
    random[0] = 0x70 | random[0] & 0x0F
    random[2] = 0x80 | random[2] & 0x3F
    return at_ms.to_bytes(6, "big") + bytes(random)


def rows_of(database, sql):
    """Queries a store that a program may have open."""
    store = sqlite3.connect(database, timeout=30)
    try:
        return store.execute(sql).fetchall()
    finally:
        store.close()


class OldStore:
    """`schema` is the number of the last migration that was applied."""

    def __init__(self, data, schema):
        self.data = Path(data)
        self.data.mkdir(mode=0o711, parents=True)
        (self.data / "locks").mkdir(mode=0o700)
        self.path = self.data / "millrace.db"
        self.path.touch(mode=0o600)
        self.store = sqlite3.connect(self.path)
        self.store.execute("PRAGMA page_size = 8192")
        self.store.execute("PRAGMA journal_mode = WAL")
        for migration in MIGRATIONS[:schema]:
            self.store.executescript(migration.read_text())
        self.store.execute(f"PRAGMA user_version = {schema}")

    def add(self, count, *, status, kind=1, model="millrace/ocr", spec=None, hours_left=24, **columns):
        """Adds `count` jobs that were submitted one after the other, at least an hour ago."""
        now = int(time.time() * 1000)
        begun = now - 30 * HOUR_MS
        if spec is not None:
            columns["spec"] = self.store.execute("INSERT INTO job_specs (bytes) VALUES (?) RETURNING id", (spec,)).fetchone()[0]
        fixed = {"tenant": "default", "kind": kind, "status": status, "priority": 0, "rerun": 0, "model": model}
        fixed |= {"deadline": now + hours_left * HOUR_MS, **columns}
        names = ["id", "created_at", *fixed]
        rows = ((uuid7(begun + i), begun + i, *fixed.values()) for i in range(count))
        self.store.executemany(f"INSERT INTO jobs ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", rows)

    def close(self):
        self.store.commit()
        self.store.close()
