"""Turns that a provider pauses for its own tools go on until their end; the client gets one answer."""

import json

import anthropic_replies
import pytest
from chat_events import chunks_of, text_of
from mcp_chat import named, opened
from mcp_server import McpServer, text_result, tool
from millrace import eventually
from model_gateway import model_gateway
from upstream import json_reply

CHAT = "/v1/chat/completions"
TEXTS = ["Grüße: ", "they turn."]


@pytest.fixture
def gateway(tmp_path, upstream):
    instance = model_gateway(tmp_path, [("claude", "anthropic", "claude-sonnet-4-5", upstream.url)])
    yield instance
    instance.close()


def paused_once(seen):
    """Pauses a turn that begins and ends one that goes on."""
    request = json.loads(seen.body)
    goes_on = request["messages"][-1]["role"] == "assistant"
    reply = anthropic_replies.searched([(TEXTS[1], [("Mills", "https://a.example/1")]) if goes_on else (TEXTS[0], [])], request.get("stream"))
    if not goes_on:
        reply.pieces = [piece.replace(b"end_turn", b"pause_turn") for piece in reply.pieces]
    return reply


def body(**more):
    return {"model": "claude", "messages": "why?", "web_search_options": {}, **more}


def check(choice):
    message = choice["message"]
    assert message["content"] == "".join(TEXTS) and choice["finish_reason"] == "stop"
    (cited,) = message["annotations"]
    place = cited["url_citation"]
    assert message["content"][place["start_index"] : place["end_index"]] == TEXTS[1]


def test_a_whole_answer_and_a_deferred_one_go_on(gateway, upstream):
    upstream.reply_always(paused_once)
    whole = gateway.client.post(CHAT, body()).json()
    check(whole["choices"][0])
    assert whole["usage"]["total_tokens"] == 2 * 12
    job = gateway.client.wait_terminal(gateway.client.post(CHAT, body(deferred=True)).json()["request_id"])
    assert job["status"] == "succeeded", job
    eventually(lambda: gateway.client.get("/v1/usage").json()["tokens"] == 4 * 12, what="the tokens of four calls")
    assert all(seen.json["messages"][1]["content"][0]["text"] == TEXTS[0].strip() for seen in upstream.requests[1::2])


def test_a_stream_goes_on_and_finishes_once(gateway, upstream):
    upstream.reply_always(paused_once)
    reply = gateway.client.post(CHAT, body(stream=True, stream_options={"include_usage": True}))
    chunks = chunks_of(reply.body)
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    assert text == "".join(TEXTS)
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["stop"]
    assert chunks[-1]["usage"]["total_tokens"] == 2 * 12


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_each_of_several_choices_goes_on(gateway, upstream, stream):
    upstream.reply_always(paused_once)
    reply = gateway.client.post(CHAT, body(n=3, stream=stream))
    assert reply.status == 200, reply.body
    assert len(upstream.requests) == 6
    if not stream:
        for choice in reply.json()["choices"]:
            check(choice)
        return
    texts = ["", "", ""]
    for chunk in chunks_of(reply.body):
        for choice in chunk["choices"]:
            texts[choice["index"]] += choice["delta"].get("content") or ""
    assert texts == ["".join(TEXTS)] * 3


def test_a_turn_that_is_paused_for_ever_ends_with_length(gateway, upstream):
    upstream.reply_always(json_reply({"content": [{"type": "text", "text": "a"}], "stop_reason": "pause_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}))
    reply = gateway.client.post(CHAT, body()).json()
    assert reply["choices"][0]["finish_reason"] == "length" and reply["choices"][0]["message"]["content"] == "a" * 10
    assert len(upstream.requests) == 10


def paused_then_calling(seen):
    """Pauses the first turn, which goes on with a call; its result is answered."""
    request = json.loads(seen.body)
    last = request["messages"][-1]
    streamed = request.get("stream")
    make = anthropic_replies.stream if streamed else anthropic_replies.message
    if last["role"] == "assistant":
        return make("look", calls=[("toolu_1", "s__look", {"at": "mill"})])
    if last["content"][0]["type"] == "tool_result":
        return make("done")
    return paused_once(seen)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_turn_of_the_tool_loop_goes_on_and_its_result_may_have_broken_text(tmp_path, upstream, stream):
    upstream.reply_always(paused_then_calling)
    row = f"models:\n- {{name: claude, provider: anthropic, model: claude-sonnet-4-5, base_url: '{upstream.url}', api_key: env:UP_KEY}}\n"
    with McpServer({"look": tool(lambda given: text_result("seen \ud83d"), at="string")}) as server:
        with opened(tmp_path, server.host, config=row, env={"UP_KEY": "sk-0123456789"}) as gateway:
            reply = gateway.client.post(CHAT, body(stream=stream, mcp_servers=[named("s", server)]))
    assert reply.status == 200, reply.body
    last = chunks_of(reply.body)[-1] if stream else reply.json()
    assert last["tools_executed"] == ["s__look"] and last["turns_consumed"] == 2
    text = text_of(chunks_of(reply.body)) if stream else last["choices"][0]["message"]["content"]
    assert text == TEXTS[0] + "look\n\ndone"
    user, said, result = upstream.requests[-1].json["messages"]
    assert [block["text"] for block in said["content"][:-1]] == [TEXTS[0], "look"]
    assert said["content"][-1] == {"type": "tool_use", "id": "toolu_1", "name": "s__look", "input": {"at": "mill"}}
    assert result["content"][0]["content"] == "seen \ufffd" and user["role"] == "user"
