"""Images over a running gateway: those of the mock, and those of fake upstreams."""

import base64
import json
import urllib.request
from urllib.error import HTTPError

import pytest
from model_gateway import model_gateway
from upstream import Upstream, json_reply, sse_reply

IMAGES = "/v1/images/generations"
PNG = b"\x89PNG\r\n\x1a\n"
SMALL = PNG + b"rest"


@pytest.fixture(scope="module")
def upstream():
    with Upstream() as instance:
        yield instance


@pytest.fixture(scope="module")
def shared(tmp_path_factory, upstream):
    folder = tmp_path_factory.mktemp("images")
    rows = [
        ("openai/dall-e-2", "openai", "dall-e-2", f"{upstream.url}/v1"),
        ("openai/dall-e-3", "openai", "dall-e-3", f"{upstream.url}/v1"),
        ("openai/gpt-image-1", "openai", "gpt-image-1", f"{upstream.url}/v1"),
        ("local/draw", "vllm", "draw", f"{upstream.url}/v1"),
        ("up/claude", "anthropic", "claude", upstream.url),
    ]
    gateway = model_gateway(folder, rows)
    yield gateway
    gateway.close()


def generate(gateway, prompt="a mill", model="mock/image", **more):
    body = {"prompt": prompt, **({"model": model} if model else {}), **more}
    return gateway.client.post(IMAGES, body)


def images(reply):
    assert reply.status == 200, reply.body
    body = reply.json()
    assert body["created"] > 1_700_000_000
    return body["data"]


def reply_of(*pictures, **more):
    rows = [{"b64_json": base64.b64encode(each).decode(), "revised_prompt": "better"} for each in pictures]
    return json_reply({"created": 1_700_000_001, "data": rows, **more})


def fetch(url):
    with urllib.request.urlopen(url, timeout=30) as reply:
        return reply.headers["content-type"], reply.read()


def events(reply):
    assert reply.status == 200 and reply.headers["content-type"] == "text/event-stream", reply.body
    out = []
    for text in reply.body.decode().split("\n\n"):
        if text:
            name, data = text.split("\n")
            out.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return out


def test_the_mock_draws_the_same_png_of_the_requested_size_each_time(shared):
    (image,) = images(generate(shared, size="64x32", response_format="b64_json"))
    bytes_ = base64.b64decode(image["b64_json"])
    assert bytes_.startswith(PNG) and bytes_[16:24] == (64).to_bytes(4, "big") + (32).to_bytes(4, "big")
    assert images(generate(shared, size="64x32", response_format="b64_json")) == [image]
    first, second = images(generate(shared, size="64x32", response_format="b64_json", n=2))
    assert first == image and second != image


def test_a_url_is_of_the_gateway_needs_no_key_and_cannot_be_changed(shared):
    (image,) = images(generate(shared))
    assert image["url"].startswith(f"{shared.url}/v1/images/files/") and "b64_json" not in image
    content_type, bytes_ = fetch(image["url"])
    assert content_type == "image/png" and bytes_.startswith(PNG)
    for wrong in (
        image["url"][:-1] + ("0" if image["url"][-1] != "0" else "1"),
        image["url"].replace("expires=", "expires=9"),
        image["url"].split("?")[0],
    ):
        with pytest.raises(HTTPError) as refused:
            fetch(wrong)
        assert refused.value.code == 404


def test_a_url_has_the_scheme_and_host_that_the_client_used_whatever_other_headers_it_sends(shared):
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "localhost", "Forwarded": "proto=https;host=localhost"}
    reply = shared.client.post("/v1/images/generations", {"model": "mock/image", "prompt": "a red square"}, headers=headers)
    assert reply.json()["data"][0]["url"].startswith(f"{shared.url}/v1/images/files/")
    refused = shared.client.post("/v1/images/generations", {"model": "mock/image", "prompt": "x"}, headers={"Host": "evil.example"})
    assert refused.status == 421 and b"images/files" not in refused.body


