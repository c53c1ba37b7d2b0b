"""What a client of its own knows of the jobs it handed in, so that nobody else has to be believed.

Every order has its own nonce (in the document) and its own Idempotency-Key. It is repeated with the same key until it is
acknowledged, however often the gateway dies. At the end the ledger is held against what the gateway says:
every acknowledged job is there once, in one terminal state, with the result of its own document."""

import collections
import http.client
import itertools
import threading
import uuid
from dataclasses import dataclass

from documents import data_uri, tiny_pdf
from millrace import TERMINAL

CONNECTION_ERRORS = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)
OPEN_PER_THREAD = 100  # orders handed in and not known to have ended, unless the test says otherwise


@dataclass
class Order:
    nonce: str
    key: str
    job: str = None
    repeats: int = 0
    ended: bool = False


class Ledger:
    """Hands in orders from several threads while the gateway may die at any moment. `client` is asked for anew at every
    try, since a restarted gateway has another port."""

    def __init__(self, client, pages=1, open_per_thread=OPEN_PER_THREAD):
        self._client = client
        self._pages = pages
        self._open_per_thread = open_per_thread
        self._lock = threading.Condition()
        self._numbers = itertools.count()
        self._stopping = threading.Event()
        self._threads = []
        self.orders = []
        self.faults = []

    def start(self, threads=4):
        self._threads = [threading.Thread(target=self._hand_in, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def stop(self, within_s=60):
        """No new orders; the open ones are repeated until they are acknowledged."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(within_s)
            assert not thread.is_alive(), "an order was never acknowledged"

    def acknowledged(self):
        with self._lock:
            return sum(1 for order in self.orders if order.job)

    def wait_acknowledged(self, count, within_s=60):
        with self._lock:
            met = self._lock.wait_for(lambda: sum(1 for o in self.orders if o.job) >= count or self.faults, within_s)
        assert met and not self.faults, (self.faults, self.acknowledged(), count)

    def wait_progress(self, client, within_s=90):
        """Waits until the oldest acknowledged order that is not known to have ended has ended: a house that is killed
        faster than it can work would only show that twenty lost workers end a job."""
        with self._lock:
            waiting = sorted((o for o in self.orders if o.job and not o.ended), key=lambda order: order.job)
        if waiting:
            client.wait_terminal(waiting[0].job, within_s)
            waiting[0].ended = True

    def _hand_in(self):
        unsettled = collections.deque()
        while not self._stopping.is_set():
            if len(unsettled) == self._open_per_thread:
                self._until_terminal(unsettled.popleft())
            number = next(self._numbers)
            order = Order(nonce=f"nonce {number} {uuid.uuid4().hex}", key=f"key-{number}-{uuid.uuid4().hex}")
            with self._lock:
                self.orders.append(order)
            self._until_acknowledged(order)
            unsettled.append(order)

    def _until_terminal(self, order):
        """Keeps the backlog, and with it the end of the test, in bounds: accepting is faster than working."""
        while order.job and not self._stopping.is_set():
            try:
                if self._client().job(order.job, wait_s=1)["status"] in TERMINAL:
                    return
            except (AssertionError, *CONNECTION_ERRORS):
                self._stopping.wait(0.02)

    def _until_acknowledged(self, order):
        document = data_uri(tiny_pdf(*[f"{order.nonce} page {page}" for page in range(self._pages)]))
        gone = threading.Event()
        while not order.job:
            try:
                reply = self._client().submit_ocr(document, key=order.key)
                job = reply.headers["x-millrace-job"]
            except AssertionError as refused:
                if "(503," in str(refused):
                    order.repeats += 1
                    gone.wait(0.05)
                    continue
                with self._lock:
                    self.faults.append(f"{order.key}: {refused}")
                    self._lock.notify_all()
                return
            except CONNECTION_ERRORS:
                order.repeats += 1
                gone.wait(0.02)
                continue
            with self._lock:
                order.job = job
                self._lock.notify_all()

    def check(self, client, within_s=180, others=()):
        """Holds the ledger against the gateway, where `others` handed in beside it are known too. Returns the number of
        jobs."""
        assert not self.faults, self.faults[:5]
        orders = {order.job: order for order in self.orders}
        assert len(orders) == len(self.orders), "two orders got one job"
        for order in self.orders:
            job = client.wait_terminal(order.job, within_s)
            assert job["status"] == "succeeded", (order, job)
            self._check_result(client, order)
            self._check_history(client, order)
        assert set(all_jobs(client)) == {*orders, *others}, "the gateway has a job that nobody ordered, or lost one"
        return len(orders)

    def _check_result(self, client, order):
        reply = client.get(f"/v1/jobs/{order.job}/result")
        assert reply.status == 200, (order, reply.status, reply.body)
        pages = reply.json()["pages"]
        assert [page["index"] for page in pages] == list(range(self._pages)), (order, pages)
        for page in pages:
            assert f"{order.nonce} page {page['index']}" in page["markdown"], (order, page)

    def _check_history(self, client, order):
        events = client.get(f"/v1/jobs/{order.job}/events?limit=200").json()["items"]
        versions = [event["version"] for event in events]
        assert versions == list(range(1, len(versions) + 1)), (order, events)
        ends = [event for event in events if event["type"] in TERMINAL]
        assert len(ends) == 1 and events[-1] == ends[0], (order, events)


def all_jobs(client):
    """Ids of every job of the tenant, by its pages."""
    cursor, ids = "", []
    while True:
        page = client.get(f"/v1/jobs?limit=200&cursor={cursor}").json()
        ids += [job["id"] for job in page["items"]]
        cursor = page.get("next_cursor")
        if not cursor:
            return ids
