"""Server-side tools over a running gateway: MCP servers of both protocol versions, including a published one."""

import base64
import http.client
import json
import threading

import openai_replies
import pytest
from mcp_chat import CHAT, EVERYTHING, chat, named, only_result, opened
from mcp_server import SILENT, McpServer, SessionServer, text_result, tool
from node_server import NodeServer
from npm_programs import node_package
from upstream import Reply, Upstream, json_reply

REFUSED = [
    "http://example.com/mcp",
    "https://127.0.0.1/mcp",
    "https://2130706433/mcp",
    "https://[::ffff:127.0.0.1]/mcp",
    "https://169.254.169.254/mcp",
    "https://example.com:22/mcp",
]


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    script = node_package(*EVERYTHING) / "dist" / "index.js"
    with NodeServer(tmp_path_factory.mktemp("everything"), script, "streamableHttp") as server:
        yield server.url.removeprefix("http://")


@pytest.fixture(scope="module")
def shared(tmp_path_factory, everything):
    folder = tmp_path_factory.mktemp("mcp")
    config = f"mcp:\n- {{slug: office, url: 'http://{everything}/mcp'}}\n"
    with opened(folder, everything, "127.0.0.1:9", config=config) as gateway:
        yield gateway


def test_the_tools_of_a_published_server_are_run_and_their_results_returned(shared, everything):
    reply = chat(shared, "say everything__echo", named("everything", f"http://{everything}/mcp"))
    assert reply["tools_executed"] == ["everything__echo"] and reply["turns_consumed"] == 2
    outcome = only_result(reply)
    assert outcome["server_name"] == "everything" and outcome["tool_name"] == "echo" and not outcome["is_error"]
    assert outcome["arguments"] == {"message": "say everything__echo"}
    assert outcome["result"] == "Echo: say everything__echo" and outcome["duration_ms"] >= 0
    (choice,) = reply["choices"]
    assert choice["finish_reason"] == "stop" and choice["message"]["content"] == "The tool said: Echo: say everything__echo"
    assert "mcp_server_errors" not in reply


def test_a_stream_shows_one_response_and_its_last_chunk_has_the_tool_results(shared, everything):
    reply = chat(shared, "say everything__echo", named("everything", f"http://{everything}/mcp"), stream=True)
    events = reply.body.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(each.removeprefix("data: ")) for each in events[:-2] if each.startswith("data: ")]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "The tool said: Echo: say everything__echo"
    assert not any("tool_calls" in delta for delta in deltas)
    assert sum("role" in delta for delta in deltas) == 1
    finishes = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]]
    assert finishes == ["stop"]
    assert chunks[-1]["tools_executed"] == ["everything__echo"] and chunks[-1]["turns_consumed"] == 2
    assert only_result(chunks[-1])["result"] == "Echo: say everything__echo"


def test_a_slug_of_the_configuration_names_a_server(shared):
    reply = chat(shared, "say office__echo", "office")
    assert only_result(reply)["server_name"] == "office"


def test_a_slug_that_is_not_in_the_configuration_is_refused_with_those_that_are(shared):
    reply = shared.client.post(CHAT, {"model": "mock/chat", "messages": "hi", "mcp_servers": ["offce"]})
    error = reply.json()["error"]
    assert reply.status == 422 and error["param"] == "mcp_servers.0" and "'office'" in error["message"], error


def test_non_text_results_are_described_to_the_model(shared):
    reply = chat(shared, "office__get-tiny-image", {"slug": "office"})
    assert "[image: image/png, " in only_result(reply)["result"]


