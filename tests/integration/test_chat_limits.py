"""The effect of a model's limits on direct and deferred completions of one gateway."""

import threading
import time

import openai_replies
import pytest
from millrace import Gateway, eventually
from upstream import Upstream, json_reply

CHAT = "/v1/chat/completions"


@pytest.fixture
def upstream():
    with Upstream() as instance:
        instance.reply_always(openai_replies.completion("Hello"))
        yield instance


@pytest.fixture
def opened(tmp_path, upstream):
    """Starts a gateway with a model `free`, and `bounded` with limits."""
    gateways = []

    def start(limits, *arguments):
        config = tmp_path / "millrace.yaml"
        row = f"provider: openai, base_url: '{upstream.url}', api_key: env:UP_KEY"
        config.write_text(f"models:\n- {{name: bounded, {row}, limits: {limits}}}\n- {{name: free, {row}}}\n")
        gateway = Gateway(tmp_path / "data", "--config", config, *arguments, env={"UP_KEY": "sk-0123456789"}).start()
        gateways.append(gateway)
        return gateway

    yield start
    for gateway in gateways:
        gateway.close()


def submit_chats(gateway, model, count, **more):
    body = {"model": model, "messages": "hello", "deferred": True, **more}
    return [gateway.client.post(CHAT, body).json()["request_id"] for _ in range(count)]


def all_succeed(gateway, jobs):
    for job in jobs:
        assert gateway.client.wait_terminal(job)["status"] == "succeeded"


def arrivals(upstream, model):
    """The arrival times of the model's requests."""
    return [seen.at for seen in upstream.requests if seen.json["model"] == model]


def test_the_limit_of_requests_per_minute_holds_and_does_not_delay_another_model(opened, upstream):
    gateway = opened("{requests_per_minute: 300}", "--slots", "chat=4")
    slow = submit_chats(gateway, "bounded", 45)  # 30 at once, then one each 221 ms
    quick = submit_chats(gateway, "free", 40)
    all_succeed(gateway, quick)
    assert any(gateway.client.job(job)["status"] == "queued" for job in slow)
    all_succeed(gateway, slow)
    came = arrivals(upstream, "bounded")
    assert len(came) == 45 and came[-1] - came[0] >= 15 * 0.221 * 0.98
    assert max(arrivals(upstream, "free")) < came[-1]


def test_direct_requests_may_use_the_limit_of_a_minute_at_once_and_the_next_gets_a_429(opened, upstream):
    gateway = opened("{requests_per_minute: 5}")
    replies = [gateway.client.post(CHAT, {"model": "bounded", "messages": "hello"}) for _ in range(6)]
    assert [reply.status for reply in replies] == [200] * 5 + [429]
    error = replies[-1].json()["error"]
    assert error["message"] == "model 'bounded' is at its limit of 5 requests per minute", error
    assert 30 < int(replies[-1].headers["retry-after"]) <= 60
    assert len(upstream.requests) == 5


def test_tokens_that_a_request_only_allows_do_not_use_up_the_minute(opened, upstream):
    gate = threading.Event()
    upstream.reply(openai_replies.completion("first").gated(0, gate))
    gateway = opened("{tokens_per_minute: 20000}")
    allowing = {"model": "bounded", "messages": "hello", "max_completion_tokens": 10**9}
    sender = threading.Thread(target=gateway.client.post, args=(CHAT, allowing))
    sender.start()
    upstream.wait_for(1)
    assert gateway.client.post(CHAT, {"model": "bounded", "messages": "hello"}).status == 200
    gate.set()
    sender.join()
    assert upstream.requests[0].json["max_completion_tokens"] == 10**9


def test_a_job_that_waits_for_a_limit_has_not_started_and_starts_when_there_is_capacity(opened, upstream):
    gate = threading.Event()
    upstream.reply(openai_replies.completion("first").gated(0, gate))
    gateway = opened("{concurrent: 1}")
    first, second = submit_chats(gateway, "bounded", 2)
    upstream.wait_for(1)
    assert gateway.client.job(first)["status"] == "running"
    waiting = gateway.client.get(f"/v1/jobs/{second}/events").json()["items"]
    assert [event["type"] for event in waiting] == ["queued"]
    opened_at = time.monotonic()
    gate.set()
    all_succeed(gateway, [first, second])
    assert time.monotonic() - opened_at < 0.9  # and not with the next poll of the store


def test_direct_and_deferred_requests_share_the_limits(opened, upstream):
    gate = threading.Event()
    upstream.reply(openai_replies.completion("first").gated(0, gate))
    gateway = opened("{concurrent: 1}")
    [job] = submit_chats(gateway, "bounded", 1)
    upstream.wait_for(1)
    refused = gateway.client.post(CHAT, {"model": "bounded", "messages": "hello"})
    assert refused.status == 429 and int(refused.headers["retry-after-ms"]) > 0
    gate.set()
    all_succeed(gateway, [job])

    def goes():
        return gateway.client.post(CHAT, {"model": "bounded", "messages": "hello"}).status == 200

    eventually(goes, what="a direct call succeeds after the deferred one")


def test_a_deferred_request_waits_for_a_direct_one_and_is_sent_when_that_ends(opened, upstream):
    gate = threading.Event()
    upstream.reply(openai_replies.completion("direct").gated(0, gate))
    gateway = opened("{concurrent: 1}")
    sender = threading.Thread(target=gateway.client.post, args=(CHAT, {"model": "bounded", "messages": "hello"}))
    sender.start()
    upstream.wait_for(1)
    [job] = submit_chats(gateway, "bounded", 1)
    all_succeed(gateway, submit_chats(gateway, "free", 3))
    assert gateway.client.job(job)["status"] == "queued"
    gate.set()
    all_succeed(gateway, [job])
    sender.join()


def test_a_higher_priority_goes_first_among_those_that_wait(opened, upstream):
    gate = threading.Event()
    upstream.reply(openai_replies.completion("first").gated(0, gate))
    gateway = opened("{concurrent: 1}")
    submit_chats(gateway, "bounded", 1)
    upstream.wait_for(1)
    jobs = [submit_chats(gateway, "bounded", 1, priority=p, user=f"p{p}")[0] for p in (0, 9, -5, 9)]
    gate.set()
    all_succeed(gateway, jobs)
    assert [seen.json["user"] for seen in upstream.requests[1:]] == ["p9", "p9", "p0", "p-5"]


def test_a_provider_that_sends_429_gets_no_request_until_its_retry_after(opened, upstream):
    too_much = json_reply({"error": {"message": "slow down", "type": "rate_limit_error"}}, 429, retry_after=1)
    upstream.reply(too_much, too_much)
    gateway = opened("{}", "--slots", "chat=2")
    jobs = submit_chats(gateway, "bounded", 12)
    all_succeed(gateway, jobs)
    came = arrivals(upstream, "bounded")
    assert sum(at < came[0] + 0.9 for at in came) <= 2
    assert len(came) == 14
