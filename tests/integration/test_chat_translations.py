"""What each provider gets of a request, and what a client gets of its counts."""

import base64
import dataclasses
import json

import openai_replies
import pytest
from chat_calls import content_of, post_chat
from chat_events import chunks_of
from families import ALL, ANTHROPIC, GEMINI, OPENAI
from mcp_chat import named
from millrace import Gateway

FOREIGN = {
    "cached_content": "cachedContents/x",
    "deferred_calls": [{"id": "c"}],
    "handoff_mode": "x",
    "inference_geo": "us",
    "output_config": {"effort": "low"},
    "prompt_mode": "reasoning",
    "safe_prompt": True,
    "speed": "fast",
}


@pytest.fixture
def opened(tmp_path, upstream):
    gateways = []

    def start(family):
        folder = tmp_path / family.name
        folder.mkdir()
        config = folder / "millrace.yaml"
        config.write_text(f"models:\n{family.row('m', upstream, api_key='env:UP_KEY', response_format='true')}")
        gateway = Gateway(folder / "data", "--config", config, "--fetch.allow-hosts", "127.0.0.1", env={"UP_KEY": "sk-0123456789"})
        gateways.append(gateway.start())
        return gateways[-1]

    yield start
    for gateway in gateways:
        gateway.close()


def dropped(reply):
    return reply.headers.get("x-millrace-dropped-params", "").split(", ")


