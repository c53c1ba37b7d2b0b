"""The sources of search responses, as published OpenAI clients read them: complete and streamed."""

import anthropic_replies
import gemini_replies
import pytest
from chat_events import chunks_of
from model_gateway import model_gateway

CHAT = "/v1/chat/completions"
TEXT = "Über mills: they turn."


def anthropic(streamed):
    blocks = [("Über mills: ", []), ("they turn.", [("Mills", "https://a.example/1"), ("Wind", "https://b.example/")])]
    return anthropic_replies.searched(blocks, streamed)


def gemini(streamed):
    chunks = [("Mills", "https://a.example/1"), ("Wind", "https://b.example/")]
    return gemini_replies.searched(TEXT, chunks, [(13, 23, (0, 1))], streamed)


@pytest.fixture
def shared(tmp_path, upstream):
    rows = [("claude", "anthropic", "claude-sonnet-4-5", upstream.url), ("gemini", "gemini", "gemini-2.5-flash", upstream.url)]
    gateway = model_gateway(tmp_path, rows)
    yield gateway
    gateway.close()


def cited(annotations):
    assert all(each["type"] == "url_citation" for each in annotations)
    citations = [each["url_citation"] for each in annotations]
    return [(TEXT[each["start_index"] : each["end_index"]], each["title"], each["url"]) for each in citations]


@pytest.mark.parametrize("model, reply_of", [("claude", anthropic), ("gemini", gemini)])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_the_sources_of_a_response_are_annotations_of_its_characters(shared, upstream, model, reply_of, streamed):
    upstream.reply(reply_of(streamed))
    body = {"model": model, "messages": "why?", "web_search_options": {}, "stream": streamed}
    reply = shared.client.post(CHAT, body)
    assert reply.status == 200, reply.body
    if streamed:
        deltas = [choice["delta"] for chunk in chunks_of(reply.body) for choice in chunk["choices"]]
        text = "".join(delta.get("content") or "" for delta in deltas)
        annotations = [each for delta in deltas for each in delta.get("annotations", [])]
    else:
        message = reply.json()["choices"][0]["message"]
        text, annotations = message["content"], message["annotations"]
    assert text == TEXT
    assert cited(annotations) == [
        ("they turn.", "Mills", "https://a.example/1"),
        ("they turn.", "Wind", "https://b.example/"),
    ]
    tools = upstream.requests[-1].json["tools"]
    assert any("googleSearch" in tool or tool.get("name") == "web_search" for tool in tools)
