"""A command whose standard output cannot be written fails and says so, as a program does that a script relies on."""

import json
import os
import re
import subprocess

import pytest
from commands import MILLRACE, cli, environment
from documents import data_uri, tiny_pdf
from millrace import eventually
from sandboxed import reachable_folder, start
from test_batches import lines_of

FAILED, PIPE_CLOSED = 1, 141
# The reason of a write before the last one is not known any more.
LINE = re.compile(r"millrace: standard output (cannot be written: No space left on device|could not be written)")
STORE = {"keys", "tenants", "audit", "ssh-ca", "backup", "doctor", "config check"}


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data", "--mock", "true")
        yield gateway
        gateway.close()


def ended_job(gateway):
    job = cli(gateway, "chat", "-m", "mock/chat", "--deferred", "hello").stdout.strip()
    assert gateway.client.wait_terminal(job)["status"] == "succeeded"
    return job


def failed_job(gateway):
    job = gateway.client.submit_ocr(data_uri(b"%PDF-1.4 cut off")).json()["id"]
    assert gateway.client.wait_terminal(job)["status"] == "failed"
    return job


def execution(gateway):
    return cli(gateway, "exec", "run", "--", "sh", "-c", "echo out; echo a > $MILLRACE_ARTIFACTS/a; echo $MILLRACE_EXECUTION_ID").stdout.split()[-1]


CHATS = [{"model": "mock/chat", "messages": [{"role": "user", "content": "hello"}]}]


def folder_of_documents(folder):
    (folder / "scans").mkdir(exist_ok=True)
    return file(folder / "scans", "a.pdf", tiny_pdf("one")).parent


def ended_batch(gateway, folder):
    done = cli(gateway, "batch", "run", file(folder, "b.jsonl", lines_of(CHATS)), "-o", folder / "b.out", "--json")
    return json.loads(done.stdout)["id"]


def waiting_batch(gateway):
    """One that has not ended when it is cancelled."""
    document = {"type": "document_url", "document_url": data_uri(tiny_pdf("later"))}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/ocr", "body": {"document": document, "delay": "1h"}}
    stored = cli(gateway, "files", "put", "-", input=json.dumps(line)).stdout.strip()
    return gateway.client.post("/v1/batches", {"input_file_id": stored, "endpoint": "/v1/ocr", "completion_window": "24h"}).json()["id"]


def key_id(gateway):
    made = cli(gateway, "keys", "create", "--name", "one", "--data", gateway.data)
    return re.fullmatch(r"mr_live_(\w{8})\w*\n", made.stdout)[1]


def webhook(gateway):
    """One that is disabled: nothing is sent to it."""
    made = json.loads(cli(gateway, "webhooks", "add", "https://app.example/", "--json").stdout)["id"]
    assert cli(gateway, "webhooks", "disable", made).returncode == 0
    return made


def file(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


def public_key(folder):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "host"], check=True)
    return folder / "host.pub"


LITELLM = b"model_list:\n  - model_name: a\n    litellm_params: {model: openai/gpt-5, api_key: os.environ/K}\n"

# What stands for the words in braces.
MAKES = {
    "{job}": lambda gateway, folder: ended_job(gateway),
    "{failed}": lambda gateway, folder: failed_job(gateway),
    "{execution}": lambda gateway, folder: execution(gateway),
    "{stored}": lambda gateway, folder: cli(gateway, "files", "put", file(folder, "b.txt", b"content")).stdout.strip(),
    "{requests}": lambda gateway, folder: file(folder, "a.jsonl", lines_of(CHATS)),
    "{wrong}": lambda gateway, folder: file(folder, "a.jsonl", lines_of(CHATS) * 2),
    "{documents}": lambda gateway, folder: folder_of_documents(folder),
    "{batch}": lambda gateway, folder: ended_batch(gateway, folder),
    "{waiting}": lambda gateway, folder: waiting_batch(gateway),
    "{webhook}": lambda gateway, folder: webhook(gateway),
    "{key}": lambda gateway, folder: key_id(gateway),
    "{pdf}": lambda gateway, folder: file(folder, "a.pdf", tiny_pdf("one")),
    "{yaml}": lambda gateway, folder: file(folder, "a.yaml", LITELLM),
    "{host_key}": lambda gateway, folder: public_key(folder),
    "{new}": lambda gateway, folder: folder / "new",
}

