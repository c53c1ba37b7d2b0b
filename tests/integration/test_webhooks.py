"""Webhooks: signatures, filters, order, retries, receivers that fail, rotation, and what a crash leaves."""

import base64
import json
import uuid
from contextlib import closing

import pytest
from batches import end, lines_of
from batches import start as start_batch
from millrace import Client, Gateway, Worker, eventually
from sandboxed import local, reachable_folder, start
from venv_programs import run_with
from webhook_receiver import MOCK, WebhookReceiver, add, chat, delivered, deliveries, disabled, shown, webhook_gateway

CLIENTS = ["standardwebhooks>=1,<2", "cryptography", "openai>=2,<3"]


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


def test_the_end_of_a_job_is_delivered_signed_with_the_job_as_the_api_shows_it(gateway, receiver):
    webhook = add(gateway, receiver)
    job = chat(gateway.client)
    got = receiver.next()
    assert got.is_signed_with(webhook["secret"]) and len(got.signatures("v1a")) == 1
    event = got.json
    assert event["type"] == "job.succeeded" and event["data"].items() <= gateway.client.job(job).items()
    assert {"id", "kind", "status", "completed_at", "model", "links"} <= set(event["data"])
    assert event["object"] == "event" and event["id"].startswith("evt_") and isinstance(event["created_at"], int)
    (logged,) = delivered(gateway, webhook)
    assert (logged["id"], logged["subject"], logged["attempts"], logged["http_status"]) == (got.id, job, 1, 200)
    one = gateway.client.get(f"/v1/webhooks/{webhook['id']}/deliveries/{got.id}").json()
    assert one["payload"] == event
    assert shown(gateway, webhook)["pending"] == 0


VERIFY = """
import base64, json, sys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks import Webhook
import openai
secret, public_key, received = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
headers, body = received["headers"], received["body"]
plain = Webhook(secret).verify(body, headers)
client = openai.OpenAI(api_key="none", webhook_secret=secret)
event = client.webhooks.unwrap(body, headers)
text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
(signature,) = [each[4:] for each in headers["webhook-signature"].split() if each.startswith("v1a,")]
Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key.removeprefix("whpk_"))).verify(base64.b64decode(signature), text)
try:
    client.webhooks.unwrap(body.replace("event", "evens", 1), headers)
    forged = True
except openai.InvalidWebhookSignatureError:
    forged = False
print(json.dumps({"plain": plain["type"], "openai": event.type, "id": event.id, "created_at": event.created_at, "forged": forged}))
"""


def test_published_clients_verify_and_read_what_is_sent(gateway, receiver):
    webhook = add(gateway, receiver)
    chat(gateway.client)
    got = receiver.next()
    received = json.dumps({"headers": got.headers, "body": got.body.decode()})
    out = json.loads(run_with(CLIENTS, VERIFY, webhook["secret"], webhook["public_key"], received).splitlines()[-1])
    assert out == {"plain": "job.succeeded", "openai": "job.succeeded", "id": got.json["id"], "created_at": got.json["created_at"], "forged": False}


def test_a_failed_attempt_is_repeated_with_the_same_id_and_body(gateway, receiver):
    receiver.answers["/hook"] = [500, 503, 200]
    webhook = add(gateway, receiver)
    chat(gateway.client)
    first, second, third = receiver.take(3)
    assert first.id == second.id == third.id and first.body == second.body == third.body
    assert all(each.is_signed_with(webhook["secret"]) for each in (first, second, third))
    (logged,) = delivered(gateway, webhook)
    assert logged["attempts"] == 3 and "error" not in logged


def test_after_the_last_attempt_the_webhook_is_disabled_with_the_reason(gateway, receiver):
    receiver.answers["/hook"] = [500]
    webhook = add(gateway, receiver)
    chat(gateway.client)
    receiver.take(3)
    assert "the receiver answered 500" in disabled(gateway, webhook)["reason"]
    (logged,) = deliveries(gateway, webhook)
    assert (logged["state"], logged["http_status"], logged["attempts"]) == ("failed", 500, 3)
    again = gateway.client.post(f"/v1/webhooks/{webhook['id']}/deliveries/{logged['id']}/redeliver")
    assert again.status == 409 and "enable it first" in again.json()["error"]["message"], again.body
    receiver.answers["/hook"] = [200]
    assert gateway.client.request("PATCH", f"/v1/webhooks/{webhook['id']}", {"status": "enabled"}).json()["status"] == "enabled"
    again = gateway.client.post(f"/v1/webhooks/{webhook['id']}/deliveries/{logged['id']}/redeliver")
    assert again.status == 200 and again.json()["state"] == "pending", again.body
    assert receiver.next().id == logged["id"]
    delivered(gateway, webhook)


