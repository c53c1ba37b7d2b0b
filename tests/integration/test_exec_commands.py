"""`millrace exec run` and `exec logs` against a real gateway, with real bubblewrap."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys

import pytest
from commands import MILLRACE, environment
from millrace import BUILD
from sandboxed import ended, local, reachable_folder, start


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


def executions(gateway):
    return f"/v1/machines/{local(gateway.client)}/executions"


def cli(gateway, *arguments, **kwargs):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
    command = [str(BUILD / "millrace"), "exec", *arguments]
    at = command.index("--") if "--" in command else len(command)
    command[at:at] = ["--url", gateway.url, "--key", gateway.client.key]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, **kwargs)


def test_exec_run_shows_the_output_and_passes_the_exit_code_on(shared):
    done = cli(shared, "run", "--exit-status", "-e", "A=1 2", "--", "sh", "-c", 'echo "$A"; echo bad >&2; exit 3')
    assert (done.returncode, done.stdout) == (3, "1 2\n") and done.stderr == "bad\n"
    failed = cli(shared, "run", "--", "false")
    assert failed.returncode == 1 and "exit code 1" in failed.stderr
    assert cli(shared, "run", "--machine", "nowhere", "--", "true").returncode == 11


def test_exec_run_detached_prints_the_id_and_logs_show_its_output(shared):
    done = cli(shared, "run", "--detach", "--", "echo", "later")
    execution = done.stdout.strip()
    assert execution.startswith("exec-")
    assert cli(shared, "logs", "-f", execution).stdout == "later\n"
    assert cli(shared, "logs", execution).stdout == "later\n"


def test_omitted_files_are_reported_on_standard_error(shared):
    leave = 'for i in $(seq 103); do : > "$MILLRACE_ARTIFACTS/$i"; done; echo done'
    run = cli(shared, "run", "--", "sh", "-c", leave)
    assert run.stdout == "done\n" and run.stderr.startswith("millrace: 3 file") and run.returncode == 0
    execution = shared.client.get(f"/v1/machines/{local(shared.client)}/executions").json()["items"][0]
    for arguments in (["logs", execution["execution_id"]], ["logs", "-f", execution["execution_id"]]):
        logs = cli(shared, *arguments)
        assert (logs.stdout, logs.stderr) == (run.stdout, run.stderr)


def test_truncated_output_is_not_reported_as_complete(shared):
    run = cli(shared, "run", "--", "head", "-c", "3000000", "/dev/zero")
    assert run.returncode == 0 and len(run.stdout) == 1 << 20
    assert run.stderr == "millrace: stdout was truncated: only the first of its 3000000 bytes are kept (exec.output_max)\n"
    execution = newest(shared)["execution_id"]
    assert cli(shared, "logs", execution).stderr == cli(shared, "logs", "-f", execution).stderr == run.stderr


def test_a_command_that_runs_out_of_memory_says_so(shared):
    assert cli(shared, "run", "--", "true").returncode == 0
    status = shared.client.get(f"/v1/machines/{local(shared.client)}").json()["status"]
    if not status.get("limits", "").startswith("cgroup"):
        pytest.skip("this host has no control groups")
    run = cli(shared, "run", "--exit-status", "--", "tail", "/dev/zero")
    assert run.returncode == 137 and "out_of_memory" in run.stderr and "memory_mib" in run.stderr, run.stderr
    execution = newest(shared)
    assert (execution["status"], execution["signal"], execution["error_code"]) == ("failed", 9, "out_of_memory")
    path = f"{executions(shared)}/{execution['execution_id']}"
    last = shared.client.get(path + "/events").json()["items"][-1]
    assert last["error_code"] == "out_of_memory" and last["error_message"] == execution["error_message"]
    assert shared.client.get(f"/v1/jobs/{execution['execution_id']}").json()["error"]["code"] == "out_of_memory"


def test_json_is_one_event_per_line(shared):
    done = cli(shared, "run", "--json", "--", "sh", "-c", "echo a; echo b >&2")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {(e["type"], e.get("chunk")) for e in events} >= {("stdout", "a\n"), ("stderr", "b\n")}
    assert events[-1]["status"] == "succeeded" and done.stderr == ""


def of_program(gateway, *arguments):
    command = [str(BUILD / "millrace"), *arguments, "--url", gateway.url, "--key", gateway.client.key]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_tail_of_its_job_has_one_line_for_each_line_of_output(shared):
    execution = cli(shared, "run", "--detach", "--", "sh", "-c", "printf 'one\\ntwo\\n'").stdout.strip()
    tail = of_program(shared, "jobs", "tail", execution).stdout
    output = [line.split("  ", 1)[1] for line in tail.splitlines()]
    assert {"running    attempt 1 begins", "stdout     one", "stdout     two"} <= set(output), tail
    assert output[-1] == "succeeded" and "{" not in tail
    assert "link retry" not in of_program(shared, "jobs", "show", execution).stdout


def test_workers_ls_shows_the_held_leases_and_their_age(shared):
    with begun(shared, "echo begun; exec sleep 1000") as running:
        head, row = of_program(shared, "workers", "list").stdout.splitlines()
        leases = row[head.index("LEASES") : head.index("HOST")].strip()
        assert re.fullmatch(r"1, oldest \d+s", leases), row
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130


def test_exec_run_passes_its_standard_input_to_the_command(shared):
    assert cli(shared, "run", "--stdin", "-", "--", "tr", "a-z", "A-Z", input="loud\n").stdout == "LOUD\n"


def test_environment_directory_and_timeout_come_from_the_command_line(shared):
    script = 'printf "%s|" "$A" "$B" "$C"; pwd'
    arguments = ["--env", "A=1", "--env", "B=two words", "-e", "C=x=y", "--cwd", "/tmp", "--timeout", "5m"]
    done = cli(shared, "run", *arguments, "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, "1|two words|x=y|/tmp\n"), done.stderr
    late = cli(shared, "run", "--timeout", "300ms", "--", "sleep", "1000")
    assert late.returncode == 1 and "expired" in late.stderr and "execution_timed_out" in late.stderr
    nowhere = cli(shared, "run", "--cwd", "/no/such/place", "--", "true")
    assert nowhere.returncode == 1 and "cwd does not exist" in nowhere.stderr


@pytest.mark.parametrize(
    "arguments, output",
    [
        (["--env", "A"], "NAME=value"),
        (["--env", "=x"], "NAME=value"),
        (["--timeout", "soon"], "10m"),
        (["--timeout", "25h"], "from 1ms to 24h"),
    ],
)
def test_invalid_arguments_are_usage_errors_and_run_nothing(shared, arguments, output):
    before = shared.client.get(executions(shared)).json()["items"][:1]
    wrong = cli(shared, "run", *arguments, "--", "true")
    assert wrong.returncode == 2 and output in wrong.stderr
    assert shared.client.get(executions(shared)).json()["items"][:1] == before


def test_a_field_that_the_gateway_refuses_is_reported_as_its_flag(shared):
    refused = cli(shared, "run", "--cwd", "/" + "x" * 5000, "--", "true")
    assert refused.returncode == 13 and "millrace: --cwd: " in refused.stderr, refused.stderr


def test_without_a_terminal_an_execution_that_waits_for_its_machine_is_reported_as_waiting():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        try:
            slept = [BUILD / "millrace", "machines", "sleep", "local", "--wait"]
            where = ["--url", gateway.url, "--key", gateway.client.key]
            subprocess.run([*slept, *where], check=True, capture_output=True, timeout=60)
            gateway.terminate()
            gateway.command[1] = "api"
            gateway.start()
            with exec_run(gateway, "--", "true") as running:
                assert "waits for its machine" in running.stderr.readline()
                running.kill()
        finally:
            gateway.close()


def test_executions_are_listed_newest_first(shared):
    made = [cli(shared, "run", "--detach", "--", "sh", "-c", f"exit {code}").stdout.strip() for code in (0, 7)]
    for execution in made:
        cli(shared, "logs", "-f", execution)
    cut = cli(shared, "ls", "--limit", "1")
    assert len(cut.stdout.splitlines()) == 2 and "millrace: 1 of " in cut.stderr and " executions are shown; --limit " in cut.stderr, cut.stderr
    assert cli(shared, "ls").stderr == cli(shared, "ls", "--limit", "1", "--json").stderr == ""
    header, newest_row, before = cli(shared, "ls", "--limit", "2").stdout.splitlines()
    assert header.split() == ["ID", "STATUS", "EXIT", "CREATED", "COMMAND"]
    assert newest_row.split()[:3] == [made[1], "failed", "7"] and newest_row.endswith("sh -c 'exit 7'")
    assert before.split()[:3] == [made[0], "succeeded", "0"]
    rows = [json.loads(line)["execution_id"] for line in cli(shared, "ls", "--json").stdout.splitlines()]
    assert rows[:2] == made[::-1]


def test_a_bulk_retry_says_why_commands_stay_unchanged(shared):
    assert cli(shared, "run", "--", "sh", "-c", "exit 3").returncode
    outcome = shared.client.post("/v1/admin/jobs/retry", {"filter": {"kind": "exec"}}).json()
    assert outcome["matched"] > 0 and outcome["changed"] == outcome["already_retried"] == 0, outcome
    assert outcome["unchanged"] == {"not_retryable": outcome["matched"]}, outcome


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["--", "sh", "-c", "exit 124"], 124),
        (["--", "sh", "-c", "kill -KILL $$"], 137),
        (["--", "sh", "-c", "kill -TERM $$"], 143),
        (["--timeout", "300ms", "--", "sleep", "1000"], 124),
        (["--", "/no/such/command"], 125),
        (["--cwd", "/no/such/place", "--", "true"], 125),
        (["--machine", "dm-0192f0a1-7c1e-7000-8000-00000000ffff", "--", "true"], 11),
    ],
)
def test_the_exit_status_shows_how_the_command_ended(shared, arguments, code):
    done = cli(shared, "run", "--exit-status", *arguments)
    assert done.returncode == code, done.stderr
    assert ("execution_timed_out" in done.stderr) == ("--timeout" in arguments)


def test_an_execution_that_another_client_cancels_has_no_exit_status(shared):
    with begun(shared, "echo begun; exec sleep 1000", "--exit-status") as running:
        shared.client.request("POST", f"/v1/jobs/{newest(shared)['execution_id']}/cancel")
        assert running.wait(30) == 125 and "cancelled" in running.stderr.read()


def exec_run(gateway, *arguments):
    where = ["--url", gateway.url, "--key", gateway.client.key]
    command = [BUILD / "millrace", "exec", "run", *where, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def begun(gateway, script, *arguments):
    """A running `exec run` whose command has written "begun"."""
    running = exec_run(gateway, *arguments, "--", "sh", "-c", script)
    assert running.stdout.readline() == "begun\n", running.stderr.read()
    return running


def newest(gateway):
    return gateway.client.get(executions(gateway)).json()["items"][0]


def test_ctrl_c_cancels_the_command(shared):
    with begun(shared, "echo begun; exec sleep 1000") as running:
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        output = running.stderr.read()
        assert "cancelling" in output and "cancelled" in output
    assert newest(shared)["status"] == "cancelled"


def test_ctrl_c_while_following_the_logs_does_not_cancel_the_execution(shared):
    execution = cli(shared, "run", "--detach", "--", "sh", "-c", "echo begun; exec sleep 1000").stdout.strip()
    arguments = ["--url", shared.url, "--key", shared.client.key, execution]
    command = [BUILD / "millrace", "exec", "logs", "-f", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout.readline() == "begun\n", watching.stderr.read()
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 130 and f"it continues as {execution}" in watching.stderr.read()
    assert newest(shared)["status"] == "running"
    shared.client.request("DELETE", f"{executions(shared)}/{execution}")
    assert ended(shared.client, newest(shared))["status"] == "cancelled"


def test_a_second_ctrl_c_exits_and_reports_that_the_execution_is_being_cancelled(shared):
    with begun(shared, "trap '' TERM; echo begun; while :; do sleep 1; done") as running:
        running.send_signal(signal.SIGINT)
        assert running.stderr.readline() == "cancelling; press Ctrl-C again to leave at once\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        execution = newest(shared)
        left = running.stderr.read()
        assert left.startswith("it is being cancelled: ") and left.endswith(f" {execution['execution_id']}\n")
        shown = subprocess.run([*left.split(": ", 1)[1].replace("KEY", shared.client.key).split()], capture_output=True)
        assert shown.returncode == 0, shown.stderr
    assert ended(shared.client, execution)["status"] == "cancelled"


def run_with_bytes(gateway, *arguments, **kwargs):
    command = [MILLRACE, "exec", "run", "--url", gateway.url, "--key", gateway.client.key, *arguments]
    return subprocess.run(command, capture_output=True, timeout=60, **kwargs)


@pytest.mark.parametrize("data", [b"", b"\xe9", bytes(range(256)), b"\0", b"\x80" * (1 << 20)], ids=["empty", "one", "all", "NUL", "1 MiB"])
def test_standard_input_of_any_bytes_arrives_unchanged(shared, data):
    done = run_with_bytes(shared, "--stdin", "-", "sha256sum", input=data)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([b"caf\xe9"], b"the name of the command"),
        (["echo", "a", b"\xe9"], b"argument 2 of the command"),
        (["-e", b"A=\xe9", "true"], b"a value of --env"),
        (["--cwd", b"\xe9", "true"], b"--cwd"),
    ],
)
def test_an_argument_that_is_not_utf8_is_named(shared, arguments, named):
    done = run_with_bytes(shared, *arguments)
    assert done.returncode == 2 and done.stderr.startswith(b"millrace: " + named + b" is not UTF-8 text"), done.stderr


def test_flags_after_the_first_word_of_a_command_are_its_own(shared):
    for line in (["echo", "-n", "--json"], ["-m", "local", "echo", "-n", "--json"]):
        done = run_with_bytes(shared, *line)
        assert (done.returncode, done.stdout) == (0, b"--json"), done.stderr


ENDLESS = ["sh", "-c", "while :; do echo y; sleep 0.1; done"]


def begun_without_end(gateway, *arguments):
    """A command of which some output was read, and its execution."""
    running = subprocess.Popen(
        [MILLRACE, "exec", "run", *arguments, *ENDLESS],
        env=environment(gateway),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert any(line == "y\n" or '"chunk":"y' in line for line in running.stdout)
    return running, newest(gateway)


@pytest.mark.parametrize("arguments", [[], ["--json"]])
@pytest.mark.parametrize(("how", "exit_code"), [("closed pipe", 141), ("SIGHUP", 129)])
def test_a_command_whose_client_is_cut_off_goes_on_and_standard_error_says_so(shared, how, exit_code, arguments):
    running, execution = begun_without_end(shared, *arguments)
    running.stdout.close() if how == "closed pipe" else running.send_signal(signal.SIGHUP)
    assert running.wait(30) == exit_code
    errors, name = running.stderr.read(), execution["execution_id"]
    assert f"{name} goes on; cancel it with `" in errors and f"jobs cancel --url {shared.url} {name}`\n" in errors, errors
    assert newest(shared)["status"] == "running"
    assert of_program(shared, "jobs", "cancel", name).returncode == 0
    assert ended(shared.client, execution)["status"] == "cancelled"


@pytest.mark.parametrize(("how", "exit_code"), [("closed pipe", 141), ("SIGHUP", 129)])
def test_kill_on_disconnect_cancels_the_command(shared, how, exit_code):
    running, execution = begun_without_end(shared, "--kill-on-disconnect")
    running.stdout.close() if how == "closed pipe" else running.send_signal(signal.SIGHUP)
    assert running.wait(30) == exit_code and "is being cancelled" in running.stderr.read()
    assert ended(shared.client, execution)["status"] == "cancelled"


def test_an_ignored_sighup_ends_nothing(shared):
    ignored = [sys.executable, "-c", "import os,signal,sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"]
    command = [*ignored, str(MILLRACE), "exec", "run", "sh", "-c", "echo begun; sleep 1; echo at the end"]
    running = subprocess.Popen(command, env=environment(shared), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "begun\n"
    running.send_signal(signal.SIGHUP)
    output, errors = running.communicate(timeout=60)
    assert (running.returncode, output) == (0, "at the end\n"), errors


def test_output_that_cannot_be_written_is_an_error(shared):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [MILLRACE, "exec", "run", "--kill-on-disconnect", *ENDLESS],
            env=environment(shared),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1 and "cannot be written: No space left on device" in done.stderr
