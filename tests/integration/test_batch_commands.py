"""`millrace batch …`: many requests of one file, from the command line."""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess

import pytest
from commands import MILLRACE, cli, environment, on_terminal
from documents import data_uri, tiny_pdf
from millrace import Gateway, Worker, eventually
from silent_gateway import SilentGateway
from test_batches import chat, lines_of

FAILED, USAGE, NOT_FOUND, REFUSED, NOT_YET, HUNG_UP, INTERRUPTED = 1, 2, 11, 13, 16, 129, 130


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("batch") / "data", "--mock").start()
    yield gateway
    gateway.close()


@pytest.fixture
def asleep(tmp_path):
    """A gateway without a worker: a batch of documents does not end."""
    gateway = Gateway(tmp_path / "gateway" / "data", role="api").start()
    yield gateway
    gateway.close()


@pytest.fixture
def requests(tmp_path):
    return written(tmp_path / "requests.jsonl", [chat(f"word {i}") for i in range(20)])


def written(path, bodies, url="/v1/chat/completions"):
    path.write_bytes(lines_of(bodies, url))
    return path


def document_requests(path, count=2):
    bodies = [{"document": {"type": "document_url", "document_url": data_uri(tiny_pdf(f"document {i}"))}} for i in range(count)]
    return written(path, bodies, "/v1/ocr")


