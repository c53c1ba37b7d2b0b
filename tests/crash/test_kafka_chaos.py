"""Faults of Kafka and of a worker cost latency, never a job."""

import json
import os
import sqlite3
import subprocess
import uuid
from pathlib import Path

import pytest
from documents import data_uri, tiny_pdf
from ledger import Ledger
from millrace import Gateway, Worker, eventually


def processes(tmp_path, kafka):
    data = tmp_path / "data"
    api = Gateway(data, "--kafka", kafka.address, role="api")
    workers = [Worker(data, "--kafka", kafka.address, name=name) for name in ("one", "two")]
    return api, workers


@pytest.fixture
def api_and_workers(tmp_path, kafka):
    api, workers = processes(tmp_path, kafka)
    try:
        for process in (api, *workers):
            process.start()
        yield api, workers
    finally:
        for process in (api, *workers):
            process.close()


@pytest.fixture
def maintained_by_a_worker(tmp_path, kafka):
    """The first worker is the maintenance leader, because it starts first."""
    api, workers = processes(tmp_path, kafka)
    try:
        workers[0].start()
        eventually(lambda: holds_lock(api.data, workers[0].popen.pid, "upkeep"), 10, "the first worker is the maintenance leader")
        for process in (workers[1], api):
            process.start()
        yield api, workers
    finally:
        for process in (api, *workers):
            process.close()


TOPICS = ("millrace.jobs.ocr", "millrace.events")


def topics_exist(kafka):
    listing = subprocess.run(["kcat", "-L", "-b", kafka.address], capture_output=True, text=True, check=True).stdout
    return all(f'topic "{name}"' in listing for name in TOPICS)


def readiness(api):
    return api.client.get("/readyz").json()


def some_jobs(api, count):
    return [api.client.submit_ocr(data_uri(tiny_pdf(f"chaos has no power over {n}"))).json()["id"] for n in range(count)]


def all_succeed(api, jobs, within_s=90):
    for job in jobs:
        assert api.client.wait_terminal(job, within_s)["status"] == "succeeded"


def test_jobs_go_through_kafka_and_the_program_creates_the_topics(api_and_workers, kafka):
    api, _ = api_and_workers
    all_succeed(api, some_jobs(api, 20))  # the workers poll the store for them if they exist before the topics
    eventually(lambda: topics_exist(kafka), 60, "the topics exist")
    eventually(lambda: readiness(api)["dispatch"]["status"] == "ok", 60, "ready")
    all_succeed(api, some_jobs(api, 20))


def test_jobs_are_accepted_while_the_broker_is_down_and_readyz_reports_degraded(api_and_workers, kafka):
    api, _ = api_and_workers
    all_succeed(api, some_jobs(api, 3))
    kafka.kill()
    jobs = some_jobs(api, 10)
    eventually(lambda: readiness(api)["dispatch"]["status"] == "degraded", 60, "degraded")
    all_succeed(api, jobs)  # the workers claim them from the store
    kafka.start()
    eventually(lambda: readiness(api)["dispatch"]["status"] == "ok", 90, "recovered")
    all_succeed(api, some_jobs(api, 5))


def test_a_wiped_broker_costs_no_job(api_and_workers, kafka):
    api, _ = api_and_workers
    all_succeed(api, some_jobs(api, 3))
    kafka.kill()
    jobs = some_jobs(api, 10)
    kafka.wipe()
    kafka.start()
    jobs += some_jobs(api, 10)
    all_succeed(api, jobs)
    eventually(lambda: readiness(api)["dispatch"]["status"] == "ok", 90, "recovered")
    all_succeed(api, some_jobs(api, 5))


def test_topics_deleted_under_running_processes_cost_no_job(api_and_workers, kafka):
    api, workers = api_and_workers
    ledger = Ledger(lambda: api.client)
    ledger.start(threads=3)
    ledger.wait_acknowledged(20)
    kafka.delete_topics(*TOPICS)
    ledger.wait_acknowledged(ledger.acknowledged() + 30)
    ledger.stop()
    assert ledger.check(api.client) >= 50
    eventually(lambda: topics_exist(kafka), 90, "the topics exist again")
    eventually(lambda: readiness(api)["dispatch"]["status"] == "ok", 90, "recovered")
    all_succeed(api, some_jobs(api, 5))
    assert all(process.popen.poll() is None for process in (api, *workers))


def holds_lock(data, pid, name="write"):
    """True if the process holds the flock on locks/NAME.lock now, according to /proc/locks."""
    lock = os.stat(data / "locks" / f"{name}.lock")
    inode = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    with open("/proc/locks", encoding="ascii") as table:
        rows = [line.split() for line in table]
    return any(row[1] == "FLOCK" and row[4] == str(pid) and row[5] == inode for row in rows if row[1] != "->")


def blocks_writers(data, pid):
    """True if the process writes to the store, or is the first in the queue of writers: no other process can write."""
    return holds_lock(data, pid, "write") or holds_lock(data, pid, "next")