COMMANDS = [
    "--help", "--version", "jobs ls --help", "openapi", "completion bash", "manual", "config reference", "config import {yaml}",
    "config check", "doctor", "backup {new}",
    "keys ls", "keys ls --json", "keys set {key} --name two", "keys create --name three", "keys rotate {key}",
    "tenants ls", "tenants ls --json", "tenants show default", "tenants show default --json", "tenants set default machines=9",
    "audit verify", "audit export", "ssh-ca show", "ssh-ca sign-host {host_key} --names a.example", "ssh-ca krl -o -",
    "models ls", "models ls --json", "models show mock/chat", "models show mock/chat --json", "models catalogue",
    "models catalogue --json",
    "chat -m mock/chat hello", "chat -m mock/chat --json hello", "chat -m mock/chat --deferred hello",
    "chat -m mock/chat --deferred --wait hello", "chat --result {job}",
    "ocr {pdf}", "ocr {pdf} --json", "ocr {pdf} -o {new} --json",
    "files ls", "files ls --json", "files put {pdf}", "files put {pdf} --json", "files get {stored} -o -", "files rm {stored} --json",
    "batch run {requests} -o -", "batch run {requests} -o {new} --json", "batch run {wrong} -o {new} --json",
    "batch make --ocr {documents} -o -", "batch make --ocr {documents} -o {new} --json", "batch ls", "batch ls --json",
    "batch show {batch}", "batch show {batch} --json", "batch results {batch}", "batch cancel {waiting}",
    "webhooks add https://app.example/", "webhooks add https://app.example/ --json", "webhooks ls", "webhooks ls --json",
    "webhooks deliveries {webhook}", "webhooks rotate {webhook}", "webhooks enable {webhook} --json",
    "webhooks disable {webhook} --json", "webhooks rm {webhook} --json",
    "jobs ls", "jobs ls --json", "jobs show {job}", "jobs show {job} --json", "jobs result {job}", "jobs result {job} -o {new} --json",
    "jobs tail {job}", "jobs tail {job} --json", "jobs retry {failed}", "jobs retry {failed} --json", "jobs cancel {job}", "jobs rm {job} --json",
    "jobs dead", "jobs dead --json",
    "queues ls", "queues ls --json", "queues pause ocr", "queues resume ocr", "workers ls", "workers ls --json",
    "machines ls", "machines ls --json", "machines show local", "machines show local --json", "machines create",
    "machines create --json", "machines change box --autosleep 15m", "machines wake box", "machines sleep box --json",
    "machines reboot box", "machines rm --yes gone",
    "exec run echo out", "exec run --json echo out", "exec run --detach true", "exec run --detach --json true",
    "exec ls", "exec ls --json", "exec logs {execution}", "exec logs --json {execution}", "exec logs -f {execution}",
    "exec cp {execution}:a -", "exec cp {execution}:a {new} --json",
]  # fmt: skip

# They print nothing on standard output, only to a terminal, or only what an engine or a host makes; or they end what others need.
# Those of `store` need PostgreSQL: test_postgres_store.py.
OTHERS = {
    "serve", "api", "worker", "ssh", "transcribe", "speak", "models pull", "keys revoke", "keys accept-secrets", "workers drain", "webhooks test", "webhooks redeliver",
    "store init", "store check", "store copy", "store take-bucket",
}  # fmt: skip


@pytest.fixture(scope="module")
def boxes(shared):
    for name in ("box", "gone"):
        assert cli(shared, "machines", "create", "--name", name).returncode == 0
    failed_job(shared)
    assert cli(shared, "files", "put", "-", input="content").returncode == 0


