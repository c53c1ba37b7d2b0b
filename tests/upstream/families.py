"""The three provider protocols, for tests that must hold for each of them."""

from dataclasses import dataclass
from typing import Callable

import anthropic_replies
import gemini_replies
import openai_replies


@dataclass(frozen=True)
class Family:
    name: str  # name of the provider
    base_path: str  # path of its base URL
    key_header: str
    key_prefix: str
    complete: Callable  # (text, calls=[(id, name, arguments)]) -> Reply
    stream: Callable  # the same arguments
    refusal: Callable  # (status, ..., headers) -> Reply
    failure: Callable  # (text) -> an event inside a stream

    def __str__(self):
        return self.name

    def row(self, name, upstream, **more):
        """The line for this provider in `models:`."""
        text = f"- {{name: {name}, provider: {self.name}, model: upstream-model, base_url: '{upstream.url}{self.base_path}'"
        return text + "".join(f", {key}: {value}" for key, value in more.items()) + "}\n"


OPENAI = Family(
    "openai",
    "/v1",
    "authorization",
    "Bearer ",
    openai_replies.completion,
    openai_replies.stream,
    openai_replies.refusal,
    openai_replies.failure,
)
ANTHROPIC = Family(
    "anthropic",
    "",
    "x-api-key",
    "",
    anthropic_replies.message,
    anthropic_replies.stream,
    anthropic_replies.refusal,
    anthropic_replies.failure,
)
GEMINI = Family(
    "gemini",
    "",
    "x-goog-api-key",
    "",
    gemini_replies.content,
    gemini_replies.stream,
    gemini_replies.refusal,
    gemini_replies.failure,
)
ALL = [OPENAI, ANTHROPIC, GEMINI]