def test_an_image_url_stays_valid_after_a_restart(shared):
    (image,) = images(generate(shared, "kept"))
    before = fetch(image["url"])
    path = image["url"].split("/v1/", 1)[1]
    shared.kill()
    shared.restart()
    assert fetch(f"{shared.url}/v1/{path}") == before


def test_a_stream_is_named_events_that_repeat_their_name_and_no_done(shared):
    sent = events(generate(shared, stream=True, partial_images=2, size="32x32"))
    assert [name for name, _ in sent] == ["image_generation.partial_image"] * 2 + ["image_generation.completed"]
    assert all(data["type"] == name for name, data in sent)
    assert [data["partial_image_index"] for _, data in sent[:2]] == [0, 1]
    last = sent[-1][1]
    assert "partial_image_index" not in last and last["usage"]["total_tokens"] > 0
    assert last["size"] == "32x32" and last["output_format"] == "png" and last["created_at"] > 0
    assert base64.b64decode(last["b64_json"]).startswith(PNG)


@pytest.mark.parametrize(
    "model, more, place",
    [
        ("openai/dall-e-2", {"prompt": "a" * 1001}, "prompt"),
        ("openai/dall-e-3", {"prompt": "a" * 4001}, "prompt"),
        ("openai/gpt-image-1", {"prompt": "a" * 32001}, "prompt"),
        ("openai/dall-e-3", {"n": 2}, "n"),
        ("openai/dall-e-2", {"n": 11}, "n"),
        ("openai/dall-e-2", {"size": "1792x1024"}, "size"),
        ("openai/gpt-image-1", {"size": "256x256"}, "size"),
        ("openai/dall-e-2", {"quality": "hd"}, "quality"),
        ("openai/dall-e-3", {"background": "opaque"}, "background"),
        ("openai/dall-e-2", {"style": "vivid"}, "style"),
        ("openai/dall-e-2", {"stream": True}, "stream"),
        ("openai/gpt-image-1", {"response_format": "url"}, "response_format"),
        ("openai/gpt-image-1", {"background": "transparent", "output_format": "jpeg"}, "background"),
        ("openai/gpt-image-1", {"output_compression": 50}, "output_compression"),
        ("provider-a/dall-e-2", {"moderation": "low"}, "moderation"),
    ],
)
def test_what_a_models_row_does_not_allow_is_422_before_any_upstream_call(shared, upstream, model, more, place):
    before = len(upstream.requests)
    reply = generate(shared, **{"model": model, **more})
    assert reply.status == 422, reply.body
    assert reply.json()["detail"][0]["loc"] == ["body", place]
    assert len(upstream.requests) == before


