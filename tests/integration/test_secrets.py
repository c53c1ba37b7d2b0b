"""Every secret that a gateway knows, in states in which it is used or an upstream returns it: it appears nowhere."""

import base64
import binascii
import json
import os
import secrets
import urllib.parse
from contextlib import ExitStack
from pathlib import Path

import pytest
import recordings
from commands import cli
from documents import data_uri, tiny_pdf
from mcp_server import McpServer, failure
from millrace import Client, Gateway, eventually
from peak_use import family
from sandboxed import create, ended, local, reachable_folder, skip_without_commands
from upstream import Upstream, json_reply, sse_reply

# Files of the data directory that hold a secret (docs/security.md); everything else there is searched.
SECRET_FILES = {"admin.key", "pepper", "secret.key"}
SECRET_FOLDERS = {"ca"}
CONFIG = """
mock: true
log: {level: debug}
providers:
  openai: {base_url: '%(up)s/v1', api_key: env:PROVIDER_KEY}
models:
- {name: by-env, provider: openai, model: m, base_url: '%(up)s/v1', api_key: env:PROVIDER_KEY, headers: {X-Team: env:PROVIDER_HEADER}}
- {name: by-file, provider: anthropic, model: m, base_url: '%(up)s', api_key: 'file:%(file)s'}
- {name: speak, provider: openai, model: tts-1, base_url: '%(up)s/v1', api_key: env:PROVIDER_KEY}
- {name: hear, provider: openai, model: whisper-1, base_url: '%(up)s/v1', api_key: env:PROVIDER_KEY}
- {name: draw, provider: openai, model: dall-e-3, base_url: '%(up)s/v1', api_key: env:PROVIDER_KEY}
- {name: embed, provider: openai, model: text-embedding-3-small, base_url: '%(up)s/v1', api_key: env:PROVIDER_KEY}
- {name: read, provider: mistral, model: mistral-ocr-latest, base_url: '%(up)s/v1', api_key: env:PROVIDER_KEY}
mcp:
- {slug: office, url: '%(mcp)s', headers: {Authorization: env:MCP_TOKEN}}
"""


def canary(name):
    return f"canary-{name}-{secrets.token_hex(12)}"


def forms(value):
    """How a secret may be written: itself and its usual encodings."""
    raw = value if isinstance(value, bytes) else value.encode()
    out = {raw, binascii.hexlify(raw), urllib.parse.quote_from_bytes(raw, safe="").encode(), json.dumps(raw.decode("latin-1")).encode()[1:-1]}
    for shift in range(3):  # base64 at each position within a longer text, without the characters at both ends
        text = base64.b64encode(bytes(shift) + raw)
        out |= {text[4 if shift else 0 : -4], text[4 if shift else 0 : -4].replace(b"+", b"-").replace(b"/", b"_")}
    return out


def echo(seen):
    """What a careless provider returns: the request's headers."""
    text = f"invalid credentials: {json.dumps(seen.headers)}"
    if b'"stream":true' in seen.body.replace(b" ", b""):
        return sse_reply([(None, {"error": {"message": text, "type": "server_error"}})])
    return json_reply({"error": {"message": text, "type": "authentication_error", "param": seen.headers.get("authorization")}}, 400)


def content_of(path):
    """Without the holes of a machine's disk."""
    with open(path, "rb") as file:
        out, at, end = [], 0, path.stat().st_size
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # only a hole follows
                break
            hole = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            out.append(os.pread(file.fileno(), hole - at, at))
            at = hole
        return b"".join(out)


class Listening(Client):
    """Keeps every response."""

    def __init__(self, url, key, replies):
        super().__init__(url, key)
        self.replies = replies

    def request(self, method, path, body=None, headers=None, timeout=150):
        reply = super().request(method, path, body, headers, timeout)
        self.replies.append((f"{method} {path}: {reply.status}", repr(reply.headers).encode() + reply.body))
        return reply


