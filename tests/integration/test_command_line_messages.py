"""Messages of the command line: misspelt names, failures, responses of other servers."""

import json
import os
import re
import signal
import subprocess
from contextlib import closing

import bad_documents
import pytest
from commands import on_terminal
from documents import tiny_pdf
from millrace import BUILD, Client, Gateway
from silent_gateway import SilentGateway

MILLRACE = BUILD / "millrace"
JOB = "ocr-01900000-0000-7000-8000-000000000000"
PAGE = "<html><body>Welcome to the proxy</body></html>"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("words") / "data").start()
    yield gateway
    gateway.close()


@pytest.fixture
def silent():
    gateway = SilentGateway()
    yield gateway
    gateway.close()


@pytest.fixture
def folder(tmp_path):
    inputs = tmp_path / "in"
    inputs.mkdir()
    (inputs / "one.pdf").write_bytes(tiny_pdf("the first document"))
    (inputs / "two.pdf").write_bytes(tiny_pdf("the second", "on two pages"))
    (inputs / "locked.pdf").write_bytes(bad_documents.encrypted())
    return inputs


def environment(url, key):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    return {**kept, "MILLRACE_URL": url, "MILLRACE_API_KEY": key}


def millrace(gateway, *arguments):
    env = environment(gateway.url, gateway.client.key)
    command = [MILLRACE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)


def start(silent, *arguments):
    env = environment(silent.url, "mr_live_any_key")
    command = [MILLRACE, *map(str, arguments)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "args, output",
    [
        (["jbos"], "did you mean `jobs`?"),
        (["jobs", "lss"], "did you mean `jobs ls`?"),
        (["show"], "did you mean `models show` or `jobs show` or "),
        (["jobs", "ls", "--limt", "5"], "did you mean `--limit`?"),
        (["serve", "--lisetn", "127.0.0.1:0"], "did you mean `--listen`?"),
        (["serve", "--data", "--listen", "127.0.0.1:0"], "--data needs a value, but --listen follows"),
        (["chat", "--system", "--model", "hello"], "--system needs a value, but --model follows"),
        (["config", "check", "gateway.yaml"], "takes no argument: \"gateway.yaml\"; did you mean `--config gateway.yaml`?"),
        (["jobs", "ls", "--data", ""], "--data: \"\" is no folder"),
        (["jobs", "ls", "--key", "a\nb"], "--key: has a blank, a line break"),
        (["jobs", "ls", "extra"], "takes no argument: \"extra\". Usage: millrace jobs ls [OPTIONS]"),
    ],
)
def test_a_misspelt_command_or_flag_gets_a_suggestion(shared, args, output):
    refused = millrace(shared, *args)
    assert refused.returncode == 2 and output in refused.stderr and refused.stdout == ""
    assert len(refused.stderr.splitlines()) == 2, refused.stderr


@pytest.mark.parametrize("command", [["create", "--name", "x"], ["list"], ["revoke", "abcdefgh"]])
def test_keys_of_a_folder_that_is_no_data_directory_are_refused_and_nothing_is_created(shared, tmp_path, command):
    refused = millrace(shared, "keys", *command, "--data", tmp_path / "typo")
    assert refused.returncode == 2 and f"{tmp_path}/typo is not a data directory" in refused.stderr
    assert refused.stdout == "" and not (tmp_path / "typo").exists()


def test_an_unknown_machine_is_an_error_with_the_command_that_lists_machines(shared):
    for command in (["exec", "run", "-m", "nobody", "--", "ls"], ["ssh", "nobody"], ["machines", "show", "nobody"]):
        refused = millrace(shared, *command)
        assert refused.returncode == 11 and refused.stdout == ""
        assert f" machines ls --url {shared.url}` lists them" in refused.stderr, refused.stderr


def test_help_names_and_explains_the_unit_of_a_setting(shared):
    helped = millrace(shared, "serve", "--help").stdout
    for output in ("--data DIR ", "--config FILE ", "--store.wal-max SIZE ", "--ocr.wait DURATION ", "DURATION: 500ms, 30s"):
        assert output in helped, output


