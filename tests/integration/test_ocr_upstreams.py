"""Documents that a provider's model reads: the same API, the same jobs, the same response."""

import base64
import threading

import pytest
from documents import tiny_pdf
from millrace import Gateway, eventually
from upstream import json_reply

KEY = "Provider.Key.7c1f"


def data_uri(document):
    return "data:application/pdf;base64," + base64.b64encode(document).decode()


def page(index, markdown):
    return {"index": index, "markdown": markdown, "images": [], "dimensions": {"dpi": 200, "height": 2200, "width": 1700}}


def read(*pages):
    return json_reply({"pages": list(pages), "model": "mistral-ocr-2505", "usage_info": {"pages_processed": len(pages)}})


@pytest.fixture
def gateway(tmp_path, upstream):
    config = tmp_path / "millrace.yaml"
    row = f"provider: mistral, base_url: '{upstream.url}/v1', api_key: env:THE_KEY"
    config.write_text(
        f"models:\n- {{name: mistral/mistral-ocr-2505, {row}}}\n- {{name: team/reader, model: m, abilities: [ocr], {row}}}\n"
    )
    started = Gateway(tmp_path / "data", "--config", config, "--chat.tries", "2", env={"THE_KEY": KEY}).start()
    yield started
    started.close()


def post_ocr(gateway, model, **more):
    document = {"type": "document_url", "document_url": data_uri(tiny_pdf("local words"))}
    return gateway.client.post("/v1/ocr", {"model": model, "document": document, **more})


@pytest.mark.parametrize("model", ["mistral/mistral-ocr-2505", "mistral-ocr-2505", "team/reader"])
def test_the_models_name_sends_a_document_to_its_provider(gateway, upstream, model):
    upstream.reply(read(page(0, "# from afar")))
    reply = post_ocr(gateway, model)
    assert reply.status == 200, reply.body
    body = reply.json()
    assert [each["markdown"] for each in body["pages"]] == ["# from afar"] and body["model"] == model
    assert body["usage_info"]["pages_processed"] == 1 and body["usage_info"]["doc_size_bytes"] > 0
    assert body["pages"][0]["dimensions"] == {"dpi": 200, "height": 2200, "width": 1700}
    (seen,) = upstream.requests
    assert seen.path == "/v1/ocr" and seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.json["model"] == ("m" if model == "team/reader" else "mistral-ocr-2505")
    assert seen.json["document"]["document_url"] == data_uri(tiny_pdf("local words")) and seen.json["pages"] == [0]


def test_the_names_of_the_local_engine_are_reserved(gateway, upstream):
    for model in ("millrace/ocr", "vendor-ocr-latest", "mistral-ocr-latest"):
        reply = post_ocr(gateway, model)
        assert reply.status == 200 and "local words" in reply.json()["pages"][0]["markdown"], reply.body
    assert not upstream.requests


def test_a_document_for_a_provider_is_a_job_like_others(gateway, upstream):
    gate = threading.Event()
    upstream.reply(read(page(0, "later")).gated(0, gate))
    job = post_ocr(gateway, "team/reader", deferred=True)
    assert job.status == 202 and job.json()["kind"] == "ocr" and job.json()["model"] == "team/reader", job.body
    upstream.wait_for(1)
    gate.set()
    path = f"/v1/jobs/{job.json()['id']}"
    eventually(lambda: gateway.client.get(path).json()["status"] == "succeeded")
    assert gateway.client.get(path + "/result").json()["pages"][0]["markdown"] == "later"


OPTIONS = {
    "table_format": "markdown",
    "extract_header": True,
    "extract_footer": True,
    "include_blocks": True,
    "image_limit": 3,
    "image_min_size": 50,
    "confidence_scores_granularity": "page",
    "document_annotation_prompt": "the sum",
    "bbox_annotation_format": {"type": "json_schema", "json_schema": {"name": "b", "schema": {"type": "object"}}},
    "document_annotation_format": {"type": "json_schema", "json_schema": {"name": "d", "schema": {"type": "object"}}},
}
RICH = {
    **page(0, "[tbl-0.md](tbl-0.md)"),
    "tables": [{"id": "tbl-0.md", "content": "| a |\n|---|\n| 1 |", "format": "markdown"}],
    "hyperlinks": ["https://e.example"],
    "header": "Head",
    "footer": None,
    "blocks": [{"type": "table", "top_left_x": 1, "content": "| a |"}],
    "confidence_scores": {"average_page_confidence_score": 0.97},
}


