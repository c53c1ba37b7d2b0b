"""Limits of tenants and keys, on a real gateway."""

import json
import sqlite3
import subprocess

import pytest
from millrace import BUILD, Client, Gateway, eventually

URI = "data:application/pdf;base64,JVBERi0xLjQK"


def command(*args, data):
    return subprocess.run([BUILD / "millrace", *args, "--data", data], capture_output=True, text=True, check=False)


def set_limits(gateway, *words, tenant="default"):
    done = command("tenants", "set", tenant, *words, data=gateway.data)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def gateway(tmp_path):
    """Without workers, so jobs stay queued."""
    api = Gateway(tmp_path / "data", role="api").start()
    yield api
    api.close()


@pytest.fixture
def other(gateway):
    key = command("keys", "create", "--name", "other", "--tenant", "other", data=gateway.data).stdout.strip()
    return Client(gateway.url, key)


def submit(client, uri=URI):
    return client.post("/v1/ocr", {"document": {"document_url": uri}}, headers={"prefer": "respond-async"})


def expect_full(reply, status, quota):
    assert reply.status == status, reply.body
    error = reply.json()["error"]
    assert (error["code"], error["param"]) == ("quota_exceeded", quota), error
    assert f"`{quota}`" in error["message"], error


def test_a_tenant_at_its_limit_is_refused_and_another_is_not(gateway, other):
    set_limits(gateway, "running_jobs=2")
    jobs = [gateway.client.submit_ocr(URI).json()["id"] for _ in range(2)]
    refused = submit(gateway.client)
    expect_full(refused, 429, "running_jobs")
    assert int(refused.headers["retry-after"]) > 0
    assert other.submit_ocr(URI).status == 202
    assert gateway.client.post(f"/v1/jobs/{jobs[0]}/cancel").status == 200
    assert gateway.client.submit_ocr(URI).status == 202


def test_bytes_that_do_not_fit_are_refused_until_something_is_deleted(gateway):
    set_limits(gateway, "stored_bytes=1KiB")
    expect_full(submit(gateway.client, "data:application/pdf;base64," + "JVBERi0xLjQK" * 200), 409, "stored_bytes")
    assert gateway.client.submit_ocr(URI).status == 202


def test_machines_of_a_tenant_fit_its_limits(gateway, other):
    set_limits(gateway, "machines=1", "memory_mib=2048")
    client = gateway.client
    first = client.post("/v1/machines", {"memory_mib": 1024}, headers={"idempotency-key": "a"})
    assert first.status == 200, first.body
    refused = client.post("/v1/machines", headers={"idempotency-key": "b"})
    assert refused.status == 409, refused.body
    assert refused.json()["details"]["quota"] == "machines", refused.body
    machine = first.json()["machine_id"]
    grown = client.request("PATCH", f"/v1/machines/{machine}", {"memory_mib": 4096})
    assert grown.status == 409 and grown.json()["details"]["quota"] == "memory_mib", grown.body
    assert other.post("/v1/machines", headers={"idempotency-key": "a"}).status == 200


def test_by_default_a_tenant_cannot_have_more_machines_than_the_host_carries(gateway):
    for i in range(301):
        reply = gateway.client.post("/v1/machines", {"vcpu": 256}, headers={"idempotency-key": str(i)})
        if reply.status != 200:
            break
    assert reply.status == 409, "301 machines of 256 vCPU were accepted"
    assert reply.json()["details"]["quota"] == "vcpu"


def test_requests_per_minute_hold_for_all_keys_of_a_tenant(gateway):
    second = Client(gateway.url, command("keys", "create", "--name", "b", data=gateway.data).stdout.strip())
    set_limits(gateway, "requests_per_minute=3")
    eventually(lambda: "x-ratelimit-limit-requests" in gateway.client.get("/v1/jobs").headers)
    replies = [client.get("/v1/jobs") for client in [gateway.client, second] * 3]
    assert replies[-1].status == 429
    expect_full(replies[-1], 429, "requests_per_minute")
    assert replies[-1].headers["x-ratelimit-limit-requests"] == "3"


