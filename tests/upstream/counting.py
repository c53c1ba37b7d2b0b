"""A provider of OpenAI's protocol that counts: says each message's last word back, refuses what is above its own limit,
and remembers in which order it was asked."""

import collections
import json
import threading

import openai_words
from upstream import Upstream, json_reply


class CountingUpstream(Upstream):
    """`at_a_time`: more requests of a model than that at the same moment are a 429. `refused`: a model whose every n-th
    request is one, too, whoever asks."""

    def __init__(self, at_a_time, refused=()):
        super().__init__()
        self._at_a_time = at_a_time
        self._refused = dict(refused)
        self._lock = threading.Condition()
        self._under_way = collections.Counter()
        self._asked = collections.Counter()
        self.order = []  # words, as they were asked for the first time
        self.answers = collections.Counter()  # by word
        self.refusals = collections.Counter()  # by model
        self.reply_always(self._answer)

    def wait_answered(self, count, within_s):
        with self._lock:
            met = self._lock.wait_for(lambda: len(self.answers) >= count, within_s)
            assert met, f"{len(self.answers)} of {count} words were asked for; {self.refusals} refused"

    def _answer(self, seen):
        body = json.loads(seen.body)
        model, word = body["model"], body["messages"][-1]["content"].split()[-1]
        with self._lock:
            self._asked[model] += 1
            every = self._refused.get(model)
            if self._under_way[model] > self._at_a_time or (every and self._asked[model] % every == 0):
                self.refusals[model] += 1
                return json_reply({"error": {"message": "slow down", "type": "rate_limit_error"}}, 429, retry_after_ms=20)
            if word not in self.answers:
                self.order.append(word)
            self.answers[word] += 1
            self._lock.notify_all()
        return openai_words.completion(f"I heard {word}")

    def _next(self, seen):
        with self._lock:
            self._under_way[seen.json["model"]] += 1
        return super()._next(seen)

    def _write(self, connection, seen, reply):
        try:
            return super()._write(connection, seen, reply)
        finally:
            with self._lock:
                self._under_way[seen.json["model"]] -= 1
