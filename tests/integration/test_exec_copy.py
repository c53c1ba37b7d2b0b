"""`millrace exec cp`, and messages about artifacts."""

import json
import signal
import subprocess

import pytest
from commands import FILE_MACHINE, MILLRACE, cli, environment, on_terminal, reaches
from millrace import eventually
from sandboxed import reachable_folder, start
from silent_gateway import SilentGateway

EXECUTION = "exec-0192f0a1-7c1e-7000-8000-000000000001"


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


LEAVES = "mkdir $MILLRACE_ARTIFACTS/sub; printf aa > $MILLRACE_ARTIFACTS/sub/a.txt; printf b > $MILLRACE_ARTIFACTS/b.txt"


@pytest.fixture(scope="module")
def left(shared):
    """An execution with the artifacts sub/a.txt and b.txt."""
    done = cli(shared, "exec", "run", "-m", "local", "--", "sh", "-c", LEAVES + "; echo $MILLRACE_EXECUTION_ID")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def files_below(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_all_artifacts_are_copied_with_their_folders(shared, left, tmp_path):
    done = cli(shared, "exec", "cp", f"{left}:", tmp_path / "out")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    assert files_below(tmp_path / "out") == {"sub/a.txt": "aa", "b.txt": "b"}


def test_an_empty_artifact_is_an_empty_file(shared, tmp_path):
    leaves = "touch $MILLRACE_ARTIFACTS/empty; printf b > $MILLRACE_ARTIFACTS/full; echo $MILLRACE_EXECUTION_ID"
    execution = cli(shared, "exec", "run", "-m", "local", "--", "sh", "-c", leaves).stdout.strip()
    done = cli(shared, "exec", "cp", f"{execution}:", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert files_below(tmp_path / "out") == {"empty": "", "full": "b"}
    assert cli(shared, "exec", "cp", f"{execution}:empty", "-").stdout == ""


def test_an_artifact_that_is_missing_does_not_keep_the_others_back(shared, left, tmp_path):
    done = cli(shared, "exec", "cp", f"{left}:b.txt", f"{left}:none.txt", f"{left}:sub/a.txt", tmp_path / "out")
    assert done.returncode != 0 and "none.txt" in done.stderr, done.stderr
    assert files_below(tmp_path / "out") == {"sub/a.txt": "aa", "b.txt": "b"}


def test_one_artifact_goes_into_a_folder_a_file_or_standard_output(shared, left, tmp_path):
    assert cli(shared, "exec", "cp", f"{left}:sub/a.txt", ".", cwd=tmp_path).returncode == 0
    assert cli(shared, "exec", "cp", f"{left}:b.txt", tmp_path / "mine.txt").returncode == 0
    assert files_below(tmp_path) == {"sub/a.txt": "aa", "mine.txt": "b"}
    assert cli(shared, "exec", "cp", f"{left}:sub/a.txt", "-").stdout == "aa"


def test_several_artifacts_need_a_folder(shared, left, tmp_path):
    (tmp_path / "file").write_text("kept")
    assert cli(shared, "exec", "cp", f"{left}:b.txt", f"{left}:sub/a.txt", tmp_path / "file").returncode == 2
    assert cli(shared, "exec", "cp", f"{left}:", "-").returncode == 2
    assert cli(shared, "exec", "cp", f"{left}:b.txt", f"{left}:sub/a.txt", tmp_path / "both").returncode == 0
    assert files_below(tmp_path) == {"file": "kept", "both/sub/a.txt": "aa", "both/b.txt": "b"}


def run_in(gateway, script):
    done = cli(gateway, "exec", "run", "-m", "local", "--", "sh", "-c", script + "; echo $MILLRACE_EXECUTION_ID")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_two_sources_with_one_name_are_refused_before_the_first_copy(shared, left, tmp_path):
    other = run_in(shared, "cd /workspace; mkdir -p x y; echo 1 > x/out.csv; echo 2 > y/out.csv; printf c > $MILLRACE_ARTIFACTS/b.txt")
    out = tmp_path / "out"
    for sources in (["local:x/out.csv", "local:y/out.csv"], [f"{left}:b.txt", f"{other}:b.txt"], [f"{left}:", f"{other}:"]):
        refused = cli(shared, "exec", "cp", *sources, out)
        assert refused.returncode == 2 and f"would both be written to {out}/" in refused.stderr, refused.stderr
        assert not out.exists()
    (tmp_path / "a").mkdir()
    for file in ("n.txt", "a/n.txt"):
        (tmp_path / file).write_text(file)
    refused = cli(shared, "exec", "cp", "n.txt", "a/n.txt", "local:into/", cwd=tmp_path)
    assert refused.returncode == 2 and "n.txt and a/n.txt would both be written to local:into/n.txt" in refused.stderr, refused.stderr
    assert cli(shared, "exec", "cp", "local:into/n.txt", "-").returncode != 0


def test_an_unknown_artifact_is_not_found_and_the_error_lists_the_existing_ones(shared, left, tmp_path):
    missing = cli(shared, "exec", "cp", f"{left}:c.txt", tmp_path)
    assert missing.returncode == 11 and "b.txt" in missing.stderr and "sub/a.txt" in missing.stderr
    assert cli(shared, "exec", "cp", f"{EXECUTION}:c.txt", tmp_path).returncode == 11
    assert cli(shared, "exec", "cp", left, tmp_path).returncode == 2
    invalid = cli(shared, "exec", "cp", "nope:", tmp_path)
    assert invalid.returncode == 2 and '"nope" is not the id of an execution' in invalid.stderr and "exec ls" in invalid.stderr
    assert files_below(tmp_path) == {}


def test_the_id_of_an_execution_is_enough_to_find_its_machine(shared, tmp_path):
    assert cli(shared, "machines", "create", "--name", "elsewhere", "--wait").returncode == 0
    run = cli(shared, "exec", "run", "-m", "elsewhere", "--", "sh", "-c", LEAVES + "; echo $MILLRACE_EXECUTION_ID")
    execution = run.stdout.strip()
    assert run.returncode == 0, run.stderr
    assert cli(shared, "exec", "logs", execution).stdout.strip() == execution
    assert cli(shared, "exec", "logs", "-f", execution).stdout.strip() == execution
    done = cli(shared, "exec", "cp", f"{execution}:b.txt", tmp_path)
    assert done.returncode == 0 and files_below(tmp_path) == {"b.txt": "b"}, done.stderr
    unknown = cli(shared, "exec", "logs", EXECUTION)
    assert unknown.returncode == 11 and EXECUTION in unknown.stderr
    assert cli(shared, "machines", "rm", "elsewhere", "--yes").returncode == 0


@pytest.fixture
def silent():
    gateway = SilentGateway()
    yield gateway
    gateway.close()


def copying(silent, *arguments, **kwargs):
    command = [MILLRACE, "exec", "cp", "-m", FILE_MACHINE, *map(str, arguments)]
    return subprocess.Popen(command, env=environment(silent), stderr=subprocess.PIPE, text=True, **kwargs)


def reply_artifacts(silent, *names, status="succeeded"):
    line, connection = silent.next_request()
    assert line.startswith(f"GET /v1/machines/{FILE_MACHINE}/executions/{EXECUTION} ")
    rows = [{"artifact_id": "art-1", "name": name} for name in names]
    silent.answer(connection, 200, json.dumps({"status": status, "artifacts": rows}), content_type="application/json")


def test_logs_say_if_it_is_unknown_whether_they_are_complete(silent):
    command = [MILLRACE, "exec", "logs", "-m", FILE_MACHINE, EXECUTION]
    with subprocess.Popen(command, env=environment(silent), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        _, connection = silent.next_request()
        event = {"sequence": 1, "type": "stdout", "chunk": "some of it\n"}
        silent.answer(connection, 200, json.dumps({"items": [event]}), content_type="application/json")
        _, connection = silent.next_request()
        silent.answer(connection, 500)
        assert running.wait(30) == 0 and running.stdout.read() == "some of it\n"
        assert "millrace: could not ask whether the output is complete: " in running.stderr.read()


def test_a_command_that_runs_has_no_artifacts_yet(silent, tmp_path):
    with copying(silent, f"{EXECUTION}:", tmp_path) as running:
        reply_artifacts(silent, status="running")
        assert f"{EXECUTION} is running: its artifacts" in running.stderr.read()
        assert running.wait(30) == 11


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil", "link/evil"])
def test_no_name_of_a_gateway_leads_out_of_the_folder(silent, tmp_path, name):
    (tmp_path / "outside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link").symlink_to(tmp_path / "outside")
    with copying(silent, f"{EXECUTION}:", tmp_path / "out") as running:
        reply_artifacts(silent, name)
        assert "evil" in running.stderr.read()
        assert running.wait(30) == 1
    assert files_below(tmp_path) == {}


def test_a_copy_that_is_interrupted_or_breaks_off_leaves_nothing(silent, tmp_path):
    for end in ("interrupted", "cut"):
        with copying(silent, f"{EXECUTION}:big", tmp_path / "big") as running:
            reply_artifacts(silent, "big")
            _, connection = silent.next_request()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000)
            eventually(lambda: any(path.stat().st_size for path in tmp_path.iterdir()), what="a part of the file is written")
            running.send_signal(signal.SIGINT) if end == "interrupted" else connection.close()
            assert running.wait(30) == (130 if end == "interrupted" else 15)
        assert list(tmp_path.iterdir()) == []


def test_at_a_terminal_the_wake_and_the_artifacts_are_reported(shared):
    assert cli(shared, "machines", "create", "--name", "sleeper").returncode == 0
    reaches(shared, "sleeper", "running")
    assert cli(shared, "machines", "sleep", "sleeper").returncode == 0
    reaches(shared, "sleeper", "sleeping")
    with on_terminal(shared, "exec", "run", "-m", "sleeper", "--", "sh", "-c", LEAVES + "; echo all") as terminal:
        terminal.until("waking the machine…")
        shown, code = terminal.end()
    assert code == 0 and "all" in shown and "2 artifacts: " in shown
    assert "exec cp -m sleeper" in shown and ": ." in shown
    unseen = cli(shared, "exec", "run", "-m", "sleeper", "--", "sh", "-c", LEAVES)
    assert unseen.returncode == 0 and unseen.stderr == ""
    assert cli(shared, "machines", "rm", "sleeper", "--yes").returncode == 0