def test_an_administrator_sets_and_reads_limits_over_http(gateway, other):
    body = {"limits": {"machines": 3, "vcpu": "unlimited", "running_jobs": None}}
    put = gateway.client.request("PUT", "/v1/admin/tenants/other", body)
    assert put.status == 200, put.body
    tenant = put.json()
    assert tenant["limits"] == {"machines": 3, "vcpu": "unlimited"}
    assert tenant["effective_limits"]["running_jobs"] > 0
    assert gateway.client.get("/v1/admin/tenants/other").json() == tenant
    assert [t["name"] for t in gateway.client.get("/v1/admin/tenants").json()["items"]] == ["default", "other"]
    assert other.get("/v1/admin/tenants").status == 403
    assert other.request("PUT", "/v1/admin/tenants/other", body).status == 403
    usage = other.get("/v1/usage").json()
    assert usage["tenant"] == "other" and usage["limits"]["machines"] == 3
    unknown = gateway.client.request("PUT", "/v1/admin/tenants/other", {"limits": {"machine": 3}})
    assert unknown.status == 422 and "machines" in unknown.json()["error"]["message"], unknown.body
    negative = gateway.client.request("PUT", "/v1/admin/tenants/other", {"limits": {"machines": -1}})
    assert negative.status == 422, negative.body


def test_usage_shows_what_the_tenant_and_the_key_have(gateway):
    before = gateway.client.get("/v1/usage").json()
    gateway.client.submit_ocr(URI)
    usage = gateway.client.get("/v1/usage").json()
    assert usage["running_jobs"] == usage["stored_jobs"] == 1
    assert usage["stored_bytes"] > 0 == before["stored_bytes"]
    assert usage["key"]["running_jobs"] == 1
    assert gateway.client.get("/v1/usage?period=month").json()["period"] == "month"
    assert gateway.client.get("/v1/usage?period=year").status == 422


def test_a_key_has_limits_of_its_own(gateway):
    made = gateway.client.post("/v1/admin/keys", {"name": "small", "limits": {"running_jobs": 1}})
    assert made.status == 200, made.body
    small = Client(gateway.url, made.json()["key"])
    assert small.submit_ocr(URI).status == 202
    expect_full(submit(small), 429, "running_jobs")
    assert gateway.client.submit_ocr(URI).status == 202


def test_the_command_line_gives_a_key_limits(gateway):
    made = command("keys", "create", "--name", "small", "--limits", "running_jobs=1", data=gateway.data)
    small = Client(gateway.url, made.stdout.strip())
    assert small.submit_ocr(URI).status == 202
    expect_full(submit(small), 429, "running_jobs")
    key = made.stdout.split("_")[2]
    assert command("keys", "set", key, "--limits", "running_jobs=2,machines=0", data=gateway.data).returncode == 0
    assert small.submit_ocr(URI).status == 202
    wrong = command("keys", "set", key, "--limits", "jobs=2", data=gateway.data)
    assert wrong.returncode == 2 and "running_jobs" in wrong.stderr, wrong


def test_the_command_line_shows_and_changes_limits(gateway):
    printed = set_limits(gateway, "machines=4", "stored_bytes=2GiB")
    assert "machines" in printed and "tenant" in printed
    set_limits(gateway, "machines=default")
    shown = command("tenants", "show", "default", "--json", data=gateway.data)
    assert json.loads(shown.stdout)["limits"] == {"stored_bytes": 2 << 30}
    assert "default" in command("tenants", "ls", data=gateway.data).stdout
    for word in ["machines", "machines=many", "machine=3", "machines=-1", "vcpu=1GiB"]:
        wrong = command("tenants", "set", "default", word, data=gateway.data)
        assert wrong.returncode == 2 and "machines" in wrong.stderr, (word, wrong)


def test_with_one_trusted_tenant_there_are_no_default_limits(tmp_path):
    api = Gateway(tmp_path / "data", "--limits.single-tenant", "true", role="api").start()
    try:
        assert api.client.get("/v1/usage").json()["limits"] == {}
        set_limits(api, "machines=0")
        assert api.client.post("/v1/machines", headers={"idempotency-key": "a"}).status == 409
    finally:
        api.close()


def test_after_kill_9_the_counters_equal_the_rows(tmp_path):
    gateway = Gateway(tmp_path / "data", "--mock", "true").start()
    try:
        for i in range(300):
            gateway.client.submit_ocr(URI)
            if i % 100 == 99:
                gateway.kill()
                gateway.start()
        gateway.kill()
        with sqlite3.connect(gateway.data / "millrace.db") as db:
            rows = db.execute("SELECT count(*) FILTER (WHERE status < 3), count(*), sum(bytes) FROM jobs WHERE kind <> 3").fetchone()
            counters = db.execute("SELECT open_jobs, stored_jobs, stored_bytes FROM quota_usage WHERE owner = 't:default'").fetchone()
        assert rows == counters
    finally:
        gateway.close()
