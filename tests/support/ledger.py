"""An independent record of the jobs that a client has submitted.

Every submission has a unique nonce (in the document) and a unique Idempotency-Key. It is repeated with the same key until it
is acknowledged, however often the gateway dies. At the end the ledger is compared with the gateway: every acknowledged job
exists once, in one terminal state, with the result of its document."""

import collections
import http.client
import itertools
import threading
import uuid
from dataclasses import dataclass

from documents import data_uri, line_scan, tiny_pdf
from millrace import TERMINAL

CONNECTION_ERRORS = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)
OPEN_PER_THREAD = 100  # submissions that are not known to have ended; the default


@dataclass
class Submission:
    nonce: str
    key: str
    work: object
    job: str = None
    repeats: int = 0
    ended: bool = False


class Documents:
    """OCR of documents with a text layer. Above 32 KiB they are blobs; `padding` makes them larger."""

    def __init__(self, pages=1, padding=0):
        self._pages = pages
        self._padding = padding

    def submit(self, client, submission):
        text = [f"{submission.nonce} page {page}" for page in range(self._pages)]
        document = data_uri(tiny_pdf(*text, padding=self._padding))
        return client.submit_ocr(document, key=submission.key).headers["x-millrace-job"]

    def check(self, client, submission):
        pages = result_of(client, submission)["pages"]
        assert [page["index"] for page in pages] == list(range(self._pages)), (submission, pages)
        for page in pages:
            assert f"{submission.nonce} page {page['index']}" in page["markdown"], (submission, page)


class Scans:
    """OCR of an image of one line of text."""

    _DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

    def submit(self, client, submission):
        document = data_uri(line_scan(self._text(submission)), media="image/png")
        return client.submit_ocr(document, key=submission.key).headers["x-millrace-job"]

    def check(self, client, submission):
        (page,) = result_of(client, submission)["pages"]
        assert self._text(submission) in page["markdown"], (submission, page)

    def _text(self, submission):
        number = submission.nonce.split()[1]
        return "scan " + " ".join(self._DIGITS[int(digit)] for digit in number)


class Chats:
    """Deferred chats with a model of CountingUpstream."""

    def __init__(self, model):
        self._model = model

    def submit(self, client, submission):
        body = {"model": self._model, "messages": f"say {submission.key}", "deferred": True}
        reply = client.post("/v1/chat/completions", body, headers={"Idempotency-Key": submission.key})
        assert reply.status == 200, (reply.status, reply.body)
        return reply.json()["request_id"]

    def check(self, client, submission):
        (choice,) = result_of(client, submission)["choices"]
        assert choice["message"]["content"] == f"reply to {submission.key}", (submission, choice)


def result_of(client, submission):
    reply = client.get(f"/v1/jobs/{submission.job}/result")
    assert reply.status == 200, (submission, reply.status, reply.body)
    return reply.json()


class Ledger:
    """Submits documents from several threads while the gateway may die at any moment. `client` is called for every attempt,
    because a restarted gateway has another port. `works`: what is submitted, in turn."""

    def __init__(self, client, pages=1, open_per_thread=OPEN_PER_THREAD, works=()):
        self._client = client
        self._works = works or [Documents(pages)]
        self._open_per_thread = open_per_thread
        self._lock = threading.Condition()
        self._numbers = itertools.count()
        self._stopping = threading.Event()
        self._threads = []
        self.submissions = []
        self.faults = []

    def start(self, threads=4):
        self._threads = [threading.Thread(target=self._submit_all, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def stop(self, within_s=60):
        """Makes no new submissions; the open ones are repeated until they are acknowledged."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(within_s)
            assert not thread.is_alive(), "a submission was never acknowledged"

    def acknowledged(self):
        with self._lock:
            return sum(1 for submission in self.submissions if submission.job)

    def wait_acknowledged(self, count, within_s=60):
        with self._lock:
            met = self._lock.wait_for(lambda: sum(1 for o in self.submissions if o.job) >= count or self.faults, within_s)
        assert met and not self.faults, (self.faults, self.acknowledged(), count)

    def wait_progress(self, client, within_s=90):
        """Waits until the oldest acknowledged submission that is not known to have ended has ended. A gateway that is killed
        faster than it can work would only show that a job fails after twenty lost workers."""
        with self._lock:
            waiting = sorted((o for o in self.submissions if o.job and not o.ended), key=lambda submission: submission.job)
        if waiting:
            client.wait_terminal(waiting[0].job, within_s)
            waiting[0].ended = True

    def _submit_all(self):
        unsettled = collections.deque()
        while not self._stopping.is_set():
            if len(unsettled) == self._open_per_thread:
                self._until_terminal(unsettled.popleft())
            number = next(self._numbers)
            submission = Submission(
                nonce=f"nonce {number} {uuid.uuid4().hex}",
                key=f"key-{number}-{uuid.uuid4().hex}",
                work=self._works[number % len(self._works)],
            )
            with self._lock:
                self.submissions.append(submission)
            self._until_acknowledged(submission)
            unsettled.append(submission)

    def _until_terminal(self, submission):
        """Limits the backlog, and so the duration of the test: jobs are accepted faster than they are run."""
        while submission.job and not self._stopping.is_set():
            try:
                if self._client().job(submission.job, wait_s=1)["status"] in TERMINAL:
                    return
            except (AssertionError, *CONNECTION_ERRORS):
                self._stopping.wait(0.02)

    def _until_acknowledged(self, submission):
        pause = threading.Event()
        while not submission.job:
            try:
                job = submission.work.submit(self._client(), submission)
            except AssertionError as refused:
                if "(503," in str(refused):
                    submission.repeats += 1
                    pause.wait(0.05)
                    continue
                with self._lock:
                    self.faults.append(f"{submission.key}: {refused}")
                    self._lock.notify_all()
                return
            except CONNECTION_ERRORS:
                submission.repeats += 1
                pause.wait(0.02)
                continue
            with self._lock:
                submission.job = job
                self._lock.notify_all()

    def check(self, client, within_s=180, others=()):
        """Compares the ledger with the gateway. `others` are ids of jobs that were submitted without the ledger. Returns the
        number of jobs."""
        assert not self.faults, self.faults[:5]
        submissions = {submission.job: submission for submission in self.submissions}
        assert len(submissions) == len(self.submissions), "two submissions have the same job"
        for submission in self.submissions:
            job = client.wait_terminal(submission.job, within_s)
            assert job["status"] == "succeeded", (submission, job)
            submission.work.check(client, submission)
            self._check_history(client, submission)
        assert set(all_jobs(client)) == {*submissions, *others}, "the gateway has a job that was not submitted, or lost one"
        return len(submissions)

    def _check_history(self, client, submission):
        events = client.get(f"/v1/jobs/{submission.job}/events?limit=200").json()["items"]
        versions = [event["version"] for event in events]
        assert versions == list(range(1, len(versions) + 1)), (submission, events)
        ends = [event for event in events if event["type"] in TERMINAL]
        assert len(ends) == 1 and events[-1] == ends[0], (submission, events)


def all_jobs(client):
    """The ids of all jobs of the tenant, read page by page."""
    cursor, ids = "", []
    while True:
        page = client.get(f"/v1/jobs?limit=200&cursor={cursor}").json()
        ids += [job["id"] for job in page["items"]]
        cursor = page.get("next_cursor")
        if not cursor:
            return ids
