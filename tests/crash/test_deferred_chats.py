"""Thousands of deferred completions submitted at once, through a real broker to a provider with limits, while the api and
the workers are killed: each exists once, with its response, and none is lost because of a 429."""

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
AT_A_TIME = 16  # concurrent calls of the bounded model by one worker
KILLED_WORKERS = 2
WITHIN_S = 60 + CHATS / 20
LOST_CONNECTION = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)
BOUNDED, STRICT = "team/bounded", "team/strict"
EVERY = 50  # one in so many submissions is for the model without limits, which refuses many requests


@pytest.fixture
def upstream():
    with CountingUpstream(at_a_time=2 * AT_A_TIME, refused={"strict": 5}) as instance:
        yield instance


@pytest.fixture
def processes(tmp_path, kafka, upstream):
    instance = Processes(tmp_path, kafka, upstream)
    yield instance
    instance.close()


class Processes:
    """One api, and two workers of kind chat that start late, on one store."""

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


class Connection:
    """A keep-alive connection to the api, which reconnects after a restart."""

    def __init__(self, processes):
        self._processes = processes
        self._headers = {"Authorization": f"Bearer {admin_key(processes.data)}", "Content-Type": "application/json"}
        self._connection = None
        self._pause = threading.Event()

    def send(self, method, path, body=None, **headers):
        deadline = time.monotonic() + WITHIN_S
        while True:
            try:
                if self._connection is None:
                    address = self._processes.api.client.address
                    self._connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
                    self._connection.connect()
                self._connection.request(method, path, body=body, headers={**self._headers, **headers})
                reply = self._connection.getresponse()
                read = reply.read()
                if reply.status != 503:
                    return reply.status, read
            except LOST_CONNECTION:
                self._connection = None
            assert time.monotonic() < deadline, f"no response to {method} {path}"
            self._pause.wait(0.02)


class Submissions:
    """Submits the words over several connections; each submits every `LINES`-th word."""

    def __init__(self, processes, words):
        self._processes, self._words = processes, words
        self._lock = threading.Condition()
        self.jobs, self.faults = {}, []  # word → job
        self._threads = [threading.Thread(target=self._submit, args=(n,), daemon=True) for n in range(LINES)]

    def start(self):
        for thread in self._threads:
            thread.start()

    def _submit(self, number):
        connection = Connection(self._processes)
        try:
            for at in range(number, len(self._words), LINES):
                word = self._words[at]
                body = {"model": model_of(at), "messages": f"say {word}", "deferred": True}
                status, read = connection.send("POST", "/v1/chat/completions", json.dumps(body), **{"Idempotency-Key": word})
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
            met = self._lock.wait_for(lambda: len(self.jobs) >= count or self.faults, WITHIN_S)
        assert met and not self.faults, (self.faults[:3], len(self.jobs), count)


def model_of(at):
    return STRICT if at % EVERY == 0 else BOUNDED


def answer_of(connection, job):
    """Waits for the completion; returns its text."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        status, read = connection.send("GET", f"/v1/chat/deferred-completion/{job}")
        if status == 200:
            return json.loads(read)["choices"][0]["message"]["content"]
        assert status == 202 and time.monotonic() < deadline, (job, status, read)
        connection.send("GET", f"/v1/jobs/{job}", Prefer="wait=10")


def requests_sent(connection, job):
    _, read = connection.send("GET", f"/v1/jobs/{job}/events?limit=200")
    return sum(event["type"] == "sent" for event in json.loads(read)["items"])


def most_overtaken(started, rank):
    """The maximum, over `started`, of earlier submissions that started later."""
    later, most = [], 0
    for word in reversed(started):
        most = max(most, bisect.bisect_left(later, rank[word]))
        bisect.insort(later, rank[word])
    return most


def kill_while_they_work(processes, submissions, upstream):
    """Kills the api, then each worker, and restarts each at once. The workers have a long queue when they start."""
    submissions.wait(CHATS // 3)
    processes.api.kill()
    processes.api.start()
    submissions.wait(CHATS // 2)
    for worker in processes.workers:
        worker.start()
    for worker, answered in zip(processes.workers, (CHATS // 8, CHATS // 3)):
        upstream.wait_answered(answered, WITHIN_S)
        worker.kill()
        worker.start()


def test_thousands_of_chats_are_all_completed_over_three_kills(processes, upstream):
    words = [f"word{at}-{uuid.uuid4().hex}" for at in range(CHATS)]
    submissions = Submissions(processes, words)
    began = time.monotonic()
    submissions.start()
    try:
        kill_while_they_work(processes, submissions, upstream)
        submissions.wait(CHATS)
        accepted = time.monotonic()
        upstream.wait_answered(CHATS, WITHIN_S)
        answered = time.monotonic()
        connection = Connection(processes)
        for word, job in submissions.jobs.items():
            assert answer_of(connection, job) == f"reply to {word}"
    except BaseException:
        print(processes.tails())
        raise
    print(
        f"{CHATS} chats, accepted in {accepted - began:.1f} s, completed in {answered - began:.1f} s,"
        f" {upstream.refusals} refused, {upstream.answers.total() - CHATS} sent again"
    )
    assert len(set(submissions.jobs.values())) == CHATS
    assert upstream.refusals["strict"] > 0  # and still all of them have responses
    check_repeats(connection, submissions, upstream)
    check_overtaking(submissions, upstream, words)


def check_repeats(connection, submissions, upstream):
    """Delivery is at least once: a request goes to the provider again only after a kill, and each is recorded before it
    goes. A kill between the record and the request leaves a record of a request that the provider never received."""
    assert upstream.refusals["bounded"] == 0
    again = [word for word, times in upstream.answers.items() if times > 1]
    assert len(again) <= KILLED_WORKERS * 2 * AT_A_TIME, again
    for word in again:
        recorded = requests_sent(connection, submissions.jobs[word])
        assert upstream.answers[word] <= recorded <= 1 + KILLED_WORKERS, (word, recorded)


def check_overtaking(submissions, upstream, words):
    """The order is that of submission (ids are made one after the other), except for jobs that were claimed but not yet sent."""
    bounded = {word: job for at, word in enumerate(words) for job in [submissions.jobs[word]] if model_of(at) == BOUNDED}
    rank = {word: at for at, word in enumerate(sorted(bounded, key=bounded.get))}
    started = [word for word in upstream.order if word in bounded]
    assert most_overtaken(started, rank) <= 2 * (2 + KILLED_WORKERS) * AT_A_TIME
