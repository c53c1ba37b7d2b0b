"""Server-side tools of MCP servers of the first version, which respond in a stream that is separate from the requests."""

import openai_replies
import pytest
from mcp_chat import EVERYTHING, chat, named, only_result, opened
from mcp_server import StreamServer, text_result, tool
from node_server import NodeServer
from npm_programs import node_package
from upstream import Reply, Upstream


def test_a_server_of_the_first_version_responds_in_its_stream(tmp_path):
    with StreamServer({"t": tool(lambda given: text_result("done"))}) as server, opened(tmp_path, server.host) as gateway:
        assert only_result(chat(gateway, "call s__t", named("s", server)))["result"] == "done"
        stream = next(seen for seen in server.requests if seen.method == "GET")
        assert stream.disconnected.wait(30), "the stream ends with the request"
        before = len(server.requests)
        assert only_result(chat(gateway, "call s__t", named("s", server)))["result"] == "done"
        again = [seen.json.get("method") if seen.method == "POST" else "GET" for seen in server.requests[before:]]
        assert again == ["GET", "initialize", "notifications/initialized", "tools/call"]


def test_a_stream_that_ends_before_the_response_is_an_error_and_the_call_is_not_sent_again(tmp_path):
    tools = {"t": tool(lambda given: text_result("done"))}
    with StreamServer(tools, breaks=True) as server, opened(tmp_path, server.host) as gateway:
        outcome = only_result(chat(gateway, "call s__t", named("s", server)))
        assert outcome["is_error"] and "ended its stream" in outcome["result"] and len(server.calls) == 1


LOST = [Reply(status=404), Reply(400, [b"No transport found for sessionId"], {"Content-Type": "text/html"})]


@pytest.mark.parametrize("lost", LOST, ids=["404", "400"])
def test_a_stream_that_the_server_forgot_is_opened_once_more(tmp_path, lost):
    tools = {"t": tool(lambda given: text_result("done"))}
    with StreamServer(tools, loses=lost) as server, opened(tmp_path, server.host) as gateway:
        assert only_result(chat(gateway, "call s__t", named("s", server)))["result"] == "done"
        assert len(server.streams) == 2 and len(server.calls) == 1


def test_a_stream_cannot_name_an_endpoint_of_another_host(tmp_path):
    with Upstream() as other, StreamServer({}, place=f"{other.url}/messages") as server:
        with opened(tmp_path, server.host, other.url.removeprefix("http://")) as gateway:
            error = chat(gateway, "hello", named("s", server))["mcp_server_errors"]["s"]
            assert error["code"] == "upstream_error" and other.requests == [], error


def test_a_published_server_of_the_first_version_works(tmp_path):
    script = node_package(*EVERYTHING) / "dist" / "index.js"
    with NodeServer(tmp_path, script, "sse") as server:
        with opened(tmp_path, server.url.removeprefix("http://")) as gateway:
            reply = chat(gateway, "say s__echo", named("s", f"{server.url}/sse"))
            assert only_result(reply)["result"] == "Echo: say s__echo", reply


def test_after_a_refused_initialize_the_next_call_begins_with_initialize(tmp_path, upstream):
    def answer(given):
        first = len(server.calls) == 1
        server.breaks, server.refusals = first, 1 if first else 0
        return text_result("done")

    call = openai_replies.completion("", calls=[("c1", "s__t", {})])
    upstream.reply(call, call, call, openai_replies.completion("Finished."))
    with StreamServer({"t": tool(answer)}) as server:
        config = f"models:\n- {{name: m, provider: vllm, model: m, base_url: '{upstream.url}/v1'}}\n"
        with opened(tmp_path, server.host, config=config) as gateway:
            reply = chat(gateway, "go", named("s", server), model="m")
        results = [(each["is_error"], each["result"]) for each in reply["mcp_tool_results"]]
        assert "ended its stream" in results[0][1] and "refused initialize" in results[1][1] and results[2] == (False, "done"), results
        sent = [seen.json.get("method") if seen.method == "POST" else "GET" for seen in server.requests]
        assert sent[-5:] == ["initialize", "GET", "initialize", "notifications/initialized", "tools/call"], sent