def test_without_automatic_execution_the_calls_are_returned_to_the_client(shared):
    reply = chat(shared, "say office__echo", "office", auto_execute_tools=False)
    (choice,) = reply["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["office__echo"]
    assert "tools_executed" not in reply and "mcp_tool_results" not in reply


def test_at_max_turns_the_calls_are_not_run(shared):
    reply = chat(shared, "say office__echo", "office", max_turns=1)
    assert reply["choices"][0]["finish_reason"] == "tool_calls" and reply["turns_consumed"] == 1
    assert not reply.get("tools_executed")


def test_a_server_that_fails_is_named_and_the_others_are_used(shared):
    reply = chat(shared, "say office__echo", named("dead", "http://127.0.0.1:9/mcp"), "office")
    assert only_result(reply)["result"] == "Echo: say office__echo"
    ((name, error),) = reply["mcp_server_errors"].items()
    assert name == "dead" and error["code"] == "upstream_error"
    assert error["message"] and error["recommendation"]


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_of_an_internal_address_is_refused(shared, url):
    error = chat(shared, "hello", named("inside", url))["mcp_server_errors"]["inside"]
    assert error["code"] == "fetch_refused" and "document_url" not in error["message"], error


def test_a_host_that_is_not_allowed_gets_no_request(shared):
    with McpServer({"t": tool(lambda given: text_result("x"))}) as server:
        assert chat(shared, "hello", named("s", server))["mcp_server_errors"]["s"]["code"] == "fetch_refused"
        assert server.requests == []


def test_a_redirect_is_not_followed(tmp_path):
    with Upstream() as first, McpServer({}) as second:
        first.reply_always(Reply(status=307, headers={"Location": second.mcp_url}))
        with opened(tmp_path, first.url.removeprefix("http://"), second.host) as gateway:
            error = chat(gateway, "hello", named("s", f"{first.url}/mcp"))["mcp_server_errors"]["s"]
        assert "redirect" in error["message"] and second.requests == []


REGION = {"type": "string", "x-mcp-header": "Region"}
MODERN_TOOLS = {
    "add": tool(lambda given: text_result(given["a"] + given["b"]), a="integer", b="integer"),
    "größe": tool(lambda given: text_result("big")),
    "place": tool(lambda given: text_result(given["region"]), region=REGION),
    "wrong": tool(lambda given: text_result("never"), text={"type": "string", "x-mcp-header": "not a token"}),
    "ask": tool(lambda given: {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}),
    "fail": tool(lambda given: text_result("out of paper", isError=True)),
    "lost": tool(lambda given: SILENT),
    "torn": tool(lambda given: Reply(chunked=True, pieces=[b'{"jsonrpc":'], reset=True)),
    "page": tool(lambda given: Reply(headers={"Content-Type": "text/html"}, pieces=[b"<html>"])),
    "long": tool(lambda given: text_result("x" * 300_000)),
    "huge": tool(lambda given: text_result("x" * 9_000_000)),
}


@pytest.fixture(scope="module", params=[False, True], ids=["json", "events"])
def modern(request, tmp_path_factory):
    with McpServer(MODERN_TOOLS, page_size=4, events=request.param) as server:
        with opened(tmp_path_factory.mktemp("modern"), server.host) as gateway:
            yield server, gateway


def call(modern, name):
    """The tool result from the gateway, and the number of calls that the server received."""
    server, gateway = modern
    before = len(server.calls)
    reply = chat(gateway, f"call s__{name}", named("s", server))
    assert "1 tool was left out: 'wrong': " in reply["mcp_server_errors"]["s"]["message"]
    return only_result(reply), len(server.calls) - before


def test_the_protocol_without_sessions_is_tried_first(modern):
    server, _ = modern
    before = len(server.requests)
    outcome, calls = call(modern, "add")
    given = outcome["arguments"]
    assert outcome["result"] == str(given["a"] + given["b"]) and not outcome["is_error"] and calls == 1
    methods = [seen.headers["mcp-method"] for seen in server.requests[before:]]
    assert methods == ["tools/list"] * 3 + ["tools/call"]
    assert all("mcp-session-id" not in seen.headers for seen in server.requests)


def test_a_non_ascii_name_is_sent_in_base64(modern):
    server, gateway = modern
    outcome = only_result(chat(gateway, "call s__gr____e", named("s", server)))
    assert outcome["tool_name"] == "größe" and outcome["result"] == "big"


def test_an_annotated_argument_is_also_sent_as_a_header(modern):
    outcome, _ = call(modern, "place")
    assert outcome["result"] == "call s__place"
    assert modern[0].requests[-1].headers["mcp-param-region"] == "call s__place"


def test_a_tool_with_a_wrong_annotation_is_not_offered_and_named(modern):
    server, gateway = modern
    reply = chat(gateway, "call s__wrong", named("s", server))
    assert "mcp_tool_results" not in reply
    error = reply["mcp_server_errors"]["s"]
    assert "'wrong': its schema breaks the rules of x-mcp-header" in error["message"], error


class Loose:
    """A tool with this schema; none: it has no schema."""

    def __init__(self, *schema):
        self.properties = {}
        self.more = {"inputSchema": schema[0]} if schema else {}

    def answer(self, given):
        return text_result(json.dumps(given))

    def listed(self, name):
        return {"name": name, **self.more}


LOOSE_TOOLS = {
    "none": Loose(),
    "null": Loose(None),
    "empty": Loose({}),
    "bare": Loose({"type": "object"}),
    "listed": Loose({"type": ["object"], "properties": {"a": {"type": "string"}}, "required": None}),
    "nullp": Loose({"type": "object", "properties": None}),
    "text": Loose({"type": "string"}),
    "strange": Loose({"type": "object", "properties": 3}),
}


def test_loosely_described_tools_are_completed_and_the_others_named(tmp_path):
    model = "models:\n- {name: o, provider: openai, model: gpt-4o, base_url: '%s/v1', api_key: env:UP_KEY}\n"
    with McpServer(LOOSE_TOOLS, page_size=3, fresh_ms=60_000) as server, Upstream() as upstream:
        upstream.reply_always(openai_replies.completion("done"))
        hosts = (server.host, upstream.url.removeprefix("http://"))
        with opened(tmp_path, *hosts, config=model % upstream.url, env={"UP_KEY": "sk-0123456789"}) as gateway:
            for _ in range(2):  # the second list comes from the cache
                reply = chat(gateway, "hello", named("s", server), model="o")
                error = reply["mcp_server_errors"]["s"]
                assert "2 tools were left out" in error["message"] and error["code"] == "upstream_error", error
                assert "'text': its schema does not describe an object" in error["message"]
                assert "'strange': the properties of its schema are not an object" in error["message"]
                offered = {each["function"]["name"]: each["function"] for each in upstream.requests[-1].json["tools"]}
                assert offered.keys() == {f"s__{name}" for name in LOOSE_TOOLS.keys() - {"text", "strange"}}
                for name in ("none", "null", "empty", "bare", "nullp"):
                    assert offered[f"s__{name}"]["parameters"] == {"type": "object", "properties": {}}, name
                listed = {"type": "object", "properties": {"a": {"type": "string"}}}
                assert offered["s__listed"]["parameters"] == listed
    assert len(methods(server)) == 3, "the list was requested once, in three pages"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ask", "input_required"),
        ("lost", "failed"),
        ("torn", "failed"),
        ("page", "text/html"),
        ("huge", "8388608 bytes"),
    ],
)
def test_a_call_without_a_response_is_an_error_and_not_sent_again(modern, name, expected):
    outcome, calls = call(modern, name)
    assert outcome["is_error"] and expected in outcome["result"] and calls == 1