def usage_of(gateway, family, upstream, edited, stream):
    """The usage that the client gets if `edited` changes the events or the body of the upstream's response."""
    whole = family.stream("a b") if stream else family.complete("a b")
    text = b"".join(whole.pieces).decode()
    assert edited(text) != text
    upstream.reply(dataclasses.replace(whole, pieces=[edited(text).encode()]))
    if not stream:
        return post_chat(gateway).json()["usage"]
    reply = post_chat(gateway, stream=True, stream_options={"include_usage": True})
    return chunks_of(reply.body)[-1]["usage"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_tokens_written_to_the_cache_are_counted_and_a_chained_gateway_reads_them(opened, upstream, stream):
    def written(text):
        return text.replace('"input_tokens": 9', '"input_tokens": 9, "cache_creation_input_tokens": 100')

    usage = usage_of(opened(ANTHROPIC), ANTHROPIC, upstream, written, stream)
    assert usage["prompt_tokens"] == 109 and usage["prompt_tokens_details"]["cache_creation_tokens"] == 100
    upstream.reply((openai_replies.stream if stream else openai_replies.completion)("a", usage=usage))
    gateway = opened(OPENAI)
    if stream:
        chained = chunks_of(post_chat(gateway, stream=True, stream_options={"include_usage": True}).body)[-1]["usage"]
    else:
        chained = post_chat(gateway).json()["usage"]
    assert chained["prompt_tokens_details"] == usage["prompt_tokens_details"]


def with_early_usage(text):
    """The counts of an OpenAI stream in its first chunk; the last one has zeros for the prompt."""
    text = text.replace('"prompt_tokens": 9', '"prompt_tokens": 0')
    counts = '{"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}'
    return text.replace('"object": "chat.completion.chunk"', f'"object": "chat.completion.chunk", "usage": {counts}', 1)


def with_last_zero(text):
    before, _, after = text.rpartition('"promptTokenCount": 9')
    return before + '"promptTokenCount": 0' + after


LATER_ZEROS = [
    (OPENAI, with_early_usage),
    (ANTHROPIC, lambda text: text.replace('"usage": {"output_tokens": 3', '"usage": {"input_tokens": 0, "output_tokens": 3')),
    (GEMINI, with_last_zero),
]


@pytest.mark.parametrize(("family", "edited"), LATER_ZEROS, ids=lambda given: str(given) if given in ALL else "")
def test_a_later_zero_does_not_replace_a_count_of_a_stream(opened, upstream, family, edited):
    usage = usage_of(opened(family), family, upstream, edited, True)
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (9, 3, 12)


@pytest.mark.parametrize("family", ALL, ids=str)
def test_without_tools_their_choice_is_not_sent(opened, upstream, family):
    upstream.reply_always(family.complete("Hello"))
    gateway = opened(family)
    for more in ({}, {"tools": []}, {"mcp_servers": [named("gone", "http://127.0.0.1:1/mcp")]}):
        reply = post_chat(gateway, tool_choice="required", parallel_tool_calls=False, **more)
        assert content_of(reply) == "Hello"
        sent = upstream.requests[-1].json
        assert not {"tools", "tool_choice", "parallel_tool_calls", "toolConfig"} & set(sent), sent
        assert {"tool_choice", "parallel_tool_calls"} <= set(dropped(reply))


@pytest.mark.parametrize("family", ALL, ids=str)
def test_fields_of_other_providers_and_of_the_gateway_are_not_forwarded(opened, upstream, family):
    upstream.reply(family.complete("Hello"))
    reply = post_chat(opened(family), **FOREIGN)
    assert content_of(reply) == "Hello"
    assert not set(FOREIGN) & set(upstream.requests[-1].json) and set(FOREIGN) <= set(dropped(reply))


def test_a_tool_result_with_a_reference_is_text_for_gemini(opened, upstream):
    upstream.reply(GEMINI.complete("Hello"))
    result = json.dumps({"properties": {"p": {"$ref": "#/$defs/P"}}})
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [{"role": "user", "content": "u"}, {"role": "assistant", "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "a", "content": result})
    assert content_of(post_chat(opened(GEMINI), messages=messages)) == "Hello"
    (part,) = upstream.requests[-1].json["contents"][2]["parts"]
    assert part["functionResponse"]["response"] == {"result": result}


def test_gemini_before_three_gets_a_schema_in_words_beside_functions(opened, upstream):
    upstream.reply_always(GEMINI.complete('{"a": 1}'))
    tools = [{"type": "function", "function": {"name": "f"}}]
    schema = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {"type": "object"}}}
    reply = post_chat(opened(GEMINI), tools=tools, response_format=schema)
    sent = upstream.requests[-1].json
    assert content_of(reply) == '{"a": 1}' and "tools" in sent and "responseMimeType" not in sent.get("generationConfig", {})
    assert "JSON" in json.dumps(sent["systemInstruction"])
    assert dropped(reply) == ["response_format;clamped"]


@pytest.mark.parametrize("user", ["someone@example.com", "+1 415 555 2671"])
def test_anthropic_gets_a_hash_of_a_personal_user(opened, upstream, user):
    upstream.reply_always(ANTHROPIC.complete("Hello"))
    gateway = opened(ANTHROPIC)
    replies = [post_chat(gateway, user=user), post_chat(gateway, user=user)]
    first, second = (request.json["metadata"]["user_id"] for request in upstream.requests[-2:])
    assert first == second and len(first) == 64 and user not in json.dumps(upstream.requests[-1].json)
    assert all(dropped(reply) == ["user;clamped"] for reply in replies)


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
JPEG = b"\xff\xd8\xff\xe0" + bytes(20)
BMP = b"BM" + bytes(20)


def with_image(head, data):
    encoded = base64.b64encode(data).decode()
    part = {"type": "image_url", "image_url": {"url": f"{head},{encoded}"}}
    return [{"role": "user", "content": [{"type": "text", "text": "what"}, part]}], encoded


def image_sent(family, body, encoded):
    """The media type with which the upstream received the image."""
    if family is ANTHROPIC:
        source = body["messages"][0]["content"][1]["source"]
        assert source["data"] == encoded
        return source["media_type"]
    if family is GEMINI:
        inline = body["contents"][0]["parts"][1]["inlineData"]
        assert inline["data"] == encoded
        return inline["mimeType"]
    head, data = body["messages"][0]["content"][1]["image_url"]["url"].split(",")
    assert data == encoded
    return head.removeprefix("data:").removesuffix(";base64")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("family", ALL, ids=str)
def test_the_first_bytes_decide_about_the_media_type_of_an_image(opened, upstream, family, stream):
    gateway = opened(family)
    upstream.reply_always(family.stream("Hello") if stream else family.complete("Hello"))
    for head in ("data:image/jpg;base64", "data:image/png;base64", "data:application/octet-stream;base64", "data:;base64", "data:image/gif;BASE64"):
        messages, encoded = with_image(head, JPEG)
        reply = post_chat(gateway, stream=stream, messages=messages)
        assert reply.status == 200, reply.body
        assert image_sent(family, upstream.requests[-1].json, encoded) == "image/jpeg", head


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("family", [family for family in ALL if family.name != "openai"], ids=str)
def test_an_image_that_the_provider_does_not_take_is_a_422_that_names_the_part(opened, upstream, family, stream):
    gateway = opened(family)
    for head, data, type_shown in (("data:image/png;base64", BMP, "'image/bmp'"), ("data:;base64", b"abc", "an unknown type")):
        messages, _ = with_image(head, data)
        reply = post_chat(gateway, stream=stream, messages=messages)
        error = reply.json()["error"]
        assert reply.status == 422 and error["param"] == "messages.0.content.1", reply.body
        assert type_shown in error["message"] and "png, jpeg" in error["message"], error
    messages, encoded = with_image("data:image/bmp;base64", PNG)
    upstream.reply(family.stream("Hello") if stream else family.complete("Hello"))
    assert post_chat(gateway, stream=stream, messages=messages).status == 200, "a refused image does not count for the breaker"
    assert len(upstream.requests) == 1 and image_sent(family, upstream.requests[0].json, encoded) == "image/png"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", ["audio_url", "video_url"])
def test_urls_of_media_are_passed_to_servers_that_take_them(tmp_path, upstream, kind, stream):
    rows = "".join(
        f"- {{name: {name}, provider: {provider}, model: m, base_url: '{upstream.url}/v1', api_key: env:UP_KEY{more}}}\n"
        for name, provider, more in (
            ("a", "vllm", ""),
            ("b", "openai", ", media_urls: true"),
            ("c", "vllm", ", media_urls: false"),
            ("d", "openai", ""),
        )
    )
    config = tmp_path / "millrace.yaml"
    config.write_text(f"models:\n{rows}")
    upstream.reply_always(OPENAI.stream("Hello") if stream else OPENAI.complete("Hello"))
    wav = base64.b64encode(b"RIFF" + bytes(4) + b"WAVEfmt " + bytes(20)).decode()
    urls = {
        "https://93.184.216.34/a": "https://93.184.216.34/a",
        f"data:application/octet-stream;base64,{wav}": f"data:audio/wav;base64,{wav}",
    }
    gateway = Gateway(tmp_path / "data", "--config", config, env={"UP_KEY": "sk-0123456789"}).start()
    try:
        for url, expected in urls.items():
            for given in (url, {"url": url}):
                messages = [{"role": "user", "content": [{"type": kind, kind: given}]}]
                for model in "ab":
                    assert post_chat(gateway, model=model, messages=messages, stream=stream).status == 200
                    assert upstream.requests[-1].json["messages"][0]["content"] == [{"type": kind, kind: {"url": expected}}]
                before = len(upstream.requests)
                for model in "cd":
                    reply = post_chat(gateway, model=model, messages=messages, stream=stream)
                    assert reply.status == 422 and reply.json()["error"]["param"] == "messages.0.content.0", reply.body
                assert len(upstream.requests) == before
        for url in ("https://127.0.0.1/a", "http://example.com/a", "file:///etc/passwd", "data:audio/wav,raw", ""):
            messages = [{"role": "user", "content": [{"type": kind, kind: {"url": url}}]}]
            assert post_chat(gateway, model="a", messages=messages).status in (400, 403, 422), url
    finally:
        gateway.close()
