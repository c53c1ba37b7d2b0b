"""What clients of Mistral's API send and expect."""

import openai_replies
import pytest
from chat_events import chunks_of, text_of
from millrace import Gateway

CHAT = "/v1/chat/completions"
THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "2 + 2"}]}
TEXT = {"type": "text", "text": "4"}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


@pytest.fixture
def gateway(tmp_path, upstream):
    config = tmp_path / "millrace.yaml"
    rows = "".join(f"- {{name: {name}, provider: {name}, base_url: '{upstream.url}/v1'}}\n" for name in ("mistral", "openai"))
    config.write_text(f"models:\n{rows}")
    instance = Gateway(tmp_path / "data", "--config", config).start()
    yield instance
    instance.close()


def body(model, **more):
    return {"model": model, "messages": [{"role": "user", "content": "hello"}], **more}


def streamed(gateway, upstream, model, **more):
    upstream.reply(openai_replies.stream("Hello world"))
    reply = gateway.client.post(CHAT, body(model, stream=True, **more))
    assert reply.status == 200, reply.body
    chunks = chunks_of(reply.body)
    assert text_of(chunks) == "Hello world"
    return chunks


def test_a_stream_of_mistral_always_ends_with_its_usage(gateway, upstream):
    *before, last = streamed(gateway, upstream, "mistral")
    assert last["choices"][0]["finish_reason"] == "stop" and last["usage"]["total_tokens"] == 12
    assert not any("usage" in chunk for chunk in before)


def test_no_other_stream_has_usage_unless_it_is_requested(gateway, upstream):
    assert not any("usage" in chunk for chunk in streamed(gateway, upstream, "openai"))
    assert not any("usage" in chunk for chunk in streamed(gateway, upstream, "mistral", stream_options={"include_usage": False}))


@pytest.mark.parametrize(("model", "expected"), [("mistral", "any"), ("openai", "required")])
def test_the_tool_choice_required_is_sent_as_the_provider_spells_it(gateway, upstream, model, expected):
    upstream.reply(openai_replies.completion())
    assert gateway.client.post(CHAT, body(model, tools=[TOOL], tool_choice="any")).status == 200
    assert upstream.requests[-1].json["tool_choice"] == expected


@pytest.mark.parametrize(("model", "expected", "dropped"), [("mistral", [THINKING, TEXT], None), ("openai", [TEXT], "messages.thinking")])
def test_what_a_model_thought_goes_back_to_mistral_alone(gateway, upstream, model, expected, dropped):
    upstream.reply(openai_replies.completion())
    turns = [
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": [THINKING, TEXT]},
        {"role": "user", "content": "sure?"},
    ]
    reply = gateway.client.post(CHAT, body(model) | {"messages": turns})
    assert reply.status == 200, reply.body
    assert upstream.requests[-1].json["messages"][1]["content"] == expected
    assert reply.headers.get("x-millrace-dropped-params") == dropped