def test_a_receiver_that_is_gone_is_disabled_at_once(gateway, receiver):
    receiver.answers["/hook"] = [410]
    webhook = add(gateway, receiver)
    chat(gateway.client)
    receiver.next()
    assert "410" in disabled(gateway, webhook)["reason"]
    (logged,) = deliveries(gateway, webhook)
    assert (logged["state"], logged["attempts"]) == ("failed", 1)


def test_a_redirect_is_a_failure_and_not_followed(gateway, receiver):
    receiver.answers["/hook"] = [307, 200]
    receiver.headers["/hook"] = {"Location": receiver.url("/elsewhere")}
    webhook = add(gateway, receiver)
    chat(gateway.client)
    assert [each.path for each in receiver.take(2)] == ["/hook", "/hook"]
    delivered(gateway, webhook)
    assert receiver.received.empty()


def test_a_receiver_that_answers_too_late_is_tried_again_and_delays_no_other(tmp_path):
    slow, quick = WebhookReceiver(), WebhookReceiver()
    gateway = webhook_gateway(tmp_path, slow, quick, args=["--webhooks.timeout", "2s"])
    try:
        slow.answers["/hook"] = [None, 200]
        late, other = add(gateway, slow), add(gateway, quick)
        jobs = [chat(gateway.client) for _ in range(3)]
        assert sorted(each.json["data"]["id"] for each in quick.take(3, within_s=10)) == sorted(jobs)
        delivered(gateway, other, 3)
        logged = delivered(gateway, late, 3)
        assert sorted(each["attempts"] for each in logged) == [1, 1, 2]
        ids = [each.id for each in slow.take(4)]
        assert len(set(ids)) == 3
    finally:
        slow.close()
        quick.close()
        gateway.close()


@pytest.mark.parametrize(
    "url",
    ["https://127.0.0.1/", "https://10.0.0.7/hook", "https://[::1]/", "https://169.254.169.254/", "https://localhost/",
     "https://metadata.google.internal/", "http://example.com/", "https://user:pw@example.com/", "https://example.com:22/", "ftp://example.com/",
     "https://0x7f000001/"],
)  # fmt: skip
def test_a_private_or_plain_address_is_refused_with_the_setting_that_opens_it(gateway, url):
    reply = gateway.client.post("/v1/webhooks", {"url": url})
    assert reply.status == 422, reply.body
    error = reply.json()["error"]
    assert error["param"] == "url"
    if "user:pw" not in url:
        assert "--webhooks.allowed-hosts" in error["message"]


def test_a_host_that_is_no_longer_allowed_gets_nothing(tmp_path, receiver):
    gateway = webhook_gateway(tmp_path, receiver)
    try:
        webhook = add(gateway, receiver)
        gateway.kill()
        gateway.command[gateway.command.index("--webhooks.allowed-hosts") + 1] = "hooks.example"
        gateway.restart()
        chat(gateway.client)
        assert "--webhooks.allowed-hosts" in disabled(gateway, webhook)["reason"]
        assert receiver.received.empty()
    finally:
        gateway.close()


def test_both_secrets_sign_during_a_rotation(gateway, receiver):
    webhook = add(gateway, receiver)
    rotated = gateway.client.post(f"/v1/webhooks/{webhook['id']}/rotate")
    assert rotated.headers["cache-control"] == "no-store"
    rotated = rotated.json()
    assert rotated["secret"] != webhook["secret"] and rotated["previous_public_key"] == webhook["public_key"]
    chat(gateway.client)
    got = receiver.next()
    assert got.is_signed_with(webhook["secret"]) and got.is_signed_with(rotated["secret"])
    assert len(got.signatures("v1")) == len(got.signatures("v1a")) == 2
    third = gateway.client.post(f"/v1/webhooks/{webhook['id']}/rotate").json()
    chat(gateway.client)
    got = receiver.next()
    assert got.is_signed_with(third["secret"]) and got.is_signed_with(rotated["secret"]) and not got.is_signed_with(webhook["secret"])


