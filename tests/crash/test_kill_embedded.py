"""kill -9 of the embedded gateway under load: every accepted job reaches one terminal state, once."""

import random
import re
import time

from documents import data_uri, full_scans
from ledger import Ledger
from millrace import Gateway, eventually

KILLS_AT_START = 8  # twice this number is below the limit of lost workers of a job
KILLS = 50
READ = re.compile(r'^millrace_ocr_pages_total\{outcome="ok"\} (\d+)', re.MULTILINE)


def pages_read(gateway):
    """The number of pages that this process has read."""
    return int(READ.search(gateway.client.get("/metrics").body.decode())[1])


def pages_done(gateway, job):
    return gateway.client.job(job).get("progress", {}).get("done", 0)


def test_no_job_is_lost_or_doubled_over_fifty_kills(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    ledger = Ledger(lambda: gateway.client)
    chance = random.Random(20261121)
    ledger.start(threads=4)
    try:
        for _ in range(KILLS):
            # The moment of the kill is random in terms of progress, from right after the start to well into the load.
            ledger.wait_progress(gateway.client)
            ledger.wait_acknowledged(ledger.acknowledged() + chance.randint(0, 10))
            gateway.kill()
            gateway.restart()
        ledger.stop()
        jobs = ledger.check(gateway.client)
    except BaseException:
        print(gateway.tail())
        raise
    finally:
        gateway.close()
    repeats = sum(submission.repeats for submission in ledger.submissions)
    print(f"{KILLS} kills, {jobs} jobs, {repeats} requests repeated")


def test_no_job_is_lost_when_the_gateway_is_killed_again_and_again_while_it_starts(tmp_path):
    """The kills happen from before the store is opened to well into the work on its jobs."""
    begun = time.monotonic()
    gateway = Gateway(tmp_path / "data").start()
    start_s = time.monotonic() - begun
    ledger = Ledger(lambda: gateway.client, pages=3, open_per_thread=20)
    chance = random.Random(20261125)
    ledger.start(threads=4)
    try:
        for _ in range(2):
            ledger.wait_acknowledged(ledger.acknowledged() + 20)
            gateway.kill()
            for _ in range(KILLS_AT_START):
                gateway.start_and_kill(chance.uniform(0, 2 * start_s))
            gateway.restart()
            ledger.wait_progress(gateway.client)
        ledger.stop()
        assert ledger.check(gateway.client) >= 40
    finally:
        gateway.close()


def test_documents_in_progress_are_completed_once_when_the_gateway_is_killed(tmp_path):
    """The example of the README: 200 documents, one kill -9, a restart."""
    gateway = Gateway(tmp_path / "data").start()
    ledger = Ledger(lambda: gateway.client, pages=3)
    ledger.start(threads=8)
    try:
        ledger.wait_acknowledged(200)
        ledger.stop()
        gateway.kill()
        gateway.restart()
        assert ledger.check(gateway.client) >= 200
    finally:
        gateway.close()


def test_a_long_document_resumes_after_its_finished_pages(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        job = gateway.client.submit_ocr(data_uri(full_scans(12))).json()["id"]
        eventually(lambda: pages_done(gateway, job) >= 3, within_s=120, what="three pages are done")
        kept = pages_done(gateway, job)
        gateway.kill()
        gateway.restart()
        ended = gateway.client.wait_terminal(job, within_s=240)
        assert ended["status"] == "succeeded", ended
        assert 3 <= kept < 12, "the kill came too late to prove anything"
        assert pages_read(gateway) <= 12 - kept
        pages = gateway.client.get(f"/v1/jobs/{job}/result").json()["pages"]
        assert [f"page {n} line 0" in page["markdown"] for n, page in enumerate(pages)] == [True] * 12
    finally:
        gateway.close()
