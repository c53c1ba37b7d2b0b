"""A drain first stops claiming jobs. Then it waits for clients that read slowly."""

import socket
import sqlite3
import urllib.parse

from documents import data_uri, tiny_pdf
from millrace import Gateway, eventually

DRAIN_S = 12  # three quarters of it are for requests that are under way, and responses that clients have not read
JOBS = 60


def client_that_reads_nothing(gateway):
    """A connection whose unread responses fill every buffer."""
    address = urllib.parse.urlsplit(gateway.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((address.hostname, address.port))
    connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
    return connection


def begun(gateway):
    return sum(job["attempt"] > 0 for job in gateway.client.get("/v1/jobs?limit=200").json()["items"])


def test_no_job_begins_while_a_drain_waits_for_a_slow_client(tmp_path):
    gateway = Gateway(tmp_path / "data", "--drain.timeout", f"{DRAIN_S}s", "--slots", "ocr=1").start()
    slow = client_that_reads_nothing(gateway)
    try:
        for number in range(JOBS):
            gateway.client.submit_ocr(data_uri(tiny_pdf(f"job {number}")))
        eventually(lambda: begun(gateway) >= 2, 60, "a job that has begun")
        before = begun(gateway)
        assert gateway.terminate(within_s=DRAIN_S + 5) == 0, gateway.tail()
        with sqlite3.connect(f"file:{gateway.data / 'millrace.db'}?mode=ro", uri=True) as store:
            after = store.execute("SELECT count(*) FROM jobs WHERE attempt > 0").fetchone()[0]
        assert before <= after <= before + 12, f"{before} jobs had started, {after} at the end\n{gateway.tail()}"
        assert after < JOBS, "no job was left to start, so the test proves nothing"
    finally:
        slow.close()
        gateway.close()
