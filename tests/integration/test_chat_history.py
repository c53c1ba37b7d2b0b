"""Earlier replies that come back as history, from the client or from the gateway's own tool loop."""

import json

import openai_replies
import pytest
from chat_calls import content_of, post_chat
from chat_events import chunks_of
from mcp_chat import named
from mcp_server import McpServer, text_result, tool
from millrace import Gateway
from upstream import sse_reply

CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "sig"}}}
DETAILS = [{"type": "reasoning.encrypted", "data": "d", "index": 0}]
THINKING = [{"type": "thinking", "thinking": [{"type": "text", "text": "why"}]}]
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
THOUGHTS = [
    ("vllm", {"reasoning_content": "why"}),
    ("vllm", {"reasoning": "why"}),
    ("openrouter", {"reasoning": "why", "reasoning_details": DETAILS}),
    ("mistral", {"content": THINKING}),
]
ids = [f"{provider}-{'+'.join(thoughts)}" for provider, thoughts in THOUGHTS]
WHOLE_OR_STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
EACH = pytest.mark.parametrize(("provider", "thoughts"), THOUGHTS, ids=ids)


@pytest.fixture
def opened(tmp_path, upstream):
    gateways = []

    def start(provider, *hosts, model="upstream-model"):
        config = tmp_path / "millrace.yaml"
        row = f"- {{name: m, provider: {provider}, model: {model}, base_url: '{upstream.url}/v1', api_key: env:UP_KEY}}\n"
        config.write_text("models:\n" + row)
        allowed = ",".join(["127.0.0.1", *hosts])
        gateway = Gateway(tmp_path / "data", "--config", config, "--fetch.allow-hosts", allowed, env={"UP_KEY": "sk-0123456789"})
        gateways.append(gateway.start())
        return gateway

    yield start
    for gateway in gateways:
        gateway.close()


def turn(stream, call, **message):
    """A reply with a call."""
    if not stream:
        return openai_replies.completion(message.pop("content", None), tool_calls=[call], finish="tool_calls", **message)
    chunk = openai_replies.chunk
    events = [chunk({"role": "assistant", **message}), chunk({"tool_calls": [{"index": 0, **call}]})]
    return sse_reply([*events, chunk({}, "tool_calls"), chunk(None, usage=openai_replies.USAGE), (None, "[DONE]")])


def message_in(reply, stream):
    """The assistant's message, as a client assembles it."""
    assert reply.status == 200, reply.body
    if not stream:
        return reply.json()["choices"][0]["message"]
    message = {"role": "assistant", "content": None}
    for delta in (choice["delta"] for each in chunks_of(reply.body) for choice in each["choices"]):
        for name, value in delta.items():
            if name == "tool_calls":
                message.setdefault("tool_calls", []).extend({k: v for k, v in call.items() if k != "index"} for call in value)
            elif name != "role":
                message[name] = message[name] + value if message.get(name) else value
    return message


def history(message):
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "r"}
    return [{"role": "user", "content": "u"}, message, result]


def dropped(reply):
    return reply.headers.get("x-millrace-dropped-params")