def test_options_reach_the_provider_and_its_whole_reply_the_client(gateway, upstream):
    upstream.reply_always(json_reply({"pages": [RICH], "model": "m", "usage_info": {"pages_processed": 1}, "document_annotation": "{}"}))
    reply = post_ocr(gateway, "team/reader", **OPTIONS)
    assert reply.status == 200 and "x-millrace-dropped-params" not in reply.headers, reply.body
    seen = upstream.requests[0].json
    assert {name: seen[name] for name in OPTIONS} == OPTIONS
    body = reply.json()
    assert body["pages"] == [{name: value for name, value in RICH.items() if value is not None}]
    assert body["document_annotation"] == "{}" and body["usage_info"]["pages_processed"] == 1
    job = post_ocr(gateway, "team/reader", deferred=True, **OPTIONS).json()["id"]
    stored = gateway.client.wait_terminal(job)
    assert stored["status"] == "succeeded", stored
    result = gateway.client.get(f"/v1/jobs/{job}/result").json()
    assert result["pages"] == body["pages"] and result["document_annotation"] == "{}"
    asked = gateway.client.get(f"/v1/jobs/{job}/request").json()
    assert {name: asked["body"][name] for name in OPTIONS} == OPTIONS


def test_the_local_engine_names_the_options_that_it_has_not(gateway, upstream):
    reply = post_ocr(gateway, "millrace/ocr", **OPTIONS)
    assert reply.status == 200 and "local words" in reply.json()["pages"][0]["markdown"], reply.body
    assert sorted(reply.headers["x-millrace-dropped-params"].split(", ")) == sorted(OPTIONS)
    document = {"document_url": data_uri(tiny_pdf("local words"))}
    refused = gateway.client.post("/v1/ocr?strict=true", {"model": "millrace/ocr", "document": document, "table_format": "html"})
    assert refused.status == 400 and "table_format" in refused.json()["error"]["message"], refused.body
    nothing = post_ocr(gateway, "millrace/ocr", table_format=None, extract_header=False)
    assert nothing.status == 200 and "x-millrace-dropped-params" not in nothing.headers
    wrong = post_ocr(gateway, "team/reader", image_limit="many")
    assert wrong.status == 422 and "image_limit" in str(wrong.json()), wrong.body
    assert not upstream.requests


def test_a_failure_of_the_provider_is_retried_and_its_refusal_is_returned(gateway, upstream):
    upstream.reply(json_reply({"message": "broken"}, 500), read(page(0, "good")))
    assert post_ocr(gateway, "team/reader").json()["pages"][0]["markdown"] == "good"
    upstream.reply(json_reply({"message": "no such document"}, 400))
    reply = post_ocr(gateway, "team/reader")
    assert reply.status == 400 and "no such document" in reply.json()["error"]["message"], reply.body
    assert len(upstream.requests) == 3


def test_missing_pages_are_failed_pages(gateway, upstream):
    upstream.reply(read(page(0, "one"), page(7, "not requested")))
    document = {"document_url": data_uri(tiny_pdf("a", "b"))}
    reply = gateway.client.post("/v1/ocr", {"model": "team/reader", "document": document})
    assert reply.status == 200, reply.body
    first, second = reply.json()["pages"]
    assert first["markdown"] == "one" and second["error"]["code"] == "page_failed"
    assert reply.json()["usage_info"]["pages_processed"] == 1


def test_a_client_that_cancels_the_job_closes_the_connection_to_the_provider(gateway, upstream):
    upstream.reply(read(page(0, "never")).gated(0, threading.Event()))
    job = post_ocr(gateway, "team/reader", deferred=True).json()["id"]
    (seen,) = upstream.wait_for(1)
    gateway.client.post(f"/v1/jobs/{job}/cancel", {})
    assert seen.disconnected.wait(30)
    eventually(lambda: gateway.client.get(f"/v1/jobs/{job}").json()["status"] == "cancelled")


def test_a_model_without_the_ability_ocr_is_not_found(gateway):
    assert post_ocr(gateway, "team/nobody").status == 404