def test_a_secret_of_the_past_no_longer_signs(tmp_path, receiver):
    gateway = webhook_gateway(tmp_path, receiver, args=["--webhooks.rotation", "0s"])
    try:
        webhook = add(gateway, receiver)
        rotated = gateway.client.post(f"/v1/webhooks/{webhook['id']}/rotate").json()
        assert "previous_until" not in rotated
        chat(gateway.client)
        got = receiver.next()
        assert got.is_signed_with(rotated["secret"]) and not got.is_signed_with(webhook["secret"])
    finally:
        gateway.close()


def test_filters_select_events_and_kinds(gateway, receiver):
    add(gateway, receiver, "/failed", events=["job.failed", "batch.*"])
    add(gateway, receiver, "/ocr", kinds=["ocr"])
    add(gateway, receiver, "/chats", events=["job.*"], kinds=["chat"])
    job = chat(gateway.client)
    got = receiver.next()
    assert (got.path, got.json["data"]["id"]) == ("/chats", job)
    bad = gateway.client.submit_ocr("data:application/pdf;base64," + base64.b64encode(b"%PDF-1.4\nbroken").decode()).json()["id"]
    got = sorted(receiver.take(2), key=lambda each: each.path)
    assert [each.path for each in got] == ["/failed", "/ocr"] and got[0].json["type"] == "job.failed"
    assert got[0].json["data"]["id"] == bad and got[0].json["data"]["error"]["code"]
    assert receiver.received.empty()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "url"),
        ({"url": "https://example.com/", "events": ["job.begun"]}, "event"),
        ({"url": "https://example.com/", "kinds": ["machine"]}, "kind"),
        ({"url": "https://example.com/", "events": "job.*"}, "list"),
        ({"url": "https://example.com/" + "a" * 3000}, "2048"),
        ({"url": "https://example.com/", "secret": "mine"}, "secret"),
    ],
)
def test_a_wrong_request_is_refused_with_its_field(gateway, body, words):
    reply = gateway.client.post("/v1/webhooks", body)
    assert reply.status == 422 and words in reply.body.decode(), reply.body


def test_the_events_of_a_cancelled_job_are_told(gateway, receiver):
    webhook = add(gateway, receiver, events=["job.cancelled"])
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": "x"}], "deferred": True, "delay": 3600}
    job = gateway.client.post("/v1/chat/completions", body).json()["request_id"]
    assert gateway.client.post(f"/v1/jobs/{job}/cancel").status == 200
    assert receiver.next().json["data"]["status"] == "cancelled"
    delivered(gateway, webhook)


def test_a_kill_between_the_end_and_the_delivery_loses_nothing(tmp_path, receiver):
    gateway = webhook_gateway(tmp_path, receiver, args=["--webhooks.timeout", "1s"])
    try:
        receiver.answers["/hook"] = [None]
        webhook = add(gateway, receiver)
        job = chat(gateway.client)
        first = receiver.next()  # it is sent, and the answer never comes
        gateway.kill()
        receiver.answers["/hook"] = [200]
        gateway.restart()
        again = receiver.next(within_s=60)
        assert again.id == first.id and again.json["data"]["id"] == job
        (logged,) = delivered(gateway, webhook)
        assert logged["attempts"] == 2
    finally:
        gateway.close()


def test_what_ends_while_the_receiver_is_down_waits(tmp_path, receiver):
    gateway = webhook_gateway(tmp_path, receiver)
    try:
        webhook = add(gateway, receiver)
        assert gateway.client.request("PATCH", f"/v1/webhooks/{webhook['id']}", {"status": "disabled"}).json()["status"] == "disabled"
        job = chat(gateway.client)
        assert gateway.client.wait_terminal(job)["status"] == "succeeded"
        assert gateway.client.post(f"/v1/webhooks/{webhook['id']}/test").status == 409
        assert gateway.client.request("PATCH", f"/v1/webhooks/{webhook['id']}", {"status": "enabled"}).status == 200
        assert gateway.client.post(f"/v1/webhooks/{webhook['id']}/test").status == 200
        assert receiver.next().json["type"] == "webhook.test", "a disabled webhook records nothing"
    finally:
        gateway.close()


def test_two_processes_send_each_delivery_once(tmp_path, receiver):
    gateway = webhook_gateway(tmp_path, receiver)
    settings = ["--webhooks.allowed-hosts", receiver.host, "--webhooks.retries", "100ms,100ms"]
    second = Gateway(tmp_path / "data", *settings, role="api", env=MOCK).start()
    try:
        webhook = add(gateway, receiver)
        jobs = {chat((gateway if n % 2 else second).client) for n in range(60)}
        got = receiver.take(60)
        assert {each.json["data"]["id"] for each in got} == jobs
        delivered(gateway, webhook, 60)
        assert receiver.received.empty() and len({each.id for each in got}) == 60
    finally:
        second.close()
        gateway.close()