def test_a_flag_that_is_a_setting_of_the_gateway_says_so(shared, folder):
    done = millrace(shared, "ocr", folder, "--languages", "deu")
    assert done.returncode == 2 and "has no flag --languages; it is a setting of the gateway: `ocr.languages`" in done.stderr, done.stderr


@pytest.mark.parametrize("flags", [["--mock"], ["--mock", "--metrics.open"], ["--limits.single-tenant", "--mock", "yes"]])
def test_a_setting_that_is_true_or_false_needs_no_value(tmp_path, flags):
    with closing(Gateway(tmp_path / "data", *flags, role="api").start()) as gateway:
        assert gateway.client.post("/v1/chat/completions", {"model": "mock/chat", "messages": "hello"}).status == 200
        assert Client(gateway.url, "none").get("/metrics").status == (200 if "--metrics.open" in flags else 401)


def test_the_hint_about_a_wrong_key_names_the_data_directory_of_the_gateway(tmp_path):
    with closing(Gateway(tmp_path / "elsewhere", role="api").start()) as gateway:
        done = millrace(gateway, "jobs", "ls", "--key", "mr_live_wrongkey_x")
        assert done.returncode == 10 and f"--data {tmp_path / 'elsewhere'}`" in done.stderr, done.stderr
    made = millrace(gateway, "keys", "create", "--name", "me", "--data", tmp_path / "none")
    assert made.returncode == 2 and "--data names the directory of a gateway that exists" in made.stderr, made.stderr


def test_config_check_shows_the_defaults_that_apply(shared):
    checked = millrace(shared, "config", "check")
    values = {line.split()[0]: line.split()[1] for line in checked.stdout.splitlines()}
    assert values["data"].endswith("/millrace") and values["log.format"] == "json"
    assert values["SETTING"] == "VALUE" and values["config"] == "-"
    assert re.fullmatch(r"ocr=\d+(,\w+=\d+)*", values["slots"])


def test_failures_are_counted_apart_from_what_was_read(shared, folder, tmp_path):
    done = millrace(shared, "ocr", folder, "-o", tmp_path / "out")
    assert done.returncode == 1
    *_, totals, results = done.stderr.splitlines()
    assert totals.startswith("2 read, 1 failed · 3 pages · "), done.stderr
    assert results == f"The results are in {tmp_path}/out; run the same command again to retry what failed"


def test_a_run_reports_earlier_results_what_remains_and_where_the_results_are(shared, folder, tmp_path):
    out = tmp_path / "out"
    first = millrace(shared, "ocr", folder, "-o", out).stderr
    assert "before" not in first
    second = millrace(shared, "ocr", folder, "-o", out).stderr.splitlines()
    assert second[0] == f"2 of 3 documents were read before, their results are in {out}; 1 remains (1 failed before and is retried)"
    assert second[2].startswith("0 read, 1 failed, 2 before · 0 pages · ")
    (folder / "locked.pdf").unlink()
    third = millrace(shared, "ocr", folder, "-o", out)
    assert third.returncode == 0 and third.stderr == (
        f"All 2 documents were read before; their results are in {out}. To process them again, remove them\n"
    )


