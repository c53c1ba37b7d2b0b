"""A provider of OpenAI's protocol that adds up what it bills for a model with a price."""

import json
import random
import threading

import openai_replies
from upstream import Upstream

PROMPT_USD, COMPLETION_USD = 3e-6, 15e-6  # per token
OUTPUT_MAX = 100
KEYS = {"UP_KEY": "sk-0123456789"}


def billed_models(upstream):
    """The text of a configuration file: the model `billed` of this provider, with its price."""
    return (
        f"models:\n- {{name: billed, provider: openai, base_url: '{upstream.url}', api_key: env:UP_KEY,"
        f" output_max: {OUTPUT_MAX}, price: {{prompt: {PROMPT_USD * 1e6}, completion: {COMPLETION_USD * 1e6}}}}}\n"
    )


class BillingUpstream(Upstream):
    """Bills each request when it decides on the reply, whether anyone receives it or not. Every tenth is refused for free."""

    def __init__(self):
        super().__init__()
        self._lock = threading.Condition()
        self._random = random.Random(7)
        self.billed, self.answered, self.uncapped = 0.0, 0, 0
        self.reply_always(self._answer)

    def wait_answered(self, count, within_s):
        with self._lock:
            met = self._lock.wait_for(lambda: self.answered >= count, within_s)
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
