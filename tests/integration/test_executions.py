"""Executions on the sandboxed machine `local`, over HTTP, with real bubblewrap."""

import base64
import http.client
import subprocess
import uuid

import pytest
from millrace import BUILD, Client, eventually
from sandboxed import create, ended, execution_path, local, reachable_folder, run, start, started


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


def test_a_command_runs_and_shows_what_it_wrote(shared):
    execution, output = run(shared.client, ["sh", "-c", "echo out; echo err >&2"])
    assert execution["status"] == "succeeded" and execution["exit_code"] == 0
    assert output["stdout"] == "out\n" and output["stderr"] == "err\n"
    assert execution["stdout_bytes"] == 4 and execution["stdout_truncated"] is False
    assert execution["log_capture"] == {} and execution["started_at"] and execution["completed_at"]
    assert "error_code" not in execution


def test_another_exit_code_fails_without_an_error_code(shared):
    execution, _ = run(shared.client, ["sh", "-c", "exit 7"])
    assert execution["status"] == "failed" and execution["exit_code"] == 7
    assert "error_code" not in execution and "signal" not in execution


def test_a_signal_is_no_exit_code(shared):
    execution, _ = run(shared.client, ["sh", "-c", "kill -9 $$"])
    assert execution["status"] == "failed" and execution["signal"] == 9
    assert "exit_code" not in execution and "error_code" not in execution


def test_no_shell_looks_at_the_arguments(shared):
    _, output = run(shared.client, ["echo", "$HOME", "a b", "*", ";", "日本"])
    assert output["stdout"] == "$HOME a b * ; 日本\n"


def test_stdin_environment_and_directory_reach_the_command(shared):
    script = "pwd; cat; printf '%s' \"$SECRET\"; ls -d $MILLRACE_EXECUTION_ID 2>/dev/null; echo; echo $MILLRACE_MACHINE_ID"
    execution, output = run(
        shared.client, ["sh", "-c", script], cwd="/tmp", env={"SECRET": "s3cr3t-value"}, stdin="from stdin\n"
    )
    assert output["stdout"] == f"/tmp\nfrom stdin\ns3cr3t-value\n{execution['machine_id']}\n"
    assert execution["env_keys"] == ["SECRET"] and execution["cwd"] == "/tmp"


def test_the_values_of_an_environment_are_stored_and_logged_nowhere(shared):
    value = "v" + uuid.uuid4().hex
    execution, output = run(shared.client, ["sh", "-c", 'test -n "$TOKEN"'], env={"TOKEN": value})
    assert execution["status"] == "succeeded"
    for name in ["millrace.db", "millrace.db-wal"]:
        path = shared.data / name
        assert not path.exists() or value.encode() not in path.read_bytes(), name
    assert value not in shared.log.read_text(errors="replace")
    job = shared.client.get(f"/v1/jobs/{execution['execution_id']}")
    assert value.encode() not in job.body


def test_binary_output_is_returned_as_base64_with_exact_sizes(shared):
    execution, output = run(shared.client, ["sh", "-c", r"printf '\377\000\001ok'"])
    assert output["stdout_encoding"] == "base64"
    assert base64.b64decode(output["stdout"]) == b"\xff\x00\x01ok" and execution["stdout_bytes"] == 5


def test_a_command_may_open_its_standard_output_by_name(shared):
    _, output = run(shared.client, ["sh", "-c", "echo out > /dev/stdout; echo err > /dev/stderr"])
    assert (output["stdout"], output["stderr"]) == ("out\n", "err\n")


def test_the_host_ends_a_command_before_the_gateway_when_memory_is_short(shared):
    _, output = run(shared.client, ["cat", "/proc/self/oom_score_adj"])
    assert output["stdout"] == "1000\n"


def test_a_workspace_whose_permissions_a_command_removed_works_again(shared):
    run(shared.client, ["chmod", "000", "/workspace"])
    assert run(shared.client, ["true"])[0]["status"] == "succeeded"


def test_output_past_the_cap_is_counted_and_dropped(shared):
    execution, output = run(shared.client, ["sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x"])
    assert execution["stdout_bytes"] == 5_000_000 and execution["stdout_truncated"] is True
    assert output["stdout"] == "x" * (1 << 20)


