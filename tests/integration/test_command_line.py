"""The command line as people use it, against a running gateway."""

import json
import re
import os
import subprocess
import time
from contextlib import closing

import bad_documents
import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway, eventually
from silent_gateway import SilentGateway

MILLRACE = BUILD / "millrace"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("cli") / "data").start()
    yield gateway
    gateway.close()


def millrace(gateway, *arguments, **kwargs):
    env = {**os.environ, "MILLRACE_URL": gateway.url, "MILLRACE_API_KEY": gateway.client.key}
    env.pop("MILLRACE_BUILD", None)
    return subprocess.run(
        [MILLRACE, *map(str, arguments)], capture_output=True, text=True, env=env, timeout=120, check=False, **kwargs
    )


@pytest.fixture
def folder(tmp_path):
    inputs = tmp_path / "in"
    (inputs / "sub").mkdir(parents=True)
    (inputs / "one.pdf").write_bytes(tiny_pdf("the first document"))
    (inputs / "sub" / "two.pdf").write_bytes(tiny_pdf("the second", "on two pages"))
    return inputs


def test_one_file_goes_to_standard_output(shared, folder):
    done = millrace(shared, "ocr", folder / "one.pdf")
    assert done.returncode == 0, done.stderr
    assert "the first document" in done.stdout


def test_several_files_on_standard_output_have_an_empty_line_between_them(shared, folder):
    output = millrace(shared, "ocr", folder / "one.pdf", folder / "sub" / "two.pdf").stdout
    assert output in ("the first document\n\nthe second\n\non two pages\n", "the second\n\non two pages\n\nthe first document\n")


@pytest.mark.parametrize("role", ["serve", "api"])
def test_only_a_gateway_that_runs_commands_offers_one_to_try(tmp_path, role):
    with closing(Gateway(tmp_path / "data", role=role, env={"MILLRACE_TRY": "1"}).start()) as gateway:
        output = eventually(lambda: log if "In a browser" in (log := gateway.log.read_text()) else None)
        runs_commands = role == "serve" and "executions_disabled" not in output
        assert " ocr FILE.pdf --url " in output and (" exec run --url " in output) == runs_commands, output


def test_a_folder_becomes_a_folder_of_markdown_and_a_second_run_skips_what_is_done(shared, folder, tmp_path):
    out = tmp_path / "out"
    first = millrace(shared, "ocr", folder, "-o", out, "--json")
    assert first.returncode == 0, first.stderr
    rows = [json.loads(line) for line in first.stdout.splitlines()]
    assert {row["status"] for row in rows} == {"succeeded"} and len(rows) == 2
    assert "the first document" in (out / "one.md").read_text()
    assert "on two pages" in (out / "sub" / "two.md").read_text()
    second = millrace(shared, "ocr", folder, "-o", out, "--json")
    assert second.returncode == 0 and "All 2 documents were read before" in second.stderr
    assert [json.loads(line) for line in second.stdout.splitlines()] == [{**row, "before": True} for row in by_file(rows)]
    (folder / "one.pdf").write_bytes(tiny_pdf("a document that has changed since"))
    third = millrace(shared, "ocr", folder, "-o", out, "--json")
    assert [json.loads(line).get("before", False) for line in third.stdout.splitlines()] == [True, False]
    assert "a document that has changed since" in (out / "one.md").read_text()


def by_file(rows):
    return sorted(rows, key=lambda row: row["file"])


