"""A digit of the database that changes on the disk, in a stored result or in the request of a job."""

import sqlite3
import subprocess

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway, Worker

AMOUNT, CHANGED = b"invoice total 1234", b"invoice total 9234"


def change_digit(data):
    """Changes the bytes in the file; no process has the store open."""
    database = data / "millrace.db"
    before = database.read_bytes()
    after = before.replace(AMOUNT, CHANGED)
    assert before != after
    database.write_bytes(after)


def doctor(data):
    checked = subprocess.run([BUILD / "millrace", "doctor", "--data", data], capture_output=True, text=True, timeout=120)
    return checked.returncode, " ".join(checked.stdout.split())


def test_a_changed_result_is_refused_and_no_other_is_touched(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        job = gateway.client.submit_ocr(data_uri(tiny_pdf(AMOUNT.decode()))).json()["id"]
        other = gateway.client.submit_ocr(data_uri(tiny_pdf("another invoice"))).json()["id"]
        for each in (job, other):
            assert gateway.client.wait_terminal(each)["status"] == "succeeded"
        assert AMOUNT in gateway.client.get(f"/v1/jobs/{job}/result").body
        gateway.terminate()
        assert doctor(gateway.data)[0] == 0
        change_digit(gateway.data)
        code, text = doctor(gateway.data)
        assert code == 1 and "FAIL store damaged:" in text and f"result of {job}" in text, text
        assert other not in text
        gateway.restart()
        for query in ("", "?pages=0"):
            refused = gateway.client.get(f"/v1/jobs/{job}/result{query}")
            assert refused.status == 500 and refused.json()["error"]["code"] == "result_damaged", refused.body
            assert refused.headers["x-should-retry"] == "false" and b"9234" not in refused.body
        assert b"another invoice" in gateway.client.get(f"/v1/jobs/{other}/result").body
        assert gateway.client.job(job)["status"] == "succeeded"
    finally:
        gateway.close()


@pytest.mark.parametrize(
    ("table", "what", "path", "error"),
    [("job_results", "result", "/result", "result_damaged"), ("job_specs", "request", "/request", "request_damaged")],
)
def test_a_lost_row_is_damage_and_nothing_that_expired(tmp_path, table, what, path, error):
    gateway = Gateway(tmp_path / "data").start()
    try:
        job = gateway.client.submit_ocr(data_uri(tiny_pdf("a lost row"))).json()["id"]
        assert gateway.client.wait_terminal(job)["status"] == "succeeded"
        gateway.terminate()
        with sqlite3.connect(gateway.data / "millrace.db") as database:
            assert database.execute(f"DELETE FROM {table}").rowcount == 1
        database.close()
        code, text = doctor(gateway.data)
        assert code == 1 and f"{what} of {job}" in text, text
        gateway.restart()
        refused = gateway.client.get(f"/v1/jobs/{job}{path}")
        assert refused.status == 500 and refused.json()["error"]["code"] == error, refused.body
        assert gateway.client.job(job)["status"] == "succeeded"
    finally:
        gateway.close()


CHAT = {"model": "mock/chat", "messages": [{"role": "user", "content": AMOUNT.decode()}], "deferred": True}


def waiting_chat(client):
    return client.post("/v1/chat/completions", CHAT).json()["request_id"]


def waiting_document(client):
    """The document is not compressed, so the bytes of its text are in the row."""
    return client.submit_ocr(data_uri(tiny_pdf(AMOUNT.decode()))).json()["id"]


@pytest.mark.parametrize(("submit", "kinds"), [(waiting_document, "ocr"), (waiting_chat, "chat")])
def test_a_changed_request_is_not_run(tmp_path, submit, kinds):
    gateway = Gateway(tmp_path / "data", "--mock", "true", role="api").start()
    worker = Worker(gateway.data, "--mock", "true", kinds=kinds)
    try:
        job = submit(gateway.client)
        gateway.terminate()
        change_digit(gateway.data)
        code, text = doctor(gateway.data)
        assert code == 1 and f"request of {job}" in text, text
        gateway.restart()
        worker.start()
        ended = gateway.client.wait_terminal(job)
        assert ended["status"] == "failed" and ended["error"]["code"] == "request_damaged", ended
        assert ended["attempt"] == 1, "another attempt would find the same damage"
        reply = gateway.client.get(f"/v1/jobs/{job}/request")
        assert reply.status == 500 and reply.json()["error"]["code"] == "request_damaged", reply.body
        retried = gateway.client.post(f"/v1/jobs/{job}/retry")
        assert retried.status == 500 and retried.json()["error"]["code"] == "request_damaged", retried.body
    finally:
        worker.close()
        gateway.close()
