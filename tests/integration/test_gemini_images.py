"""Images of Gemini's API behind OpenAI's, with a fake upstream."""

import base64
import json
import urllib.request

import gemini_replies
import pytest
from model_gateway import model_gateway
from upstream import Upstream

IMAGES = "/v1/images/generations"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
KEY = "sk-0123456789"
DRAWING, IMAGEN = "gemini/gemini-2.5-flash-image", "gemini/imagen-4.0-generate-001"


@pytest.fixture(scope="module")
def provider():
    with Upstream() as instance:
        yield instance


@pytest.fixture(scope="module")
def shared(tmp_path_factory, provider):
    rows = [(name, "gemini", name.removeprefix("gemini/"), provider.url) for name in (DRAWING, IMAGEN)]
    gateway = model_gateway(tmp_path_factory.mktemp("images"), rows)
    yield gateway
    gateway.close()


def generate(gateway, model, strict=False, **more):
    return gateway.client.post(IMAGES + ("?strict=true" if strict else ""), {"model": model, "prompt": "a mill", **more})


def test_a_gemini_model_draws_and_the_gateway_serves_its_image(shared, provider):
    provider.reply(gemini_replies.drawing(PNG))
    reply = generate(shared, DRAWING, size="1536x1024")
    assert reply.status == 200, reply.body
    (image,) = reply.json()["data"]
    with urllib.request.urlopen(image["url"], timeout=30) as fetched:
        assert fetched.headers["content-type"] == "image/png" and fetched.read() == base64.b64decode(PNG)
    seen = provider.requests[-1]
    assert seen.path == "/v1beta/models/gemini-2.5-flash-image:generateContent"
    assert seen.headers["x-goog-api-key"] == KEY
    assert seen.json["generationConfig"] == {"responseModalities": ["IMAGE"], "imageConfig": {"aspectRatio": "3:2"}}
    assert reply.headers["x-millrace-dropped-params"] == "size;clamped"
    assert reply.headers["x-millrace-model"] == DRAWING
    assert reply.json()["usage"] == {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    assert reply.json()["output_format"] == "png"


def test_n_images_are_n_calls_and_their_tokens_are_added(shared, provider):
    before = len(provider.requests)
    provider.reply(*[gemini_replies.drawing(PNG)] * 3)
    reply = generate(shared, DRAWING, n=3, response_format="b64_json")
    assert reply.status == 200, reply.body
    assert [image["b64_json"] for image in reply.json()["data"]] == [PNG] * 3
    assert len(provider.requests) == before + 3 and reply.headers["x-millrace-attempts"] == "3"
    assert reply.headers["x-millrace-dropped-params"] == "n;emulated"
    assert reply.json()["usage"]["total_tokens"] == 36


def test_imagen_predicts_four_at_a_time(shared, provider):
    before = len(provider.requests)
    provider.reply(gemini_replies.predictions(*[PNG] * 4), gemini_replies.predictions(PNG, PNG))
    reply = generate(shared, IMAGEN, n=6, response_format="b64_json")
    assert reply.status == 200, reply.body
    rows = reply.json()["data"]
    assert len(rows) == 6 and all(row == {"b64_json": PNG, "revised_prompt": "better"} for row in rows)
    sent = provider.requests[before:]
    assert {seen.path for seen in sent} == {"/v1beta/models/imagen-4.0-generate-001:predict"}
    assert sorted(seen.json["parameters"]["sampleCount"] for seen in sent) == [2, 4]


def test_a_stream_is_the_whole_image_as_an_event(shared, provider):
    provider.reply(gemini_replies.drawing(PNG))
    reply = generate(shared, DRAWING, stream=True)
    assert reply.status == 200 and reply.headers["content-type"] == "text/event-stream", reply.body
    assert reply.headers["x-millrace-dropped-params"] == "stream;emulated"
    name, data = reply.body.decode().strip().split("\n")
    assert name == "event: image_generation.completed"
    event = json.loads(data.removeprefix("data: "))
    assert event["b64_json"] == PNG and event["usage"]["total_tokens"] == 12 and event["output_format"] == "png"


@pytest.mark.parametrize(
    "model, reply_of, reason",
    [
        (DRAWING, lambda: gemini_replies.drawing(None, "IMAGE_SAFETY"), "IMAGE_SAFETY"),
        (IMAGEN, lambda: gemini_replies.predictions(filtered="violence (code 5)"), "violence (code 5)"),
    ],
)
def test_what_a_filter_refuses_is_a_400_with_the_reason_and_is_not_retried(shared, provider, model, reply_of, reason):
    before = len(provider.requests)
    provider.reply(reply_of())
    reply = generate(shared, model)
    assert reply.status == 400, reply.body
    error = reply.json()["error"]
    assert reason in error["message"] and error["param"] == "prompt" and len(provider.requests) == before + 1


def test_a_response_without_an_image_is_requested_again(shared, provider):
    provider.reply(gemini_replies.drawing(None, "NO_IMAGE"), gemini_replies.drawing(PNG))
    reply = generate(shared, DRAWING)
    assert reply.status == 200 and reply.headers["x-millrace-attempts"] == "2", reply.body


def test_errors_of_the_provider_are_returned_without_the_key(shared, provider):
    provider.reply_always(gemini_replies.refusal(400, f"no such thing for {KEY}", "INVALID_ARGUMENT"))
    reply = generate(shared, IMAGEN)
    assert reply.status == 400 and "no such thing" in reply.json()["error"]["message"]
    assert KEY.encode() not in reply.body


@pytest.mark.parametrize("model", [DRAWING, IMAGEN])
def test_the_model_is_listed_with_the_ability_to_draw(shared, model):
    assert shared.client.get(f"/v1/models/{model}").json()["capabilities"]["images"] is True


def test_strict_refuses_parameters_that_cannot_be_sent(shared, provider):
    before = len(provider.requests)
    reply = generate(shared, DRAWING, strict=True, style="vivid")
    assert reply.status == 400 and "style" in reply.json()["error"]["message"], reply.body
    assert len(provider.requests) == before