class World:
    """A gateway that has used all its secrets. `places`: everything that others can see, by name."""

    def __init__(self, folder, stack):
        self.known = {name: canary(name) for name in ("provider-key", "provider-file", "provider-header", "mcp-token", "env-value", "wrong-key")}
        self.tokens = {name: canary(name) for name in ("url-token", "mcp-url-token")}
        self.replies, self.printed = [], []
        upstream = stack.enter_context(Upstream())
        upstream.reply_always(echo)
        self.upstream = upstream
        mcp = stack.enter_context(McpServer({}))
        mcp.reply_always(lambda seen: failure(seen.json, -32000, f"denied: {json.dumps(seen.headers)} {seen.path}"))
        self.mcp = mcp
        (folder / "provider.key").write_text(self.known["provider-file"] + "\n")
        config = folder / "millrace.yaml"
        config.write_text(CONFIG % {"up": upstream.url, "mcp": mcp.mcp_url, "file": folder / "provider.key"})
        self.environment = {
            "PROVIDER_KEY": self.known["provider-key"],
            "PROVIDER_HEADER": self.known["provider-header"],
            "MCP_TOKEN": "Bearer " + self.known["mcp-token"],
        }
        self.config, self.folder = config, folder
        allowed = ",".join(urllib.parse.urlsplit(url).netloc for url in (upstream.url, mcp.mcp_url))
        self.gateway = Gateway(folder / "data", "--config", config, "--fetch.allow-hosts", allowed, env=self.environment).start()
        stack.callback(self.gateway.close)
        skip_without_commands(self.gateway)
        self.client = Listening(self.gateway.url, self.gateway.client.key, self.replies)
        self.gateway.client = self.client
        self.keys = {"admin-key": self.client.key}
        self.use_keys()
        self.use_upstreams()
        self.use_machines()

    def use_keys(self):
        plain = Client(self.gateway.url, self.client.key)  # these responses must contain the new key
        made = plain.post("/v1/admin/keys", {"name": "made", "scopes": ["models", "jobs:read"]}).json()
        rotated = plain.post(f"/v1/admin/keys/{made['id']}/rotate", {}).json()
        self.keys |= {"made-key": made["key"], "rotated-key": rotated["key"]}
        mistyped = made["key"][:-1] + ("a" if made["key"][-1] != "a" else "b")
        for header in ({"Authorization": f"Bearer {mistyped}"}, {"X-API-Key": self.known["wrong-key"]}, {"Authorization": self.known["wrong-key"]}):
            for path in ("/v1/models", f"/v1/jobs?cursor={'x' * 40}", "/v1/nothing"):
                Listening(self.gateway.url, "", self.replies).get(path, headers={"Authorization": "", **header})
        self.keys["mistyped-key"] = mistyped
        for key in (made["key"], rotated["key"]):
            Listening(self.gateway.url, key, self.replies).get("/v1/jobs")
        self.client.request("DELETE", f"/v1/admin/keys/{rotated['id']}")
        Listening(self.gateway.url, rotated["key"], self.replies).get("/v1/jobs")

    def use_upstreams(self):
        client, text = self.client, [{"role": "user", "content": "hello"}]
        chats = [{"model": model, "messages": text} for model in ("by-env", "by-file", "openai/gpt-4o")]
        chats += [{**each, "stream": True} for each in chats]
        url = f"{self.mcp.mcp_url}?token={self.tokens['mcp-url-token']}"
        chats += [{"model": "mock/chat", "messages": text, "mcp_servers": servers} for servers in (["office"], [{"name": "far", "url": url}])]
        for body in chats:
            client.post("/v1/chat/completions", body)
            if not body.get("stream"):
                job = client.post("/v1/chat/completions", {**body, "deferred": True}).json()["request_id"]
                client.wait_terminal(job)
                self.show_job(job)
                client.get(f"/v1/chat/deferred-completion/{job}")
        client.post("/v1/embeddings", {"model": "embed", "input": "x"})
        client.post("/v1/images/generations", {"model": "draw", "prompt": "x"})
        client.post("/v1/audio/speech", {"model": "speak", "input": "x", "voice": "alloy"})
        recordings.transcribe(self.gateway, recordings.silence(1), model="hear")
        ocr = f"{self.upstream.url}/a.pdf?X-Signature={self.tokens['url-token']}"
        for document in ({"document_url": data_uri(tiny_pdf("x"))}, {"document_url": ocr}, {"document_url": ocr + "&none"}):
            for model in ("read", "millrace/ocr"):
                reply = client.post("/v1/ocr", {"model": model, "document": document})
                self.show_job(reply.headers["x-millrace-job"])

    def show_job(self, job):
        for below in ("", "/events", "/result", "/request"):
            self.client.get(f"/v1/jobs/{job}{below}")

    def use_machines(self):
        machine = local(self.client)
        with_secret = {"env": {"TOKEN": self.known["env-value"]}}
        done = create(self.client, ["sh", "-c", 'test -n "$TOKEN"'], **with_secret).json()
        assert ended(self.client, done)["exit_code"] == 0
        create(self.client, ["no-such-program"], **with_secret)
        for _ in range(3):  # one runs, the others may wait
            running = create(self.client, ["sleep", "600"], **with_secret).json()
        for execution in (done, running):
            self.show_job(execution["execution_id"])
            self.client.get(f"/v1/machines/{machine}/executions/{execution['execution_id']}")
        cancelled = create(self.client, ["sleep", "600"], **with_secret).json()["execution_id"]
        self.client.post(f"/v1/jobs/{cancelled}/cancel")
        refused = {"command": ["true"], "env": {"TOKEN": self.known["env-value"], "1=": self.known["env-value"]}}
        self.client.post(f"/v1/machines/{machine}/executions", refused, headers={"Idempotency-Key": "refused"})
        self.client.post(f"/v1/machines/{machine}/executions", {"command": 1, "env": self.known["env-value"]}, headers={"Idempotency-Key": "bad"})

    def files_with_secrets(self):
        data = self.gateway.data
        folders = [data / name for name in SECRET_FOLDERS]
        return [data / name for name in SECRET_FILES] + [path for folder in folders for path in folder.rglob("*") if path.is_file()]

    def secrets(self):
        """Those of the files too: of a private key, its middle line."""
        out = {**self.known, **self.keys}
        for path in self.files_with_secrets():
            content = path.read_bytes().strip()
            if path.parent.name in SECRET_FOLDERS and b"PRIVATE KEY" not in content:
                continue
            lines = content.splitlines()
            out[path.name] = content if len(lines) < 3 else lines[len(lines) // 2]
        return out

    def responses(self):
        client = self.client
        for path in ("/metrics", "/readyz", "/v1/models", "/v1/usage", "/v1/jobs?limit=200", "/v1/machines", "/openapi.json", "/"):
            client.get(path)
        for name in ("overview", "queues", "workers", "providers", "keys", "tenants", "jobs?limit=200", "dead"):
            client.get(f"/v1/admin/{name}")
        return self.replies

    def commands(self):
        data, config = ("--data", self.gateway.data), ("--config", self.config)
        lines = [
            ("doctor", *data, *config),
            ("config", "check", *data, *config),
            ("audit", "export", *data),
            ("audit", "verify", *data),
            ("keys", "ls", *data),
            ("models", "ls"),
            ("jobs", "ls"),
            ("chat", "-m", "by-env", "hello"),
        ]
        for line in lines if not self.printed else ():
            done = cli(self.gateway, *line, env=self.environment, within_s=300)
            self.printed.append((" ".join(map(str, line[:2])), (done.stdout + done.stderr).encode()))
        return self.printed

    def stored(self):
        skipped = set(self.files_with_secrets())
        for path in self.gateway.data.rglob("*"):
            if path.is_file() and path not in skipped:
                yield str(path.relative_to(self.gateway.data)), content_of(path)

    def children(self):
        """The command lines and environments of the gateway's child processes, and its own command line."""
        yield "own command line", Path(f"/proc/{self.gateway.popen.pid}/cmdline").read_bytes()
        for pid in family(self.gateway.popen.pid).keys() - {self.gateway.popen.pid}:
            try:
                variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                inherited = [each for each in variables if not each.startswith(b"TOKEN=")]  # TOKEN is a command's own
                yield f"process {pid}", b"\0".join([Path(f"/proc/{pid}/cmdline").read_bytes(), *inherited])
            except (ProcessLookupError, FileNotFoundError):
                pass


@pytest.fixture(scope="module")
def world():
    with reachable_folder() as folder, ExitStack() as stack:
        yield World(folder, stack)


def found(looked_for, places):
    searched = {name: forms(value) for name, value in looked_for.items()}
    return sorted({(name, place) for place, text in places for name, each in searched.items() if any(form in text for form in each)})


def test_all_secrets_were_used(world):
    sent = [json.dumps(seen.headers) for seen in [*world.upstream.requests, *world.mcp.requests]]
    for name in ("provider-key", "provider-file", "provider-header", "mcp-token"):
        assert any(world.known[name] in each for each in sent), name
    paths = [seen.path for seen in [*world.upstream.requests, *world.mcp.requests]]
    for token in world.tokens.values():
        assert any(token in path for path in paths), token
    assert len(world.secrets()) >= 14, world.secrets().keys()


def test_the_search_finds_what_is_there(world):
    for places in (world.responses(), world.commands(), world.stored(), [("log", world.gateway.log.read_bytes())]):
        assert found({"the name of a model": "by-env"}, places)
    assert found({"a command that runs": "sleep"}, world.children())


def test_no_secret_is_in_a_response(world):
    replies = world.responses()
    assert len(replies) > 100
    assert found({**world.secrets(), **world.tokens}, replies) == []


def test_no_secret_is_in_the_log(world):
    log = world.gateway.log.read_bytes()
    assert b'"debug"' in log or b" debug " in log, "the log has all levels"
    assert found({**world.secrets(), **world.tokens}, [("log", log)]) == []


def test_no_secret_is_printed_by_a_command(world):
    assert found({**world.secrets(), **world.tokens}, world.commands()) == []


def test_no_secret_is_stored_outside_the_files_that_hold_it(world):
    assert found({**world.secrets(), **world.tokens}, world.stored()) == []


def test_only_the_owner_can_read_the_files_that_hold_a_secret(world):
    for path in world.files_with_secrets():
        if path.suffix in (".pub", ".krl"):
            continue
        mode = path.stat().st_mode & 0o077
        assert mode == 0 or path.parent.stat().st_mode & 0o077 == 0, path


def test_no_secret_is_in_the_environment_or_command_line_of_a_child(world):
    children = list(world.children())
    assert len(children) > 1
    assert found({**world.secrets(), **world.tokens}, children) == []


def test_no_secret_is_stored_or_logged_when_the_process_is_killed_and_started_again(world):
    world.gateway.kill()
    world.gateway.start()
    eventually(lambda: world.gateway.client.get("/readyz").status == 200, what="ready")
    assert found({**world.secrets(), **world.tokens}, [*world.stored(), ("log", world.gateway.log.read_bytes())]) == []
