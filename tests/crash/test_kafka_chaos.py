"""What may happen to Kafka and to a worker costs latency, never a job."""

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
def house(tmp_path, kafka):
    api, workers = processes(tmp_path, kafka)
    try:
        for process in (api, *workers):
            process.start()
        yield api, workers
    finally:
        for process in (api, *workers):
            process.close()


@pytest.fixture
def house_kept_by_a_worker(tmp_path, kafka):
    """The first worker does the upkeep of all, as it was there first."""
    api, workers = processes(tmp_path, kafka)
    try:
        workers[0].start()
        eventually(lambda: holds_lock(api.data, workers[0].popen.pid, "upkeep"), 10, "the first worker does upkeep")
        for process in (workers[1], api):
            process.start()
        yield api, workers
    finally:
        for process in (api, *workers):
            process.close()


TOPICS = ("millrace.jobs.ocr", "millrace.events")


def topics_are_there(kafka):
    listing = subprocess.run(["kcat", "-L", "-b", kafka.address], capture_output=True, text=True, check=True).stdout
    return all(f'topic "{name}"' in listing for name in TOPICS)


def readiness(api):
    return api.client.get("/readyz").json()


def some_jobs(api, count):
    return [api.client.submit_ocr(data_uri(tiny_pdf(f"chaos has no power over {n}"))).json()["id"] for n in range(count)]


def all_succeed(api, jobs, within_s=90):
    for job in jobs:
        assert api.client.wait_terminal(job, within_s)["status"] == "succeeded"


def test_jobs_go_through_kafka_and_its_topics_are_made_by_the_program(house, kafka):
    api, _ = house
    all_succeed(api, some_jobs(api, 20))  # the workers find them in the store if they are there before the topics
    eventually(lambda: topics_are_there(kafka), 60, "topics")
    eventually(lambda: readiness(api)["dispatch"]["status"] == "ok", 60, "ready")
    all_succeed(api, some_jobs(api, 20))


def test_accepting_goes_on_while_the_broker_is_down_and_readyz_says_degraded(house, kafka):
    api, _ = house
    all_succeed(api, some_jobs(api, 3))
    kafka.kill()
    jobs = some_jobs(api, 10)
    eventually(lambda: readiness(api)["dispatch"]["status"] == "degraded", 60, "degraded")
    all_succeed(api, jobs)  # the workers take them from the store
    kafka.start()
    eventually(lambda: readiness(api)["dispatch"]["status"] == "ok", 90, "recovered")
    all_succeed(api, some_jobs(api, 5))


def test_a_wiped_broker_costs_no_job(house, kafka):
    api, _ = house
    all_succeed(api, some_jobs(api, 3))
    kafka.kill()
    jobs = some_jobs(api, 10)
    kafka.wipe()
    kafka.start()
    jobs += some_jobs(api, 10)
    all_succeed(api, jobs)
    eventually(lambda: readiness(api)["dispatch"]["status"] == "ok", 90, "recovered")
    all_succeed(api, some_jobs(api, 5))


def test_topics_deleted_under_a_running_house_cost_no_job(house, kafka):
    api, workers = house
    ledger = Ledger(lambda: api.client)
    ledger.start(threads=3)
    ledger.wait_acknowledged(20)
    kafka.delete_topics(*TOPICS)
    ledger.wait_acknowledged(ledger.acknowledged() + 30)
    ledger.stop()
    assert ledger.check(api.client) >= 50
    eventually(lambda: topics_are_there(kafka), 90, "topics made anew")
    eventually(lambda: readiness(api)["dispatch"]["status"] == "ok", 90, "recovered")
    all_succeed(api, some_jobs(api, 5))
    assert all(process.popen.poll() is None for process in (api, *workers))


def holds_lock(data, pid, name="write"):
    """True if the process holds the flock on locks/NAME.lock now, by /proc/locks."""
    lock = os.stat(data / "locks" / f"{name}.lock")
    wanted = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    with open("/proc/locks", encoding="ascii") as table:
        rows = [line.split() for line in table]
    return any(row[1] == "FLOCK" and row[4] == str(pid) and row[5] == wanted for row in rows if row[1] != "->")


def stands_in_the_way(data, pid):
    """True if it writes to the store, or is the first of those who wait to: nobody passes it."""
    return holds_lock(data, pid, "write") or holds_lock(data, pid, "next")


def state_of(thread):
    with open(thread / "stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def is_stopped(pid):
    """Every thread has: one that waited for the lock in the kernel may still get it while the first one has stopped."""
    try:
        return all(state_of(thread) == "T" for thread in Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):  # a thread ended meanwhile
        return False


def running_under_leases_of(api, name):
    """The jobs and ranges of pages that this worker has claimed and not ended, by the store."""
    with sqlite3.connect(f"file:{api.data / 'millrace.db'}?mode=ro", uri=True) as store:
        rows = store.execute("SELECT id FROM jobs WHERE status = 1 AND worker = ?", (name,))
        return {str(uuid.UUID(bytes=job)) for (job,) in rows}


def stop_while_it_holds_leases(api, worker, name):
    """Stops the worker in the middle of its work, but where it keeps nobody from the store; returns what it holds."""

    def caught():
        worker.pause()
        eventually(lambda: is_stopped(worker.popen.pid), 10, "stopped")
        if not stands_in_the_way(api.data, worker.popen.pid):
            if held := running_under_leases_of(api, name):
                return held
        worker.resume()
        return None

    return eventually(caught, 60, "stopped while it holds a lease")


def outcomes_in_log(worker, jobs, since):
    """What became of the worker's own attempts at these jobs, by what its log says after `since` bytes."""
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
    # Once all threads have all their open orders, the next one waits for what is held, and so for the lease.
    ledger.wait_acknowledged(ledger.acknowledged() + 12, within_s=180)
    ledger.stop()
    # Everything ends while it is stopped: what it held is run by the other one after the lease.
    ledger.check(api.client)
    workers[0].resume()
    eventually(lambda: all(outcomes_in_log(workers[0], held, stopped_at).values()), 30, "the late attempts have ended")
    assert outcomes_in_log(workers[0], held, stopped_at) == {job: ["lost"] for job in held}
    assert ledger.check(api.client) == len(ledger.orders)
    all_succeed(api, some_jobs(api, 5))


def test_a_worker_stopped_past_its_lease_comes_back_and_its_late_result_is_refused(house):
    a_stopped_workers_jobs_are_run_by_the_other(*house)


def test_a_stopped_worker_that_does_the_upkeep_of_all_is_stood_in_for(house_kept_by_a_worker):
    api, workers = house_kept_by_a_worker
    a_stopped_workers_jobs_are_run_by_the_other(api, workers)
    assert any("maintenance_stalled" in process.log.read_text() for process in (api, workers[1]))


def stop_while_it_holds_the_lock(api, worker):
    """Load makes the worker write; it is stopped again and again until one stop falls into its transaction."""
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


def test_a_worker_stopped_inside_its_transaction_degrades_the_others_by_name_until_it_goes_on(house):
    api, workers = house
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


def test_the_trace_of_a_request_reaches_the_workers_log(house):
    api, workers = house
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    reply = api.client.post(
        "/v1/ocr", {"document": {"document_url": data_uri(tiny_pdf("traced through the house"))}}, headers={"traceparent": trace}
    )
    assert reply.status == 200
    eventually(lambda: any("4bf92f3577b34da6a3ce929d0e0e4736" in w.log.read_text() for w in workers), 10, "trace in the log")
