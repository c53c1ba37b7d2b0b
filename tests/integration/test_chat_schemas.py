"""Responses with a strict schema of the client."""

import contextlib
import json
from contextlib import closing

import openai_replies
import pytest
from chat_calls import content_of, failed, post_chat
from chat_events import chunks_of, error_of, text_of
from families import ANTHROPIC, GEMINI
from millrace import Gateway
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


LEAST = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 2}}, "required": ["n"]}


MODELS = {ANTHROPIC: "claude-sonnet-4-5", GEMINI: "gemini-3-pro"}


@pytest.fixture
def of_family(tmp_path, upstream):
    """Starts a gateway whose model `m` is a recent model of this family."""
    with contextlib.ExitStack() as stack:

        def start(family):
            row = family.row("m", upstream, api_key="env:UP_KEY", response_format="true")
            config = tmp_path / "millrace.yaml"
            config.write_text("models:\n" + row.replace("upstream-model", MODELS[family]))
            gateway = Gateway(tmp_path / "data", "--config", config, "--fetch.allow-hosts", "127.0.0.1", env={"UP_KEY": "sk-0123456789"})
            return stack.enter_context(closing(gateway.start()))

        yield start


def loosened(stream, **more):
    schema = {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}, "required": ["n"]}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}, "stream": stream, **more}


@pytest.mark.parametrize("family", MODELS, ids=str)
def test_what_a_provider_got_without_some_demands_is_checked(of_family, upstream, family):
    gateway = of_family(family)
    upstream.reply(family.complete('{"n": 3}'), family.complete('{"n": 4}'))
    reply = post_chat(gateway, **loosened(False))
    assert json.loads(content_of(reply)) == {"n": 4} and reply.headers["x-millrace-attempts"] == "2"
    assert reply.headers["x-millrace-dropped-params"] == "response_format;clamped"
    assert b"multipleOf" not in upstream.requests[-1].body and b"a multiple of 2" in upstream.requests[-1].body
    upstream.reply(family.stream('{"n": 3}'), family.stream('{"n": 4}'))
    assert "$.n" in error_of(post_chat(gateway, **loosened(True)).body)["message"]
    assert text_of(chunks_of(post_chat(gateway, **loosened(True)).body)) == '{"n": 4}'


def test_an_answer_is_checked_if_its_schema_is_only_in_the_prompt(of_family, upstream):
    gateway = of_family(ANTHROPIC)
    wide = {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(30)}, "additionalProperties": False}
    upstream.reply(ANTHROPIC.complete("Here it is."), ANTHROPIC.complete('{"p3": 4}'))
    reply = post_chat(gateway, response_format=strict_format(wide))
    assert json.loads(content_of(reply)) == {"p3": 4} and reply.headers["x-millrace-attempts"] == "2"
    assert reply.headers["x-millrace-dropped-params"] == "response_format;clamped"
    sent = upstream.requests[-1].json
    assert "output_config" not in sent and json.dumps(wide, separators=(",", ":")) in sent["system"][-1]["text"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_arguments_of_a_strict_tool_that_anthropic_got_loosened_are_checked(of_family, upstream, stream):
    gateway = of_family(ANTHROPIC)
    answer = ANTHROPIC.stream if stream else ANTHROPIC.complete
    tools = [{"type": "function", "function": {"name": "f", "strict": True, "parameters": LEAST}}]
    upstream.reply(answer("x", calls=[("c1", "f", {"n": 1})]))
    if stream:
        error = error_of(post_chat(gateway, tools=tools, stream=True).body)
        assert error["param"] == "tools" and "$.n" in error["message"]
    upstream.reply(answer("x", calls=[("c1", "f", {"n": 2})]))
    reply = post_chat(gateway, tools=tools, stream=stream)
    assert reply.status == 200, reply.body
    assert reply.headers["x-millrace-attempts"] == ("1" if stream else "2")
    (sent,) = upstream.requests[-1].json["tools"]
    assert sent["strict"] and sent["input_schema"]["additionalProperties"] is False
    assert sent["input_schema"]["properties"]["n"] == {"type": "integer", "description": "Must be at least 2."}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_strict_tool_that_openai_cannot_have_strict_is_checked(gateway, upstream, stream):
    optional = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tools = [{"type": "function", "function": {"name": "f", "strict": True, "parameters": optional}}]
    answer = openai_replies.stream if stream else openai_replies.completion
    upstream.reply(answer("x", calls=[("c1", "f", {"n": "one"})]), answer("x", calls=[("c1", "f", {})]))
    if stream:
        assert "$.n" in error_of(post_chat(gateway, tools=tools, stream=True).body)["message"]
    reply = post_chat(gateway, tools=tools, stream=stream)
    assert reply.status == 200 and reply.headers["x-millrace-dropped-params"] == "tools;clamped", reply.body
    sent = upstream.requests[-1].json["tools"][0]["function"]
    assert sent["strict"] is False and sent["parameters"] == optional and len(upstream.requests) == 2


FREE = {
    "type": "object",
    "properties": {"filter[name]": {"type": "string"}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}},
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_keys_of_a_free_map_keep_their_names(of_family, upstream, stream):
    gateway = of_family(ANTHROPIC)
    answer = ANTHROPIC.stream if stream else ANTHROPIC.complete
    upstream.reply(answer("x", calls=[("c1", "f", {"filter_name_": "a", "labels": {"filter_name_": "b", "filter[name]": "c"}})]))
    reply = post_chat(gateway, tools=[{"type": "function", "function": {"name": "f", "parameters": FREE}}], stream=stream)
    if stream:
        calls = [call for chunk in chunks_of(reply.body) for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", [])]
        arguments = "".join(call["function"].get("arguments", "") for call in calls)
    else:
        arguments = reply.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"filter[name]": "a", "labels": {"filter_name_": "b", "filter[name]": "c"}}