def lines_by_id(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    by_id = {line["custom_id"]: line for line in lines}
    assert len(by_id) == len(lines)
    return by_id


def batches_of(gateway):
    return gateway.client.get("/v1/batches").json()["data"]


def left_beside(folder):
    return [name for name in os.listdir(folder) if name.startswith(".millrace")]


@contextlib.contextmanager
def begun(gateway, *arguments):
    command = [MILLRACE, "batch", *map(str, arguments)]
    with subprocess.Popen(command, env=environment(gateway), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def journal_has(folder, name, member):
    path = folder / f".millrace-batch-run-{name}"
    return path.exists() and re.search(f'^{{"{member}":".*}}$', path.read_text(), re.M)


def test_every_request_has_a_line_of_results(shared, requests, tmp_path):
    done = cli(shared, "batch", "run", requests, "-o", tmp_path / "out.jsonl")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    replies = lines_by_id(tmp_path / "out.jsonl")
    assert set(replies) == {f"line-{i}" for i in range(20)}
    assert "word 7" in replies["line-7"]["response"]["body"]["choices"][0]["message"]["content"]
    assert "20 requests are valid" in done.stderr and re.search(r"20 done · [\d.]+ requests/s · 0:\d\d\n", done.stderr)
    assert f"The results are in {tmp_path}/out.jsonl" in done.stderr
    assert left_beside(tmp_path) == []


def test_requests_and_results_are_piped(shared, requests):
    done = cli(shared, "batch", "run", "-", "-o", "-", "--quiet", input=requests.read_text())
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert len({json.loads(line)["custom_id"] for line in done.stdout.splitlines()}) == 20


def test_json_prints_the_batch(shared, requests, tmp_path):
    done = cli(shared, "batch", "run", requests, "-o", tmp_path / "out.jsonl", "--json")
    batch = json.loads(done.stdout)
    assert batch["status"] == "completed" and batch["request_counts"] == {"total": 20, "completed": 20, "failed": 0}


def test_a_terminal_shows_the_progress_in_place(asleep, tmp_path):
    requests = document_requests(tmp_path / "requests.jsonl")
    with on_terminal(asleep, "batch", "run", requests, "-o", tmp_path / "out.jsonl") as terminal:
        terminal.until("0/2 requests")
        terminal.until("\x1b[1A\x1b[2K")
        worker = Worker(asleep.data).start()
        try:
            terminal.until("2 done")
            assert terminal.end()[1] == 0
        finally:
            worker.close()


def test_a_killed_command_finds_its_batch_again(asleep, tmp_path):
    command = ("run", document_requests(tmp_path / "requests.jsonl"), "-o", tmp_path / "out.jsonl")
    with begun(asleep, *command) as running:
        eventually(lambda: journal_has(tmp_path, "out.jsonl", "batch"), 30, "the batch has begun")
        running.kill()
    worker = Worker(asleep.data).start()
    try:
        done = cli(asleep, "batch", *command)
        assert done.returncode == 0 and "was begun by an earlier run" in done.stderr, done.stderr
        assert len(lines_by_id(tmp_path / "out.jsonl")) == 2 and len(batches_of(asleep)) == 1
        again = cli(asleep, "batch", *command)
        assert again.returncode == 0 and len(batches_of(asleep)) == 2, "what is written is run again on purpose"
    finally:
        worker.close()


@pytest.mark.parametrize("known", [1, 2])
def test_a_request_whose_answer_was_lost_makes_no_second_batch(asleep, tmp_path, known):
    """`known`: the lines of its journal that the killed command could write: its key, and its file."""
    command = ("run", document_requests(tmp_path / "requests.jsonl"), "-o", tmp_path / "out.jsonl")
    with begun(asleep, *command) as running:
        eventually(lambda: journal_has(tmp_path, "out.jsonl", "batch"), 30, "the batch has begun")
        running.kill()
    journal = tmp_path / ".millrace-batch-run-out.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:known]) + '{"batch":"batc')
    with begun(asleep, *command) as running:
        eventually(lambda: journal_has(tmp_path, "out.jsonl", "batch"), 30, "the batch is known again")
        running.kill()
    assert len(batches_of(asleep)) == 1
    assert len(asleep.client.get("/v1/files").json()["data"]) == 1


def test_other_requests_are_another_batch_and_the_earlier_one_is_named(asleep, tmp_path):
    output = tmp_path / "out.jsonl"
    with begun(asleep, "run", document_requests(tmp_path / "requests.jsonl"), "-o", output) as running:
        eventually(lambda: journal_has(tmp_path, "out.jsonl", "batch"), 30, "the batch has begun")
        running.kill()
    (first,) = batches_of(asleep)
    with begun(asleep, "run", document_requests(tmp_path / "requests.jsonl", 3), "-o", output) as running:
        assert f"other requests or options has begun {first['id']}" in running.stderr.readline()
        eventually(lambda: len(batches_of(asleep)) == 2, 30, "a second batch")
        running.kill()


def test_two_commands_do_not_write_one_output(asleep, tmp_path):
    command = ("run", document_requests(tmp_path / "requests.jsonl"), "-o", tmp_path / "out.jsonl")
    with begun(asleep, *command) as running:
        eventually(lambda: journal_has(tmp_path, "out.jsonl", "batch"), 30, "the batch has begun")
        done = cli(asleep, "batch", *command)
        assert done.returncode == USAGE and "already writes" in done.stderr, done.stderr
        running.kill()
    assert len(batches_of(asleep)) == 1


def test_a_batch_that_is_gone_is_made_anew(shared, requests, tmp_path):
    command = ("batch", "run", requests, "-o", tmp_path / "out.jsonl")
    assert cli(shared, *command).returncode == 0
    stamp = f"{hashlib.sha256(requests.read_bytes()).hexdigest()} /v1/chat/completions 24h  {shared.url}"
    entries = [{"version": 1, "stamp": stamp, "key": "k"}, {"file": "f"}, {"batch": "batch_01a231a0-f6d3-70de-8b95-baf4f171f5c8"}]
    (tmp_path / ".millrace-batch-run-out.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    done = cli(shared, *command)
    assert done.returncode == 0 and "is gone: a new batch is made" in done.stderr, done.stderr


@pytest.mark.parametrize("presses, status", [(1, "in_progress"), (2, "cancelled")])
def test_ctrl_c_detaches_and_a_second_one_cancels(asleep, tmp_path, presses, status):
    command = ("run", document_requests(tmp_path / "requests.jsonl"), "-o", tmp_path / "out.jsonl")
    with begun(asleep, *command) as running:
        eventually(lambda: journal_has(tmp_path, "out.jsonl", "batch"), 30, "the batch has begun")
        eventually(lambda: batches_of(asleep)[0]["status"] == "in_progress", 30, "it is valid")
        running.send_signal(signal.SIGINT)
        eventually(lambda: "Detached: batch_" in running.stderr.readline(), 30, "it is detached")
        assert "run the same command again: " in (advice := running.stderr.readline())
        if presses == 2:
            running.send_signal(signal.SIGINT)
        assert running.wait(30) == INTERRUPTED
    eventually(lambda: batches_of(asleep)[0]["status"] == status, 30, status)
    if presses == 1:
        worker = Worker(asleep.data).start()
        try:
            again = subprocess.run(advice.split(": ")[1].split(), env=environment(asleep), capture_output=True, text=True, timeout=90)
            assert again.returncode == 0 and len(lines_by_id(tmp_path / "out.jsonl")) == 2, again.stderr
        finally:
            worker.close()
    else:
        done = cli(asleep, "batch", *command)
        assert done.returncode == FAILED and "is cancelled" in done.stderr, done.stderr
        assert "2 × " in done.stderr and len(lines_by_id(tmp_path / "out.jsonl")) == 2
    assert len(batches_of(asleep)) == 1


def test_a_closed_terminal_leaves_the_batch(asleep, tmp_path):
    command = ("run", document_requests(tmp_path / "requests.jsonl"), "-o", tmp_path / "out.jsonl")
    with begun(asleep, *command) as running:
        eventually(lambda: journal_has(tmp_path, "out.jsonl", "batch"), 30, "the batch has begun")
        running.send_signal(signal.SIGHUP)
        assert running.wait(30) == HUNG_UP
        (line,) = [line for line in running.stderr.read().splitlines() if line.startswith("millrace: ")]
    assert line.startswith("millrace: the terminal was closed; batch_") and "goes on; cancel it with `" in line
    cancel = subprocess.run(line.split("`")[1].split(), env=environment(asleep), capture_output=True, timeout=60)
    assert cancel.returncode == 0
    eventually(lambda: batches_of(asleep)[0]["status"] == "cancelled", 30, "it is cancelled")


def test_ctrl_c_before_the_batch_leaves_none(tmp_path, requests):
    silent = SilentGateway()
    try:
        with begun(silent, "run", requests, "-o", tmp_path / "out.jsonl") as running:
            assert silent.next_request()[0].startswith("POST /v1/files ")
            running.send_signal(signal.SIGINT)
            assert "no batch was made" in running.stderr.read() and running.wait(30) == INTERRUPTED
    finally:
        silent.close()


def test_a_refusal_that_may_pass_is_waited_for(tmp_path, requests):
    silent = SilentGateway()
    try:
        with begun(silent, "run", requests, "-o", tmp_path / "out.jsonl", "--max-cost", "0.25") as running:
            file = json.dumps({"id": "file-1"})
            silent.answer(silent.next_request()[1], 503, retry_after_ms=1)
            silent.answer(silent.next_request()[1], 200, file)
            head, connection = silent.next_head()
            assert head.startswith("POST /v1/batches ") and "x-millrace-max-cost-usd: 0.25" in head.lower()
            silent.answer(connection, 429, retry_after_ms=1)
            again, connection = silent.next_head()
            key = re.search(r"Idempotency-Key: (\S+)", head)[1]
            assert f"Idempotency-Key: {key}\r\n" in again
            silent.answer(connection, 403)
            assert running.wait(30) == 10
    finally:
        silent.close()


def test_requests_that_are_not_valid_are_named_by_their_lines(shared, tmp_path):
    lines = lines_of([chat(f"word {i}") for i in range(4)]).splitlines()
    lines[1] = b"{"
    lines[3] = lines[3].replace(b"line-3", b"line-0")
    (tmp_path / "bad.jsonl").write_bytes(b"\n".join(lines))
    done = cli(shared, "batch", "run", "bad.jsonl", "-o", "out.jsonl", cwd=tmp_path)
    assert done.returncode == REFUSED, done.stderr
    assert re.findall(r"^bad.jsonl:\d+: .*$", done.stderr, re.M) == [
        "bad.jsonl:2: The line is not a JSON object in UTF-8 (invalid_json)",
        "bad.jsonl:4: Another line has this `custom_id` (duplicate_custom_id)",
    ]
    assert os.listdir(tmp_path) == ["bad.jsonl"]
    batch = json.loads(cli(shared, "batch", "ls", "--json").stdout.splitlines()[0])
    assert "input:4: " in cli(shared, "batch", "show", batch["id"]).stdout
    assert cli(shared, "batch", "results", batch["id"]).returncode == REFUSED


@pytest.mark.parametrize("has_errors_file", [False, True])
def test_requests_that_failed_are_counted_by_code(shared, tmp_path, has_errors_file):
    requests = written(tmp_path / "requests.jsonl", [chat("good"), chat("bad", model="mock/none"), chat("worse", model="mock/none")])
    more = ["--errors", tmp_path / "errors.jsonl"] if has_errors_file else []
    done = cli(shared, "batch", "run", requests, "-o", tmp_path / "out.jsonl", *more)
    assert done.returncode == FAILED, done.stderr
    assert re.search(r"^✗ 2 × model_not_found: .*mock/none.* \(first: line-[12]\)$", done.stderr, re.M), done.stderr
    assert "1 done, 2 failed" in done.stderr
    good, bad = {"line-0"}, {"line-1", "line-2"}
    assert set(lines_by_id(tmp_path / "out.jsonl")) == (good if has_errors_file else good | bad)
    if has_errors_file:
        assert set(lines_by_id(tmp_path / "errors.jsonl")) == bad


def test_a_limit_of_costs_is_the_batch_s(shared, requests, tmp_path):
    done = cli(shared, "batch", "run", requests, "-o", tmp_path / "out.jsonl", "--max-cost", "1.50", "--window", "2h", "--json")
    batch = json.loads(done.stdout)
    assert (batch["max_cost_usd"], batch["completion_window"]) == (1.5, "2h")


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["missing.jsonl", "-o", "out.jsonl"], "missing.jsonl: No such file"),
        (["empty.jsonl", "-o", "out.jsonl"], "empty.jsonl has no requests"),
        (["mistral.jsonl", "-o", "out.jsonl"], "mistral.jsonl:1: no `url`"),
        (["requests.jsonl", "-o", "./requests.jsonl"], "must not replace the requests"),
        (["requests.jsonl", "-o", "out.jsonl", "--errors", "out.jsonl"], "name the same file"),
        (["requests.jsonl", "-o", "no/such/out.jsonl"], "cannot write no/such/out.jsonl"),
        (["requests.jsonl", "-o", "out.jsonl", "--errors", "no/errors.jsonl"], "cannot write no/errors.jsonl"),
        (["requests.jsonl", "-o", "."], "it is a folder"),
        (["requests.jsonl", "-o", "out.jsonl", "--max-cost", "much"], "--max-cost"),
        (["requests.jsonl"], "--output is required"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_sent(shared, requests, tmp_path, arguments, expected):
    (tmp_path / "empty.jsonl").write_text("\n \n")
    (tmp_path / "mistral.jsonl").write_text('{"custom_id": "a", "body": {}}\n')
    before = sorted(os.listdir(tmp_path)), len(batches_of(shared))
    done = cli(shared, "batch", "run", *arguments, cwd=tmp_path)
    assert done.returncode == USAGE and expected in done.stderr, (done.returncode, done.stderr)
    assert before == (sorted(os.listdir(tmp_path)), len(batches_of(shared)))


def test_an_endpoint_without_batches_is_refused_and_leaves_nothing(shared, requests, tmp_path):
    done = cli(shared, "batch", "run", requests, "-o", tmp_path / "out.jsonl", "--endpoint", "/v1/models")
    assert done.returncode == REFUSED and "no batches for this endpoint" in done.stderr, done.stderr
    assert os.listdir(tmp_path) == ["requests.jsonl"]


def documents_in(folder, count, padding=0):
    (folder / "sub").mkdir(parents=True)
    for number in range(count):
        name = f"{number:02}.pdf" if number % 2 else f"sub/{number:02}.pdf"
        (folder / name).write_bytes(tiny_pdf(f"document {number}", padding=padding))
    return folder


def test_the_documents_of_a_folder_become_requests_that_read_them(shared, tmp_path):
    folder = documents_in(tmp_path / "scans", 12)
    (folder / "notes.txt").write_text("not a document")
    made = cli(shared, "batch", "make", "--ocr", folder, "-o", tmp_path / "requests.jsonl")
    assert made.returncode == 0 and "12 requests are in" in made.stderr and "1 .txt" in made.stderr, made.stderr
    lines = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert [line["custom_id"] for line in lines] == sorted(str(each.relative_to(folder)) for each in folder.rglob("*.pdf"))
    assert all(line["body"]["document"]["file_id"].startswith("file-") for line in lines)
    assert left_beside(tmp_path) == []
    assert cli(shared, "batch", "run", tmp_path / "requests.jsonl", "-o", tmp_path / "out.jsonl").returncode == 0
    replies = lines_by_id(tmp_path / "out.jsonl")
    assert len(replies) == 12 and "document 4" in replies["sub/04.pdf"]["response"]["body"]["pages"][0]["markdown"]


def test_a_killed_make_uploads_only_what_is_missing(asleep, tmp_path):
    folder = documents_in(tmp_path / "scans", 300, padding=20_000)
    command = ("make", "--ocr", folder, "-o", tmp_path / "requests.jsonl", "--model", "ocr")
    journal = tmp_path / ".millrace-batch-make-requests.jsonl"
    with begun(asleep, *command) as running:
        eventually(lambda: journal.exists() and journal.read_text().count("\n") > 3, 30, "some uploads")
        running.kill()
    uploaded = {json.loads(line)["file"] for line in journal.read_text().splitlines()[1:]}
    assert not (tmp_path / "requests.jsonl").exists() and 0 < len(uploaded) < 300
    done = cli(asleep, "batch", *command, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["requests"] == 300, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert uploaded < {line["body"]["document"]["file_id"] for line in lines} and lines[0]["body"]["model"] == "ocr"
    assert len(asleep.client.get("/v1/files?limit=1000").json()["data"]) == 300, "no document is stored twice"
    assert left_beside(tmp_path) == []


def test_a_document_that_cannot_be_uploaded_is_tried_again(shared, tmp_path):
    folder = documents_in(tmp_path / "scans", 2)
    os.symlink("missing", folder / "03.pdf")
    command = ("batch", "make", "--ocr", folder, "-o", tmp_path / "requests.jsonl")
    done = cli(shared, *command)
    assert done.returncode == FAILED and "03.pdf" in done.stderr and "2 requests are in" in done.stderr, done.stderr
    first = (tmp_path / "requests.jsonl").read_text()
    (folder / "03.pdf").unlink()
    (folder / "03.pdf").write_bytes(tiny_pdf("found"))
    assert cli(shared, *command).returncode == 0
    second = (tmp_path / "requests.jsonl").read_text()
    assert set(first.splitlines()) < set(second.splitlines()) and len(second.splitlines()) == 3


def test_an_interrupted_make_says_how_to_go_on(tmp_path):
    silent = SilentGateway()
    folder = documents_in(tmp_path / "scans", 3)
    try:
        with begun(silent, "make", "--ocr", folder, "-o", tmp_path / "requests.jsonl") as running:
            silent.answer(silent.next_request()[1], 200, json.dumps({"id": "file-1"}))
            journal = tmp_path / ".millrace-batch-make-requests.jsonl"
            eventually(lambda: "file-1" in journal.read_text(), 30, "it is noted")
            running.send_signal(signal.SIGINT)
            assert "Run the same command again" in running.stderr.read() and running.wait(30) == INTERRUPTED
    finally:
        silent.close()


def test_batches_are_listed_shown_and_cancelled(asleep, tmp_path):
    requests = document_requests(tmp_path / "requests.jsonl", 3)
    with begun(asleep, "run", requests, "-o", tmp_path / "out.jsonl") as running:
        eventually(lambda: batches_of(asleep) and batches_of(asleep)[0]["status"] == "in_progress", 30, "it is valid")
        running.kill()
    (batch,) = batches_of(asleep)
    head, row = cli(asleep, "batch", "ls").stdout.splitlines()
    assert head.split() == ["ID", "STATUS", "REQUESTS", "FAILED", "CREATED", "COST", "ENDPOINT"]
    assert row.split()[:4] == [batch["id"], "in_progress", "0/3", "0"] and row.endswith("/v1/ocr")
    shown = dict(line.split(maxsplit=1) for line in cli(asleep, "batch", "show", batch["id"]).stdout.splitlines())
    assert (shown["status"], shown["requests"], shown["window"]) == ("in_progress", "0/3", "24h")
    assert json.loads(cli(asleep, "batch", "show", batch["id"], "--json").stdout)["id"] == batch["id"]
    early = cli(asleep, "batch", "results", batch["id"])
    assert early.returncode == NOT_YET and early.stdout == "" and "not yet (in_progress, 0/3 requests" in early.stderr
    assert "cancel" in cli(asleep, "batch", "cancel", batch["id"]).stdout
    eventually(lambda: batches_of(asleep)[0]["status"] == "cancelled", 30, "it is cancelled")
    results = cli(asleep, "batch", "results", batch["id"])
    assert results.returncode == 0 and len(results.stdout.splitlines()) == 3
    assert cli(asleep, "batch", "results", batch["id"], "-o", tmp_path / "again.jsonl").returncode == 0
    assert (tmp_path / "again.jsonl").read_text() == results.stdout


@pytest.mark.parametrize("command", ["show", "cancel", "results"])
def test_a_batch_that_does_not_exist_is_not_found(shared, command):
    assert cli(shared, "batch", command, "batch_01a231a0-f6d3-70de-8b95-baf4f171f5c8").returncode == NOT_FOUND


def test_more_than_a_page_of_batches_is_listed(shared, tmp_path):
    file = cli(shared, "files", "put", written(tmp_path / "one.jsonl", [chat("one")])).stdout.strip()
    body = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}

    def made():
        return shared.client.post("/v1/batches", body).status == 200

    for _ in range(101):
        eventually(made, 60, "there is room for one more batch")
    rows = [json.loads(line) for line in cli(shared, "batch", "ls", "--json").stdout.splitlines()]
    assert len(rows) > 100 and len({row["id"] for row in rows}) == len(rows)