def test_a_job_that_a_separate_worker_ends_is_delivered(tmp_path, receiver):
    api = webhook_gateway(tmp_path, receiver, role="api")
    worker = Worker(tmp_path / "data", kinds="chat", env=MOCK).start()
    try:
        add(api, receiver)
        job = chat(api.client)
        assert receiver.next().json["data"]["id"] == job
    finally:
        worker.close()
        api.close()


def test_the_phases_of_a_machine_arrive_in_order(receiver):
    receiver.answers["/hook"] = [500, 200]  # the first event is delayed, and the later ones wait for it
    settings = ["--webhooks.allowed-hosts", receiver.host, "--webhooks.retries", "100ms"]
    with reachable_folder() as folder, closing(start(folder / "data", *settings)) as gateway:
        path = f"/v1/machines/{local(gateway.client)}"
        eventually(lambda: gateway.client.get(path).json()["phase"] in ("running", "sleeping"), what="the first machine has started")
        webhook = add(gateway, receiver, events=["machine.*"])
        machine = gateway.client.post("/v1/machines", {"name": "box"}).json()["machine_id"]
        first, again = receiver.take(2)
        assert first.id == again.id and first.json["type"] == "machine.accepted"
        seen = [again.json["type"]]
        while seen[-1] != "machine.running":
            seen.append(receiver.next(within_s=60).json["type"])
        assert gateway.client.request("DELETE", f"/v1/machines/{machine}").status == 200
        while seen[-1] != "machine.destroyed":
            got = receiver.next(within_s=60)
            assert got.json["data"]["machine_id"] == machine
            seen.append(got.json["type"])
        assert seen == ["machine.accepted", "machine.running", "machine.destroying", "machine.destroyed"]
        assert [each["event"] for each in reversed(delivered(gateway, webhook, len(seen)))] == seen


def test_a_tenant_sees_only_its_own_webhooks_and_is_sent_only_its_own_events(gateway, receiver):
    scopes = ["chat", "jobs:read", "webhooks:read", "webhooks:write"]
    key = gateway.client.post("/v1/admin/keys", {"name": "other", "tenant": "other", "scopes": scopes}).json()["key"]
    other = Client(gateway.url, key)
    mine = add(gateway, receiver, "/mine")
    theirs = add(gateway, receiver, "/theirs", client=other)
    assert [each["id"] for each in other.get("/v1/webhooks").json()["items"]] == [theirs["id"]]
    for method, below in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/test"), ("POST", "/rotate"), ("GET", "/deliveries")):
        assert other.request(method, f"/v1/webhooks/{mine['id']}{below}").status == 404
    job = chat(other)
    got = receiver.next()
    assert (got.path, got.json["data"]["id"]) == ("/theirs", job)
    (logged,) = eventually(lambda: deliveries_of(other, theirs), what="the delivery is logged")
    assert gateway.client.post(f"/v1/webhooks/{mine['id']}/deliveries/{logged['id']}/redeliver").status == 404
    reader = gateway.client.post("/v1/admin/keys", {"name": "reader", "scopes": ["webhooks:read"]}).json()["key"]
    assert Client(gateway.url, reader).post("/v1/webhooks", {"url": receiver.url()}).status == 403
    assert receiver.received.empty()


def deliveries_of(client, webhook):
    return client.get(f"/v1/webhooks/{webhook['id']}/deliveries").json()["items"]


def test_a_webhook_is_sent_no_more_than_its_key_may_read(gateway, receiver):
    def client_with(*scopes):
        return Client(gateway.url, gateway.client.post("/v1/admin/keys", {"name": "some", "scopes": ["webhooks:write", *scopes]}).json()["key"])

    add(gateway, receiver, "/none", client=client_with())
    add(gateway, receiver, "/states", client=client_with("jobs:read"))
    add(gateway, receiver, "/contents", client=client_with("jobs:read", "chat"))
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": "x"}], "deferred": True, "metadata": {"customer": "secret"}}
    job = gateway.client.post("/v1/chat/completions", body).json()["request_id"]
    got = {each.path: each.json for each in receiver.take(2)}
    assert set(got) == {"/states", "/contents"} and got["/states"]["id"] == got["/contents"]["id"]
    assert all(each["data"]["id"] == job for each in got.values())
    weak = client_with("webhooks:read")
    (strong,) = [each for each in weak.get("/v1/webhooks").json()["items"] if each["url"].endswith("/contents")]
    (logged,) = delivered(gateway, strong)
    assert "payload" not in weak.get(f"/v1/webhooks/{strong['id']}/deliveries/{logged['id']}").json()
    for method, below in (("PATCH", ""), ("POST", "/rotate")):
        refused = weak.request(method, f"/v1/webhooks/{strong['id']}{below}", {} if method == "PATCH" else None)
        assert refused.status == 403 and "jobs:read" in refused.json()["error"]["message"], refused.body
    assert got["/contents"]["data"]["metadata"] == {"customer": "secret"} and "metadata" not in got["/states"]["data"]
    assert receiver.received.empty()


