"""Budgets of tenants and keys: API, command line, and what a request beyond them gets."""

import re
import subprocess

import openai_replies
import pytest
from billing import KEYS, billed_models
from millrace import BUILD, Client, Gateway, eventually
from senders import set_budget

CHAT = "/v1/chat/completions"
LOCAL_PDF = "data:application/pdf;base64,JVBERi0xLjQK"


@pytest.fixture
def gateway(tmp_path):
    config = tmp_path / "millrace.yaml"
    config.write_text("""mock: true
models:
- {name: priced, provider: mock, output_max: 100, price: {prompt: 3, completion: 5}}
""")
    instance = Gateway(tmp_path / "data", "--config", config).start()
    yield instance
    instance.close()


def command(*args, data):
    return subprocess.run([BUILD / "millrace", *args, "--data", data], capture_output=True, text=True, check=False)


def say(client, model="priced", **more):
    return client.post(CHAT, {"model": model, "messages": "one two three", **more})


def make_key(gateway, **fields):
    made = gateway.client.post("/v1/admin/keys", {"name": "limited", "scopes": ["chat", "jobs:read", "admin"], **fields})
    assert made.status == 200, made.body
    return made.json()


def expect_refused(reply, param="budget"):
    assert reply.status == 429, reply.body
    error = reply.json()["error"]
    assert (error["code"], error["param"]) == ("budget_exceeded", param), error


def test_a_key_without_money_is_refused_and_its_tenant_is_not(gateway):
    key = make_key(gateway, budget={"usd": 0, "period": "day"})
    client = Client(gateway.url, key["key"])
    expect_refused(say(client))
    expect_refused(say(client, deferred=True))
    assert int(say(client).headers["retry-after"]) <= 86_400
    assert client.get("/v1/usage").json()["key"]["budget"] == {"usd": 0.0, "period": "day"}
    assert say(gateway.client).status == 200


def test_a_budget_can_be_changed_and_removed(gateway):
    key = make_key(gateway, budget={"usd": 0})
    client = Client(gateway.url, key["key"])
    path = f"/v1/admin/keys/{key['id']}"
    changed = gateway.client.request("PATCH", path, {"budget": {"usd": 5, "period": "total"}})
    assert changed.status == 200 and changed.json()["budget"] == {"usd": 5.0, "period": "total"}, changed.body
    assert say(client).status == 200
    assert gateway.client.request("PATCH", path, {"budget": {"usd": 0}}).status == 200
    expect_refused(say(client))
    assert gateway.client.request("PATCH", path, {"budget": None}).status == 200
    assert say(client).status == 200


def test_a_key_with_a_budget_grants_no_money(gateway):
    client = Client(gateway.url, make_key(gateway, budget={"usd": 5, "period": "day"})["key"])
    for budget in (None, {"usd": 6, "period": "day"}, {"usd": 1, "period": "day"}, {"soft_usd": 1}):
        refused = client.post("/v1/admin/keys", {"name": "child", "scopes": ["chat"], "budget": budget})
        assert refused.status == 403, (budget, refused.body)
    child = client.post("/v1/admin/keys", {"name": "child", "scopes": ["chat"], "budget": {"usd": 0, "period": "day"}})
    assert child.status == 200, child.body


def test_what_was_spent_is_shown_with_and_without_a_budget(gateway):
    cost = float(say(gateway.client).headers["x-millrace-cost-usd"])
    say(gateway.client, deferred=True)
    gateway.client.wait_terminal(gateway.client.get("/v1/jobs").json()["items"][0]["id"])
    # The price in the header is rounded to 10⁻⁷ dollars.
    used = eventually(lambda: spent(gateway, 2 * cost - 2e-7), what="usage")
    assert used["tokens"] > 0 and used["requests"] >= 2 and used["reserved_usd"] == 0 and used["budget"] is None
    assert used["cost_usd"] == pytest.approx(2 * cost, abs=2e-7)
    done = command("tenants", "set", "default", "usd=2", "soft_usd=1", "period=month", data=gateway.data)
    assert re.search(r"^usd +[\d.e-]+ +2 +tenant, per month$", done.stdout, re.M), done.stdout
    shown = gateway.client.get("/v1/admin/tenants/default").json()
    assert shown["budget"] == {"usd": 2.0, "period": "month", "soft_usd": 1.0}
    assert shown["budget_used_usd"] == pytest.approx(2 * cost, abs=2e-7)


