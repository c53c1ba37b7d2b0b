"""What a drain does first: it stops claiming. What clients still owe may take its time after that."""

import socket
import sqlite3
import urllib.parse

from documents import data_uri, tiny_pdf
from millrace import Gateway, eventually

DRAIN_S = 12  # a sixth of it is for replies that clients have not taken
JOBS = 60


def reader_that_takes_nothing(gateway):
    """A connection whose replies fill every buffer on the way."""
    address = urllib.parse.urlsplit(gateway.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((address.hostname, address.port))
    connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n" * 1000)
    return connection


def begun(gateway):
    return sum(job["attempt"] > 0 for job in gateway.client.get("/v1/jobs?limit=200").json()["items"])


def test_no_job_begins_while_a_drain_waits_for_a_slow_client(tmp_path):
    gateway = Gateway(tmp_path / "data", "--drain.timeout", f"{DRAIN_S}s", "--slots", "ocr=1").start()
    slow = reader_that_takes_nothing(gateway)
    try:
        for number in range(JOBS):
            gateway.client.submit_ocr(data_uri(tiny_pdf(f"job {number}")))
        eventually(lambda: begun(gateway) >= 2, 60, "a job that has begun")
        before = begun(gateway)
        assert gateway.terminate(within_s=DRAIN_S + 5) == 0, gateway.tail()
        with sqlite3.connect(f"file:{gateway.data / 'millrace.db'}?mode=ro", uri=True) as store:
            after = store.execute("SELECT count(*) FROM jobs WHERE attempt > 0").fetchone()[0]
        assert before <= after <= before + 12, f"{before} had begun, {after} at the end\n{gateway.tail()}"
        assert after < JOBS, "nothing was left to begin: the test says nothing"
    finally:
        slow.close()
        gateway.close()
