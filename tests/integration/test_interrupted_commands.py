"""Commands that are interrupted or killed, and the next run, which resumes where they stopped."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from commands import MILLRACE, cli, environment
from documents import tiny_pdf
from millrace import Gateway, Worker, eventually
from silent_gateway import SilentGateway


@pytest.fixture
def gateway(tmp_path):
    instance = Gateway(tmp_path / "data").start()
    yield instance
    instance.close()


@pytest.fixture
def silent():
    one = SilentGateway()
    yield one
    one.close()


def test_a_killed_command_resumes_where_it_was(gateway, tmp_path):
    inputs = tmp_path / "many"
    inputs.mkdir()
    for number in range(30):
        (inputs / f"{number:02}.pdf").write_bytes(tiny_pdf(*[f"document {number} is long, page {page}" for page in range(4)]))
    command = [MILLRACE, "ocr", inputs, "-o", tmp_path / "out", "--quiet", "--in-flight", "4"]
    with subprocess.Popen(command, env=environment(gateway)) as running:
        eventually(lambda: len(list((tmp_path / "out").glob("*.md"))) >= 2, 60, "two documents")
        running.kill()
    before = {job["id"] for job in all_ocr_jobs(gateway)}
    done = cli(gateway, "ocr", inputs, "-o", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").glob("*.md"))) == 30
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 30 and any(row.get("before") for row in rows)
    assert before <= {job["id"] for job in all_ocr_jobs(gateway)}


def all_ocr_jobs(gateway):
    return gateway.client.get("/v1/jobs?limit=200").json()["items"]


def has_submitted(folder):
    """True if the command has stored the job's id."""
    resume = folder / ".millrace-ocr.json"
    return resume.exists() and any(known["forms"][".md"]["job"] for known in json.loads(resume.read_text())["inputs"].values())


@pytest.mark.parametrize("presses, status", [(1, "queued"), (2, "cancelled")])
def test_ctrl_c_detaches_and_a_second_one_cancels(tmp_path, presses, status):
    asleep = Gateway(tmp_path / "data", role="api").start()
    try:
        (tmp_path / "a.pdf").write_bytes(tiny_pdf("never read"))
        command = [MILLRACE, "ocr", tmp_path / "a.pdf", "-o", tmp_path / "out"]
        with subprocess.Popen(command, env=environment(asleep), stderr=subprocess.PIPE, text=True) as running:
            eventually(lambda: has_submitted(tmp_path / "out"), 30, "the document is submitted")
            running.send_signal(signal.SIGINT)
            assert "Detached" in running.stderr.readline()
            if presses == 2:
                running.send_signal(signal.SIGINT)
            rest = running.stderr.read()
            assert running.wait(30) == 130
        assert "run the same command again" in rest and ("Cancelled." in rest) == (presses == 2)
        assert all_ocr_jobs(asleep)[0]["status"] == status
        next_run_reads_everything(asleep, *command[1:])
        assert len(all_ocr_jobs(asleep)) == presses
    finally:
        asleep.close()


def next_run_reads_everything(asleep, *arguments):
    worker = Worker(asleep.data).start()
    try:
        done = cli(asleep, *arguments, "--json")
        assert done.returncode == 0, done.stderr
        assert {json.loads(line)["status"] for line in done.stdout.splitlines()} == {"succeeded"}
    finally:
        worker.close()


@pytest.mark.parametrize("answer_was_lost, is_deleted", [(False, False), (True, False), (True, True)])
def test_a_job_that_was_cancelled_meanwhile_is_submitted_as_a_new_one(tmp_path, answer_was_lost, is_deleted):
    asleep = Gateway(tmp_path / "data", role="api").start()
    try:
        (tmp_path / "a.pdf").write_bytes(tiny_pdf("read after all"))
        command = [MILLRACE, "ocr", tmp_path / "a.pdf", "-o", tmp_path / "out"]
        with subprocess.Popen(command, env=environment(asleep), stderr=subprocess.PIPE) as running:
            eventually(lambda: has_submitted(tmp_path / "out"), 30, "the document is submitted")
            running.send_signal(signal.SIGINT)
            assert running.wait(30) == 130
        job = f"/v1/jobs/{all_ocr_jobs(asleep)[0]['id']}"
        ended = asleep.client.request("DELETE", job) if is_deleted else asleep.client.post(f"{job}/cancel")
        assert ended.status == 200
        resume = tmp_path / "out" / ".millrace-ocr.json"
        known = json.loads(resume.read_text())
        if answer_was_lost:  # the key leads to that job
            known["inputs"]["../a.pdf"]["forms"][".md"]["job"] = ""
            resume.write_text(json.dumps(known))
        next_run_reads_everything(asleep, *command[1:])
        assert "read after all" in (tmp_path / "out" / "a.md").read_text()
    finally:
        asleep.close()


def ocr_of(silent, *arguments):
    command = [MILLRACE, "ocr", *map(str, arguments)]
    return subprocess.Popen(command, env=environment(silent), stderr=subprocess.PIPE, text=True)


def press_ctrl_c(running):
    """Sends SIGINT; returns the first line of the response on standard error."""
    pressed = time.monotonic()
    running.send_signal(signal.SIGINT)
    output = running.stderr.readline()
    assert time.monotonic() - pressed < 1
    return output


