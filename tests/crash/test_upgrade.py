"""The current version on a store of an older one: a backup, the migration, and every job that was in progress."""

import base64
import json
import select
import sqlite3
import subprocess
import threading
import time

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway, Worker, eventually
from old_store import NAMES, NEWEST, QUEUED, RUNNING, SUCCEEDED, WAITING, OldStore, rows_of

SCHEMA = 6  # before chats had lanes; the first schema with deferred chats
OTHER_BOOT = 1
JOBS = 100_000
OCR, CHAT = 1, 4
WORD = "inherited"


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    """The specs of a document and a deferred chat in the store, submitted to a gateway without workers."""
    gateway = Gateway(tmp_path_factory.mktemp("specs") / "data", "--mock", "true", role="api").start()
    gateway.client.submit_ocr(data_uri(tiny_pdf(WORD)))
    chat = {"model": "mock/chat", "messages": [{"role": "user", "content": WORD}], "deferred": True}
    assert gateway.client.post("/v1/chat/completions", chat).status in (200, 202)
    gateway.terminate()
    sql = "SELECT jobs.kind, job_specs.bytes, jobs.model FROM jobs JOIN job_specs ON job_specs.id = jobs.spec"
    rows = rows_of(gateway.data / "millrace.db", sql)
    return {kind: (in_json(spec) if kind == OCR else spec, model) for kind, spec, model in rows}


def in_json(spec):
    """The form of OCR specs before schema 15: the document as base64 in the JSON."""
    head, document = bytes(spec).split(b"\0", 1)
    return json.dumps(json.loads(head) | {"inline_document": base64.b64encode(document).decode()}).encode()