def test_a_document_whose_parts_are_being_merged_is_not_shown_as_queued(shared, tmp_path):
    inputs = tmp_path / "many"
    inputs.mkdir()
    for number in range(12):
        pages = [f"document {number} page {page}" for page in range(20)]
        (inputs / f"{number:02}-long.pdf").write_bytes(tiny_pdf(*pages))
        (inputs / f"{number:02}-short.pdf").write_bytes(tiny_pdf(f"document {number}"))
    done = millrace(shared, "ocr", inputs, "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "Waiting" not in done.stderr


def test_a_run_after_an_interrupted_one_reports_what_is_already_submitted(silent, tmp_path):
    (tmp_path / "a.pdf").write_bytes(tiny_pdf("never read"))
    for _ in range(2):
        with start(silent, "ocr", tmp_path / "a.pdf", "-o", tmp_path / "out") as running:
            if not (tmp_path / "out" / ".millrace-ocr.json").exists():
                silent.answer(silent.next_request()[1], 202, x_millrace_job=JOB)
            silent.next_request()
            running.send_signal(signal.SIGINT)
            _, output = running.communicate(timeout=30)
        assert running.returncode == 130
    assert output.startswith("The previous run has read none; 1 remains (1 already submitted)\nDetached: 1 document continues in the gateway")


def test_a_file_name_moves_no_cursor_wherever_it_is_printed(shared, silent, tmp_path):
    name = "red\x1b[31m\x1b]0;owned\x07 a\nb\u202e"
    inputs, out = tmp_path / f"in {name}", tmp_path / f"out {name}"
    inputs.mkdir()
    (inputs / f"{name}.pdf").write_bytes(tiny_pdf("named so"))
    (inputs / f"bad {name}.pdf").write_bytes(b"no document")
    (tmp_path / f"empty {name}").mkdir()
    (tmp_path / "pdf").mkdir()
    (tmp_path / "pdf" / f"a.{name}").touch()
    named = (inputs, tmp_path / f"empty {name}", tmp_path / "pdf")
    output = [millrace(shared, "ocr", *named, "-o", out).stderr for _ in range(2)]
    output += [millrace(shared, "ocr", path).stderr for path in (inputs / f"{name}.gone", tmp_path / f"empty {name}")]
    assert "✓ " in output[0] and "✗ " in output[0] and "The previous run" not in output[0] and "before" in output[1]
    with start(silent, "ocr", inputs, "-o", tmp_path / f"2 {name}") as running:
        silent.next_request()
        running.send_signal(signal.SIGINT)
        output.append(running.communicate(timeout=30)[1])
    assert "run the same command again" in output[-1] and "owned" in output[-1]
    assert not set("".join(output)) & {"\x1b", "\x07", "\u202e"}, output
    assert not [line for text in output for line in text.splitlines() if line.startswith("b")], output
    assert (out / f"{name}.md").read_text() == "named so\n"


@pytest.mark.parametrize("kind, moves", [("xterm", True), ("dumb", False), ("", False)])
def test_a_terminal_that_cannot_move_its_cursor_gets_the_output_of_a_pipe(shared, folder, tmp_path, kind, moves):
    with on_terminal(shared, "ocr", folder, "-o", tmp_path / "out", TERM=kind) as terminal:
        shown, code = terminal.end()
    assert code == 1 and "2 read, 1 failed" in shown
    assert ("\x1b" in shown) == moves and ("✓ " in shown) != moves, shown


def test_a_quiet_batch_still_names_its_failures(shared, folder, tmp_path):
    done = millrace(shared, "ocr", folder, "-o", tmp_path / "out", "-q")
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"✗ {folder}/locked.pdf: ") and line.endswith("(document_encrypted)")


def test_an_aborted_batch_prints_how_to_continue(silent, tmp_path):
    (tmp_path / "a.pdf").write_bytes(tiny_pdf("never read"))
    with start(silent, "ocr", tmp_path / "a.pdf", "-o", tmp_path / "out") as running:
        silent.answer(silent.next_request()[1], 202, x_millrace_job=JOB)
        silent.answer(silent.next_request()[1], 500, x_should_retry="false")
        _, output = running.communicate(timeout=30)
    again = f"{MILLRACE.resolve()} ocr {tmp_path}/a.pdf --url {silent.url} -o {tmp_path}/out"
    assert running.returncode == 14 and "answered 500" in output
    assert output.splitlines()[-1] == f"To continue, run the same command again: {again}"


def test_a_proxys_page_is_no_gateway_and_the_error_names_its_address(silent, tmp_path):
    (tmp_path / "a.pdf").write_bytes(tiny_pdf("never read"))
    for command in (["jobs", "ls"], ["jobs", "show", JOB], ["jobs", "tail", JOB], ["ocr", tmp_path / "a.pdf"]):
        with start(silent, *command) as running:
            silent.answer(silent.next_request()[1], 200, PAGE, Content_Type="text/html; charset=utf-8")
            out, output = running.communicate(timeout=30)
        assert running.returncode == 15 and out == "", command
        assert f"{silent.url} is not a Millrace gateway" in output and "with text/html" in output, output


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_without_the_path_is_no_gateway_and_is_not_retried(silent, tmp_path, status):
    (tmp_path / "a.pdf").write_bytes(tiny_pdf("never read"))
    for command in (["jobs", "ls"], ["ocr", tmp_path / "a.pdf"]):
        with start(silent, *command) as running:
            silent.answer(silent.next_request()[1], status, PAGE, Content_Type="text/html")
            out, output = running.communicate(timeout=30)
        assert running.returncode == 15 and out == "", (command, output)
        assert f"{silent.url} is not a Millrace gateway" in output and f"with {status} and text/html" in output, output


