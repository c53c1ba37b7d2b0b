"""Thousands of deferred completions handed in at once, through a real broker to a provider with limits, while the api
and the workers are killed: each is there once, with its own answer, and none was lost to a 429."""

import bisect
import http.client
import json
import os
import threading
import time
import uuid

import pytest
from counting import CountingUpstream
from millrace import Gateway, Worker, admin_key

CHATS = int(os.environ.get("MILLRACE_TEST_CHATS", "2000"))  # 10000 by hand: docs/benchmarks.md
LINES = 4  # keep-alive connections
AT_A_TIME = 16  # calls of the bounded model, by one worker
KILLED_WORKERS = 2
PATIENCE_S = 60 + CHATS / 20
LOST_CONNECTION = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)
BOUNDED, STRICT = "team/bounded", "team/strict"
EVERY = 50  # of the hand-ins one is for the model that has no limits here and refuses much


@pytest.fixture
def upstream():
    with CountingUpstream(at_a_time=2 * AT_A_TIME, refused={"strict": 5}) as instance:
        yield instance


@pytest.fixture
def house(tmp_path, kafka, upstream):
    instance = House(tmp_path, kafka, upstream)
    yield instance
    instance.close()


class House:
    """One api, and two workers of kind chat that begin late, on one store."""

    def __init__(self, folder, kafka, upstream):
        config = folder / "millrace.yaml"
        config.write_text(
            f"models:\n"
            f"- {{name: {BOUNDED}, provider: openai, model: bounded, base_url: '{upstream.url}', api_key: env:UP_KEY,"
            f" limits: {{concurrent: {AT_A_TIME}}}}}\n"
            f"- {{name: {STRICT}, provider: openai, model: strict, base_url: '{upstream.url}', api_key: env:UP_KEY}}\n"
        )
        self.data = folder / "data"
        shared = ("--kafka", kafka.address, "--config", config)
        keys = {"UP_KEY": "sk-0123456789"}
        self.api = Gateway(self.data, *shared, role="api", env=keys).start()
        self.workers = [Worker(self.data, *shared, name=name, kinds="chat", env=keys) for name in ("one", "two")]

    def close(self):
        for process in (self.api, *self.workers):
            process.close()

    def tails(self):
        return "\n".join(f"== {p.log.name}\n{p.tail(15)}" for p in (self.api, *self.workers) if p.log.exists())


class Line:
    """A keep-alive connection to the api, made anew wherever that has come back."""

    def __init__(self, house):
        self._house = house
        self._headers = {"Authorization": f"Bearer {admin_key(house.data)}", "Content-Type": "application/json"}
        self._connection = None
        self._gone = threading.Event()

    def ask(self, method, path, body=None, **headers):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                if self._connection is None:
                    address = self._house.api.client.address
                    self._connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
                    self._connection.connect()
                self._connection.request(method, path, body=body, headers={**self._headers, **headers})
                reply = self._connection.getresponse()
                read = reply.read()
                if reply.status != 503:
                    return reply.status, read
            except LOST_CONNECTION:
                self._connection = None
            assert time.monotonic() < deadline, f"no answer to {method} {path}"
            self._gone.wait(0.02)