def test_a_workspace_outlives_executions_and_tmp_does_not(shared):
    run(shared.client, ["sh", "-c", "echo kept > /workspace/file; echo gone > /tmp/file"])
    _, output = run(shared.client, ["sh", "-c", "cat /workspace/file; ls /tmp"])
    assert output["stdout"] == "kept\n"


def test_a_time_out_expires_and_leaves_nothing_running(shared):
    mark = f"31{uuid.uuid4().int % 10**6:06d}"
    command = ["sh", "-c", f"trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep {mark} & sleep {mark}' & wait"]
    execution, _ = run(shared.client, command, timeout_ms=300)
    assert execution["status"] == "expired" and execution["error_code"] == "execution_timed_out"
    assert mark not in subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True).stdout


def test_a_running_command_is_cancelled_by_delete_and_forgotten_by_the_next(shared):
    client = shared.client
    execution = started(client, ["sh", "-c", "echo begun; exec sleep 1000"])
    eventually(lambda: client.get(execution_path(execution) + "/output").json().get("stdout") == "begun\n")
    cancelled = client.request("DELETE", execution_path(execution))
    assert cancelled.status == 200 and cancelled.json()["status"] in ("running", "cancelled")
    assert ended(client, execution)["status"] == "cancelled"
    deleted = client.request("DELETE", execution_path(execution))
    assert deleted.status == 200 and deleted.json()["status"] == "cancelled"
    assert client.get(execution_path(execution)).status == 404


def test_a_repeated_delete_does_not_forget_what_it_has_cancelled(shared):
    client = shared.client
    execution = started(client, ["sleep", "1000"])
    key = {"Idempotency-Key": str(uuid.uuid4())}
    assert client.request("DELETE", execution_path(execution), headers=key).status == 200
    ended(client, execution)
    again = client.request("DELETE", execution_path(execution), headers=key)
    assert again.status == 200 and again.headers["idempotent-replayed"] == "true"
    assert client.get(execution_path(execution)).status == 200
    assert client.request("DELETE", execution_path(execution)).status == 200
    assert client.get(execution_path(execution)).status == 404


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"command": ["no-such-command"]}, "the command, or the interpreter that it names, does not exist"),
        ({"command": ["/usr/share/common-licenses/GPL-3"]}, "the command is not executable"),
        ({"command": ["true"], "cwd": "/no/such/place"}, "cwd does not exist"),
        ({"command": ["true"], "cwd": "/usr/bin/env"}, "cwd"),
    ],
)
def test_a_command_that_cannot_start_has_the_reason_as_its_error(shared, fields, expected):
    execution, _ = run(shared.client, **fields)
    assert execution["status"] == "failed" and execution["error_code"] == "execution_runner_prepare_failed"
    assert expected in execution["error_message"] and "exit_code" not in execution


def test_events_are_pages_and_a_stream_that_resumes(shared):
    client = shared.client
    execution, _ = run(client, ["sh", "-c", "echo one; echo two >&2"])
    page = client.get(execution_path(execution) + "/events").json()["items"]
    assert [e["sequence"] for e in page] == list(range(1, len(page) + 1))
    assert {"stdout", "stderr", "lifecycle"} <= {e["type"] for e in page}
    assert page[-1]["status"] == "succeeded" and page[-1]["exit_code"] == 0
    stream = client.get(execution_path(execution) + "/events", headers={"Accept": "text/event-stream"})
    assert stream.status == 200 and stream.body.decode().count("event: ") >= len(page)
    past = client.get(
        execution_path(execution) + "/events",
        headers={"Accept": "text/event-stream", "Last-Event-ID": str(page[-1]["sequence"])},
    )
    assert past.status == 204


def test_output_streams_while_the_command_runs(shared):
    client = shared.client
    execution = started(client, ["sh", "-c", "echo first; exec sleep 1000"])
    address = client.address
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    connection.request(
        "GET",
        execution_path(execution) + "/events",
        headers={"Accept": "text/event-stream", "Authorization": f"Bearer {client.key}"},
    )
    response = connection.getresponse()
    seen = b""
    while b"first" not in seen:
        piece = response.read1(4096)
        assert piece, seen
        seen += piece
    connection.close()
    client.request("DELETE", execution_path(execution))
    assert ended(client, execution)["status"] == "cancelled"


