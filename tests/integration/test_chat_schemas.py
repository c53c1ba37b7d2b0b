"""Responses with a strict schema of the client."""

import json
from contextlib import closing

import openai_replies
import pytest
from chat_calls import content_of, failed, post_chat
from chat_events import error_of
from model_gateway import model_gateway

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


def strict_format(schema):
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


@pytest.fixture
def gateway(tmp_path, upstream):
    """A gateway whose model `m` is the upstream, with OpenAI's protocol."""
    with closing(model_gateway(tmp_path, [("m", "openai", "upstream-model", f"{upstream.url}/v1")])) as started:
        yield started


def test_a_response_that_violates_a_strict_schema_is_requested_again_and_then_an_error(gateway, upstream):
    upstream.reply(openai_replies.completion('{"n": "two"}'), openai_replies.completion('{"n": 2}'))
    reply = post_chat(gateway, response_format=strict_format(SCHEMA))
    assert json.loads(content_of(reply)) == {"n": 2} and reply.headers["x-millrace-attempts"] == "2"
    upstream.reply_always(openai_replies.completion('{"n": 1, "m": 2}'))
    reply = post_chat(gateway, response_format=strict_format(SCHEMA))
    assert "$.m: is not allowed" in failed(reply, 502, "upstream_error")
    assert reply.headers["x-should-retry"] == "false"
    assert reply.headers["x-millrace-model"] == "m" and reply.headers["x-millrace-attempts"] == "3"
    assert reply.json()["error"]["param"] == "response_format"


def test_a_stream_that_violates_a_strict_schema_ends_with_an_error_and_without_done(gateway, upstream):
    upstream.reply(openai_replies.stream('{"n": "two"}'))
    reply = post_chat(gateway, response_format=strict_format(SCHEMA), stream=True)
    assert "$.n: should be of type" in error_of(reply.body)["message"] and b"[DONE]" not in reply.body


def test_an_invalid_schema_is_refused_before_any_call(gateway, upstream):
    for schema in ({"type": "objekt"}, {"$ref": "https://example.com/schema.json"}, {"anyOf": [{"$ref": "#"}]}):
        reply = post_chat(gateway, response_format=strict_format(schema))
        failed(reply, 422, "invalid_field")
        assert reply.json()["error"]["param"] == "response_format.json_schema.schema"
    assert not upstream.requests
