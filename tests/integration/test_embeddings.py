"""Embeddings over a running gateway: those of the mock, and those of fake upstreams."""

import base64
import json
import struct

import pytest
from model_gateway import model_gateway
from upstream import Upstream, json_reply

EMBEDDINGS = "/v1/embeddings"


@pytest.fixture(scope="module")
def upstream():
    with Upstream() as instance:
        yield instance


@pytest.fixture(scope="module")
def shared(tmp_path_factory, upstream):
    folder = tmp_path_factory.mktemp("embeddings")
    rows = [
        ("up/ada", "openai", "text-embedding-ada-002", f"{upstream.url}/v1"),
        ("up/small", "openai", "text-embedding-3-small", f"{upstream.url}/v1"),
        ("up/gemini", "gemini", "text-embedding-004", upstream.url),
        ("up/claude", "anthropic", "claude", upstream.url),
    ]
    gateway = model_gateway(folder, rows)
    yield gateway
    gateway.close()


def embed(gateway, given="hello", model="mock/embedding", **more):
    return gateway.client.post(EMBEDDINGS, {"model": model, "input": given, **more})


def vectors(reply):
    assert reply.status == 200, reply.body
    body = reply.json()
    assert body["object"] == "list" and body["id"] and body["usage"]["prompt_tokens"] > 0
    assert [row["index"] for row in body["data"]] == list(range(len(body["data"])))
    return [row["embedding"] for row in body["data"]]


def packed(vector):
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def reply_of(upstream_vectors):
    rows = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(upstream_vectors)]
    return json_reply({"object": "list", "data": rows, "model": "said", "usage": {"prompt_tokens": 4, "total_tokens": 4}})


@pytest.mark.parametrize("given, count", [("one", 1), (["one", "two"], 2), ([1, 2, 3], 1), ([[1], [2, 3]], 2)])
def test_each_form_of_the_input_has_one_vector_for_each(shared, given, count):
    assert len(vectors(embed(shared, given))) == count


def test_base64_holds_the_floats_bit_by_bit(shared):
    (floats,) = vectors(embed(shared))
    (text,) = vectors(embed(shared, encoding_format="base64"))
    assert text == packed(floats)


def test_the_mock_honours_dimensions(shared):
    (vector,) = vectors(embed(shared, dimensions=7))
    assert len(vector) == 7 and abs(sum(x * x for x in vector) - 1) < 1e-5


@pytest.mark.parametrize(
    "given, more, place",
    [
        ("", {}, ["body", "input"]),
        ([], {}, ["body", "input"]),
        (["a", ""], {}, ["body", "input", "1"]),
        (["a"] * 2049, {}, ["body", "input"]),
        ("word " * 8200, {}, ["body", "input"]),
        ([[1] * 8193], {}, ["body", "input", "0"]),
        ([[1] * 8000] * 38, {}, ["body", "input"]),
        ("a", {"dimensions": 0}, ["body", "dimensions"]),
        ("a", {"dimensions": 8, "model": "up/ada"}, ["body", "dimensions"]),
        ([1, 2], {"model": "up/gemini"}, ["body", "input"]),
    ],
)
def test_a_request_beyond_a_limit_is_422_before_any_upstream_call(shared, upstream, given, more, place):
    before = len(upstream.requests)
    reply = shared.client.post(EMBEDDINGS, {"model": "up/small", "input": given, **more})
    assert reply.status == 422, reply.body
    assert reply.json()["detail"][0]["loc"] == place and reply.json()["error"]["type"]
    assert len(upstream.requests) == before


def test_the_largest_list_of_tokens_is_accepted(shared):
    assert len(vectors(embed(shared, [[1] * 8192] * 36, dimensions=2))) == 36


def test_an_upstream_is_called_once_and_its_floats_are_returned_in_either_encoding(shared, upstream):
    given = [0.1, -0.25]
    for encoding, expected in (("float", None), ("base64", packed(given))):
        upstream.reply(reply_of([packed(given)]))
        reply = embed(shared, "x", "up/small", encoding_format=encoding)
        (vector,) = vectors(reply)
        assert reply.headers["x-millrace-model"] == "up/small" and reply.json()["model"] == "up/small"
        seen = upstream.requests[-1]
        assert seen.path == "/v1/embeddings" and seen.headers["authorization"] == "Bearer sk-0123456789"
        assert seen.json["model"] == "text-embedding-3-small" and seen.json["input"] == ["x"]
        assert vector == expected if expected else packed(vector) == packed(given)


def test_a_text_that_fits_is_sent_and_the_upstreams_own_limit_error_is_passed_on(shared, upstream):
    text = "Мельница мелет зерно, и вода течёт по жёлобу. " * 320  # 8,001 tokens of cl100k_base
    upstream.reply(reply_of([[1.0]]))
    assert vectors(embed(shared, text, "up/small")) == [[1]]
    upstream.reply(json_reply({"error": {"message": "maximum context length is 8192 tokens"}}, 400))
    reply = embed(shared, text + text, "up/small")
    assert reply.status == 400 and "maximum context length is 8192 tokens" in reply.json()["error"]["message"]


def test_a_request_to_a_busy_upstream_is_retried(shared, upstream):
    upstream.reply(json_reply({"error": {"message": "busy"}}, 429, **{"retry-after-ms": "1"}), reply_of([[1.0]]))
    reply = embed(shared, "x", "up/small")
    assert vectors(reply) == [[1]] and reply.headers["x-millrace-attempts"] == "2"


def test_gemini_is_called_in_batches_and_what_it_lacks_is_reported(shared, upstream):
    def answer(seen):
        texts = [each["content"]["parts"][0]["text"] for each in seen.json["requests"]]
        return json_reply({"embeddings": [{"values": [float(text)]} for text in texts]})

    upstream.reply_always(answer)
    reply = embed(shared, [str(i) for i in range(150)], "up/gemini", user="u")
    assert vectors(reply) == [[i] for i in range(150)]
    assert reply.headers["x-millrace-dropped-params"] == "user" and reply.headers["x-millrace-attempts"] == "2"
    assert {len(seen.json["requests"]) for seen in upstream.requests[-2:]} == {100, 50}
    strict = shared.client.post(f"{EMBEDDINGS}?strict=true", {"model": "up/gemini", "input": "1", "user": "u"})
    assert strict.status == 400 and "user" in strict.json()["error"]["message"]


def test_embeddings_of_a_provider_without_them_are_an_error(shared):
    reply = embed(shared, "x", "up/claude")
    assert reply.status == 400 and "anthropic" in reply.json()["error"]["message"]


def test_a_model_that_chats_makes_no_embeddings_and_an_unknown_one_is_not_found(shared):
    assert embed(shared, "x", "mock/chat").status == 400
    reply = embed(shared, "x", "mock/embeddings")
    assert reply.status == 404 and "mock/embedding" in reply.json()["error"]["message"]


def test_an_invalid_response_is_502(shared, upstream):
    upstream.reply(*[json_reply({"data": []}) for _ in range(3)])
    reply = embed(shared, "x", "up/small")
    assert reply.status == 502 and json.loads(reply.body)["error"]["code"] == "upstream_error"
