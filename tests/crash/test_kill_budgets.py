"""A budget of $1 under thousands of deferred and hundreds of parallel direct requests, while the gateway is killed: what the
provider bills never exceeds it."""

import os
import time

import pytest
import senders
from billing import KEYS, BillingUpstream, billed_models
from millrace import Gateway
from senders import CHAT, WITHIN_S, Senders, deferred, direct

DEFERRED = int(os.environ.get("MILLRACE_TEST_BUDGET_CHATS", "800"))  # 5000 by hand: docs/benchmarks.md
DIRECT = 200
BUDGET_USD = 1.0


@pytest.fixture
def upstream():
    with BillingUpstream() as instance:
        yield instance


@pytest.fixture
def gateway(tmp_path, upstream):
    config = tmp_path / "millrace.yaml"
    config.write_text(billed_models(upstream))
    instance = Gateway(tmp_path / "data", "--config", config, env=KEYS).start()
    senders.set_budget(instance, BUDGET_USD)
    yield instance
    instance.close()


def check_books(gateway, upstream):
    return senders.check_books(gateway, upstream, BUDGET_USD)


def kill(gateway):
    gateway.kill()
    gateway.start()


def test_a_budget_is_never_exceeded_over_kills(gateway, upstream):
    jobs, parallel = Senders(gateway), Senders(gateway)
    jobs.start(4, [deferred(number) for number in range(DEFERRED)])
    for answered in (60, 150):
        upstream.wait_answered(answered, WITHIN_S)
        kill(gateway)
        check_books(gateway, upstream)
    parallel.start(DIRECT, [direct(number) for number in range(DIRECT)])
    upstream.wait_answered(300, WITHIN_S)
    kill(gateway)
    jobs.join()
    parallel.join()
    check_books(gateway, upstream)
    accepted = jobs.accepted()
    for job in accepted:
        gateway.client.wait_terminal(job, WITHIN_S)
    books = check_books(gateway, upstream)
    print(
        f"{len(accepted)} deferred accepted, {len(jobs.refused())} refused, {jobs.lost + parallel.lost} lost;"
        f" billed ${upstream.billed:.4f} in {upstream.answered} calls, charged ${books['cost_usd']:.4f}"
    )
    assert upstream.uncapped == 0, "each request limits its output"
    assert {error["code"] for error in jobs.refused()} <= {"budget_exceeded"}
    statuses = jobs.statuses() | parallel.statuses()
    assert statuses <= {200, 429, 503}, statuses


def spend_until_refused(gateway):
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        reply = gateway.client.post(CHAT, {"model": "billed", "messages": "say something"})
        if reply.status != 200:
            return reply
    raise AssertionError("the budget was never used up")


def test_a_budget_that_is_used_up_refuses_with_its_code_and_can_be_raised(gateway, upstream):
    refused = spend_until_refused(gateway)
    assert refused.status == 429, refused.body
    error = refused.json()["error"]
    assert (error["code"], error["param"]) == ("budget_exceeded", "budget"), error
    assert refused.headers["x-should-retry"] == "false"
    books = check_books(gateway, upstream)
    assert books["cost_usd"] > 0.99 * BUDGET_USD and books["reserved_usd"] == 0
    assert books["cost_usd"] == pytest.approx(upstream.billed)
    assert books["tokens"] > 0 and books["requests"] > 0
    put = gateway.client.request("PUT", "/v1/admin/tenants/default", {"budget": {"usd": 2 * BUDGET_USD, "period": "total"}})
    assert put.status == 200 and put.json()["budget_used_usd"] == pytest.approx(books["cost_usd"]), put.body
    assert gateway.client.post(CHAT, {"model": "billed", "messages": "say more"}).status == 200