def test_a_repeated_idempotency_key_makes_one_execution(shared):
    key = str(uuid.uuid4())
    first = create(shared.client, ["true"], key=key)
    again = create(shared.client, ["true"], key=key)
    assert again.status == 200 and again.headers["idempotent-replayed"] == "true"
    assert again.json()["execution_id"] == first.json()["execution_id"]
    other = create(shared.client, ["false"], key=key)
    assert other.status == 409 and other.json()["error_code"] == "IDEMPOTENCY_KEY_REUSED"


def test_a_create_without_a_key_names_the_header(shared):
    reply = shared.client.post(f"/v1/machines/{local(shared.client)}/executions", {"command": ["true"]})
    assert reply.status == 400 and reply.headers["content-type"] == "application/problem+json"
    assert b"Idempotency-Key" in reply.body


@pytest.mark.parametrize(
    "body, expected",
    [
        ({"command": []}, "command"),
        ({"command": ["a\0b"]}, "command"),
        ({"command": ["x"] * 1025}, "1024"),
        ({"command": ["x" * (129 * 1024)]}, "128 KiB"),
        ({"command": ["true"], "env": {f"N{i}": "" for i in range(257)}}, "256"),
        ({"command": ["true"], "env": {"A=B": "c"}}, "env"),
        ({"command": ["true"], "timeout_ms": -1}, "timeout_ms"),
        ({"command": ["true"], "timeout_ms": 86_400_001}, "timeout_ms"),
        ({"command": ["true"], "timeout_ms": 0}, "timeout_ms"),
        ({"command": ["true"], "timeout_ms": 2**63}, "timeout_ms"),
        ({"command": ["true"], "timeout_ms": 10**30}, "86400000"),
        ({"command": ["true"], "env": {"A": "b\0c"}}, "env"),
        ({"command": ["true"], "cwd": "/tmp\0"}, "cwd"),
        ({"command": ["x" * 1000] * 132}, "128 KiB"),
        ({"command": ["true"], "colour": "red"}, "colour"),
        ({"command": ["true"], "stdin": "x" * ((8 << 20) + 1)}, "stdin"),
        ({}, "command"),
    ],
)
def test_a_bad_request_is_422_and_names_its_field(shared, body, expected):
    path = f"/v1/machines/{local(shared.client)}/executions"
    reply = shared.client.post(path, body, headers={"Idempotency-Key": str(uuid.uuid4())})
    assert reply.status == 422 and reply.headers["content-type"] == "application/problem+json", reply.body[:300]
    assert expected in reply.body.decode(), reply.body[:600]


def test_an_unknown_machine_is_404(shared):
    for machine in ["nonsense", "dm-XYZ", "dm-0192f0a1-7c1e-7000-8000-000000000001"]:
        reply = create(shared.client, ["true"], machine=machine)
        assert reply.status == 404 and reply.headers["content-type"] == "application/problem+json"


def test_another_tenants_machine_and_executions_are_404(shared):
    create_key = [BUILD / "millrace", "keys", "create", "--name", "other", "--tenant", "other", "--data", shared.data]
    other = Client(shared.url, subprocess.check_output(create_key, text=True).strip())
    execution = started(shared.client, ["true"])
    assert other.get("/v1/machines").json()["items"] == []
    assert create(other, ["true"], machine=execution["machine_id"]).status == 404
    for path in [execution_path(execution), execution_path(execution) + "/output", execution_path(execution) + "/events"]:
        assert other.get(path).status == 404


@pytest.fixture
def alone():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


def test_a_worker_that_is_killed_fails_its_command_once(alone):
    client, mark = alone.client, f"/workspace/{uuid.uuid4().hex}"
    begins = "echo begun; exec sleep 1000"
    once = started(client, ["sh", "-c", f"echo run >> {mark}; {begins}"])
    script = f"echo run >> {mark}2; test $(wc -l < {mark}2) = 2 || {{ {begins}; }}; echo again"
    again = started(client, ["sh", "-c", script], retry_on_worker_loss=True)
    for execution in (once, again):
        eventually(lambda e=execution: client.get(execution_path(e) + "/output").json().get("stdout") == "begun\n")
    alone.kill()
    alone.start()
    client = alone.client
    lost = ended(client, once)
    assert lost["status"] == "failed" and lost["error_code"] == "worker_lost"
    assert client.get(execution_path(once) + "/output").json()["stdout"] == "begun\n"
    assert ended(client, again)["status"] == "succeeded"
    assert client.get(execution_path(again) + "/output").json()["stdout"] == "again\n"  # of its last run alone
    assert run(client, ["cat", mark])[1]["stdout"] == "run\n"