@WHOLE_OR_STREAM
@EACH
def test_the_gateways_tool_loop_sends_back_what_the_provider_thought(opened, upstream, provider, thoughts, stream):
    with McpServer({"t": tool(lambda given: text_result("done"))}) as server:
        gateway = opened(provider, server.host)
        call = {**SIGNED, "function": {"name": "s__t", "arguments": "{}"}}
        end = (openai_replies.stream if stream else openai_replies.completion)("Hello")
        upstream.reply(turn(stream, call, **thoughts), end)
        reply = post_chat(gateway, stream=stream, mcp_servers=[named("s", server)])
        assert reply.status == 200, reply.body
        sent = upstream.wait_for(2)[1].json["messages"][1]
    assert {name: sent.get(name) for name in thoughts} == thoughts
    assert sent["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]
    assert dropped(reply) is None


@WHOLE_OR_STREAM
@EACH
def test_a_client_that_sends_back_the_documented_members_alone_loses_nothing(opened, upstream, provider, thoughts, stream):
    gateway = opened(provider)
    upstream.reply(turn(stream, SIGNED, **thoughts))
    messages = [{"role": "user", "content": "u"}]
    message = message_in(post_chat(gateway, stream=stream, tools=TOOLS, messages=messages), stream)
    assert message["tool_calls"] == [SIGNED] and message["reasoning_content"] == "why"
    upstream.reply(openai_replies.completion("Hello"), openai_replies.completion("Hello"))
    documented = {"role": "assistant", "content": message["content"], "tool_calls": [CALL]}
    assert content_of(post_chat(gateway, tools=TOOLS, messages=history(documented))) == "Hello"
    sent = upstream.requests[1].json["messages"][1]
    assert {name: sent.get(name) for name in thoughts} == thoughts
    assert sent["tool_calls"][0]["extra_content"] == SIGNED["extra_content"]
    other = history(documented)
    other[0] = {"role": "user", "content": "of another conversation"}
    assert content_of(post_chat(gateway, tools=TOOLS, messages=other)) == "Hello"
    assert "why" not in json.dumps(upstream.requests[2].json)


@WHOLE_OR_STREAM
@pytest.mark.parametrize("provider", ["vllm", "xai", "groq", "openrouter", "mistral"])
def test_a_conversation_gets_its_own_reasoning_alone(opened, upstream, provider, stream):
    gateway = opened(provider, model="openai/gpt-oss-120b")
    conversations = {name: [{"role": "system", "content": name}, {"role": "user", "content": "yes"}] for name in ("Alice", "Bob")}
    for name, messages in conversations.items():
        upstream.reply(turn(stream, CALL, reasoning_content=f"{name} thinks"))
        assert post_chat(gateway, stream=stream, tools=TOOLS, messages=messages).status == 200
    call = {**CALL, "function": {"name": "f", "arguments": " { } "}}
    for name, messages in conversations.items():
        upstream.reply(openai_replies.completion("Hello"))
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        assert content_of(post_chat(gateway, tools=TOOLS, messages=[*messages, *history(message)[1:]])) == "Hello"
        sent = json.dumps(upstream.requests[-1].json)
        assert [other for other in conversations if f"{other} thinks" in sent] == [name]


@WHOLE_OR_STREAM
def test_each_turn_with_the_same_call_gets_its_own_reasoning(opened, upstream, stream):
    gateway = opened("openrouter")
    messages = [{"role": "user", "content": "wait for the build"}]
    for number in ("one", "two", "three"):
        upstream.reply(turn(stream, CALL, reasoning=number))
        assert post_chat(gateway, stream=stream, tools=TOOLS, messages=messages).status == 200
        messages += history({"role": "assistant", "content": None, "tool_calls": [CALL]})[1:]
    upstream.reply(openai_replies.completion("Hello"))
    assert content_of(post_chat(gateway, tools=TOOLS, messages=messages)) == "Hello"
    sent = upstream.requests[-1].json["messages"]
    assert [message["reasoning"] for message in sent if message["role"] == "assistant"] == ["one", "two", "three"]


@WHOLE_OR_STREAM
def test_each_turn_of_the_tool_loop_keeps_its_own_reasoning(opened, upstream, stream):
    with McpServer({"t": tool(lambda given: text_result("running"))}) as server:
        gateway = opened("vllm", server.host)
        call = {**SIGNED, "function": {"name": "s__t", "arguments": "{}"}}
        end = (openai_replies.stream if stream else openai_replies.completion)("Hello")
        upstream.reply(*(turn(stream, call, reasoning_content=number) for number in ("one", "two", "three")), end)
        assert post_chat(gateway, stream=stream, mcp_servers=[named("s", server)]).status == 200
        sent = upstream.wait_for(4)[3].json["messages"]
    assert [message["reasoning_content"] for message in sent if message["role"] == "assistant"] == ["one", "two", "three"]


@WHOLE_OR_STREAM
def test_the_reasoning_of_a_clients_call_after_calls_of_the_gateway_comes_back(opened, upstream, stream):
    with McpServer({"t": tool(lambda given: text_result("done"))}) as server:
        gateway = opened("vllm", server.host)
        call = {**SIGNED, "function": {"name": "s__t", "arguments": "{}"}}
        upstream.reply(turn(stream, call, reasoning_content="one"), turn(stream, CALL, reasoning_content="two"))
        given = {"mcp_servers": [named("s", server)], "tools": TOOLS}
        messages = [{"role": "user", "content": "u"}]
        assert post_chat(gateway, stream=stream, messages=messages, **given).status == 200
        upstream.reply(openai_replies.completion("Hello"))
        message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        assert content_of(post_chat(gateway, messages=history(message), **given)) == "Hello"
        assert upstream.requests[-1].json["messages"][1]["reasoning_content"] == "two"


@pytest.mark.parametrize("own", [{"reasoning_content": "mine"}, {"reasoning_details": [{**DETAILS[0], "data": "mine"}]}], ids=str)
def test_the_clients_own_reasoning_is_kept(opened, upstream, own):
    gateway = opened("openrouter")
    upstream.reply(turn(False, CALL, reasoning="why", reasoning_details=DETAILS), openai_replies.completion("Hello"))
    assert post_chat(gateway, tools=TOOLS, messages=[{"role": "user", "content": "u"}]).status == 200
    message = {"role": "assistant", "content": None, "tool_calls": [CALL], **own}
    assert content_of(post_chat(gateway, tools=TOOLS, messages=history(message))) == "Hello"
    sent = upstream.requests[1].json["messages"][1]
    assert {name: sent.get(name) for name in own} == own and "why" not in json.dumps(sent)


@WHOLE_OR_STREAM
@EACH
def test_a_client_that_sends_back_everything_repeats_nothing(opened, upstream, provider, thoughts, stream):
    gateway = opened(provider)
    upstream.reply(turn(stream, SIGNED, **thoughts), openai_replies.completion("Hello"))
    messages = [{"role": "user", "content": "u"}]
    message = message_in(post_chat(gateway, stream=stream, tools=TOOLS, messages=messages), stream)
    reply = post_chat(gateway, tools=TOOLS, messages=history(message))
    assert content_of(reply) == "Hello"
    sent = upstream.requests[1].json["messages"][1]
    assert {name: sent.get(name) for name in thoughts} == thoughts
    assert json.dumps(sent).count("why") == 1, sent


STRICT = [
    ("azure", "gpt-4o", {"role", "content", "tool_calls"}, {"annotations", "reasoning_content", "reasoning_details"}),
    ("mistral", "mistral-large", {"role", "content", "tool_calls"}, {"annotations", "reasoning_details"}),
    ("groq", "llama-3.3", {"role", "content", "tool_calls"}, {"annotations", "reasoning_content", "reasoning_details"}),
    ("groq", "openai/gpt-oss-120b", {"role", "content", "tool_calls", "reasoning"}, {"annotations", "reasoning_details"}),
]


@pytest.mark.parametrize(("provider", "model", "expected", "left_out"), STRICT, ids=[f"{a}-{b}" for a, b, _, _ in STRICT])
def test_a_strict_provider_gets_what_it_documents_and_the_rest_is_reported(opened, upstream, provider, model, expected, left_out):
    message = {"role": "assistant", "content": "c", "tool_calls": [SIGNED], "reasoning_content": "why"}
    message |= {"reasoning_details": DETAILS, "annotations": [{"type": "url_citation"}], "audio": None, "refusal": None}
    upstream.reply(openai_replies.completion("Hello"))
    reply = post_chat(opened(provider, model=model), tools=TOOLS, messages=history(message))
    assert content_of(reply) == "Hello"
    sent = upstream.requests[0].json["messages"][1]
    assert set(sent) == expected and sent["tool_calls"] == [CALL]
    assert set(dropped(reply).split(", ")) == {f"messages.{name}" for name in left_out} | {"messages.tool_calls.extra_content"}


def test_a_server_of_ones_own_gets_the_history_as_the_client_sends_it(opened, upstream):
    message = {"role": "assistant", "content": "c", "tool_calls": [SIGNED], "reasoning_content": "why", "reasoning_details": DETAILS}
    upstream.reply(openai_replies.completion("Hello"))
    reply = post_chat(opened("openai"), tools=TOOLS, messages=history(message))
    assert content_of(reply) == "Hello" and dropped(reply) is None
    assert upstream.requests[0].json["messages"][1] == message


def test_with_strict_parameters_history_that_would_be_left_out_is_refused(opened, upstream):
    message = {"role": "assistant", "content": "c", "reasoning_content": "why"}
    messages = [{"role": "user", "content": "u"}, message, {"role": "user", "content": "v"}]
    body = {"model": "m", "messages": messages}
    reply = opened("azure").client.post("/v1/chat/completions?strict=true", body)
    assert reply.status == 400 and "messages.reasoning_content" in reply.json()["error"]["message"], reply.body
    assert upstream.requests == []
