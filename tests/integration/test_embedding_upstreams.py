"""Embeddings of providers over a running gateway: both encodings, and invalid responses."""

import base64
import struct

import gemini_replies
import openai_replies
import pytest
from families import ANTHROPIC, GEMINI, OPENAI
from millrace import Gateway
from upstream import Reply

EMBEDDINGS = "/v1/embeddings"
KEY = "Provider.Key.7c1f"
VECTORS = [[0.1, -2.5e-7, 3.0], [1.0, 0.30000001192092896, -0.0]]
ANSWERS = {
    "floats": (OPENAI, openai_replies.embeddings(VECTORS)),
    "packed": (OPENAI, openai_replies.embeddings(VECTORS, packed=True)),
    "in another order": (OPENAI, openai_replies.embeddings(VECTORS, packed=True, order=[1, 0])),
    "gemini": (GEMINI, gemini_replies.embeddings(VECTORS)),
}
NO_ANSWERS = {
    "one too few": openai_replies.embeddings(VECTORS[:1]),
    "one twice": openai_replies.embeddings(VECTORS, order=[0, 0]),
    "of two lengths": openai_replies.embeddings([[1.0], [1.0, 2.0]]),
    "empty": openai_replies.embeddings([[1.0], []]),
    "torn": openai_replies.embeddings(VECTORS).broken_at(0, cut=True),
    "a page": Reply(200, [b"<html>"], {"Content-Type": "text/html"}),
    "half a number": Reply(200, [b'{"data": [{"index": 0, "embedding": "AAA="}, {"index": 1, "embedding": "AAAAAA=="}]}']),
}


@pytest.fixture
def opened(tmp_path, upstream):
    gateways = []

    def start(family):
        config = tmp_path / "millrace.yaml"
        config.write_text(f"models:\n{family.row('m', upstream, api_key='env:THE_KEY')}")
        gateways.append(Gateway(tmp_path / "data", "--config", config, "--chat.tries", "2", env={"THE_KEY": KEY}).start())
        return gateways[-1]

    yield start
    for gateway in gateways:
        gateway.close()


def embed(gateway, **more):
    return gateway.client.post(EMBEDDINGS, {"model": "m", "input": ["one", "two"], **more})


def singles(vectors):
    return [struct.pack(f"<{len(vector)}f", *vector) for vector in vectors]


@pytest.mark.parametrize("form", ANSWERS)
def test_both_encodings_are_the_providers_floats_to_the_bit(opened, upstream, form):
    family, answer = ANSWERS[form]
    upstream.reply_always(answer)
    gateway = opened(family)
    floats, packed = embed(gateway).json()["data"], embed(gateway, encoding_format="base64").json()["data"]
    assert [row["index"] for row in floats] == [0, 1] == [row["index"] for row in packed]
    assert singles(row["embedding"] for row in floats) == singles(VECTORS)
    assert [base64.b64decode(row["embedding"]) for row in packed] == singles(VECTORS)
    assert upstream.requests[0].headers[family.key_header] == family.key_prefix + KEY


@pytest.mark.parametrize("form", NO_ANSWERS)
def test_an_invalid_response_is_502(opened, upstream, form):
    upstream.reply_always(NO_ANSWERS[form])
    reply = embed(opened(OPENAI))
    assert reply.status == 502 and reply.json()["error"]["code"] == "upstream_error", reply.body


@pytest.mark.parametrize(("family", "replies"), [(OPENAI, openai_replies), (GEMINI, gemini_replies)], ids=["openai", "gemini"])
def test_vectors_of_other_dimensions_than_requested_are_502_and_the_model_stays_in_use(opened, upstream, family, replies):
    upstream.reply_always(replies.embeddings(VECTORS))
    gateway = opened(family)
    for _ in range(6):
        reply = embed(gateway, dimensions=2)
        error = reply.json()["error"]
        assert reply.status == 502 and error["param"] == "dimensions" and "3 dimensions instead of 2" in error["message"]
    assert embed(gateway, dimensions=3).status == 200


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failed_call_is_retried(opened, upstream, status):
    upstream.reply(openai_replies.refusal(status, f"no {KEY}"), openai_replies.embeddings(VECTORS))
    reply = embed(opened(OPENAI))
    assert reply.status == 200 and reply.headers["x-millrace-attempts"] == "2" and reply.json()["usage"]["total_tokens"] == 7


def test_a_failure_names_the_model_and_the_number_of_attempts(opened, upstream):
    upstream.reply_always(openai_replies.refusal(500, "broken"))
    reply = embed(opened(OPENAI), user="me")
    assert reply.status == 502 and len(upstream.requests) == 2
    assert reply.headers["x-millrace-model"] == "m" and reply.headers["x-millrace-attempts"] == "2"
    assert "x-millrace-cost-usd" not in reply.headers


def test_a_request_without_a_provider_call_names_no_provider(opened, upstream):
    reply = embed(opened(OPENAI), input="")
    assert reply.status == 422 and "x-millrace-attempts" not in reply.headers


def test_the_providers_key_is_in_no_error_and_no_log(opened, upstream):
    upstream.reply_always(openai_replies.refusal(401, f"wrong key {KEY}"))
    gateway = opened(OPENAI)
    reply = embed(gateway)
    assert reply.status == 502 and "wrong key ***" in reply.json()["error"]["message"]
    assert KEY.encode() not in reply.body + gateway.log.read_bytes()


def test_a_provider_without_embeddings_gets_no_request(opened, upstream):
    reply = embed(opened(ANTHROPIC))
    assert 400 <= reply.status < 500 and upstream.requests == []


def test_tokens_for_a_provider_of_texts_are_422_and_strict_refuses_what_is_dropped(opened, upstream):
    upstream.reply_always(gemini_replies.embeddings(VECTORS))
    gateway = opened(GEMINI)
    assert embed(gateway, input=[[1, 2], [3]]).status == 422 and upstream.requests == []
    assert embed(gateway, user="me").headers["x-millrace-dropped-params"] == "user"
    assert gateway.client.post(f"{EMBEDDINGS}?strict=true", {"model": "m", "input": "x", "user": "me"}).status == 400