def filled(data, specs, jobs=JOBS):
    """Adds jobs in every state in which a killed gateway leaves them; returns the expected number of jobs per final state."""
    share = jobs // 100
    old = OldStore(data, SCHEMA)
    lost = {"lease_boot": OTHER_BOOT, "lease_until": 1, "attempt": 1, "worker": "gone", "token": b"t" * 16, "started_at": 1}
    (document, ocr), (question, chat) = specs[OCR], specs[CHAT]
    old.add(40 * share, status=QUEUED, hours_left=-1)
    old.add(20 * share, status=RUNNING, rerun=1, **lost)
    old.add(10 * share, status=RUNNING, cancel_requested=1, **lost)
    old.add(20 * share, status=WAITING, hours_left=-1, children=1)
    old.add(jobs - 92 * share, status=SUCCEEDED, completed_at=int(time.time() * 1000))
    old.add(share, status=QUEUED, kind=CHAT, model=chat, spec=question, lane_key=chat)
    old.add(share // 10, status=QUEUED, model=ocr, spec=document)
    old.add(share - share // 10, status=RUNNING, model=ocr, spec=document, hours_left=-1, **lost)
    old.close()
    return {
        "expired": 60 * share + share - share // 10,
        "failed": 20 * share,
        "cancelled": 10 * share,
        "succeeded": jobs - 92 * share + share + share // 10,
    }


def counts(data):
    return {NAMES[status]: count for status, count in rows_of(data / "millrace.db", "SELECT status, count(*) FROM jobs GROUP BY status")}


def schema_of(database):
    return rows_of(database, "PRAGMA user_version")[0][0]


def backup_of(data):
    return data / "backups" / f"millrace-v{SCHEMA}.db"


def is_complete(database, jobs):
    return rows_of(database, "PRAGMA integrity_check") == [("ok",)] and rows_of(database, "SELECT count(*) FROM jobs") == [(jobs,)]


def listed(client):
    """The ids of all jobs, read from the API page by page."""
    ids, cursor = set(), ""
    while cursor is not None:
        page = client.get(f"/v1/jobs?limit=200&cursor={cursor}").json()
        ids |= {job["id"] for job in page["items"]}
        cursor = page.get("next_cursor")
    return ids


def test_every_job_in_progress_ends_once_in_the_expected_state(tmp_path, specs, capsys):
    data = tmp_path / "data"
    expected = filled(data, specs)
    begun = time.monotonic()
    gateway = Gateway(data, "--mock", "true").start()
    ready = time.monotonic()
    try:
        assert schema_of(backup_of(data)) == SCHEMA and is_complete(backup_of(data), JOBS)
        assert schema_of(data / "millrace.db") == NEWEST
        gateway.wait_for_log(str(backup_of(data)))
        last = {}

        def ended():
            last.update(now := counts(data))
            return not set(now) & {"queued", "running", "waiting"}

        eventually(ended, 300, "every job has ended")
        over = time.monotonic()
        assert counts(data) == expected
        assert len(listed(gateway.client)) == JOBS
    finally:
        gateway.close()
    with capsys.disabled():
        print(f"\n{JOBS} jobs of schema {SCHEMA}: ready after {ready - begun:.1f} s, all jobs ended after {over - begun:.1f} s")


def kill_at(data, sign):
    """Starts the program and kills it when `sign` is true, or when it is ready if that is earlier."""
    gateway = Gateway(data)
    with open(gateway.log, "ab") as log:
        process = subprocess.Popen([str(part) for part in gateway.command], stdout=subprocess.PIPE, stderr=log)
    while not sign(gateway) and not select.select([process.stdout], [], [], 0.001)[0]:
        pass
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_next_start_finishes_a_backup_and_migration_that_were_killed(tmp_path, specs):
    data = tmp_path / "data"
    filled(data, specs)
    signs = [
        lambda gateway: backup_of(data).with_suffix(".db.new").exists(),
        lambda gateway: backup_of(data).with_suffix(".db.new").exists() and backup_of(data).with_suffix(".db.new").stat().st_size > 1 << 20,
        lambda gateway: backup_of(data).exists(),
        lambda gateway: "store_backed_up" in gateway.log.read_text(),
        lambda gateway: f'"schema": {SCHEMA + 1}' in gateway.log.read_text() or f'"schema":{SCHEMA + 1}' in gateway.log.read_text(),
    ]
    for sign in signs:
        kill_at(data, sign)
        assert is_complete(data / "millrace.db", JOBS)
    gateway = Gateway(data).start()
    gateway.close()
    assert schema_of(data / "millrace.db") == NEWEST and is_complete(data / "millrace.db", JOBS)
    assert schema_of(backup_of(data)) == SCHEMA and is_complete(backup_of(data), JOBS)


def test_of_several_processes_that_start_at_once_one_migrates(tmp_path, specs):
    data = tmp_path / "data"
    filled(data, specs, jobs=10_000)
    processes = [Gateway(data, role="api"), *[Worker(data, name=f"w{i}") for i in range(3)]]
    failures = []

    def start(process):
        try:
            process.start()
        except AssertionError as failed:
            failures.append(failed)

    threads = [threading.Thread(target=start, args=(process,)) for process in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    logs = "".join(process.log.read_text() for process in processes)
    for process in processes:
        process.close()
    assert not failures, failures
    assert logs.count("store_backed_up") == 1 and logs.count("store_migrated") == NEWEST - SCHEMA


def test_a_newer_store_is_refused_with_both_versions_and_what_to_do(tmp_path):
    data = tmp_path / "data"
    gateway = Gateway(data).start()
    gateway.terminate()
    store = sqlite3.connect(data / "millrace.db")
    store.execute(f"PRAGMA user_version = {NEWEST + 1}")
    store.close()
    ran = subprocess.run([BUILD / "millrace", "serve", "--data", data, "--listen", "127.0.0.1:0"], capture_output=True, text=True, timeout=30)
    assert ran.returncode == 1
    assert f"has schema {NEWEST + 1}" in ran.stderr and f"knows only schema {NEWEST}" in ran.stderr and "run the newer version" in ran.stderr
    assert schema_of(data / "millrace.db") == NEWEST + 1
