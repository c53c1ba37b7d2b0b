"""A budget of $1 under thousands of deferred and hundreds of parallel direct requests, while the gateway is killed: what the
provider bills never exceeds it."""

import http.client
import json
import os
import random
import subprocess
import threading
import time

import openai_replies
import pytest
from millrace import BUILD, Gateway, admin_key, eventually
from upstream import Upstream

CHAT = "/v1/chat/completions"
DEFERRED = int(os.environ.get("MILLRACE_TEST_BUDGET_CHATS", "800"))  # 5000 by hand: docs/benchmarks.md
DIRECT = 200
BUDGET_USD = 1.0
PROMPT_USD, COMPLETION_USD = 3e-6, 15e-6  # per token
OUTPUT_MAX = 100
LOST_CONNECTION = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)
WITHIN_S = 120
TRIES = 40


class BillingUpstream(Upstream):
    """Bills each request when it decides on the reply, whether anyone receives it or not. Every tenth is refused for free."""

    def __init__(self):
        super().__init__()
        self._lock = threading.Condition()
        self._random = random.Random(7)
        self.billed, self.answered, self.uncapped = 0.0, 0, 0
        self.reply_always(self._answer)

    def wait_answered(self, count):
        with self._lock:
            met = self._lock.wait_for(lambda: self.answered >= count, WITHIN_S)
            assert met, f"{self.answered} of {count} requests arrived"

    def _answer(self, seen):
        body = json.loads(seen.body)
        cap = body.get("max_completion_tokens") or body.get("max_tokens")
        with self._lock:
            self.answered += 1
            self.uncapped += cap is None
            if self.answered % 10 == 0:
                reply = {"error": {"message": "slow down", "type": "rate_limit_error"}}
                self._lock.notify_all()
                return openai_replies.json_reply(reply, 429, retry_after_ms=20)
            usage = {"prompt_tokens": 40, "completion_tokens": self._random.randint(1, cap or OUTPUT_MAX)}
            usage["total_tokens"] = sum(usage.values())
            self.billed += usage["prompt_tokens"] * PROMPT_USD + usage["completion_tokens"] * COMPLETION_USD
            self._lock.notify_all()
        if body.get("stream"):
            return openai_replies.stream("some words", usage=usage)
        return openai_replies.completion("some words", usage=usage)


@pytest.fixture
def upstream():
    with BillingUpstream() as instance:
        yield instance


@pytest.fixture
def gateway(tmp_path, upstream):
    config = tmp_path / "millrace.yaml"
    config.write_text(
        f"models:\n- {{name: billed, provider: openai, base_url: '{upstream.url}', api_key: env:UP_KEY,"
        f" output_max: {OUTPUT_MAX}, price: {{prompt: {PROMPT_USD * 1e6}, completion: {COMPLETION_USD * 1e6}}}}}\n"
    )
    instance = Gateway(tmp_path / "data", "--config", config, env={"UP_KEY": "sk-0123456789"}).start()
    done = subprocess.run(
        [BUILD / "millrace", "tenants", "set", "default", f"usd={BUDGET_USD}", "period=total", "--data", instance.data],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    eventually(lambda: instance.client.get("/v1/usage").json()["budget"], what="budget")
    yield instance
    instance.close()


class Senders:
    """Threads that send requests, each over its own connection. A request whose reply is lost, or that is refused, is sent
    again; a thread ends when one was sent TRIES times."""

    def __init__(self, gateway):
        self._gateway = gateway
        self._key = admin_key(gateway.data)
        self._threads = []
        self._pause = threading.Event()
        self._lock = threading.Lock()
        self.replies = []  # (status, body), all of them
        self.lost = 0

    def start(self, threads, bodies):
        for number in range(threads):
            thread = threading.Thread(target=self._send_all, args=(bodies[number::threads],), daemon=True)
            self._threads.append(thread)
            thread.start()

    def join(self):
        for thread in self._threads:
            thread.join(WITHIN_S)
            assert not thread.is_alive()

    def _send_all(self, bodies):
        for body in bodies:
            tries = 0
            while self._send(json.dumps(body)) != 200:
                tries += 1
                if tries == TRIES:
                    return
                self._pause.wait(0.05)

    def _send(self, body):
        address = self._gateway.client.address
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        try:
            connection.request("POST", CHAT, body=body, headers=headers)
            reply = connection.getresponse()
            read = reply.read()
        except LOST_CONNECTION:
            with self._lock:
                self.lost += 1
            return None
        finally:
            connection.close()
        with self._lock:
            self.replies.append((reply.status, read))
        return reply.status


def usage(gateway):
    return gateway.client.get("/v1/usage?period=total").json()


def check_books(gateway, upstream):
    """What the provider billed is at most what was charged, and that is within the budget."""
    billed = upstream.billed  # before the books: requests may arrive in between
    books = usage(gateway)
    assert billed <= BUDGET_USD
    assert books["cost_usd"] + books["reserved_usd"] <= BUDGET_USD + 1e-9, books
    assert billed <= books["cost_usd"] + books["reserved_usd"] + 1e-9, (billed, books)
    return books


def kill(gateway):
    gateway.kill()
    gateway.start()


def direct(number):
    return {"model": "billed", "messages": f"say {number}", "stream": number % 2 == 0}


def test_a_budget_is_never_exceeded_over_kills(gateway, upstream):
    deferred, parallel = Senders(gateway), Senders(gateway)
    deferred.start(4, [{"model": "billed", "messages": f"say {n}", "deferred": True} for n in range(DEFERRED)])
    for answered in (60, 150):
        upstream.wait_answered(answered)
        kill(gateway)
        check_books(gateway, upstream)
    parallel.start(DIRECT, [direct(number) for number in range(DIRECT)])
    upstream.wait_answered(300)
    kill(gateway)
    deferred.join()
    parallel.join()
    check_books(gateway, upstream)
    jobs = [json.loads(body)["request_id"] for status, body in deferred.replies if status == 200]
    for job in jobs:
        gateway.client.wait_terminal(job, WITHIN_S)
    books = check_books(gateway, upstream)
    refused = [body for status, body in deferred.replies if status == 429]
    print(
        f"{len(jobs)} deferred accepted, {len(refused)} refused, {deferred.lost + parallel.lost} lost;"
        f" billed ${upstream.billed:.4f} in {upstream.answered} calls, charged ${books['cost_usd']:.4f}"
    )
    assert upstream.uncapped == 0, "each request limits its output"
    assert {json.loads(body)["error"]["code"] for body in refused} <= {"budget_exceeded"}
    statuses = {status for status, _ in deferred.replies + parallel.replies}
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