def test_a_server_with_other_json_is_no_gateway_either(silent, tmp_path):
    (tmp_path / "a.pdf").write_bytes(tiny_pdf("never read"))
    for command in (["jobs", "ls"], ["ocr", tmp_path / "a.pdf"]):
        with start(silent, *command) as running:
            silent.answer(silent.next_request()[1], 200, '{"hello": "world"}', Content_Type="application/json")
            _, output = running.communicate(timeout=30)
        assert running.returncode == 15 and f"{silent.url} is not a Millrace gateway" in output, output


def test_an_html_page_in_place_of_a_result_aborts_the_batch_and_fails_no_document(silent, tmp_path):
    (tmp_path / "a.pdf").write_bytes(tiny_pdf("never read"))
    listed = json.dumps({"items": [{"id": JOB, "status": "succeeded"}]})
    with start(silent, "ocr", tmp_path / "a.pdf", "-o", tmp_path / "out", "--json") as running:
        silent.answer(silent.next_request()[1], 202, x_millrace_job=JOB)
        silent.answer(silent.next_request()[1], 200, listed)
        silent.answer(silent.next_request()[1], 200, PAGE, Content_Type="text/html")
        out, output = running.communicate(timeout=30)
    assert running.returncode == 15 and out == "" and "To continue, run the same command again" in output
    resume = json.loads((tmp_path / "out" / ".millrace-ocr.json").read_text())
    assert resume["inputs"]["../a.pdf"]["forms"][".md"]["job"] == JOB


@pytest.fixture(scope="module")
def job(shared, tmp_path_factory):
    document = tmp_path_factory.mktemp("one") / "one.pdf"
    document.write_bytes(tiny_pdf("the first document"))
    return json.loads(millrace(shared, "ocr", document, "--json").stdout)["job"]


def test_a_job_is_shown_in_the_order_of_a_persons_questions(shared, job):
    shown = [line.split()[0] for line in millrace(shared, "jobs", "show", job).stdout.splitlines()]
    usual = ["id", "kind", "status", "created_at", "started_at", "completed_at", "attempt", "progress", "link"]
    assert [name for name in dict.fromkeys(shown) if name in usual] == usual


def test_events_are_one_line_each_as_text_and_unchanged_as_json(shared, job):
    lines = millrace(shared, "jobs", "tail", job).stdout.splitlines()
    assert [line.split()[1] for line in lines][:2] == ["queued", "running"] and "{" not in "".join(lines)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z  running +attempt 1 begins", lines[1])
    assert lines[0].endswith("  queued     it waits for a worker") and any(line.endswith("  page 0 is read") for line in lines)
    events = [json.loads(line) for line in millrace(shared, "jobs", "tail", job, "--json").stdout.splitlines()]
    assert [event["type"] for event in events] == [line.split()[1] for line in lines]
    assert [event["version"] for event in events] == list(range(1, len(events) + 1))


def test_list_commands_accept_ls_and_list_and_the_help_shows_ls(shared):
    for command in (["jobs"], ["machines"], ["models"], ["queues"], ["workers"], ["keys"], ["exec"]):
        data = ["--data", shared.data] if command == ["keys"] else []
        listed, ls = (millrace(shared, *command, verb, "--json", *data) for verb in ("list", "ls"))
        assert listed.returncode == ls.returncode and bool(listed.stdout) == bool(ls.stdout), (command, listed.stderr)
        shown = millrace(shared, *command, "--help").stdout
        assert re.search(r"^  ls +", shown, re.M) and not re.search(r"\blist\b", shown), shown


def test_json_ends_with_one_line_end(shared, job, folder):
    for command in (
        ["jobs", "ls", "--json"],
        ["jobs", "show", job, "--json"],
        ["jobs", "tail", job, "--json"],
        ["jobs", "cancel", job, "--json"],
        ["ocr", folder / "one.pdf", "--json"],
        ["keys", "ls", "--json", "--data", shared.data],
        ["openapi"],
    ):
        printed = millrace(shared, *command).stdout
        assert printed.endswith("}\n") and not printed.endswith("\n\n"), command
        assert all(json.loads(line) for line in printed.splitlines()), command


