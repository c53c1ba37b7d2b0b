"""A command whose terminal or output is closed says in one line what goes on and how to cancel it, as `exec run` does
(test_exec_commands.py)."""

import json
import os
import re
import signal
import subprocess

import pytest
from commands import MILLRACE, cli, environment
from documents import tiny_pdf
from millrace import Gateway, eventually
from recordings import silence
from silent_gateway import SilentGateway

HUNG_UP, PIPE_CLOSED = 129, 141


@pytest.fixture(scope="module")
def asleep(tmp_path_factory):
    """A gateway without workers: nothing ends."""
    instance = Gateway(tmp_path_factory.mktemp("asleep") / "data", "--mock", "true", role="api").start()
    yield instance
    instance.close()


def begun(gateway, *arguments, **kwargs):
    command = [MILLRACE, *map(str, arguments)]
    kwargs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs}
    return subprocess.Popen(command, env=environment(gateway), text=True, **kwargs)


def hang_up(running):
    running.send_signal(signal.SIGHUP)
    return the_line_of(running)


def the_line_of(running):
    assert running.wait(30) == HUNG_UP
    (line,) = [line for line in running.stderr.read().splitlines() if line.startswith("millrace: ")]
    assert line.startswith("millrace: the terminal was closed; "), line
    return line


def jobs_of(gateway):
    return {job["id"]: job["status"] for job in gateway.client.get("/v1/jobs?limit=200").json()["items"]}


def new_job(gateway, before):
    eventually(lambda: set(jobs_of(gateway)) - set(before), 30, "a job")
    (job,) = set(jobs_of(gateway)) - set(before)
    return job


def assert_can_be_cancelled(gateway, line, job):
    assert f"{job} goes on; cancel it with `" in line, line
    command = line.split("`")[1].split()
    assert command[1:3] == ["jobs", "cancel"] and command[-1] == job, line
    assert jobs_of(gateway)[job] in ("queued", "running")
    assert subprocess.run(command, env=environment(gateway), capture_output=True, timeout=60).returncode == 0
    assert jobs_of(gateway)[job] == "cancelled"


@pytest.mark.parametrize("command", ["ocr", "transcribe"])
@pytest.mark.parametrize("into_folder", [True, False])
def test_a_closed_terminal_leaves_the_jobs_of_documents(asleep, tmp_path, command, into_folder):
    document = tmp_path / ("a.pdf" if command == "ocr" else "a.wav")
    document.write_bytes(tiny_pdf("never read") if command == "ocr" else silence(1))
    before = jobs_of(asleep)
    with begun(asleep, command, document, *(["-o", tmp_path / "out"] if into_folder else []), "--quiet") as running:
        job = new_job(asleep, before)
        assert_can_be_cancelled(asleep, hang_up(running), job)