def test_the_webhook_of_a_revoked_key_is_disabled_and_another_key_may_take_it_over(gateway, receiver):
    made = gateway.client.post("/v1/admin/keys", {"name": "short", "scopes": ["webhooks:write", "jobs:read"]}).json()
    webhook = add(gateway, receiver, client=Client(gateway.url, made["key"]))
    rotated = gateway.client.post(f"/v1/admin/keys/{made['id']}/rotate", {"overlap_seconds": 0}).json()
    chat(gateway.client)
    receiver.next()
    assert gateway.client.request("DELETE", f"/v1/admin/keys/{rotated['id']}").status == 200
    job = chat(gateway.client)
    assert "revoked" in disabled(gateway, webhook)["reason"]
    assert gateway.client.request("PATCH", f"/v1/webhooks/{webhook['id']}", {"status": "enabled"}).status == 200
    assert receiver.next().json["data"]["id"] == job


def test_a_deleted_webhook_gets_nothing_more(gateway, receiver):
    receiver.answers["/hook"] = [500]
    webhook = add(gateway, receiver)
    chat(gateway.client)
    receiver.next()
    gone = gateway.client.request("DELETE", f"/v1/webhooks/{webhook['id']}")
    assert gone.json() == {"id": webhook["id"], "object": "webhook", "deleted": True}
    assert gateway.client.get(f"/v1/webhooks/{webhook['id']}").status == 404
    other = add(gateway, receiver, "/other")
    job = chat(gateway.client)
    got = eventually(lambda: (each := receiver.next()).path == "/other" and each, what="the other one is sent its event")
    assert got.json["data"]["id"] == job
    delivered(gateway, other)


def test_the_number_of_webhooks_is_bounded_and_the_limit_is_named(tmp_path, receiver):
    gateway = webhook_gateway(tmp_path, receiver, args=["--webhooks.per-tenant", "1"])
    try:
        webhook = add(gateway, receiver)
        refused = gateway.client.post("/v1/webhooks", {"url": receiver.url()})
        assert refused.status == 409 and "webhooks.per_tenant" in refused.json()["error"]["message"], refused.body
        assert gateway.client.request("DELETE", f"/v1/webhooks/{webhook['id']}").status == 200
        add(gateway, receiver)
    finally:
        gateway.close()


def test_a_repeated_key_sends_one_test(gateway, receiver):
    webhook = add(gateway, receiver)
    key = {"Idempotency-Key": uuid.uuid4().hex}
    first = gateway.client.post(f"/v1/webhooks/{webhook['id']}/test", headers=key)
    again = gateway.client.post(f"/v1/webhooks/{webhook['id']}/test", headers=key)
    assert first.json() == again.json() and again.headers["idempotent-replayed"] == "true"
    assert receiver.next().id == first.json()["id"]
    delivered(gateway, webhook)
    assert receiver.received.empty()


def test_the_end_of_a_batch_is_one_event_that_the_openai_client_reads(gateway, receiver):
    webhook = add(gateway, receiver)
    line = {"model": "mock/chat", "messages": [{"role": "user", "content": "hi"}]}
    good = end(gateway.client, start_batch(gateway.client, lines_of([line] * 20)))
    bad = end(gateway.client, start_batch(gateway.client, b"{}"))
    for batch, event in ((good, "batch.completed"), (bad, "batch.failed")):
        got = receiver.next()
        assert (got.json["type"], got.json["data"], got.json["object"]) == (event, {"id": batch["id"]}, "event")
        sent = json.dumps({"headers": got.headers, "body": got.body.decode()})
        read = json.loads(run_with(CLIENTS, VERIFY, webhook["secret"], webhook["public_key"], sent).splitlines()[-1])
        assert read["openai"] == event and not read["forged"]
    assert len(delivered(gateway, webhook, 2)) == 2, "the jobs of the lines send none"