def test_runs_for_one_output_folder_never_overwrite_each_other_or_a_foreign_file(shared, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.md").write_text("by hand")
    for month in ("jan", "feb"):
        (tmp_path / month).mkdir()
        (tmp_path / month / "invoice.pdf").write_bytes(tiny_pdf(f"the invoice of {month}"))
        (tmp_path / month / "fax.tiff").write_bytes(b"II*")
        done = millrace(shared, "ocr", tmp_path / month, "-o", out)
        assert done.returncode == 1, "a document that cannot be read is no success"
        assert "Left out: 1 .tiff: not PDF, PNG, JPEG or WebP." in done.stderr
    (tmp_path / "notes.pdf").write_bytes(tiny_pdf("some notes"))
    assert millrace(shared, "ocr", tmp_path / "notes.pdf", "-o", out).returncode == 0
    texts = {path.name: path.read_text().strip() for path in out.glob("*.md")}
    assert texts == {
        "invoice.md": "the invoice of jan",
        "invoice.pdf.md": "the invoice of feb",
        "notes.md": "by hand",
        "notes.pdf.md": "some notes",
    }
    again = millrace(shared, "ocr", "jan", "-o", "out", cwd=tmp_path)
    assert "It was read before" in again.stderr, again.stderr


def test_a_document_without_text_is_reported_as_such(shared, tmp_path):
    (tmp_path / "blank.pdf").write_bytes(tiny_pdf(""))
    done = millrace(shared, "ocr", tmp_path / "blank.pdf", "-o", tmp_path / "out")
    assert done.returncode == 0 and "1 page, no text on it" in done.stderr, done.stderr


def test_a_bad_document_is_named_with_its_code_and_the_others_are_done(shared, folder, tmp_path):
    (folder / "locked.pdf").write_bytes(bad_documents.encrypted())
    done = millrace(shared, "ocr", folder, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "locked.pdf" in done.stderr and "document_encrypted" in done.stderr
    assert (tmp_path / "out" / "one.md").exists() and not (tmp_path / "out" / "locked.md").exists()


def test_a_document_that_is_too_large_is_refused_by_the_command_with_the_code_of_the_gateway(shared, folder, tmp_path):
    with open(folder / "huge.pdf", "wb") as huge:
        huge.truncate(5 << 30)
    done = millrace(shared, "ocr", folder, "-o", tmp_path / "out", "--json")
    rows = {os.path.basename(row["file"]): row for row in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 1 and rows["one.pdf"]["status"] == rows["two.pdf"]["status"] == "succeeded"
    assert rows["huge.pdf"]["error"]["code"] == "document_too_large" and "job" not in rows["huge.pdf"]


def test_a_row_holds_the_markdown_where_no_file_does(shared, folder, tmp_path):
    done = millrace(shared, "ocr", folder / "one.pdf", "--json")
    assert "the first document" in json.loads(done.stdout)["markdown"]
    done = millrace(shared, "ocr", folder / "one.pdf", "--json", "-o", tmp_path / "out")
    assert "markdown" not in json.loads(done.stdout)


@pytest.fixture
def silent():
    gateway = SilentGateway()
    yield gateway
    gateway.close()


def key_sent(silent, *arguments, **env):
    """The credential that `millrace jobs ls` sends, or None."""
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}, **env}
    command = [MILLRACE, "jobs", "ls", *map(str, arguments)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        head, connection = silent.next_head()
        connection.close()
        running.communicate(timeout=30)
    sent = [line.split(" ")[-1] for line in head.split("\r\n") if line.lower().startswith("authorization:")]
    return sent[0] if sent else None


def test_an_explicit_data_directory_applies_to_every_gateway_and_the_default_to_this_machine_alone(silent, tmp_path):
    (tmp_path / "admin.key").write_text("mr_live_of_the_folder\n")
    port = silent.url.rsplit(":", 1)[1]
    elsewhere = f"http://0.0.0.0:{port}"  # not a loopback address by its text, but it leads to this machine
    assert key_sent(silent, "--url", elsewhere, "--data", tmp_path) == "mr_live_of_the_folder"
    assert key_sent(silent, "--url", elsewhere, MILLRACE_DATA=str(tmp_path)) is None
    assert key_sent(silent, "--url", f"127.0.0.1:{port}", MILLRACE_DATA=str(tmp_path)) == "mr_live_of_the_folder"


def test_a_flag_takes_precedence_over_the_environment(silent, tmp_path):
    (tmp_path / "admin.key").write_text("mr_live_of_the_folder\n")
    env = {"MILLRACE_URL": "http://127.0.0.1:1", "MILLRACE_API_KEY": "mr_live_of_the_environment"}
    where = ("--url", silent.url)
    assert key_sent(silent, *where, **env) == "mr_live_of_the_environment"
    assert key_sent(silent, *where, "--data", tmp_path, **env) == "mr_live_of_the_folder"
    assert key_sent(silent, *where, "--key", "mr_live_typed", **env) == "mr_live_typed"
    assert key_sent(silent, *where, "--key", "mr_live_typed", "--data", tmp_path, **env) == "mr_live_typed"


def test_jobs_are_listed_shown_followed_and_cancelled(shared, folder):
    assert millrace(shared, "ocr", folder / "one.pdf").returncode == 0
    listed = millrace(shared, "jobs", "ls", "--json", "--limit", "1")
    job = json.loads(listed.stdout)["id"]
    assert json.loads(listed.stdout)["name"] == "one.pdf"
    head, row, *_ = millrace(shared, "jobs", "ls").stdout.splitlines()
    assert row.startswith(job) and row[head.index("NAME") : head.index("ERROR")].rstrip() == "one.pdf"
    assert json.loads(millrace(shared, "jobs", "show", job, "--json").stdout)["id"] == job
    tail = millrace(shared, "jobs", "tail", job)
    assert tail.returncode == 0 and "succeeded" in tail.stdout
    assert millrace(shared, "jobs", "cancel", job).returncode == 0
    assert millrace(shared, "jobs", "retry", job).returncode == 13


def test_a_list_says_how_many_jobs_it_leaves_out(tmp_path):
    with closing(Gateway(tmp_path / "data", "--mock", role="api").start()) as gateway:
        say = {"model": "mock/chat", "messages": "x", "deferred": True}
        for number in range(7):
            gateway.client.post("/v1/chat/completions", {**say, "messages": f"number {number}"})
        listed = millrace(gateway, "jobs", "ls", "--limit", "3")
        assert len(listed.stdout.splitlines()) == 4 and "3 of 7 jobs are shown; --limit 7 shows all" in listed.stderr, listed
        starts = {tuple(column.start() for column in re.finditer(r"(?<!\S)\S", line)) for line in listed.stdout.splitlines()[1:]}
        assert len(starts) == 1, "the columns of all rows begin at the same places"
        for arguments in (("--limit", "7"), ("--limit", "3", "--json"), ("--limit", "3", "--quiet"), ()):
            assert millrace(gateway, "jobs", "ls", *arguments).stderr == "", arguments


def test_jobs_are_found_by_their_metadata(tmp_path):
    with closing(Gateway(tmp_path / "data", "--mock", role="api").start()) as gateway:
        for batch in ("b7", "b8"):
            gateway.client.post("/v1/chat/completions", {"model": "mock/chat", "messages": batch, "deferred": True, "metadata": {"batch": batch}})
        found = millrace(gateway, "jobs", "ls", "--metadata", "batch=b7", "--json").stdout.splitlines()
        assert [json.loads(line)["metadata"] for line in found] == [{"batch": "b7"}]
        assert millrace(gateway, "jobs", "ls", "--metadata", "batch").returncode == 2


def test_a_name_is_printed_as_one_line_that_moves_no_cursor(shared):
    name = "bad\u001b[2J\nmärz\u202efdp" + "x" * 80
    job = shared.client.submit_ocr(data_uri(tiny_pdf("named")), document_name=name).json()["id"]
    for command in (["ls", "--limit", "1"], ["show", job], ["cancel", job]):
        printed = millrace(shared, "jobs", *command).stdout
        assert "bad [2J märz fdpxxx" in printed and not set(printed) & {"\x1b", "\u202e"}, command
    assert "x" * 80 in millrace(shared, "jobs", "show", job).stdout
    assert "x…  -\n" in millrace(shared, "jobs", "ls", "--limit", "1").stdout
    assert json.loads(millrace(shared, "jobs", "ls", "--limit", "1", "--json").stdout)["name"] == name


def test_a_key_over_its_rate_has_a_separate_exit_code(tmp_path):
    with closing(Gateway(tmp_path / "data", "--limits.requests-per-minute", "1").start()) as gateway:
        assert millrace(gateway, "jobs", "ls").returncode == 0
        limited = millrace(gateway, "jobs", "ls")
        assert limited.returncode == 12 and "`requests_per_minute`" in limited.stderr, limited


def test_exit_codes_show_what_went_wrong(shared, tmp_path):
    unknown = "ocr-01900000-0000-7000-8000-000000000000"
    assert millrace(shared, "jobs", "show", unknown).returncode == 11
    assert millrace(shared, "jobs", "ls", "--key", "mr_live_wrongkey_x").returncode == 10
    assert millrace(shared, "jobs", "ls", "--url", "http://127.0.0.1:1").returncode == 15
    assert millrace(shared, "jobs", "ls", "--status", "lost").returncode == 13
    wrong = millrace(shared, "jobs", "ls", "--url", "foo")
    assert wrong.returncode == 2 and '"foo" is not a URL' in wrong.stderr
    assert millrace(shared, "ocr", tmp_path / "none.pdf").returncode == 2
    assert millrace(shared, "brew").returncode == 2
    assert millrace(shared, "--help").returncode == 0


def test_keys_are_made_listed_and_ended(shared):
    data = ("--data", shared.data)
    made = millrace(shared, "keys", "create", "--name", "batch", "--scopes", "jobs:read", *data)
    key = made.stdout.strip()
    assert made.returncode == 0 and key.startswith("mr_live_") and len(key.splitlines()) == 1
    assert shared.client.request("GET", "/v1/jobs", headers={"Authorization": f"Bearer {key}"}).status == 200
    forbidden = shared.client.request("POST", "/v1/ocr", {}, headers={"Authorization": f"Bearer {key}"})
    assert forbidden.status == 403
    listed = millrace(shared, "keys", "ls", *data).stdout
    assert "batch" in listed and key not in listed
    assert millrace(shared, "keys", "revoke", key.split("_")[2], *data).returncode == 0
    eventually(
        lambda: shared.client.request("GET", "/v1/jobs", headers={"Authorization": f"Bearer {key}"}).status == 401,
        3, "revoked",
    )


def test_a_key_is_rotated_and_the_old_one_stays_valid_for_a_while(shared):
    data = ("--data", shared.data)

    def status(key):
        return shared.client.request("GET", "/v1/jobs", headers={"Authorization": f"Bearer {key}"}).status

    old = millrace(shared, "keys", "create", "--name", "rotated", "--scopes", "jobs:read", *data).stdout.strip()
    rotated = millrace(shared, "keys", "rotate", old.split("_")[2], *data)
    key = rotated.stdout.strip()
    assert rotated.returncode == 0 and key.startswith("mr_live_") and key != old
    assert status(key) == 200 and status(old) == 200
    last = millrace(shared, "keys", "rotate", key.split("_")[2], "--overlap", "0s", *data).stdout.strip()
    eventually(lambda: status(key) == 401, 5, "the old key has expired")
    assert status(last) == 200
    assert millrace(shared, "keys", "rotate", "abcdefgh", *data).returncode == 11
    refused = millrace(shared, "keys", "rotate", last.split("_")[2], "--overlap", "soon", *data)
    assert refused.returncode == 2 and "--overlap" in refused.stderr


def test_a_key_is_limited_and_the_limits_are_removed_again(shared):
    data = ("--data", shared.data)
    limits = ["--models", "mock/chat,openai/*", "--ip-ranges", "127.0.0.0/8,::1", "--mcp-servers", ""]
    key = millrace(shared, "keys", "create", "--name", "limited", *limits, *data).stdout.strip()
    key_id = key.split("_")[2]

    def shown():
        rows = [json.loads(line) for line in millrace(shared, "keys", "ls", "--json", *data).stdout.splitlines()]
        return next(row for row in rows if row["id"] == key_id)

    row = shown()
    assert row["models"] == ["mock/chat", "openai/*"] and row["ip_ranges"] == ["127.0.0.0/8", "::1"]
    assert row["mcp_servers"] == []
    changed = millrace(shared, "keys", "set", key_id, "--models", "all", "--ip-ranges", "10.0.0.0/8", "--scopes", "ocr",
                       "--expires", "1h", "--name", "renamed", *data)
    row = json.loads(changed.stdout)
    assert changed.returncode == 0 and row == shown()
    assert "models" not in row and row["scopes"] == ["ocr"] and row["name"] == "renamed" and "expires_at" in row
    assert "expires_at" not in json.loads(millrace(shared, "keys", "set", key_id, "--expires", "never", *data).stdout)
    eventually(
        lambda: shared.client.request("GET", "/v1/jobs", headers={"Authorization": f"Bearer {key}"}).status == 403,
        3, "refused from this address",
    )
    for wrong in (["--ip-ranges", "10.0.0.1/8"], ["--scopes", "brew"], ["--expires", "soon"], ["--name", "a b"]):
        refused = millrace(shared, "keys", "set", key_id, *wrong, *data)
        assert refused.returncode == 2 and wrong[0].lstrip("-").replace("-", "_") in refused.stderr.replace("-", "_")
    assert millrace(shared, "keys", "set", "abcdefgh", "--name", "x", *data).returncode == 11


def test_dead_jobs_are_grouped_by_their_error_code(shared):
    failed = shared.client.submit_ocr(data_uri(b"%PDF-1.4\nnothing of the kind")).json()["id"]
    assert shared.client.wait_terminal(failed)["status"] == "failed"
    dead = millrace(shared, "jobs", "dead")
    assert dead.returncode == 0 and dead.stdout.startswith("KIND")
    assert any(failed in line and "document_damaged" in line for line in dead.stdout.splitlines()), dead.stdout
    as_json = [json.loads(line) for line in millrace(shared, "jobs", "dead", "--json").stdout.splitlines()]
    assert failed in [group["newest"]["id"] for group in as_json]


def test_invalid_arguments_about_keys_are_usage_errors_and_an_unknown_key_is_not_found(shared):
    data = ("--data", shared.data)
    wrong_ones = (["--scopes", "brew"], ["--scopes", ""], ["--expires", "soon"], ["--expires", "0s"],
                  ["--expires", ""], ["--tenant", "a b"])
    for wrong in wrong_ones:
        refused = millrace(shared, "keys", "create", "--name", "x", *wrong, *data)
        assert refused.returncode == 2 and wrong[0] in refused.stderr and refused.stdout == ""
    assert millrace(shared, "keys", "revoke", "abcdefgh", *data).returncode == 11


def test_an_address_in_use_is_an_error_with_advice_and_no_ready_file_stays(shared, tmp_path):
    ready = tmp_path / "ready.json"
    ready.write_text("{}")
    where = shared.url.removeprefix("http://")
    refused = millrace(shared, "serve", "--data", tmp_path / "data", "--listen", where, "--ready-file", ready)
    assert refused.returncode == 1 and "already in use" in refused.stderr and "--listen HOST:PORT" in refused.stderr
    assert not ready.exists()
    assert not (tmp_path / "data").exists(), "the error is found before a store is made"


def test_a_flag_that_is_wrong_is_named_once(shared, tmp_path):
    refused = millrace(shared, "serve", "--data", tmp_path / "data", "--listen", "8080")
    assert refused.returncode == 2 and refused.stderr.startswith('error: --listen: "8080" is not HOST:PORT'), refused.stderr


def test_doctor_compares_the_open_files_with_the_connections(shared):
    def doctor(connections):
        shell = f"ulimit -n 1000 && exec {MILLRACE} doctor --data {shared.data} --http.connections-max {connections}"
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=False)
        return next(line for line in done.stdout.splitlines() if line.split()[1:2] == ["limits"])

    assert doctor(488).startswith("ok") and doctor(489).startswith("warn")


def test_config_check_names_every_mistake_with_its_place(shared, tmp_path):
    (tmp_path / "millrace.yaml").write_text("listen: 127.0.0.1:0\nstore:\n  wal_mox: 3\nocr: {range_pages: 0}\n")
    checked = millrace(shared, "config", "check", "--config", tmp_path / "millrace.yaml")
    assert checked.returncode != 0
    output = checked.stdout + checked.stderr
    assert "millrace.yaml:3" in output and "wal_max" in output and "millrace.yaml:4" in output
    assert checked.stdout == "", "only the mistakes, not sixty rows of values beside them"
    assert "ocr.wait" in millrace(shared, "config", "check", "--all", "--config", tmp_path / "millrace.yaml").stdout
    (tmp_path / "millrace.yaml").write_text("kafka: {brokers: [a\nlisten: 127.0.0.1:0\n")
    broken = millrace(shared, "config", "check", "--config", tmp_path / "millrace.yaml")
    assert broken.returncode == 2 and "the list that begins in line 1 has no `]`" in broken.stderr, broken.stderr


def test_doctor_makes_no_store_where_there_is_none(shared, tmp_path):
    checked = millrace(shared, "doctor", "--data", tmp_path / "typo")
    assert checked.returncode == 0 and "there is no store yet" in checked.stdout, checked.stdout
    assert not (tmp_path / "typo").exists()


def test_an_unreachable_gateway_is_reported_soon(shared, folder):
    began = time.monotonic()
    done = millrace(shared, "ocr", folder / "one.pdf", "--url", "http://127.0.0.1:1")
    assert done.returncode == 15 and "Is the gateway running?" in done.stderr, (done.returncode, done.stderr)
    assert time.monotonic() - began < 60, "it waited as if the gateway had been reachable before"


def test_doctor_reports_a_gateway_without_workers(shared, tmp_path):
    def workers(data):
        output = millrace(shared, "doctor", "--data", data).stdout.splitlines()
        return next(line.split(maxsplit=2) for line in output if line.split()[1:2] == ["workers"])

    assert workers(shared.data)[0] == "ok"
    alone = Gateway(tmp_path / "data", role="api").start()
    try:
        found = workers(alone.data)
        assert found[0] == "warn" and "no worker runs here" in found[2]
    finally:
        alone.close()
    assert "no gateway is running" in workers(alone.data)[2]


def test_commands_on_a_data_directory_list_no_server_setting_but_accept_them(shared):
    for command in (["audit", "verify"], ["keys", "ls"], ["ssh-ca", "show"]):
        helped = millrace(shared, *command, "--help").stdout
        assert "--data" in helped and "--config" in helped and "--listen" not in helped
    assert millrace(shared, "audit", "verify", "--data", shared.data, "--listen", "127.0.0.1:0").returncode == 0


def test_doctor_finds_nothing_wrong_here(shared):
    checked = millrace(shared, "doctor", "--data", shared.data)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for part in ("store", "disk", "engine", "sandbox", "clock", "transcribed by millrace/moonshine-en", "synthesised by millrace/flite"):
        assert part in checked.stdout.lower(), part
    names = [line.split()[1] for line in checked.stdout.splitlines() if not line.startswith(" ")]
    assert len(set(names)) == len(names), "the names of the checks are unique"
    inside = ("namespace", "cgroup-v", "bubblewrap", "OpenSSH", "dispatch", "pid ")
    fine = [line for line in checked.stdout.splitlines() if line.startswith("ok")]
    assert not [line for line in fine if any(word in line for word in inside)], checked.stdout
    told = millrace(shared, "doctor", "--verbose", "--data", shared.data).stdout
    assert [line.split()[:2] for line in told.splitlines()] == [line.split()[:2] for line in checked.stdout.splitlines()]
    assert "workers   1 runs on this host (" in told and "workers   1 runs on this host\n" in checked.stdout, told