def test_a_closed_pipe_leaves_the_other_documents(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        for number in range(12):
            (tmp_path / f"{number:02}.pdf").write_bytes(tiny_pdf(f"document {number}"))
        with begun(gateway, "ocr", *sorted(tmp_path.glob("*.pdf")), "--json", "--in-flight", "2") as running:
            assert json.loads(running.stdout.readline())["status"] == "succeeded"
            running.stdout.close()
            assert running.wait(60) == PIPE_CLOSED
            errors = running.stderr.read()
            assert "millrace: standard output was closed; " in errors and "not submitted" in errors, errors
    finally:
        gateway.close()


def test_a_closed_terminal_leaves_the_job_that_is_watched(asleep):
    job = submit(asleep)
    with begun(asleep, "jobs", "tail", job) as running:
        assert running.stdout.readline()
        assert_can_be_cancelled(asleep, hang_up(running), job)


def submit(gateway):
    from documents import data_uri

    return gateway.client.submit_ocr(data_uri(tiny_pdf("watched"))).json()["id"]


def test_a_closed_pipe_leaves_the_job_that_is_watched(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        assert gateway.client.post("/v1/admin/queues/ocr/pause").status == 200
        job = submit(gateway)
        with begun(gateway, "jobs", "tail", job) as running:
            assert running.stdout.readline()
            running.stdout.close()
            assert gateway.client.post("/v1/admin/queues/ocr/resume").status == 200
            assert running.wait(60) == PIPE_CLOSED
            errors = running.stderr.read()  # it may have ended meanwhile
            assert re.search(f"millrace: standard output was closed; {job} (goes on; cancel it with `|has ended: )", errors), errors
    finally:
        gateway.close()


@pytest.mark.parametrize("act", ["create", "wake", "rm"])
def test_a_closed_terminal_leaves_the_machine_that_is_waited_for(asleep, act):
    name = f"box-{act}"
    if act != "create":
        assert cli(asleep, "machines", "create", "--name", name).returncode == 0
    if act == "wake":
        assert cli(asleep, "machines", "sleep", name).returncode == 0
        assert desired_state(asleep, name) == "sleeping"
    arguments = {"create": ["create", "--name", name], "wake": ["wake", name], "rm": ["rm", "--yes", name]}[act]
    with begun(asleep, "machines", *arguments, "--wait") as running:
        if act == "create":
            assert running.stdout.readline()
        else:
            desired = {"wake": "running", "rm": "destroyed"}[act]
            eventually(lambda: desired_state(asleep, name) == desired, 30, "the request")
        line = hang_up(running)
    assert {"rm": "being destroyed", "create": "machines sleep", "wake": "machines sleep"}[act] in line and name in line, line


def desired_state(gateway, name):
    done = cli(gateway, "machines", "show", name, "--json")
    return json.loads(done.stdout)["desired_state"] if done.returncode == 0 else None


@pytest.mark.parametrize("direction", ["in", "out"])
def test_a_closed_terminal_ends_a_copy(asleep, tmp_path, direction):
    name = f"copy-{direction}"
    assert cli(asleep, "machines", "create", "--name", name).returncode == 0
    (tmp_path / "a.txt").write_text("a")
    paths = [tmp_path / "a.txt", f"{name}:b.txt"] if direction == "in" else [f"{name}:a.txt", tmp_path / "b.txt"]
    before = jobs_of(asleep)
    with begun(asleep, "exec", "cp", *paths) as running:
        new_job(asleep, before)
        line = hang_up(running)
    assert {"in": "a.txt may or may not have been copied", "out": "a.txt was not copied"}[direction] in line, line
    assert not (tmp_path / "b.txt").exists()


def test_a_closed_terminal_ends_the_wait_for_a_login(asleep):
    assert cli(asleep, "machines", "create", "--name", "login").returncode == 0
    path = f"/v1/machines/{json.loads(cli(asleep, 'machines', 'show', 'login', '--json').stdout)['machine_id']}/ssh"

    def sessions():
        return [each["status"] for each in asleep.client.get(path).json()["items"]]

    with begun(asleep, "ssh", "--quiet", "login", stdin=subprocess.DEVNULL) as running:
        eventually(lambda: "wake_in_progress" in sessions(), 30, "the session")
        assert "the session with login is closed" in hang_up(running)
    assert "wake_in_progress" not in sessions()


@pytest.fixture
def silent():
    instance = SilentGateway()
    yield instance
    instance.close()


MACHINE = "dm-0192f0a1-7c1e-7000-8000-000000000001"


def key_of(head):
    (key,) = [line for line in head.splitlines() if line.lower().startswith("idempotency-key:")]
    return key


def answer_next(gateway, request, status, body):
    head, connection = gateway.next_head()
    assert head.startswith(request + " "), head
    gateway.answer(connection, status, json.dumps(body))
    return head


def test_a_terminal_closed_while_a_session_is_made_closes_it(silent):
    path = f"/v1/machines/{MACHINE}/ssh"
    with begun(silent, "ssh", MACHINE, stdin=subprocess.DEVNULL) as running:
        first, _ = silent.next_head()
        assert first.startswith(f"POST {path} ")
        running.send_signal(signal.SIGHUP)
        again = answer_next(silent, f"POST {path}", 202, {"session_id": "s-1", "status": "wake_in_progress"})
        assert key_of(again) == key_of(first), "it gets the session of the first request"
        answer_next(silent, f"DELETE {path}/s-1", 200, {})
        assert the_line_of(running) == f"millrace: the terminal was closed; the session with {MACHINE} is closed"


def test_a_terminal_closed_before_a_session_is_made_is_one_line(silent):
    with begun(silent, "ssh", "box", stdin=subprocess.DEVNULL) as running:
        silent.next_request()
        assert hang_up(running).endswith("; the session with box was not opened")


def test_a_terminal_closed_while_a_session_is_read_closes_it(silent):
    path = f"/v1/machines/{MACHINE}/ssh"
    with begun(silent, "ssh", MACHINE, stdin=subprocess.DEVNULL) as running:
        answer_next(silent, f"POST {path}", 202, {"session_id": "s-1", "status": "wake_in_progress"})
        assert silent.next_request()[0].startswith(f"GET {path}/s-1 ")
        running.send_signal(signal.SIGHUP)
        answer_next(silent, f"DELETE {path}/s-1", 500, {})
        line = the_line_of(running)
        assert f"; the session with {MACHINE} was not closed: " in line and line.endswith("; it ends by itself"), line


def test_kill_on_disconnect_sends_no_delete_for_a_command_that_has_ended(silent):
    """A DELETE would remove it with its output."""
    path = f"/v1/machines/{MACHINE}/executions"
    options = ["--machine", MACHINE, "--json", "--kill-on-disconnect"]
    with open("/dev/full", "w") as full, begun(silent, "exec", "run", *options, "true", stdout=full) as running:
        answer_next(silent, f"POST {path}", 202, {"execution_id": "exec-1", "status": "queued"})
        head, connection = silent.next_head()
        assert head.startswith(f"GET {path}/exec-1/events ")
        silent.answer(connection, 200, 'id: 1\ndata: {"status": "running"}\n\n', Content_Type="text/event-stream")
        answer_next(silent, f"GET {path}/exec-1", 200, {"execution_id": "exec-1", "status": "succeeded"})
        assert running.wait(30) == 1 and "; exec-1 has ended: succeeded\n" in running.stderr.read()


def test_a_terminal_closed_while_a_machine_is_created_says_so(silent):
    with begun(silent, "machines", "create", "--name", "box", "--wait") as running:
        silent.next_request()
        assert hang_up(running).endswith("; the machine may have been created")


def test_a_closed_terminal_leaves_a_deferred_chat(asleep):
    before = jobs_of(asleep)
    with begun(asleep, "chat", "-m", "mock/chat", "--deferred", "--wait", "hello") as running:
        job = new_job(asleep, before)
        assert_can_be_cancelled(asleep, hang_up(running), job)


def test_a_full_disk_of_the_output_is_an_error_not_a_closed_pipe(asleep):
    job = submit(asleep)
    with open("/dev/full", "w") as full:
        with begun(asleep, "jobs", "tail", job, stdout=full) as running:
            assert running.wait(60) == 1
            assert f"standard output cannot be written: {os.strerror(28)}; {job} goes on" in running.stderr.read()
