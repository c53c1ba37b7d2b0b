"""A provider of OpenAI's protocol that counts requests: it returns the last word of each message, refuses requests above its
limit, and records the order of the requests."""

import collections
import json
import threading

import openai_replies
from upstream import Upstream, json_reply


class CountingUpstream(Upstream):
    """`at_a_time`: more concurrent requests for a model get a 429. `refused`: (model, n); every n-th request for this model
    also gets a 429."""

    def __init__(self, at_a_time, refused=(), listen="127.0.0.1"):
        super().__init__(listen)
        self._at_a_time = at_a_time
        self._refused = dict(refused)
        self._lock = threading.Condition()
        self._in_progress = collections.Counter()
        self._requests = collections.Counter()
        self.order = []  # words in the order of their first requests
        self.answers = collections.Counter()  # by word
        self.refusals = collections.Counter()  # by model
        self.reply_always(self._answer)

    def wait_answered(self, count, within_s):
        with self._lock:
            met = self._lock.wait_for(lambda: len(self.answers) >= count, within_s)
            assert met, f"{len(self.answers)} of {count} words were requested; {self.refusals} refused"

    def _answer(self, seen):
        body = json.loads(seen.body)
        model, word = body["model"], body["messages"][-1]["content"].split()[-1]
        with self._lock:
            self._requests[model] += 1
            every = self._refused.get(model)
            if self._in_progress[model] > self._at_a_time or (every and self._requests[model] % every == 0):
                self.refusals[model] += 1
                return json_reply({"error": {"message": "slow down", "type": "rate_limit_error"}}, 429, retry_after_ms=20)
            if word not in self.answers:
                self.order.append(word)
            self.answers[word] += 1
            self._lock.notify_all()
        return openai_replies.completion(f"reply to {word}")

    def _next(self, seen):
        with self._lock:
            self._in_progress[seen.json["model"]] += 1
        return super()._next(seen)

    def _write(self, connection, seen, reply):
        try:
            return super()._write(connection, seen, reply)
        finally:
            with self._lock:
                self._in_progress[seen.json["model"]] -= 1