def test_an_error_of_the_tool_is_passed_to_the_model(modern):
    outcome, _ = call(modern, "fail")
    assert outcome["is_error"] and outcome["result"] == "out of paper"


def test_a_long_result_is_truncated_and_marked_as_such(modern):
    outcome, _ = call(modern, "long")
    assert outcome["result"].endswith("[cut here: the first 262144 of 300000 bytes]")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_images_of_a_result_reach_models_that_see(tmp_path, stream):
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()
    picture = {"content": [{"type": "text", "text": "here"}, {"type": "image", "mimeType": "image/jpeg", "data": png}]}
    row = "- {name: %s, provider: openai, model: gpt-4o, base_url: '%s/v1', api_key: env:UP_KEY%s}\n"
    replies = openai_replies.stream if stream else openai_replies.completion
    with McpServer({"look": tool(lambda given: picture)}) as server, Upstream() as upstream:
        config = "models:\n" + row % ("sees", upstream.url, "") + row % ("blind", upstream.url, ", vision: false")
        hosts = (server.host, upstream.url.removeprefix("http://"))
        with opened(tmp_path, *hosts, config=config, env={"UP_KEY": "sk-0123456789"}) as gateway:
            for model in ("sees", "blind"):
                upstream.reply(replies("", calls=[("call-1", "s__look", {})]), replies("a mill"))
                reply = chat(gateway, "look", named("s", server), model=model, stream=stream)
                messages = upstream.requests[-1].json["messages"]
                assert "millrace_" not in upstream.requests[-1].body.decode()
                described = "here\n[image: image/jpeg, 48 bytes]"
                if model == "blind":
                    assert [each["role"] for each in messages] == ["user", "assistant", "tool"]
                    assert messages[2]["content"] == described
                else:
                    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "user"]
                    assert messages[2]["content"] == [{"type": "text", "text": described}]
                    assert messages[3]["content"][1:] == [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}}]
                if not stream:
                    assert only_result(reply)["result"] == described and png not in json.dumps(reply)


