"""A 202 is sent only after the accepted job is on the disk. kill -9 does not show a missing sync, because the kernel keeps
what a dead process wrote; the order of the system calls does."""

import secrets
import uuid
from concurrent.futures import ThreadPoolExecutor

from documents import data_uri, tiny_pdf
from system_calls import traced

SYNCS = {"fsync", "fdatasync"}
WRITES = {"write", "writev", "pwrite64", "pwritev", "pwritev2"}


def job_bytes(job):
    """The id in the form in which the store writes it."""
    return uuid.UUID(job.split("-", 1)[1]).bytes


def first(calls, matches, what):
    found = next((call for call in calls if matches(call)), None)
    assert found, what
    return found


def synced_before(calls, path, after, before):
    """Whether a sync of the file began after `after` had ended and ended before `before` began."""
    return any(
        call.name in SYNCS and call.of(path) and call.begun > after.ended and call.ended and call.ended < before.begun
        for call in calls
    )


def acceptance_of(calls, job):
    return first(calls, lambda call: call.name == "sendmsg" and b"202 Accepted" in call.details and job.encode() in call.details, job)


def record_of(calls, gateway, job):
    """The first write of the job's row to the WAL."""
    log = gateway.data / "millrace.db-wal"
    return first(calls, lambda call: call.name in WRITES and call.of(log) and job_bytes(job) in call.details, f"{job} was not written")


def assert_record_is_synced(calls, gateway, job):
    accepted = acceptance_of(calls, job)
    recorded = record_of(calls, gateway, job)
    assert synced_before(calls, gateway.data / "millrace.db-wal", recorded, accepted), f"{job} was acknowledged before its sync"


def submit(gateway, *lines, key=None):
    return gateway.client.submit_ocr(data_uri(tiny_pdf(*lines)), key=key).json()["id"]


def test_a_job_is_acknowledged_only_after_its_row_is_synced(gateway):
    with traced(gateway) as calls:
        with ThreadPoolExecutor(4) as clients:
            jobs = list(clients.map(lambda n: submit(gateway, f"order {n}", key=f"key {n}" if n % 2 else None), range(24)))
    for job in jobs:
        assert_record_is_synced(calls, gateway, job)


def test_a_document_is_synced_under_its_name_before_the_row_that_names_it(gateway):
    with traced(gateway) as calls:
        job = submit(gateway, *(secrets.token_hex(40) for _ in range(400)))
    assert_record_is_synced(calls, gateway, job)
    recorded = record_of(calls, gateway, job)
    blobs = gateway.data / "blobs"
    pieces = [call for call in calls if call.name in WRITES and call.of(blobs / "incoming") and b"%PDF" in call.details]
    assert pieces, "the document was not written to a file"
    incoming = pieces[0].details.split(b"<", 1)[1].split(b">", 1)[0].decode()
    named = first(calls, lambda call: call.name.startswith("rename") and incoming.encode() in call.details, "the file was not renamed")
    last = [call for call in calls if call.name in WRITES and call.of(incoming)][-1]
    assert synced_before(calls, incoming, last, named), "the document got its name before its sync"
    folder = named.details.split(b'", "', 1)[1].split(b'"', 1)[0].decode().rsplit("/", 1)[0]
    assert synced_before(calls, f"{folder}>", named, recorded), "the job was written before the name was synced"
