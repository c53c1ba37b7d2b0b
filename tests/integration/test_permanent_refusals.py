"""A permanent refusal of a provider ends a job with that call, as it ends a direct request."""

import openai_replies
import pytest
from documents import data_uri, tiny_pdf
from millrace import Gateway
from recordings import clip, submit
from upstream import Upstream, json_reply

QUOTA = {"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}}
REFUSALS = {str(status): (json_reply({"error": {"message": "not so"}}, status), 502, "upstream_error") for status in (401, 403, 405, 501)}
PAGE = {"index": 0, "markdown": "read", "images": [], "dimensions": {"dpi": 200, "height": 2200, "width": 1700}}


def defer_chat(gateway, model):
    body = {"model": f"{model}-chat", "messages": "hello", "deferred": True}
    return gateway.client.post("/v1/chat/completions", body).json()["request_id"]


def read(gateway, model):
    return gateway.client.submit_ocr(data_uri(tiny_pdf("words")), model=f"{model}-ocr").json()["id"]


def transcribe(gateway, model):
    return submit(gateway, clip(4), model=f"{model}-stt")


KINDS = {
    "chat": (defer_chat, openai_replies.completion("Hello")),
    "ocr": (read, json_reply({"pages": [PAGE], "model": "m", "usage_info": {"pages_processed": 1}})),
    "stt": (transcribe, json_reply({"text": "Good day.", "duration": 3.0})),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def other():
    with Upstream() as instance:
        yield instance


@pytest.fixture
def gateway(tmp_path, upstream, other):
    """Models `alone-KIND` of `upstream`, and `first-KIND`, the same with a fallback at `other`."""

    def rows(ability, provider):
        def row(name, at, more=""):
            place = f"provider: {provider}, base_url: '{at.url}/v1', api_key: env:THE_KEY"
            return f"- {{name: {name}-{ability}, model: m, {place}{more}}}\n"

        able = {"ocr": ", abilities: [ocr]", "stt": ", abilities: [audio]", "chat": ""}[ability]
        first = row("first", upstream, f"{able}, fallbacks: [second-{ability}]")
        return row("alone", upstream, able) + first + row("second", other, able)

    config = tmp_path / "millrace.yaml"
    config.write_text("models:\n" + rows("chat", "openai") + rows("ocr", "mistral") + rows("stt", "openai"))
    arguments = ("--config", config, "--chat.tries", "1")
    started = Gateway(tmp_path / "data", *arguments, env={"THE_KEY": "sk-0123456789"}).start()
    yield started
    started.close()


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_permanent_refusal_ends_a_job_with_its_first_call(gateway, upstream, kind, refusal):
    send, _ = kind
    reply, status, code = REFUSALS[refusal]
    upstream.reply_always(reply)
    job = gateway.client.wait_terminal(send(gateway, "alone"))
    assert job["status"] == "failed" and job["error"]["code"] == code and job["attempt"] == 1, job
    assert len(upstream.requests) == 1
    result = gateway.client.get(f"/v1/jobs/{job['id']}/result")
    assert result.status == status and result.headers["x-should-retry"] == "false", result.body


def test_the_next_model_of_the_chain_is_still_called(gateway, upstream, other, kind):
    send, good = kind
    upstream.reply_always(REFUSALS["403"][0])
    other.reply(good)
    job = gateway.client.wait_terminal(send(gateway, "first"))
    assert job["status"] == "succeeded" and job["attempt"] == 1, job
    assert len(upstream.requests) == len(other.requests) == 1


def test_each_model_of_a_chain_that_refuses_is_called_once(gateway, upstream, other, kind):
    send, _ = kind
    upstream.reply_always(REFUSALS["403"][0])
    other.reply_always(REFUSALS["401"][0])
    job = gateway.client.wait_terminal(send(gateway, "first"))
    assert job["status"] == "failed" and job["error"]["code"] == "upstream_error", job
    assert len(upstream.requests) == len(other.requests) == 1


def test_a_permanent_refusal_does_not_end_a_job_that_another_model_of_the_chain_may_still_complete(gateway, upstream, other, kind):
    send, good = kind
    upstream.reply(json_reply({"error": {"message": "broken"}}, 500), good)
    other.reply_always(REFUSALS["403"][0])
    job = gateway.client.wait_terminal(send(gateway, "first"))
    assert job["status"] == "succeeded" and job["attempt"] == 2, job
    assert len(upstream.requests) == 2 and len(other.requests) == 1


def test_a_job_waits_for_an_account_without_credit(gateway, upstream, kind):
    send, good = kind
    upstream.reply(json_reply(QUOTA, 429, retry_after=1), good)
    job = gateway.client.wait_terminal(send(gateway, "alone"))
    assert job["status"] == "succeeded", job
    assert len(upstream.requests) == 2