def test_several_servers_offer_their_tools_side_by_side(tmp_path, everything):
    with McpServer(MODERN_TOOLS) as server, opened(tmp_path, everything, server.host) as gateway:
        both = [named("old", f"http://{everything}/mcp"), named("new", server)]
        assert only_result(chat(gateway, "old__echo", *both))["server_name"] == "old"
        assert only_result(chat(gateway, "new__place", *both))["server_name"] == "new"


def test_a_servers_ping_gets_a_response_during_a_call_and_the_session_ends_with_the_request(tmp_path):
    with SessionServer({"t": tool(lambda given: text_result("done"))}, pings=True) as server:
        with opened(tmp_path, server.host) as gateway:
            assert only_result(chat(gateway, "call s__t", named("s", server)))["result"] == "done"
            assert server.ended.wait(30) and not server.sessions
    versions = [each.headers.get("mcp-protocol-version") for each in server.requests]
    assert versions[:2] == ["2026-07-28", None] and set(versions[2:]) == {"2025-11-25"}


NO_SESSION = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}}
LOST = {
    "404": Reply(status=404),
    "400": json_reply(NO_SESSION, 400),
    "400 with another body": json_reply({"error": "No valid session ID"}, 400),
    "400 with text": Reply(400, [b"Invalid or missing session ID"], {"Content-Type": "text/plain"}),
    "400 without a body": Reply(status=400),
    "200": json_reply({**NO_SESSION, "error": {"code": -32001, "message": "Session not found"}}),
}


@pytest.mark.parametrize("lost", LOST)
def test_a_session_that_the_server_forgot_is_initialized_once_more(tmp_path, lost):
    def first_forget(given):
        if server.opened == 1:
            server.forget()
            server.calls.pop()
            return LOST[lost]
        return text_result("done")

    with SessionServer({"t": tool(first_forget)}) as server, opened(tmp_path, server.host) as gateway:
        assert only_result(chat(gateway, "call s__t", named("s", server)))["result"] == "done"
        assert server.opened == 2 and len(server.calls) == 1


def test_other_errors_of_a_call_in_a_session_are_passed_to_the_model(tmp_path):
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "n must be a number"}}
    with SessionServer({"t": tool(lambda given: json_reply(refusal, 400))}) as server, opened(tmp_path, server.host) as gateway:
        outcome = only_result(chat(gateway, "call s__t", named("s", server)))
        assert outcome["is_error"] and "n must be a number" in outcome["result"]
        assert server.opened == 1 and len(server.calls) == 1


def test_a_broken_stream_is_resumed_and_the_call_not_sent_again(tmp_path):
    with SessionServer({"t": tool(lambda given: text_result("done"))}, breaks=True) as server, opened(tmp_path, server.host) as gateway:
        assert only_result(chat(gateway, "call s__t", named("s", server)))["result"] == "done"
        assert len(server.calls) == 1


def test_calls_of_one_turn_run_concurrently_and_share_the_new_session(tmp_path):
    together = threading.Barrier(3)

    def answer(given):
        together.wait(30)
        return text_result(given["n"])

    with SessionServer({"t": tool(answer, n="integer")}) as server, Upstream() as model:
        calls = [(f"call-{n}", "s__t", {"n": n}) for n in range(3)]

        def forgetful(_):
            server.forget()
            return openai_replies.completion("", calls=calls) if len(model.requests) == 1 else openai_replies.completion("end")

        model.reply_always(forgetful)
        config = f"models:\n- {{name: m, provider: openai, base_url: '{model.url}/v1'}}\n"
        with opened(tmp_path, server.host, config=config) as gateway:
            reply = chat(gateway, "go", named("s", server), model="m")
        assert [each["result"] for each in reply["mcp_tool_results"]] == ["0", "1", "2"]
        assert server.opened == 2 and reply["choices"][0]["message"]["content"] == "end"
        tool_messages = [each for each in model.requests[1].json["messages"] if each["role"] == "tool"]
        assert [(each["tool_call_id"], each["content"]) for each in tool_messages] == [(f"call-{n}", str(n)) for n in range(3)]


