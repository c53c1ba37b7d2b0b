"""Secrets of clients in stored requests: no file of the data directory has them in plain text, in any state of a job."""

import json
import threading

import openai_replies
import pytest
from document_server import DocumentServer
from mcp_server import McpServer, text_result, tool
from millrace import Gateway, Worker
from upstream import Upstream

TOKEN = "canary-b61f-"
CHAT = "/v1/chat/completions"


@pytest.fixture
def web():
    server = DocumentServer()
    yield server
    server.shutdown()


@pytest.fixture
def tools():
    with McpServer({"add": tool(lambda given: text_result(given["a"] + given["b"]), a="integer", b="integer")}) as server:
        yield server


@pytest.fixture
def opened(tmp_path, upstream, web, tools):
    """A gateway and a function that starts its worker."""
    config = tmp_path / "millrace.yaml"
    config.write_text(f"models:\n- {{name: m, provider: openai, model: m, base_url: '{upstream.url}/v1', api_key: env:UP_KEY}}\n")
    arguments = ("--config", config, "--fetch.allow-hosts", f"{web.host},{tools.host},{upstream.url.removeprefix('http://')}")
    env = {"UP_KEY": "sk-0123456789"}
    gateway = Gateway(tmp_path / "data", *arguments, role="api", env=env).start()
    workers = []

    def work():
        worker = Worker(gateway.data, *arguments, kinds="chat,ocr", env=env)
        workers.append(worker)
        worker.start()
        return worker

    yield gateway, work
    for worker in workers:
        worker.close()
    gateway.close()


def files_with_token(gateway):
    files = [each for each in gateway.data.parent.rglob("*") if each.is_file()]
    assert any(each.name == "millrace.db" for each in files)
    return [each.name for each in files if TOKEN.encode() in each.read_bytes()]


def chat_with_secrets(upstream, tools, **more):
    return {
        "model": "m",
        "deferred": True,
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": f"what is https://a.example/b?sig={TOKEN}text"},
                    {"type": "image_url", "image_url": {"url": f"{upstream.url}/a.png?sig={TOKEN}image#{TOKEN}fragment"}},
                ],
            }
        ],
        "mcp_servers": [{"url": f"{tools.mcp_url}?token={TOKEN}mcp"}],
        "a_private_parameter": f"{TOKEN}parameter",
        **more,
    }


def submitted(gateway, path, body):
    reply = gateway.client.post(path, body, headers={"Prefer": "respond-async", "Idempotency-Key": f"{TOKEN}{hash(str(body))}"})
    assert reply.status in (200, 202), reply.body
    return reply.json().get("request_id") or reply.json()["id"]


def original(gateway, job):
    reply = gateway.client.get(f"/v1/jobs/{job}/request")
    assert reply.status == 200, reply.body
    return reply.json()


def retried(gateway, job):
    reply = gateway.client.post(f"/v1/jobs/{job}/retry")
    assert reply.status in (200, 202), reply.body
    return reply.json()["id"]


def test_the_secrets_of_a_chat_are_encrypted_in_every_state(opened, upstream, tools):
    gateway, work = opened
    job = submitted(gateway, CHAT, chat_with_secrets(upstream, tools))
    assert files_with_token(gateway) == [], "queued"
    shown = original(gateway, job)
    image = shown["body"]["messages"][0]["content"][1]["image_url"]["url"]
    assert image == f"{upstream.url}/a.png" and shown["body"]["mcp_servers"] == [{"url": tools.mcp_url}]
    assert {"a_private_parameter", "mcp_servers.0.url", "messages.0.content.1.image_url.url"} <= set(shown["left_out"])
    (listed,) = gateway.client.get("/v1/jobs?kind=chat").json()["items"]
    assert listed["name"] == "what is https://a.example/b?***"

    go_on = threading.Event()
    refusal = openai_replies.refusal(400, f"cannot load {upstream.url}/a.png?sig={TOKEN}image: 403")
    upstream.reply(refusal.held(go_on))
    work()
    (request,) = upstream.wait_for(1)
    assert f"sig={TOKEN}image" in request.body.decode() and tools.requests[0].path.endswith(f"?token={TOKEN}mcp")
    assert files_with_token(gateway) == [], "running"
    go_on.set()
    failed = gateway.client.wait_terminal(job)
    assert failed["status"] == "failed" and "/a.png?***" in failed["error"]["message"], failed
    assert files_with_token(gateway) == [], "failed"

    upstream.reply(openai_replies.completion("A picture."))
    again = retried(gateway, job)
    assert gateway.client.wait_terminal(again)["status"] == "succeeded"
    assert json.loads(upstream.wait_for(2)[1].body) == json.loads(request.body)
    assert original(gateway, again)["body"] == shown["body"]
    assert files_with_token(gateway) == [], "succeeded"


def test_a_large_chat_is_encrypted_in_its_blobs(opened, upstream, tools):
    gateway, work = opened
    text = "word " * 40_000
    body = chat_with_secrets(upstream, tools, mcp_servers=[])
    body["messages"].append({"role": "user", "content": text})
    job = submitted(gateway, CHAT, body)
    assert files_with_token(gateway) == [] and original(gateway, job)["body"]["messages"][1]["content"] == text
    upstream.reply(openai_replies.completion("Many words."))
    work()
    assert gateway.client.wait_terminal(job)["status"] == "succeeded"
    assert files_with_token(gateway) == []


def test_the_query_of_a_documents_url_is_encrypted_in_every_state(opened, web):
    gateway, work = opened
    jobs = {
        name: submitted(gateway, "/v1/ocr", {"document": {"document_url": f"http://{web.host}/{path}?sig={TOKEN}{name}"}, "document_name": name})
        for name, path in {"good": "words", "missing": "none"}.items()
    }
    assert files_with_token(gateway) == [], "queued"
    for name, job in jobs.items():
        assert original(gateway, job)["body"]["document_name"] == gateway.client.job(job)["name"] == name
    assert original(gateway, jobs["good"])["body"]["document"] == {"document_url": f"http://{web.host}/words"}
    work()
    for job in jobs.values():
        assert gateway.client.wait_terminal(job)["status"] == "failed"
        assert gateway.client.wait_terminal(retried(gateway, job))["status"] == "failed"
    assert files_with_token(gateway) == [], "failed"
    assert sorted(web.hits) == sorted(2 * [f"/words?sig={TOKEN}good", f"/none?sig={TOKEN}missing"])