def words_of(gateway, folder, command):
    words = command.split()
    for name, make in MAKES.items():
        if name in command:
            made = str(make(gateway, folder))
            words = [word.replace(name, made) for word in words]
    return words + (["--data", gateway.data] if any(command.startswith(each) for each in STORE) else [])


def run(gateway, words, stdout):
    command = [str(MILLRACE), *map(str, words)]
    return subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, env=environment(gateway), timeout=90)


def on_full_disk(gateway, words):
    with open("/dev/full", "w") as full:
        return run(gateway, words, full)


def into_closed_pipe(gateway, words):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return run(gateway, words, writer)
    finally:
        os.close(writer)


def the_line(done):
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("millrace: standard output ")]
    return line


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_fails_on_a_full_disk(shared, boxes, tmp_path, command):
    done = on_full_disk(shared, words_of(shared, tmp_path, command))
    assert done.returncode == FAILED, done.stderr
    assert LINE.match(the_line(done)), done.stderr


def commands_below(*words):
    help_text = subprocess.run([MILLRACE, *words, "--help"], capture_output=True, text=True, timeout=60).stdout
    _, _, names = help_text.partition("Subcommands:\n")
    found = [commands_below(*words, line.split()[0]) for line in names.splitlines() if line.startswith("  ") and line[2] != " "]
    return set().union(*found) if found else {" ".join(words)}


def test_every_command_is_tried():
    untried = {each for each in commands_below() if not any((command + " ").startswith(each + " ") for command in COMMANDS)}
    assert untried == OTHERS


@pytest.mark.parametrize("command", ["keys create --name lost", "keys rotate {key}"])
def test_the_key_whose_text_is_lost_is_named(shared, tmp_path, command):
    for lose, code in ((on_full_disk, FAILED), (into_closed_pipe, PIPE_CLOSED)):
        done = lose(shared, words_of(shared, tmp_path, command))
        assert done.returncode == code, done.stderr
        words = the_line(done).split("`")[1].split()[1:]
        assert cli(shared, *words).returncode == 0, words


@pytest.mark.parametrize("command", ["exec run --detach sleep 60", "chat -m mock/chat --deferred --delay 1h hello"])
def test_the_job_whose_id_is_lost_is_named(shared, tmp_path, command):
    for lose, code in ((on_full_disk, FAILED), (into_closed_pipe, PIPE_CLOSED)):
        done = lose(shared, words_of(shared, tmp_path, command))
        assert done.returncode == code and "goes on; cancel it with" in the_line(done), done.stderr
        assert cli(shared, *the_line(done).split("`")[1].split()[1:]).returncode == 0


@pytest.mark.parametrize("command", ["jobs tail {job}", "jobs tail {job} --json", "exec logs -f {execution}", "exec logs -f --json {execution}"])
def test_what_has_ended_does_not_go_on(shared, tmp_path, command):
    for lose, code in ((on_full_disk, FAILED), (into_closed_pipe, PIPE_CLOSED)):
        words = words_of(shared, tmp_path, command)
        done = lose(shared, words)
        job = next(word for word in words if "-" in word.lstrip("-"))
        assert done.returncode == code and the_line(done).endswith(f"; {job} has ended: succeeded"), done.stderr


@pytest.mark.parametrize("options", ["", "--json"])
def test_logs_into_a_closed_pipe_end_like_a_following_command(shared, tmp_path, options):
    done = into_closed_pipe(shared, words_of(shared, tmp_path, f"exec logs {options} {{execution}}"))
    assert done.returncode == PIPE_CLOSED and the_line(done) == "millrace: standard output was closed"


def test_a_gateway_serves_on_a_full_disk(shared, tmp_path):
    ready = tmp_path / "ready"
    command = [MILLRACE, "serve", "--data", tmp_path / "data", "--listen", "127.0.0.1:0", "--ready-file", ready]
    with open("/dev/full", "w") as full, subprocess.Popen(command, stdout=full, stderr=subprocess.DEVNULL) as gateway:
        eventually(ready.exists, 30, "the gateway is ready")
        gateway.terminate()
        assert gateway.wait(30) == 0