class Orders:
    """Hands in every `LINES`-th word on each of several lines."""

    def __init__(self, house, words):
        self._house, self._words = house, words
        self._lock = threading.Condition()
        self.jobs, self.faults = {}, []  # word → job
        self._threads = [threading.Thread(target=self._hand_in, args=(n,), daemon=True) for n in range(LINES)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def _hand_in(self, number):
        line = Line(self._house)
        try:
            for at in range(number, len(self._words), LINES):
                word = self._words[at]
                body = {"model": model_of(at), "messages": f"say {word}", "deferred": True}
                status, read = line.ask("POST", "/v1/chat/completions", json.dumps(body), **{"Idempotency-Key": word})
                assert status == 200, (word, status, read)
                with self._lock:
                    self.jobs[word] = json.loads(read)["request_id"]
                    self._lock.notify_all()
        except BaseException as fault:
            with self._lock:
                self.faults.append(repr(fault))
                self._lock.notify_all()

    def wait(self, count):
        with self._lock:
            met = self._lock.wait_for(lambda: len(self.jobs) >= count or self.faults, PATIENCE_S)
        assert met and not self.faults, (self.faults[:3], len(self.jobs), count)


def model_of(at):
    return STRICT if at % EVERY == 0 else BOUNDED


def answer_of(line, job):
    """The completion's text, once it is there."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        status, read = line.ask("GET", f"/v1/chat/deferred-completion/{job}")
        if status == 200:
            return json.loads(read)["choices"][0]["message"]["content"]
        assert status == 202 and time.monotonic() < deadline, (job, status, read)
        line.ask("GET", f"/v1/jobs/{job}", Prefer="wait=10")


def sendings(line, job):
    _, read = line.ask("GET", f"/v1/jobs/{job}/events?limit=200")
    return sum(event["type"] == "sent" for event in json.loads(read)["items"])


def most_overtaken(started, rank):
    """How many that were handed in earlier started later than any one of `started`, at most."""
    later, most = [], 0
    for word in reversed(started):
        most = max(most, bisect.bisect_left(later, rank[word]))
        bisect.insort(later, rank[word])
    return most


def kill_while_they_work(house, orders, upstream):
    """The api, then each worker; each comes back at once. The workers have a long queue when they begin."""
    orders.wait(CHATS // 3)
    house.api.kill()
    house.api.start()
    orders.wait(CHATS // 2)
    for worker in house.workers:
        worker.start()
    for worker, answered in zip(house.workers, (CHATS // 8, CHATS // 3)):
        upstream.wait_answered(answered, PATIENCE_S)
        worker.kill()
        worker.start()


def test_thousands_at_once_are_all_answered_over_three_kills(house, upstream):
    words = [f"word{at}-{uuid.uuid4().hex}" for at in range(CHATS)]
    orders = Orders(house, words)
    began = time.monotonic()
    orders.start()
    try:
        kill_while_they_work(house, orders, upstream)
        orders.wait(CHATS)
        accepted = time.monotonic()
        upstream.wait_answered(CHATS, PATIENCE_S)
        answered = time.monotonic()
        line = Line(house)
        for word, job in orders.jobs.items():
            assert answer_of(line, job) == f"I heard {word}"
    except BaseException:
        print(house.tails())
        raise
    print(
        f"{CHATS} chats, accepted in {accepted - began:.1f} s, answered in {answered - began:.1f} s,"
        f" {upstream.refusals} refused, {upstream.answers.total() - CHATS} asked again"
    )
    assert len(set(orders.jobs.values())) == CHATS
    assert upstream.refusals["strict"] > 0  # and yet all of them have answers
    check_repeats(line, orders, upstream)
    check_order(orders, upstream, words)


def check_repeats(line, orders, upstream):
    """At least once: the provider hears a request again only where a worker was killed after it had sent it."""
    assert upstream.refusals["bounded"] == 0
    again = [word for word, times in upstream.answers.items() if times > 1]
    assert len(again) <= KILLED_WORKERS * 2 * AT_A_TIME, again
    for word in again:
        assert sendings(line, orders.jobs[word]) == upstream.answers[word], word


def check_order(orders, upstream, words):
    """By hand-in (ids are made one after the other), apart from what was claimed and not yet sent when another one was."""
    bounded = {word: job for at, word in enumerate(words) for job in [orders.jobs[word]] if model_of(at) == BOUNDED}
    rank = {word: at for at, word in enumerate(sorted(bounded, key=bounded.get))}
    started = [word for word in upstream.order if word in bounded]
    assert most_overtaken(started, rank) <= 2 * (2 + KILLED_WORKERS) * AT_A_TIME