@pytest.mark.parametrize("group", ["audit", "config", "exec", "jobs", "keys", "machines", "models", "ssh-ca"])
def test_a_command_group_without_a_command_prints_its_usage(group):
    done = subprocess.run([MILLRACE, group], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and f"Usage: millrace {group} " in done.stderr


def events(*chunks):
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


@pytest.mark.parametrize("header", [{}, {"x_millrace_dropped_params": "guardrails"}], ids=["last chunk", "header"])
def test_dropped_parameters_are_reported_once_wherever_the_stream_has_them(silent, header):
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "dropped_params": "guardrails"}
    body = events({"choices": [{"index": 0, "delta": {"content": "yes"}}]}, last)
    with start(silent, "chat", "-m", "mine", "hi") as running:
        silent.answer(silent.next_request()[1], 200, body, Content_Type="text/event-stream", **header)
        out, output = running.communicate(timeout=30)
    assert (running.returncode, out, output) == (0, "yes\n", "millrace: not sent as requested: guardrails\n")


BAD = b"caf\xe9"
BAD_ARGUMENTS = [
    ["exec", "run", BAD],
    ["exec", "run", "-m", BAD, "true"],
    ["exec", "ls", "-m", BAD],
    ["exec", "logs", BAD],
    ["exec", "cp", BAD + b":x", "."],
    ["machines", "create", "--name", BAD],
    ["machines", "create", "--autosleep", BAD],
    ["machines", "change", "local", "--name", BAD],
    ["machines", "show", BAD],
    ["machines", "sleep", BAD],
    ["machines", "rm", "-y", BAD],
    ["jobs", "show", BAD],
    ["jobs", "cancel", BAD],
    ["jobs", "retry", BAD],
    ["jobs", "result", BAD],
    ["jobs", "tail", BAD],
    ["models", "show", BAD],
    ["queues", "pause", BAD],
    ["workers", "drain", BAD],
    ["chat", "-m", BAD, "a question"],
    ["speak", "--model", BAD, "-o", "speech.mp3", "a text"],
    ["speak", "--voice", BAD, "-o", BAD + b".mp3", "a text"],
    ["ocr", BAD],
    ["transcribe", BAD],
    ["ssh", BAD],
    [BAD],
    ["--", BAD],
    ["jobs", "ls", b"--" + BAD],
    ["jobs", "ls", "--url", BAD],
]


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS, ids=lambda words: b" ".join(os.fsencode(word) for word in words).decode("latin-1"))
def test_arguments_that_are_not_utf8_get_an_error_message_of_ours(shared, tmp_path, arguments):
    env = environment(shared.url, shared.client.key)
    for more in ([], ["--json"]):
        done = subprocess.run([BUILD / "millrace", *arguments, *more], capture_output=True, env=env, timeout=60, cwd=tmp_path)
        assert done.returncode not in (0, 134, -6), done
        assert done.stderr and b"exception" not in done.stderr and b"error." not in done.stderr, done.stderr


def test_a_result_is_written_to_a_file_whose_name_is_not_utf8(shared, job, tmp_path):
    path = os.fsencode(tmp_path) + b"/" + BAD
    command = [BUILD / "millrace", "jobs", "result", job, "-o", path, "--json"]
    done = subprocess.run(command, capture_output=True, env=environment(shared.url, shared.client.key), timeout=60)
    assert done.returncode == 0 and "caf\ufffd" in json.loads(done.stdout)["path"], done.stderr
    assert os.path.getsize(path) > 0


def test_a_reply_of_an_unexpected_form_gets_an_error_message_of_ours(silent):
    running = start(silent, "machines", "ls")
    _, connection = silent.next_request()
    silent.answer(connection, 200, json.dumps({"items": [{"name": 5}, {"name": 6}]}))
    _, errors = running.communicate(timeout=30)
    assert errors == "millrace: a reply has an unexpected form; is the gateway of the same version?\n"
