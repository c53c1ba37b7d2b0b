"""SIGTERM under load: the gateway ends in time, and running jobs finish or return to the queue without a counted attempt."""

import sqlite3
import time

from documents import data_uri, full_scans
from ledger import Ledger
from millrace import Gateway, eventually

DRAIN_S = 6  # running attempts get a third of this time
DRAINS = 3


def running(gateway):
    return gateway.client.get("/v1/jobs?status=running&limit=200").json()["items"]


def costs(data):
    """Attempt counts from the store of an ended gateway: losses, crashes, the highest number of attempts of a job that count
    against its limit, and the number of free attempts."""
    with sqlite3.connect(f"file:{data / 'millrace.db'}?mode=ro", uri=True) as store:
        return store.execute("SELECT sum(losses), sum(crashes), max(attempt - spared), sum(spared) FROM jobs").fetchone()


def drain(gateway):
    started = time.monotonic()
    assert gateway.terminate(within_s=DRAIN_S + 5) == 0, gateway.tail()
    assert time.monotonic() - started <= DRAIN_S, gateway.tail()


def test_a_drain_under_load_ends_in_time_and_costs_no_job_an_attempt(tmp_path):
    gateway = Gateway(tmp_path / "data", "--drain.timeout", f"{DRAIN_S}s", "--slots", "ocr=2").start()
    ledger = Ledger(lambda: gateway.client, pages=12)
    try:
        slow = [gateway.client.submit_ocr(data_uri(full_scans(pages)), key=f"slow-{pages}").headers["x-millrace-job"] for pages in (4, 6)]
        ledger.start(threads=4)
        for _ in range(DRAINS):
            ledger.wait_acknowledged(ledger.acknowledged() + 4)
            eventually(lambda: running(gateway), 60, "a running job")
            drain(gateway)
            losses, crashes, attempts, _ = costs(gateway.data)
            assert (losses, crashes) == (0, 0) and attempts <= 1
            gateway.restart()
        ledger.stop()
        for job in slow:
            assert gateway.client.wait_terminal(job, 300)["status"] == "succeeded"
            pages = gateway.client.get(f"/v1/jobs/{job}/result").json()["pages"]
            assert all("another one may finish" in page["markdown"] for page in pages)
        ledger.check(gateway.client, others=slow)
        drain(gateway)
        losses, crashes, attempts, spared = costs(gateway.data)
        assert (losses, crashes, attempts) == (0, 0, 1)
        assert spared > 0, "there was no running job during any drain"
    except BaseException:
        print(gateway.tail())
        raise
    finally:
        gateway.close()
