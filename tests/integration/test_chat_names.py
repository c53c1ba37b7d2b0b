"""Names of tools and of their arguments that a provider refuses: fitted on the way out, restored on the way back."""

import contextlib
import json
import re

import pytest
from chat_calls import post_chat
from chat_events import calls_of, chunks_of
from families import ANTHROPIC, GEMINI, OPENAI
from mcp_chat import named
from mcp_server import McpServer, text_result, tool
from millrace import Gateway

MEMBERS = {"filter[name]": {"type": "string"}, "x" * 80: {"type": "integer"}, "plain": {"type": "string"}}
SCHEMA = {"type": "object", "properties": MEMBERS, "required": ["filter[name]"]}
NAMES = ["21st_builder", "a.b:c", "a_b_c", "t" * 84]
TOOLS = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES]
RULES = {OPENAI: r"[a-zA-Z0-9_-]{1,64}", ANTHROPIC: r"[a-zA-Z0-9_-]{1,64}", GEMINI: r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}"}
MEMBER_RULES = {ANTHROPIC: r"[a-zA-Z0-9_.-]{1,64}", GEMINI: r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"}


@pytest.fixture
def opened(tmp_path, upstream):
    with contextlib.ExitStack() as stack:

        def start(family, *hosts):
            config = tmp_path / "millrace.yaml"
            config.write_text("models:\n" + family.row("m", upstream, api_key="env:UP_KEY"))
            allowed = ",".join(["127.0.0.1", *hosts])
            gateway = Gateway(tmp_path / "data", "--config", config, "--fetch.allow-hosts", allowed, env={"UP_KEY": "sk-0123456789"})
            return stack.enter_context(contextlib.closing(gateway.start()))

        yield start


def declared(family, body):
    """The names of the tools that the provider got, and the schema of each."""
    if family is GEMINI:
        return {each["name"]: each["parameters"] for each in body["tools"][0]["functionDeclarations"]}
    if family is ANTHROPIC:
        return {each["name"]: each["input_schema"] for each in body["tools"]}
    return {each["function"]["name"]: each["function"]["parameters"] for each in body["tools"]}


def arguments_for(schema):
    """An argument for each property, in the provider's names."""
    return {name: "v" if value["type"] == "string" else 7 for name, value in schema["properties"].items()}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("family", RULES, ids=str)
def test_names_come_back_as_the_client_gave_them(opened, upstream, family, stream):
    gateway = opened(family)
    upstream.reply(family.complete("x"))
    assert post_chat(gateway, tools=TOOLS).headers["x-millrace-dropped-params"] == "tools;clamped"
    sent = declared(family, upstream.requests[-1].json)
    assert len(sent) == len(NAMES) and all(re.fullmatch(RULES[family], name) for name in sent)
    for schema in sent.values():
        assert len(schema["properties"]) == len(MEMBERS) and schema["required"][0] in schema["properties"]
        assert all(re.fullmatch(MEMBER_RULES.get(family, ".*"), name) for name in schema["properties"])
    given = {"filter[name]": "v", "x" * 80: 7, "plain": "v"}
    calls = [(f"c{i}", name, arguments_for(schema)) for i, (name, schema) in enumerate(sent.items())]
    upstream.reply((family.stream if stream else family.complete)("x", calls=calls))
    reply = post_chat(gateway, tools=TOOLS, stream=stream)
    if stream:
        got = calls_of(chunks_of(reply.body))
    else:
        message = reply.json()["choices"][0]["message"]
        got = [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message["tool_calls"]]
    assert [(name, arguments) for _, name, arguments in got] == [(name, given) for name in NAMES]


@pytest.mark.parametrize("family", RULES, ids=str)
def test_earlier_calls_and_the_choice_have_the_same_names(opened, upstream, family):
    call = {"id": "c1", "type": "function", "function": {"name": "a.b:c", "arguments": '{"filter[name]": "v"}'}}
    messages = [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
    ]
    upstream.reply(family.complete("x"))
    choice = {"type": "function", "function": {"name": "a.b:c"}}
    assert post_chat(opened(family), tools=TOOLS, messages=messages, tool_choice=choice).status == 200
    body = upstream.requests[-1].json
    name, schema = list(declared(family, body).items())[1]
    member = next(iter(schema["properties"]))
    if family is GEMINI:
        assert body["contents"][1]["parts"][0]["functionCall"] == {"id": "c1", "name": name, "args": {member: "v"}}
        assert body["contents"][2]["parts"][0]["functionResponse"]["name"] == name
        assert body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == [name]
    elif family is ANTHROPIC:
        (block,) = body["messages"][1]["content"]
        assert block["name"] == name and block["input"] == {member: "v"} and body["tool_choice"]["name"] == name
    else:
        function = body["messages"][1]["tool_calls"][0]["function"]
        assert function["name"] == name and json.loads(function["arguments"]) == {"filter[name]": "v"}
        assert body["tool_choice"]["function"]["name"] == name


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("family", MEMBER_RULES, ids=str)
def test_tools_of_servers_get_their_own_arguments(opened, upstream, family, stream):
    answer = family.stream if stream else family.complete
    with McpServer({"build": tool(lambda given: text_result("built"), **MEMBERS)}) as server:
        gateway = opened(family, server.host)
        upstream.reply(family.complete("x"))
        assert post_chat(gateway, mcp_servers=[named("21st", server)]).status == 200
        ((name, schema),) = declared(family, upstream.requests[-1].json).items()
        assert re.fullmatch(RULES[family], name)
        upstream.reply(answer("x", calls=[("c1", name, arguments_for(schema))]), answer("done"))
        reply = post_chat(gateway, mcp_servers=[named("21st", server)], stream=stream)
        assert reply.status == 200, reply.body
        last = chunks_of(reply.body)[-1] if stream else reply.json()
        (result,) = last["mcp_tool_results"]
        assert result["arguments"] == {"filter[name]": "v", "x" * 80: 7, "plain": "v"} and result["tool_name"] == "build"
        assert name in upstream.requests[-1].body.decode()
