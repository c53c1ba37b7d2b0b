"""Webhooks by command, and of requests that name a URL."""

import json
import subprocess
import uuid

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, eventually
from webhook_receiver import WebhookReceiver, add, chat, delivered, disabled, webhook_gateway


@pytest.fixture
def receiver():
    server = WebhookReceiver()
    yield server
    server.close()


@pytest.fixture
def gateway(tmp_path, receiver):
    started = webhook_gateway(tmp_path, receiver)
    yield started
    started.close()


URL_HEADER = "X-Millrace-Webhook-Url"


def test_a_request_names_the_url_that_is_sent_the_end_of_its_job(gateway, receiver):
    everything = add(gateway, receiver, "/all")
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": "x"}], "deferred": True}
    headers = {URL_HEADER: receiver.url("/mine"), "Idempotency-Key": uuid.uuid4().hex}
    job = gateway.client.post("/v1/chat/completions", body, headers=headers).json()["request_id"]
    assert gateway.client.post("/v1/chat/completions", body, headers=headers).json()["request_id"] == job
    got = {each.path: each for each in receiver.take(2)}
    assert set(got) == {"/all", "/mine"} and all(each.json["data"]["id"] == job for each in got.values())
    document = {"document": {"type": "document_url", "document_url": data_uri(tiny_pdf("x"))}}
    asynchronous = {URL_HEADER: receiver.url("/mine"), "Prefer": "respond-async"}
    read = gateway.client.post("/v1/ocr", document, headers=asynchronous).json()["id"]
    got = {each.path: each for each in receiver.take(2)}
    assert got["/mine"].json["data"]["id"] == read
    (made,) = [each for each in gateway.client.get("/v1/webhooks").json()["items"] if each["on_request"]]
    assert made["url"] == receiver.url("/mine") and made["id"] != everything["id"]
    secret = gateway.client.post(f"/v1/webhooks/{made['id']}/rotate").json()["secret"]
    plain = chat(gateway.client)
    assert receiver.next().path == "/all", plain
    delivered(gateway, everything, 3)
    job = gateway.client.post("/v1/chat/completions", body, headers={URL_HEADER: receiver.url("/mine")}).json()["request_id"]
    got = {each.path: each for each in receiver.take(2)}
    assert got["/mine"].is_signed_with(secret) and got["/mine"].json["data"]["id"] == job
    assert receiver.received.empty()


def test_the_url_of_a_request_needs_an_allowed_host_and_a_job(gateway, receiver):
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": "x"}], "deferred": True}
    for url in ("https://example.com/", "https://127.0.0.1/", "nonsense", "http://" + "a" * 3000):
        refused = gateway.client.post("/v1/chat/completions", body, headers={URL_HEADER: url})
        assert refused.status == 422 and refused.json()["error"]["param"] == URL_HEADER.lower(), refused.body
    assert "webhooks.allowed_hosts" in gateway.client.post("/v1/chat/completions", body, headers={URL_HEADER: "https://example.com/"}).body.decode()
    direct = gateway.client.post("/v1/chat/completions", {**body, "deferred": False}, headers={URL_HEADER: receiver.url()})
    assert direct.status == 422 and "deferred" in direct.json()["error"]["message"], direct.body
    assert gateway.client.get("/v1/webhooks").json()["items"] == [] and gateway.client.get("/v1/jobs").json()["items"] == []


def test_a_request_whose_webhook_is_disabled_is_refused(gateway, receiver):
    receiver.answers["/hook"] = [410]
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": "x"}], "deferred": True}
    assert gateway.client.post("/v1/chat/completions", body, headers={URL_HEADER: receiver.url()}).status == 200
    receiver.next()
    (made,) = gateway.client.get("/v1/webhooks").json()["items"]
    disabled(gateway, made)
    refused = gateway.client.post("/v1/chat/completions", body, headers={URL_HEADER: receiver.url()})
    assert refused.status == 409 and "410 Gone" in refused.json()["error"]["message"], refused.body


def millrace(gateway, *words):
    command = [BUILD / "millrace", "webhooks", *words, "--url", gateway.url, "--key", gateway.client.key]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_commands_add_test_list_and_remove_a_webhook(gateway, receiver):
    made = millrace(gateway, "add", receiver.url(), "--events", "job.succeeded,job.failed", "--kinds", "chat")
    assert made.returncode == 0, made.stderr
    lines = dict(line.split(":", 1) for line in made.stdout.splitlines())
    webhook, secret = lines["id"].strip(), lines["secret"].strip()
    tested = millrace(gateway, "test", webhook)
    assert tested.returncode == 0 and "delivered 200" in tested.stdout, tested
    assert receiver.next().is_signed_with(secret)
    receiver.answers["/hook"] = [500, 200]
    failed = millrace(gateway, "test", webhook)
    assert failed.returncode == 1 and "the receiver answered 500" in failed.stdout, failed
    sent = receiver.take(2)[0]
    assert webhook in millrace(gateway, "ls").stdout
    log = eventually(lambda: (out := millrace(gateway, "deliveries", webhook).stdout).count("delivered") == 2 and out, what="both are logged")
    assert sent.id in log
    assert millrace(gateway, "redeliver", webhook, sent.id).returncode == 0
    assert receiver.next().id == sent.id
    again = millrace(gateway, "rotate", webhook, "--json")
    assert json.loads(again.stdout)["secret"] != secret
    assert millrace(gateway, "disable", webhook).returncode == 0 and "disabled" in millrace(gateway, "ls").stdout
    assert millrace(gateway, "enable", webhook).returncode == 0
    assert millrace(gateway, "rm", webhook).returncode == 0
    assert webhook not in millrace(gateway, "ls").stdout
    assert "There is no such webhook" in millrace(gateway, "test", webhook).stderr