def test_the_default_model_is_dall_e_2_unless_a_parameter_belongs_to_gpt_image_1(shared, upstream):
    upstream.reply(reply_of(SMALL), reply_of(SMALL, usage={"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}))
    (first,) = images(generate(shared, model=None))
    assert upstream.requests[-1].json == {"model": "dall-e-2", "prompt": "a mill", "response_format": "b64_json"}
    assert first["revised_prompt"] == "better" and fetch(first["url"])[1] == SMALL
    second = generate(shared, model=None, background="opaque")
    assert upstream.requests[-1].json == {"model": "gpt-image-1", "prompt": "a mill", "background": "opaque"}
    assert base64.b64decode(images(second)[0]["b64_json"]) == SMALL
    assert second.json()["usage"] == {"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}


@pytest.mark.parametrize(
    ("models", "setting", "expected"),
    [
        (["dall-e-3", "gpt-image-1", "gpt-image-1-mini"], None, "gpt-image-1"),
        (["gpt-image-1", "gpt-image-2"], "up/gpt-image-1", "gpt-image-1"),
        (["gpt-image-2", "dall-e-2"], None, "dall-e-2"),
    ],
)
def test_without_a_model_the_newest_or_that_of_the_setting_is_used(tmp_path, upstream, models, setting, expected):
    more = f"images: {{default_model: {setting}}}\n" if setting else ""
    gateway = model_gateway(tmp_path, [(f"up/{each}", "openai", each, f"{upstream.url}/v1") for each in models], more)
    try:
        upstream.reply(reply_of(SMALL))
        reply = generate(gateway, model=None)
        assert len(images(reply)) == 1 and reply.headers["x-millrace-model"] == f"up/{expected}"
        assert upstream.requests[-1].json["model"] == expected
    finally:
        gateway.close()


def test_a_default_model_that_is_not_configured_is_a_404_that_names_the_setting(tmp_path, upstream):
    gateway = model_gateway(tmp_path, [("up/chat", "openai", "gpt-4o", f"{upstream.url}/v1")], "images: {default_model: up/gone}\n")
    try:
        reply = generate(gateway, model=None)
        assert reply.status == 404 and "images.default_model names 'up/gone'" in reply.json()["error"]["message"]
    finally:
        gateway.close()


def test_where_one_call_makes_one_image_n_is_that_many_calls(shared, upstream):
    before = len(upstream.requests)
    upstream.reply(*[reply_of(SMALL + bytes([i])) for i in range(3)])
    reply = generate(shared, model="local/draw", n=3, response_format="b64_json")
    assert len(images(reply)) == 3 and len(upstream.requests) == before + 3
    assert reply.headers["x-millrace-dropped-params"] == "n;emulated"
    assert "n" not in upstream.requests[-1].json


@pytest.mark.parametrize(("n", "report"), [(2, "n;clamped"), (1, None)])
def test_fewer_images_than_requested_are_reported(shared, upstream, n, report):
    upstream.reply(reply_of(SMALL))
    reply = generate(shared, model="openai/gpt-image-1", n=n)
    assert len(images(reply)) == 1 and reply.headers.get("x-millrace-dropped-params") == report
    assert upstream.requests[-1].json.get("n", 1) == n


def completed(**more):
    return "image_generation.completed", {"type": "image_generation.completed", "b64_json": "AAAA", **more}


def test_an_upstreams_stream_is_passed_on_event_by_event(shared, upstream):
    partial = {"type": "image_generation.partial_image", "b64_json": "BBBB", "partial_image_index": 0, "size": "1024x1024"}
    upstream.reply(sse_reply([(partial["type"], partial), completed(usage={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})]))
    sent = events(generate(shared, model="openai/gpt-image-1", stream=True, partial_images=1))
    assert upstream.requests[-1].json["stream"] is True and upstream.requests[-1].json["partial_images"] == 1
    assert [data["b64_json"] for _, data in sent] == ["BBBB", "AAAA"]
    assert sent[0][1]["size"] == "1024x1024" and sent[1][1]["usage"]["total_tokens"] == 3


def test_an_error_after_the_first_event_ends_the_stream(shared, upstream):
    partial = {"type": "image_generation.partial_image", "b64_json": "BBBB", "partial_image_index": 0}
    upstream.reply(sse_reply([(partial["type"], partial), ("error", {"type": "error", "error": {"message": "no luck"}})]))
    sent = events(generate(shared, model="openai/gpt-image-1", stream=True, partial_images=1))
    assert [name for name, _ in sent] == ["image_generation.partial_image", "error"]
    assert "no luck" in sent[-1][1]["error"]["message"]


def test_an_error_before_the_first_event_is_a_plain_response_and_is_retried(shared, upstream):
    upstream.reply(json_reply({"error": {"message": "busy"}}, 503, **{"retry-after-ms": "1"}), sse_reply([completed()]))
    reply = generate(shared, model="openai/gpt-image-1", stream=True)
    assert len(events(reply)) == 1 and reply.headers["x-millrace-attempts"] == "2"
    upstream.reply(json_reply({"error": {"message": "against the rules"}}, 400))
    refused = generate(shared, model="openai/gpt-image-1", stream=True)
    assert refused.status == 400 and "against the rules" in refused.json()["error"]["message"]
    assert refused.headers["x-millrace-model"] == "openai/gpt-image-1" and refused.headers["x-millrace-attempts"] == "1"


def test_images_of_a_provider_without_them_are_an_error(shared):
    assert generate(shared, model="up/claude").status == 400
    assert generate(shared, model="mock/chat").status == 400
