"""A gateway without a worker for the submitted jobs: waiting clients get one message, and the jobs are kept."""

import json
import os
import subprocess

import pytest
import recordings
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway, Worker, eventually

MILLRACE = BUILD / "millrace"


@pytest.fixture
def asleep(tmp_path):
    """An api without workers."""
    gateway = Gateway(tmp_path / "data", role="api").start()
    yield gateway
    gateway.close()


@pytest.fixture
def worker(asleep):
    helping = Worker(asleep.data, kinds="ocr,stt")
    yield helping
    helping.close()


def start(gateway, *arguments):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    env = {**kept, "MILLRACE_URL": gateway.url, "MILLRACE_API_KEY": gateway.client.key}
    command = [str(MILLRACE), *map(str, arguments)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def waiting_line(kind):
    return f"Waiting: no worker serves the kind {kind} at present (`millrace worker --kinds {kind}` starts one); the job is kept\n"


def test_ocr_reports_once_that_no_worker_serves_and_continues_when_one_starts(asleep, worker, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.pdf").write_bytes(tiny_pdf(f"the document {name}"))
    with start(asleep, "ocr", tmp_path / "one.pdf", tmp_path / "two.pdf") as waiting:
        assert waiting.stderr.readline() == waiting_line("ocr")
        worker.start()
        out, rest = waiting.communicate(timeout=120)
    assert waiting.returncode == 0 and "the document one" in out and "the document two" in out
    assert "Waiting" not in rest


def test_transcribe_reports_it_too(asleep, worker, tmp_path):
    with start(asleep, "transcribe", recordings.clip_file()) as waiting:
        assert waiting.stderr.readline() == waiting_line("stt")
        worker.start()
        out, _ = waiting.communicate(timeout=120)
    assert waiting.returncode == 0 and out.strip()


def test_jobs_show_and_the_job_itself_have_the_reason_for_a_wait(asleep, worker):
    job = asleep.client.submit_ocr(data_uri(tiny_pdf("kept"))).json()["id"]
    assert asleep.client.job(job)["unserved"] is True
    with start(asleep, "jobs", "show", job) as shown:
        output, _ = shown.communicate(timeout=60)
    assert "\nwaiting          no worker serves the kind ocr at present" in output and "\nunserved" not in output
    worker.start()
    assert "unserved" not in asleep.client.wait_terminal(job)


def test_a_worker_of_another_kind_serves_nothing_of_this_one(asleep, tmp_path):
    other = Worker(asleep.data, kinds="chat").start()
    try:
        eventually(lambda: asleep.client.get("/v1/admin/workers").json()["items"], what="the worker is registered")
        (tmp_path / "one.pdf").write_bytes(tiny_pdf("never"))
        with start(asleep, "ocr", "--json", tmp_path / "one.pdf") as waiting:
            assert waiting.stderr.readline() == waiting_line("ocr")
            waiting.kill()
        (job,) = asleep.client.get("/v1/jobs").json()["items"]
        assert job["status"] == "queued" and job["unserved"] is True, json.dumps(job)
    finally:
        other.close()