def state_of(thread):
    with open(thread / "stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def is_stopped(pid):
    """True if every thread has stopped. While only some have, a thread that waits for the lock in the kernel may still get it."""
    try:
        return all(state_of(thread) == "T" for thread in Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):  # a thread ended meanwhile
        return False


def running_under_leases_of(api, name):
    """The jobs and page ranges that this worker has claimed and not ended, according to the store."""
    with sqlite3.connect(f"file:{api.data / 'millrace.db'}?mode=ro", uri=True) as store:
        rows = store.execute("SELECT id FROM jobs WHERE status = 1 AND worker = ?", (name,))
        return {str(uuid.UUID(bytes=job)) for (job,) in rows}


def stop_while_it_holds_leases(api, worker, name):
    """Stops the worker while it runs jobs but does not block writers; returns the jobs."""

    def caught():
        worker.pause()
        eventually(lambda: is_stopped(worker.popen.pid), 10, "stopped")
        if not blocks_writers(api.data, worker.popen.pid):
            if held := running_under_leases_of(api, name):
                return held
        worker.resume()
        return None

    return eventually(caught, 60, "stopped while it holds a lease")


def outcomes_in_log(worker, jobs, since):
    """The outcomes of the worker's attempts at these jobs, from its log after `since` bytes."""
    found = {job: [] for job in jobs}
    for line in worker.log.read_bytes()[since:].decode().splitlines():
        if '"job_attempt"' in line and (job := next((job for job in jobs if job in line), None)):
            found[job].append(json.loads(line)["outcome"])
    return found


def a_stopped_workers_jobs_are_run_by_the_other(api, workers):
    ledger = Ledger(lambda: api.client, pages=30, open_per_thread=20)
    ledger.start(threads=4)
    ledger.wait_acknowledged(12)
    held = stop_while_it_holds_leases(api, workers[0], "one")
    stopped_at = workers[0].log.stat().st_size
    # When all threads have all their open submissions, the next one waits for the held jobs, and so for the lease.
    ledger.wait_acknowledged(ledger.acknowledged() + 12, within_s=180)
    ledger.stop()
    # All jobs end while it is stopped: the other worker runs the held jobs after the lease.
    ledger.check(api.client)
    workers[0].resume()
    eventually(lambda: all(outcomes_in_log(workers[0], held, stopped_at).values()), 30, "the late attempts have ended")
    assert outcomes_in_log(workers[0], held, stopped_at) == {job: ["lost"] for job in held}
    assert ledger.check(api.client) == len(ledger.submissions)
    all_succeed(api, some_jobs(api, 5))


def test_the_late_result_of_a_worker_stopped_past_its_lease_is_refused(api_and_workers):
    a_stopped_workers_jobs_are_run_by_the_other(*api_and_workers)


def test_a_standby_takes_over_from_a_stopped_maintenance_leader(maintained_by_a_worker):
    api, workers = maintained_by_a_worker
    a_stopped_workers_jobs_are_run_by_the_other(api, workers)
    eventually(lambda: any("maintenance_stalled" in process.log.read_text() for process in (api, workers[1])), what="the old leader is named")


def stop_while_it_holds_the_lock(api, worker):
    """Load makes the worker write. It is stopped repeatedly until one stop happens inside its transaction."""
    pid = worker.popen.pid

    def caught():
        some_jobs(api, 1)
        for _ in range(200):
            if holds_lock(api.data, pid):
                worker.pause()
                eventually(lambda: is_stopped(pid), 10, "stopped")
                if holds_lock(api.data, pid):
                    return True
                worker.resume()
        return False

    eventually(caught, 120, "stopped inside its transaction")


def test_a_worker_stopped_inside_its_transaction_degrades_the_others_by_name_until_it_continues(api_and_workers):
    api, workers = api_and_workers
    stop_while_it_holds_the_lock(api, workers[0])
    eventually(lambda: readiness(api)["store"]["status"] == "degraded", 30, "degraded")
    assert str(workers[0].popen.pid) in readiness(api)["store"]["detail"]
    refused = api.client.post(
        "/v1/ocr", {"document": {"document_url": data_uri(tiny_pdf("too late for this store"))}}, headers={"Prefer": "respond-async"}
    )
    assert refused.status == 503 and refused.headers["retry-after"]
    workers[0].resume()
    eventually(lambda: readiness(api)["store"]["status"] == "ok", 30, "recovered")
    all_succeed(api, some_jobs(api, 5))


def test_the_trace_of_a_request_reaches_the_workers_log(api_and_workers):
    api, workers = api_and_workers
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    reply = api.client.post(
        "/v1/ocr", {"document": {"document_url": data_uri(tiny_pdf("traced through all processes"))}}, headers={"traceparent": trace}
    )
    assert reply.status == 200
    eventually(lambda: any("4bf92f3577b34da6a3ce929d0e0e4736" in w.log.read_text() for w in workers), 10, "trace in the log")