def test_a_client_that_leaves_ends_the_call_that_is_in_progress(tmp_path):
    never = threading.Event()
    with McpServer({"t": tool(lambda given: Reply(pieces=[never], chunked=True))}) as server:
        with opened(tmp_path, server.host) as gateway:
            address = gateway.client.address
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            messages = [{"role": "user", "content": "call s__t"}]
            body = {"model": "mock/chat", "messages": messages, "mcp_servers": [named("s", server)], "stream": True}
            fields = {"Authorization": f"Bearer {gateway.client.key}", "Content-Type": "application/json"}
            connection.request("POST", CHAT, json.dumps(body), fields)
            call_request = server.wait_for(2)[1]
            connection.close()
            assert call_request.disconnected.wait(30)


def methods(server):
    return [seen.json.get("method") for seen in server.requests if seen.method == "POST"]


def test_a_second_conversation_with_a_server_needs_no_second_discovery(tmp_path):
    with SessionServer({"t": tool(lambda given: text_result("done"))}) as server, opened(tmp_path, server.host) as gateway:
        for _ in range(2):
            assert only_result(chat(gateway, "call s__t", named("s", server)))["result"] == "done"
        session = ["initialize", "notifications/initialized"]
        assert methods(server) == ["tools/list", *session, "tools/list", "tools/call", *session, "tools/call"]


def test_a_conversation_without_calls_sends_a_known_server_no_request(tmp_path):
    with McpServer({"t": tool(lambda given: text_result("done"))}, fresh_ms=600_000) as server:
        with opened(tmp_path, server.host) as gateway:
            for _ in range(2):
                assert "mcp_server_errors" not in chat(gateway, "hello", named("s", server))
            assert methods(server) == ["tools/list"]


def test_the_list_of_tools_is_requested_each_time_if_the_setting_is_zero(tmp_path):
    with McpServer({"t": tool(lambda given: text_result("done"))}, fresh_ms=600_000) as server:
        config = "chat: {tool_list_age: 0s}\n"
        with opened(tmp_path, server.host, config=config) as gateway:
            for _ in range(2):
                assert "mcp_server_errors" not in chat(gateway, "hello", named("s", server))
            assert methods(server) == ["tools/list"] * 2


def test_a_server_that_was_replaced_is_discovered_again(tmp_path):
    """The protocol version and the tools in the cache are those of the previous server at this port."""
    with SessionServer({"old": tool(lambda given: text_result("old"))}) as server, opened(tmp_path, server.host) as gateway:
        assert only_result(chat(gateway, "call s__old", named("s", server)))["result"] == "old"
        after = McpServer({"new": tool(lambda given: text_result("new"))})
        server.reply_always(after._reply)
        assert only_result(chat(gateway, "call s__old", named("s", server)))["is_error"]
        assert only_result(chat(gateway, "call s__new", named("s", server)))["result"] == "new"


def test_a_configured_protocol_version_is_used_without_trying_others(tmp_path):
    with SessionServer({"t": tool(lambda given: text_result("done"))}) as server, opened(tmp_path, server.host) as gateway:
        reply = chat(gateway, "call s__t", {**named("s", server), "version": "2025-06-18"})
        assert only_result(reply)["result"] == "done"
        assert server.requests[0].json["method"] == "initialize"
        assert server.requests[0].json["params"]["protocolVersion"] == "2025-06-18"
        error = chat(gateway, "hello", {**named("s", server), "version": "1999-01-01"})["mcp_server_errors"]["s"]
        assert error["code"] == "invalid_field" and "1999-01-01" in error["message"]


def test_a_url_with_credentials_is_refused_at_once(shared):
    body = {"model": "mock/chat", "messages": "hello", "mcp_servers": ["https://user:pass@example.com/mcp"]}
    refused = shared.client.post(CHAT, body)
    assert refused.status == 422 and "pass@" not in refused.body.decode()
