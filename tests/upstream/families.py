"""The three protocols under one roof, for what must hold of each."""

from dataclasses import dataclass
from typing import Callable

import anthropic_words
import gemini_words
import openai_words


@dataclass(frozen=True)
class Family:
    name: str  # of the provider
    base_path: str  # of its base URL
    key_header: str
    key_prefix: str
    whole: Callable  # (text, calls=[(id, name, arguments)]) -> Reply
    stream: Callable  # the same
    refusal: Callable  # (status, ..., headers) -> Reply
    failure: Callable  # (text) -> an event inside a stream

    def __str__(self):
        return self.name

    def row(self, name, upstream, **more):
        """Its line of `models:`."""
        text = f"- {{name: {name}, provider: {self.name}, model: upstream-model, base_url: '{upstream.url}{self.base_path}'"
        return text + "".join(f", {key}: {value}" for key, value in more.items()) + "}\n"


OPENAI = Family(
    "openai",
    "/v1",
    "authorization",
    "Bearer ",
    openai_words.completion,
    openai_words.stream,
    openai_words.refusal,
    openai_words.failure,
)
ANTHROPIC = Family(
    "anthropic",
    "",
    "x-api-key",
    "",
    anthropic_words.message,
    anthropic_words.stream,
    anthropic_words.refusal,
    anthropic_words.failure,
)
GEMINI = Family(
    "gemini",
    "",
    "x-goog-api-key",
    "",
    gemini_words.content,
    gemini_words.stream,
    gemini_words.refusal,
    gemini_words.failure,
)
ALL = [OPENAI, ANTHROPIC, GEMINI]
