"""`millrace ssh`: logins of a stock ssh to a machine of the gateway's host."""

import json
import re
import signal
import socket
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest
from commands import FILE_MACHINE, MILLRACE, cli, environment, on_terminal, reaches
from millrace import eventually
from sandboxed import local, reachable_folder, start
from silent_gateway import SilentGateway
from terminal import Terminal


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


@pytest.fixture
def silent():
    gateway = SilentGateway()
    yield gateway
    gateway.close()


def offers_ssh(gateway):
    """Whether SSH is available, according to doctor."""
    lines = cli(gateway, "doctor", "--data", gateway.data).stdout.splitlines()
    return [line for line in lines if line.startswith("ok") and line.split()[1] in ("machines", "sshd")]


@pytest.fixture(scope="module")
def login(shared):
    if len(offers_ssh(shared)) != 2:
        pytest.skip("according to `millrace doctor` this host offers no SSH sessions")
    return shared


@pytest.fixture
def secrets(tmp_path):
    """The folder in which `millrace ssh` stores its key; it must be empty at the end."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    yield {"XDG_RUNTIME_DIR": str(folder)}
    eventually(lambda: not list(folder.iterdir()), what="no key remains")


def sessions(gateway):
    return gateway.client.get(f"/v1/machines/{local(gateway.client)}/ssh?limit=200").json()["items"]


def all_are_closed(gateway):
    return {session["status"] for session in sessions(gateway)} <= {"closed"}


def test_openssh_logs_in_and_its_exit_code_is_passed_on(login, secrets):
    done = cli(login, "ssh", "local", "--", "id", "-u", env=secrets)
    assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr
    failed = cli(login, "ssh", "local", "--", "cat; echo err >&2; exit 7", env=secrets, input="through\n")
    assert (failed.returncode, failed.stdout, failed.stderr) == (7, "through\n", "err\n")
    assert all_are_closed(login)


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="this host has no ::1")
def test_the_host_key_of_an_ipv6_machine_is_trusted_by_its_address_in_brackets(login, secrets):
    with reachable_folder() as folder:
        gateway = start(folder / "data", "--ssh.listen", "::1")
        done = cli(gateway, "ssh", "local", "--ssh-option", "LogLevel=DEBUG", "--", "id -u", env=secrets)
        gateway.close()
        assert (done.returncode, done.stdout) == (0, "1000\n"), done.stderr
        assert "Host '[::1]:" in done.stderr and "matches the ED25519-CERT host certificate" in done.stderr


def test_an_interactive_login_gets_a_terminal(login, secrets):
    with on_terminal(login, "ssh", "local", **secrets) as terminal:
        terminal.type("tty; stty size >/dev/null && echo $((6*7))\n")
        terminal.until("/dev/pts/")
        terminal.until("42")
        terminal.type("exit 3\n")
        assert terminal.end()[1] == 3
    assert all_are_closed(login)


def test_ssh_wakes_a_machine_and_shows_a_spinner_meanwhile(login, secrets):
    assert cli(login, "machines", "sleep", "local").returncode == 0
    reaches(login, "local", "sleeping")
    with on_terminal(login, "ssh", "local", "--", "echo", "awake", **secrets) as terminal:
        terminal.until("waking local…")
        shown, code = terminal.end()
    assert code == 0 and "awake" in shown


@pytest.mark.parametrize("how", ["ctrl-c", "terminate", "hang up"])
def test_however_a_login_ends_the_session_is_closed_and_the_key_is_deleted(login, secrets, how):
    with on_terminal(login, "ssh", "local", "--", "echo begun; exec sleep 1000", **secrets) as terminal:
        terminal.until("begun")
        assert not all_are_closed(login)
        if how == "ctrl-c":
            terminal.type("\x03")
        elif how == "terminate":
            terminal.process.send_signal(signal.SIGTERM)
        else:
            terminal.hang_up()
        assert terminal.process.wait(30) != 0
    assert all_are_closed(login)


@pytest.fixture
def shell(login, secrets):
    terminal = Terminal(["bash", "--norc", "-i"], environment(login, PS1="here> ", **secrets))
    yield terminal
    terminal.close()


def test_a_login_is_stopped_and_continued_like_any_job_of_a_shell(login, shell):
    shell.type(f"{MILLRACE} ssh local -- 'echo be''gun; read line; echo got $line; exit 4'\n")
    shell.until("begun")
    shell.type("\x1a")
    shell.until("Stopped")
    assert not all_are_closed(login)
    shell.type("fg\nthe line\n")
    shell.until("got the line")
    shell.until("here> ")
    shell.type("echo code $?; exit\n")
    assert "code 4" in shell.end()[0]
    assert all_are_closed(login)


def test_a_login_that_ssh_suspends_restores_the_terminal(login, shell):
    shell.type(f"{MILLRACE} ssh local\n")
    shell.until("$ ")
    shell.type("echo be''gun\n")
    shell.until("begun")
    shell.type("\r~\x1a")
    shell.until("Stopped")
    shell.type("fg\n")
    shell.type("\recho on''ward; exit 4\n")
    shell.until("onward")
    shell.until("here> ")
    shell.type("echo code $?; exit\n")
    assert "code 4" in shell.end()[0]
    assert all_are_closed(login)


def test_ctrl_c_in_the_wait_for_a_wake_closes_the_session(silent, secrets):
    command = [MILLRACE, "ssh", FILE_MACHINE, "--", "true"]
    session = {"session_id": "ssh-1", "status": "wake_in_progress"}
    with subprocess.Popen(command, env=environment(silent, **secrets), stderr=subprocess.PIPE) as running:
        head, connection = silent.next_head()
        assert head.startswith(f"POST /v1/machines/{FILE_MACHINE}/ssh ") and "idempotency-key:" in head.lower()
        silent.answer(connection, 200, json.dumps(session), content_type="application/json", retry_after_ms="100")
        line, connection = silent.next_request()
        assert line.startswith(f"GET /v1/machines/{FILE_MACHINE}/ssh/ssh-1 ")
        silent.answer(connection, 200, json.dumps(session), content_type="application/json", retry_after="60")
        running.send_signal(signal.SIGINT)
        line, connection = silent.next_request()
        while line.startswith("GET "):
            line, connection = silent.next_request()
        assert line.startswith(f"DELETE /v1/machines/{FILE_MACHINE}/ssh/ssh-1 ")
        silent.answer(connection, 200, json.dumps({**session, "status": "closed"}), content_type="application/json")
        assert running.wait(30) == 130


def test_ssh_polls_earlier_than_a_slow_gateway_suggests(silent, secrets):
    session = {"session_id": "ssh-1", "status": "wake_in_progress"}
    command = [MILLRACE, "ssh", FILE_MACHINE]
    with subprocess.Popen(command, env=environment(silent, **secrets), stderr=subprocess.DEVNULL) as running:
        _, connection = silent.next_request()
        silent.answer(connection, 200, json.dumps(session), content_type="application/json", retry_after="60")
        line, connection = silent.next_request()
        assert line.startswith(f"GET /v1/machines/{FILE_MACHINE}/ssh/ssh-1 ")
        failed = json.dumps({**session, "status": "failed"})
        silent.answer(connection, 200, failed, content_type="application/json")
        silent.answer(silent.next_request()[1], 200, failed, content_type="application/json")
        assert running.wait(30) == 1


def test_a_failed_session_is_reported_with_its_error_code(silent, secrets):
    session = {"session_id": "ssh-1", "status": "failed", "error_code": "machine_wake_failed", "error_message": "no answer"}
    command = [MILLRACE, "ssh", FILE_MACHINE]
    with subprocess.Popen(command, env=environment(silent, **secrets), stderr=subprocess.PIPE, text=True) as running:
        _, connection = silent.next_request()
        silent.answer(connection, 200, json.dumps(session), content_type="application/json")
        _, connection = silent.next_request()
        silent.answer(connection, 200, json.dumps(session), content_type="application/json")
        assert running.wait(30) == 1
        assert running.stderr.read() == "millrace: no answer (machine_wake_failed)\n"


def test_the_host_key_is_checked_whatever_options_are_given(login, secrets):
    options = ["--ssh-option", "StrictHostKeyChecking=no", "--ssh-option", "UserKnownHostsFile=/dev/null"]
    done = cli(login, "ssh", "local", *options, "--ssh-option", "LogLevel=DEBUG1", "--", "true", env=secrets)
    assert done.returncode == 0 and "is known and matches the ED25519-CERT host certificate" in done.stderr
    assert cli(login, "ssh", "local", "--ssh-option", "quiet", env=secrets).returncode == 2


def test_flags_after_the_first_word_of_the_command_are_its_own(login, secrets):
    words = ["echo", "--server", "-e.iLs", "-T", "--json", "."]  # as rsync puts them
    for before in ([], ["-x", "-oForwardAgent=no", "-o", "RequestTTY=no"]):
        done = cli(login, "ssh", *before, "local", *words, env=secrets)
        assert (done.returncode, done.stdout) == (0, "--server -e.iLs -T --json .\n"), done.stderr
    assert cli(login, "ssh", "local", "-T", "echo", "-n", "x", env=secrets).stdout == "x"


def test_scp_takes_it_as_its_ssh(login, secrets, tmp_path):
    wrapper, file = tmp_path / "millrace-ssh", tmp_path / "report"
    wrapper.write_text(f'#!/bin/sh\nexec {MILLRACE} ssh "$@"\n')
    wrapper.chmod(0o755)
    file.write_bytes(bytes(range(256)))
    for source, target in ((file, "local:copied"), ("local:copied", tmp_path / "back")):
        done = subprocess.run(
            ["scp", "-S", wrapper, source, target], env=environment(login, **secrets), capture_output=True, text=True, timeout=90
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "back").read_bytes() == file.read_bytes()


def test_sftp_takes_it_as_its_ssh(login, secrets, tmp_path):
    wrapper, file = tmp_path / "millrace-ssh", tmp_path / "report"
    wrapper.write_text(f'#!/bin/sh\nexec {MILLRACE} ssh "$@"\n')
    wrapper.chmod(0o755)
    file.write_bytes(bytes(range(256)))
    done = subprocess.run(
        ["sftp", "-S", wrapper, "-b", "-", "local"], input=f"put {file} by_sftp\nget by_sftp {tmp_path}/back\n",
        env=environment(login, **secrets), capture_output=True, text=True, timeout=90,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "back").read_bytes() == file.read_bytes()


def test_without_an_ssh_client_the_error_says_what_to_install(shared, secrets, tmp_path):
    done = cli(shared, "ssh", "local", env={**secrets, "PATH": str(tmp_path)})
    assert done.returncode == 1 and "openssh-client" in done.stderr


def delete_session(gateway, key_id):
    """Deletes the session of the key's login, as happens a week after it ends, once the gateway has read the key."""
    read = re.compile(rf'"ssh_login","serial":\d+,"key_id":"{key_id}"')
    eventually(lambda: read.search(gateway.log.read_text()), what="the gateway has read the login's key")
    with closing(sqlite3.connect(gateway.data / "millrace.db", timeout=10)) as database, database:
        assert database.execute("DELETE FROM ssh_sessions WHERE key_id = ?", (key_id,)).rowcount == 1


@pytest.mark.parametrize("how", ["revoked", "revoked, its session deleted", "without the scope"])
def test_a_login_ends_when_its_key_allows_it_no_more(login, secrets, how):
    scopes = ["exec:read", "machines:write", "ssh:issue"]
    made = login.client.post("/v1/admin/keys", {"name": "short", "scopes": scopes}).json()
    key = f"/v1/admin/keys/{made['id']}"
    command = "echo begun; exec sleep 1000"
    with on_terminal(login, "ssh", "local", "--", command, MILLRACE_API_KEY=made["key"], **secrets) as terminal:
        terminal.until("begun")
        if how == "revoked, its session deleted":
            delete_session(login, made["id"])
        if how == "without the scope":
            assert login.client.request("PATCH", key, {"scopes": scopes[:2]}).status == 200
        else:
            assert login.client.request("DELETE", key).status == 200
        revoked = time.monotonic()
        assert terminal.process.wait(30) != 0
        assert time.monotonic() - revoked < 5, "a second, and the client's own end"
    eventually(lambda: all_are_closed(login), what="the session is closed")