def spent(gateway, at_least):
    used = gateway.client.get("/v1/usage").json()
    return used if used["cost_usd"] >= at_least else None


def test_local_models_are_free_and_models_without_a_price_are_refused(gateway, tmp_path):
    set_budget = gateway.client.request("PUT", "/v1/admin/tenants/default", {"budget": {"usd": 0, "period": "total"}})
    assert set_budget.status == 200, set_budget.body
    assert gateway.client.submit_ocr(LOCAL_PDF).status == 202
    config = tmp_path / "more.yaml"
    config.write_text("models:\n- {name: unpriced, provider: openai, base_url: 'http://127.0.0.1:9/v1', api_key: env:UP_KEY}\n")
    api = Gateway(gateway.data, "--config", config, role="api", env={"UP_KEY": "sk-0123456789"})
    gateway.terminate()
    api.start()
    try:
        expect_refused(say(api.client, "unpriced"), "price")
        expect_refused(say(api.client, "unpriced", deferred=True), "price")
    finally:
        api.close()


def remote(price):
    return f"""models:
- {{name: talk, provider: openai, base_url: 'http://127.0.0.1:9/v1', api_key: env:UP_KEY, price: {price}}}
- {{name: scan, provider: mistral, model: mistral-ocr-latest, base_url: 'http://127.0.0.1:9/v1', api_key: env:UP_KEY, price: {price}}}
"""


def cancelled(client, kind):
    """A job of a model without a price that did not run."""
    if kind == "chat":
        job = say(client, "talk", deferred=True).json()["request_id"]
    else:
        job = client.submit_ocr(LOCAL_PDF, model="scan").json()["id"]
    assert client.post(f"/v1/jobs/{job}/cancel").status == 200
    return job


def test_a_job_that_was_stored_without_a_bound_of_its_cost_can_be_retried_under_a_budget(tmp_path):
    config = tmp_path / "millrace.yaml"
    config.write_text(remote("null"))
    api = Gateway(tmp_path / "data", "--config", config, role="api", env={"UP_KEY": "sk-0123456789"})
    try:
        client = api.start().client
        jobs = [cancelled(client, kind) for kind in ("chat", "ocr")]
        put = client.request("PUT", "/v1/admin/tenants/default", {"budget": {"usd": 1, "period": "total"}})
        assert put.status == 200, put.body
        for job in jobs:
            refused = client.post(f"/v1/jobs/{job}/retry")
            expect_refused(refused, "price")
            assert "has none" in refused.json()["error"]["message"]
        api.terminate()
        config.write_text(remote("{prompt: 3, completion: 5, page: 0.01}"))
        client = api.start().client
        for job in jobs:
            before = client.get("/v1/usage?period=total").json()["reserved_usd"]
            assert client.post(f"/v1/jobs/{job}/retry").status == 202
            assert client.get("/v1/usage?period=total").json()["reserved_usd"] > before
    finally:
        api.close()


def test_the_soft_limit_is_logged_once(gateway):
    put = gateway.client.request("PUT", "/v1/admin/tenants/default", {"budget": {"soft_usd": 1e-9, "period": "total"}})
    assert put.status == 200, put.body
    for _ in range(2):
        assert say(gateway.client).status == 200
    eventually(lambda: spent(gateway, 1e-8), what="usage")
    eventually(lambda: "budget_soft_limit" in gateway.tail(2000), what="the warning")
    assert gateway.tail(2000).count("budget_soft_limit") == 1


def test_a_call_under_a_budget_is_sent_once(tmp_path, upstream):
    def answer(_):
        if len(upstream.requests) % 2 == 0:
            raise ConnectionError("the provider closes the connection without a response")
        return openai_replies.completion("some words")

    upstream.reply_always(answer)
    config = tmp_path / "millrace.yaml"
    config.write_text(billed_models(upstream))
    api = Gateway(tmp_path / "data", "--config", config, role="api", env=KEYS).start()
    try:
        set_budget(api, 5)
        api.terminate()
        client = api.start().client
        replies = [say(client, "billed") for _ in range(4)]
        assert len(upstream.requests) > len(replies)
        assert len(upstream.requests) == sum(int(reply.headers["x-millrace-attempts"]) for reply in replies)
    finally:
        api.close()