def test_ctrl_c_interrupts_an_upload_that_the_gateway_does_not_read(silent, tmp_path):
    (tmp_path / "big.pdf").write_bytes(os.urandom(30 << 20))
    with ocr_of(silent, tmp_path / "big.pdf", "--pages", "0-3", "-o", tmp_path / "out") as running:
        line, _ = silent.next_request()
        assert line.startswith("POST /v1/ocr ")
        assert "Detached: 0 documents continue in the gateway, 1 was not submitted." in press_ctrl_c(running)
        output = running.stderr.readline()
        again = f"{MILLRACE.resolve()} ocr {tmp_path}/big.pdf --pages 0-3 --url {silent.url} -o {tmp_path}/out"
        assert output == f"To continue, run the same command again: {again}\n"
        assert running.wait(10) == 130


def test_ctrl_c_interrupts_a_wait_for_a_silent_gateway_and_also_cancels(silent, tmp_path):
    job = "ocr-01900000-0000-7000-8000-000000000000"
    (tmp_path / "a.pdf").write_bytes(tiny_pdf("never read"))
    with ocr_of(silent, tmp_path / "a.pdf") as running:
        _, connection = silent.next_request()
        silent.answer(connection, 202, x_millrace_job=job)
        line, _ = silent.next_request()
        assert line.startswith("GET /v1/jobs?") and job in line
        assert "Detached: 1 document continues" in press_ctrl_c(running)
        output = running.stderr.readline() + running.stderr.readline()
        assert f"Its job: {MILLRACE.resolve()} jobs show {job} --url {silent.url}\n" in output
        assert "Cancelling" in press_ctrl_c(running)
        line, _ = silent.next_request()
        assert line == f"POST /v1/jobs/{job}/cancel HTTP/1.1"
        assert "1 document was not cancelled" in press_ctrl_c(running)  # this does not wait forever either
        assert running.wait(10) == 130


def test_a_cancelled_document_is_not_reported_as_continuing_and_is_submitted_again(silent, tmp_path):
    jobs = [f"ocr-01900000-0000-7000-8000-00000000000{number}" for number in range(2)]
    for name in ("a.pdf", "b.pdf"):
        (tmp_path / name).write_bytes(tiny_pdf("never read"))
    documents = (tmp_path / "a.pdf", tmp_path / "b.pdf", "-o", tmp_path / "out")
    with ocr_of(silent, *documents) as running:
        for job in jobs:
            silent.answer(silent.next_request()[1], 202, x_millrace_job=job)
        silent.next_request()
        press_ctrl_c(running)
        running.stderr.readline()
        press_ctrl_c(running)
        for status in ("running", "cancelled"):
            silent.answer(silent.next_request()[1], 200, json.dumps({"status": status}))
        assert "Cancelled." in running.stderr.read() and running.wait(10) == 130
    with ocr_of(silent, *documents) as running:
        assert silent.next_request()[0].startswith("POST /v1/ocr ")  # the second document, whose end is known
        running.send_signal(signal.SIGINT)
        assert "already" not in running.communicate(timeout=30)[1]
    with ocr_of(silent, *documents) as running:
        silent.answer(silent.next_request()[1], 202, x_millrace_job=jobs[1])
        line, connection = silent.next_request()
        assert line.startswith("GET /v1/jobs?") and jobs[0] in line
        rows = [{"id": jobs[0], "status": "cancelled"}, {"id": jobs[1], "status": "running"}]
        silent.answer(connection, 200, json.dumps({"items": rows}))
        assert silent.next_request()[0].startswith("POST /v1/ocr "), "the first document, once its end is known"
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)


def test_ctrl_c_ends_a_tail_of_a_silent_gateway(silent):
    command = [MILLRACE, "jobs", "tail", "ocr-01900000-0000-7000-8000-000000000000"]
    with subprocess.Popen(command, env=environment(silent), stdout=subprocess.PIPE) as running:
        silent.next_request()
        running.send_signal(signal.SIGINT)
        assert running.wait(10) == 130


def is_pending(pid, number):
    """Whether the process has not taken the signal yet."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it has ended
        return False
    masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


def signalled_twice(command):
    """The exit code, the log, and the seconds between two signals that were taken one after the other."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert "millrace ready" in running.stdout.readline()
        first = time.monotonic()
        running.send_signal(signal.SIGTERM)
        eventually(lambda: not is_pending(running.pid, signal.SIGTERM), 30, "else the kernel merges them")
        running.send_signal(signal.SIGTERM)
        apart = time.monotonic() - first
        _, log = running.communicate(timeout=60)
    return running.returncode, log, apart


@pytest.mark.parametrize("role", ["serve", "api", "worker"])
def test_a_signal_that_is_repeated_within_a_second_counts_once(tmp_path, role):
    """As `timeout` sends it."""
    Gateway(tmp_path / "data", role="api").start().close()
    where = [] if role == "worker" else ["--listen", "127.0.0.1:0"]
    command = [MILLRACE, role, "--data", tmp_path / "data", "--log.format", "json", *where]
    for _ in range(5):  # a machine that stands still for a second says nothing
        code, log, apart = signalled_twice(command)
        if apart < 0.9:
            break
    assert code == 0 and "stopped_at_once" not in log and '"stopped"' in log, log
