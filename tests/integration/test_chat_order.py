"""JSON that passes through the gateway keeps the order of its members: whole, streamed, deferred and with server-side tools."""

import json

import openai_replies
import pytest
from chat_calls import content_of, post_chat
from chat_events import chunks_of
from families import ALL, ANTHROPIC, GEMINI, OPENAI
from mcp_chat import named
from mcp_server import McpServer, text_result, tool
from millrace import Gateway, eventually

MODELS = {ANTHROPIC: "claude-sonnet-4-5", GEMINI: "gemini-3-pro"}  # that take tools and a format together
PROPERTIES = {"reasoning": {"type": "string"}, "evidence": {"type": "string"}, "answer": {"type": "string"}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["reasoning", "answer"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
TOOLS = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}]
ARGUMENTS = {"reasoning": "r", "evidence": "e", "answer": "a"}
MORE = {"zulu": {"yankee": 1, "bravo": [{"x": 1, "a": 2}]}, "alpha": 2}


def compact(value):
    return json.dumps(value, separators=(",", ":"))


@pytest.fixture
def opened(tmp_path, upstream):
    gateways = []

    def start(family, *hosts):
        config = tmp_path / "millrace.yaml"
        row = family.row("m", upstream, api_key="env:UP_KEY", response_format="true")
        config.write_text("models:\n" + row.replace("upstream-model", MODELS.get(family, "upstream-model")))
        allowed = ",".join(["127.0.0.1", *hosts])
        gateway = Gateway(tmp_path / "data", "--config", config, "--fetch.allow-hosts", allowed, env={"UP_KEY": "sk-0123456789"})
        gateways.append(gateway.start())
        return gateway

    yield start
    for gateway in gateways:
        gateway.close()


def sent(upstream, at=-1):
    """The body of a request, as text."""
    return upstream.requests[at].body.decode()


def asked(family):
    """A request with everything whose members have an order."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": compact(ARGUMENTS)}}
    messages = [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": compact(MORE)},
    ]
    more = {"messages": messages, "response_format": FORMAT, "tools": TOOLS}
    return more | ({"metadata": {"z": "1", "a": "2"}, "unknown": MORE} if family is OPENAI else {})


def expect_order(family, text):
    assert text.count('"properties":' + compact(PROPERTIES)) == 2, text
    if family is GEMINI:
        assert '"propertyOrdering":["reasoning","evidence","answer"]' in text
    if family is OPENAI:
        assert compact({"z": "1", "a": "2"}) in text and compact(MORE) in text
        assert compact(compact(ARGUMENTS)) in text
    else:
        assert compact(ARGUMENTS) in text


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("family", ALL, ids=str)
def test_the_provider_gets_the_order_of_the_client(opened, upstream, family, stream):
    upstream.reply((family.stream if stream else family.complete)("Hello"))
    reply = post_chat(opened(family), stream=stream, **asked(family))
    assert reply.status == 200, reply.body
    expect_order(family, sent(upstream))


@pytest.mark.parametrize("family", ALL, ids=str)
def test_a_deferred_request_keeps_it(opened, upstream, family):
    upstream.reply(family.complete("", calls=[("c1", "f", ARGUMENTS)]))
    gateway = opened(family)
    accepted = post_chat(gateway, deferred=True, **asked(family))
    path = f"/v1/chat/deferred-completion/{accepted.json()['request_id']}"
    reply = eventually(lambda: (r := gateway.client.get(path)).status != 202 and r, what="the completion")
    expect_order(family, sent(upstream))
    (call,) = reply.json()["choices"][0]["message"]["tool_calls"]
    assert list(json.loads(call["function"]["arguments"])) == list(ARGUMENTS)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("family", ALL, ids=str)
def test_the_client_gets_arguments_in_the_order_of_the_provider(opened, upstream, family, stream):
    upstream.reply((family.stream if stream else family.complete)("x", calls=[("c1", "f", ARGUMENTS)]))
    reply = post_chat(opened(family), stream=stream, tools=TOOLS)
    assert reply.status == 200, reply.body
    if stream:
        pieces = [c for each in chunks_of(reply.body) for choice in each["choices"] for c in choice["delta"].get("tool_calls", [])]
    else:
        pieces = reply.json()["choices"][0]["message"]["tool_calls"]
    arguments = "".join(piece["function"].get("arguments", "") for piece in pieces)
    assert list(json.loads(arguments)) == list(ARGUMENTS)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("family", ALL, ids=str)
def test_server_side_tools_keep_it(opened, upstream, family, stream):
    whole = family.stream if stream else family.complete
    with McpServer({"t": tool(lambda given: text_result("done"), **PROPERTIES)}) as server:
        gateway = opened(family, server.host)
        upstream.reply(whole("x", calls=[("c1", "s__t", ARGUMENTS)]), whole("Hello"))
        reply = post_chat(gateway, stream=stream, mcp_servers=[named("s", server)])
        assert reply.status == 200, reply.body
        assert '"properties":' + compact(PROPERTIES) in sent(upstream, 0)
        expected = compact(ARGUMENTS)
        assert expected.encode() in server.requests[-1].body, server.requests[-1].body
        again = sent(upstream, 1)
        assert list(json.loads(arguments_in(family, json.loads(again)))) == list(ARGUMENTS), again
        last = chunks_of(reply.body)[-1] if stream else reply.json()
        assert list(last["mcp_tool_results"][0]["arguments"]) == list(ARGUMENTS)


def arguments_in(family, body):
    """The arguments of the call in the history of a request."""
    if family is OPENAI:
        return next(m for m in body["messages"] if m.get("tool_calls"))["tool_calls"][0]["function"]["arguments"]
    if family is ANTHROPIC:
        blocks = [block for m in body["messages"] if isinstance(m["content"], list) for block in m["content"]]
        return json.dumps(next(block for block in blocks if block["type"] == "tool_use")["input"])
    parts = [part for content in body["contents"] for part in content["parts"]]
    return json.dumps(next(part for part in parts if "functionCall" in part)["functionCall"]["args"])


def test_members_of_a_reply_that_the_gateway_does_not_know_keep_it(opened, upstream):
    upstream.reply(openai_replies.completion("Hello", **MORE))
    reply = post_chat(opened(OPENAI))
    assert content_of(reply) == "Hello"
    message = reply.json()["choices"][0]["message"]
    assert compact({name: message[name] for name in message if name in MORE}) == compact(MORE)


def test_a_body_with_many_members_is_answered_in_short_time(opened, upstream):
    upstream.reply(OPENAI.complete("Hello"))
    many = {f"m{99_999 - at}": at for at in range(30_000)}
    reply = post_chat(opened(OPENAI), unknown=many)
    assert content_of(reply) == "Hello"
    assert list(json.loads(sent(upstream))["unknown"]) == list(many)
