"""Providers of each family that send bad responses before anything has been sent to the client."""

import gzip
import json
import threading
import time
from contextlib import closing

import openai_replies
import pytest
from chat_calls import CHAT, body, content_of, failed, post_chat
from chat_events import error_of
from families import ALL, OPENAI
from millrace import Gateway, eventually
from model_gateway import model_gateway
from upstream import Reply, Upstream, json_reply

KEY = "Provider.Key.7c1f"  # of no known form, so it can only be found by its value
LATE = ("--chat.first-byte-timeout", "1s")
BOMB = gzip.compress(b" " * 300_000_000)
MIB = 1 << 20
FLOODS = [(200, "application/json"), (200, "text/event-stream"), (500, "application/json")]


@pytest.fixture(params=ALL, ids=str)
def family(request):
    return request.param


@pytest.fixture
def opened(tmp_path, family, upstream):
    """Starts a gateway with the models `m` and `second` of the upstream, each with a separate address."""
    gateways = []

    def start(*arguments, more=""):
        config = tmp_path / "millrace.yaml"
        rows = family.row("m", upstream, api_key="env:THE_KEY")
        config.write_text(f"models:\n{rows}{more}")
        gateway = Gateway(tmp_path / "data", "--config", config, *arguments, env={"THE_KEY": KEY}).start()
        gateways.append(gateway)
        return gateway

    yield start
    for gateway in gateways:
        gateway.close()


def test_the_key_is_sent_to_the_provider_and_a_header_names_the_model_that_was_used(opened, family, upstream):
    upstream.reply(family.complete("Hello"))
    reply = post_chat(opened())
    assert content_of(reply) == "Hello"
    assert reply.headers["x-millrace-model"] == "m" and reply.headers["x-millrace-attempts"] == "1"
    usage = reply.json()["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (9, 3, 12)
    assert upstream.requests[0].headers[family.key_header] == family.key_prefix + KEY


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_after_429_the_same_provider_is_called_again_after_its_retry_after(opened, family, upstream, stream):
    upstream.reply(family.refusal(429, "slow down", retry_after=1))
    upstream.reply(family.stream("Hello") if stream else family.complete("Hello"))
    gateway = opened()
    began = time.monotonic()
    reply = post_chat(gateway, stream=stream)
    assert reply.status == 200 and b"Hello" in reply.body, reply.body
    assert reply.headers["x-millrace-attempts"] == "2" and time.monotonic() - began >= 1


def test_a_429_whose_retry_after_is_too_long_is_returned_to_the_client(opened, family, upstream):
    upstream.reply_always(family.refusal(429, "come back", retry_after=50))
    reply = post_chat(opened())
    assert "come back" in failed(reply, 429, "rate_limit_exceeded")
    assert 0 < int(reply.headers["retry-after-ms"]) <= 50_000 and len(upstream.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_after_a_server_error_the_fallback_is_used(opened, family, upstream, status):
    with Upstream() as other:
        upstream.reply_always(family.refusal(status, "broken"))
        other.reply(openai_replies.completion("from the other"))
        rows = OPENAI.row("second", other)
        gateway = opened("--chat.tries", "2", more=rows)
        reply = gateway.client.post(CHAT, body(model=["m", "second"]))
        assert content_of(reply) == "from the other"
        assert reply.headers["x-millrace-model"] == "second" and reply.headers["x-millrace-attempts"] == "3"
        assert len(upstream.requests) == 2 and len(other.requests) == 1
        assert family.key_header not in other.requests[0].headers


def test_a_failure_and_its_log_line_name_the_models_and_the_number_of_attempts(opened, family, upstream):
    upstream.reply_always(family.refusal(500, "broken"))
    gateway = opened("--chat.tries", "2")
    reply = post_chat(gateway)
    assert failed(reply, 502, "upstream_error").startswith("m answered 500: broken")
    assert reply.headers["x-millrace-model"] == "m" and reply.headers["x-millrace-attempts"] == "2"

    def is_logged():
        lines = [json.loads(line) for line in gateway.log.read_text().splitlines() if '"http_request"' in line]
        return any((line["status"], line["model"], line["code"]) == (502, "m", "upstream_error") for line in lines)

    eventually(is_logged, what="the log line of the request")


def test_what_the_provider_calls_an_invalid_request_is_returned_and_not_retried(opened, family, upstream):
    upstream.reply_always(family.refusal(400, "messages: too strange"))
    reply = post_chat(opened())
    assert reply.status == 400 and "messages: too strange" in reply.json()["error"]["message"], reply.body
    assert reply.headers["x-should-retry"] == "false" and len(upstream.requests) == 1


def test_the_providers_error_is_returned_although_its_breaker_opens_meanwhile(opened, family, upstream):
    upstream.reply_always(family.refusal(500, "broken"))
    gateway = opened()
    first, second, third = (post_chat(gateway) for _ in range(3))
    for reply, attempts in ((first, "3"), (second, "2")):
        assert failed(reply, 502, "upstream_error") == "m answered 500: broken"
        assert reply.headers["x-millrace-attempts"] == attempts
    assert "not called for a while" in failed(third, 503, "overloaded") and "x-millrace-attempts" not in third.headers


@pytest.mark.parametrize("status", [401, 402, 403, 405, 415, 451, 501])
def test_errors_that_the_operator_has_to_fix_are_not_retried_by_the_gateway_or_by_clients(opened, family, upstream, status):
    upstream.reply_always(family.refusal(status, "not so"))
    reply = post_chat(opened())
    assert "not so" in failed(reply, 502, "upstream_error")
    assert reply.headers["x-should-retry"] == "false" and len(upstream.requests) == 1


def test_a_response_has_its_creation_time(opened, family, upstream):
    upstream.reply_always(family.complete("Hello"))
    gateway = opened()
    job = gateway.client.wait_terminal(post_chat(gateway, deferred=True).json()["request_id"])
    later = gateway.client.get(f"/v1/chat/deferred-completion/{job['id']}")
    created_by_openai = 1_700_000_000
    for reply in (post_chat(gateway), post_chat(gateway, n=2), later):
        created = reply.json()["created"]
        assert created == created_by_openai or abs(created - time.time()) < 60, reply.body


OVERFLOWS = {
    "openai": {"message": "Too many.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"},
    "anthropic": {"type": "invalid_request_error", "message": "prompt is too long: 213462 tokens > 200000 maximum"},
    "gemini": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (9) exceeds the maximum (8)."},
}


def test_a_conversation_that_is_too_long_has_the_error_code_that_clients_know(opened, family, upstream):
    upstream.reply_always(json_reply({"type": "error", "error": OVERFLOWS[family.name]}, 400))
    gateway = opened()
    reply = post_chat(gateway)
    failed(reply, 400, "context_length_exceeded")
    assert reply.json()["error"]["param"] == OVERFLOWS[family.name].get("param")
    assert reply.json()["error"]["type"] == "invalid_request_error"
    job = gateway.client.wait_terminal(post_chat(gateway, deferred=True).json()["request_id"])
    stored = gateway.client.get(f"/v1/chat/deferred-completion/{job['id']}")
    assert stored.status == 400 and stored.json()["error"] == reply.json()["error"], stored.body


@pytest.mark.parametrize("status", [404, 405, 501])
def test_calls_of_an_endpoint_that_a_server_lacks_do_not_stop_its_chats(tmp_path, upstream, status):
    missing = openai_replies.refusal(status, "This server does not support embeddings")
    chats = openai_replies.completion("still here")
    upstream.reply_always(lambda seen: missing if seen.path.endswith("/embeddings") else chats)
    with closing(model_gateway(tmp_path, [("m", "openai", "upstream-model", f"{upstream.url}/v1")])) as gateway:
        for _ in range(6):  # one more than the failures that open a breaker
            refused = gateway.client.post("/v1/embeddings", {"model": "m", "input": "x"})
            assert refused.headers["x-should-retry"] == "false", refused.body
            spoken = gateway.client.post("/v1/audio/speech", {"model": "m", "input": "x", "voice": "alloy"})
            assert spoken.status >= 400, spoken.body
        assert content_of(post_chat(gateway)) == "still here"


@pytest.mark.parametrize("status", [401, 403, 500])
def test_the_providers_key_is_in_no_error_and_no_log(opened, family, upstream, status):
    error_text = f"Incorrect API key {KEY} or sk-proj-abcdef0123456789 or Bearer {KEY}"
    upstream.reply_always(family.refusal(status, error_text, www_authenticate=f"Bearer {KEY}"))
    gateway = opened("--chat.tries", "1", "--log.level", "debug")
    reply = post_chat(gateway)
    assert "Incorrect API key ***" in failed(reply, 502, "upstream_error")
    streamed = post_chat(gateway, stream=True)
    deferred = post_chat(gateway, deferred=True).json()["request_id"]
    job = gateway.client.wait_terminal(deferred)
    everything = [reply.body, streamed.body, json.dumps(job).encode(), str(reply.headers).encode()]
    everything += [gateway.client.get("/metrics").body, gateway.log.read_bytes()]
    assert not any(KEY.encode() in each or b"sk-proj-abcdef" in each for each in everything)


def test_the_providers_key_is_in_no_stream_either(opened, family, upstream):
    broken = family.stream("one two three four").broken_at(4)
    broken.pieces.append(family.failure(f"who is {KEY}?"))
    upstream.reply(broken, Reply(200, [family.failure(f"who is {KEY}?")], broken.headers, chunked=True))
    gateway = opened("--chat.tries", "1")
    begun, refused = post_chat(gateway, stream=True), post_chat(gateway, stream=True)
    assert error_of(begun.body)["message"].endswith("who is ***?")
    assert refused.status >= 500 and refused.json()["error"]["message"].endswith("who is ***?")
    assert KEY.encode() not in gateway.log.read_bytes()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_the_key_is_not_sent_elsewhere(opened, family, upstream, status):
    with Upstream() as other:
        other.reply_always(family.complete("from afar"))
        upstream.reply_always(Reply(status, [], {"Location": f"{other.url}/v1/chat/completions"}))
        failed(post_chat(opened("--chat.tries", "1")), 502, "upstream_error")
        assert other.requests == []


def test_a_connection_that_was_closed_while_idle_is_no_failure(opened, family, upstream):
    closing = family.complete("Hello")
    closing.cut = True
    upstream.reply_always(closing)
    gateway = opened("--chat.tries", "1")
    assert [content_of(post_chat(gateway)) for _ in range(5)] == ["Hello"] * 5


def test_endless_headers_are_no_response(opened, family, upstream):
    upstream.reply_always(Reply(200, [], {f"X-{i}": "x" * 8000 for i in range(400)}))
    failed(post_chat(opened("--chat.tries", "1")), 502, "upstream_error")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/html"])
def test_an_html_page_with_200_is_no_response(opened, family, upstream, stream, content_type):
    page = Reply(200, [b"<html><title>login</title></html>"], {"Content-Type": content_type})
    upstream.reply_always(page)
    message = failed(post_chat(opened("--chat.tries", "1"), stream=stream), 502, "upstream_error")
    assert "text/html" in message and "login" not in message


def test_a_stream_of_another_content_type_is_an_error(opened, family, upstream):
    reply = family.stream("Hello")
    reply.headers = {"Content-Type": "application/octet-stream"}
    upstream.reply_always(reply)
    message = failed(post_chat(opened("--chat.tries", "1"), stream=True), 502, "upstream_error")
    assert "application/octet-stream" in message


def test_a_response_with_another_content_type_is_read(opened, family, upstream):
    good = family.complete("Hello")
    good.headers = {"Content-Type": "text/plain"}
    upstream.reply(good)
    assert content_of(post_chat(opened())) == "Hello"


NONSENSE = b'{"choices": 3, "content": 4, "candidates": 5}'
BAD_BODIES = [b"{}", b"null", NONSENSE, b"Hello", b"[" * 200_000, b'"\xff\xfe"', b""]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("bad", BAD_BODIES, ids=lambda bad: bad[:12].decode("latin-1") or "nothing")
def test_a_response_that_does_not_follow_the_protocol_is_502(opened, family, upstream, stream, bad):
    upstream.reply_always(Reply(200, [bad]))
    failed(post_chat(opened("--chat.tries", "1"), stream=stream), 502, "upstream_error")


def test_a_response_that_ends_too_early_is_requested_again(opened, family, upstream):
    gate = threading.Event()
    gate.set()
    complete = family.complete("Hello")
    half = Reply(200, [complete.pieces[0][:20], gate], chunked=True, cut=True)
    torn = Reply(200, [complete.pieces[0][:20], gate], chunked=True, reset=True)
    upstream.reply(half, torn, complete)
    reply = post_chat(opened())
    assert content_of(reply) == "Hello" and reply.headers["x-millrace-attempts"] == "3"


def test_a_compressed_response_is_read(opened, family, upstream):
    upstream.reply(family.complete("Hello").gzipped())
    packed = family.stream("Hello world").gzipped()
    upstream.reply(packed)
    gateway = opened()
    assert content_of(post_chat(gateway)) == "Hello"
    assert b"world" in post_chat(gateway, stream=True).body
    assert "gzip" in upstream.requests[0].headers["accept-encoding"]


def memory_of(gateway):
    """The peak memory of the process, in bytes."""
    lines = open(f"/proc/{gateway.popen.pid}/status").read().splitlines()
    (line,) = [each for each in lines if each.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("status", "content_type"), FLOODS)
def test_a_compressed_flood_is_cut_off_at_its_bound(opened, family, upstream, stream, status, content_type):
    upstream.reply_always(Reply(status, [BOMB], {"Content-Type": content_type, "Content-Encoding": "gzip"}))
    gateway = opened("--chat.tries", "1")
    before = memory_of(gateway)
    failed(post_chat(gateway, stream=stream), 502, "upstream_error")
    assert memory_of(gateway) - before < 160 * MIB


def test_an_endless_response_is_cut_off_at_its_bound(opened, family, upstream):
    flood = Reply(200, [b'{"a": "'], chunked=True, endless=b"x" * MIB)
    upstream.reply_always(flood)
    message = failed(post_chat(opened("--chat.tries", "1")), 502, "upstream_error")
    assert "more than" in message and upstream.requests[0].disconnected.wait(5)


def test_a_provider_that_does_not_start_to_respond_is_504_in_time_and_its_connection_is_closed(opened, family, upstream):
    never = threading.Event()
    upstream.reply_always(Reply(200, [b"{}"], before_head=never))
    began = time.monotonic()
    message = failed(post_chat(opened("--chat.tries", "1", *LATE)), 504, "upstream_timeout")
    assert 1 <= time.monotonic() - began < 10 and message.startswith("m: ")
    assert upstream.requests[0].disconnected.wait(2)


def test_a_slow_provider_times_out_and_the_fallback_is_used(opened, family, upstream):
    upstream.reply_always(Reply(200, [b"{}"], before_head=threading.Event()))
    with Upstream() as other:
        other.reply(openai_replies.completion("in time"))
        gateway = opened("--chat.tries", "1", *LATE, more=OPENAI.row("second", other))
        assert content_of(gateway.client.post(CHAT, body(model=["m", "second"]))) == "in time"


DROPPED = {
    "openai": ({"top_k": 5, "safety_settings": [], "guardrails": [], "seed": 3}, "guardrails, safety_settings, top_k"),
    "anthropic": (
        {"temperature": 1.7, "logit_bias": {"1": 2}, "seed": 3, "n": 2},
        "logit_bias, n;emulated, seed, temperature;clamped",
    ),
    "gemini": ({"store": True, "prediction": {"type": "content", "content": "x"}, "seed": 3}, "prediction, store"),
}


def test_dropped_parameters_are_named_and_strict_calls_no_provider(opened, family, upstream):
    upstream.reply_always(family.complete("Hello"))
    parameters, names = DROPPED[family.name]
    gateway = opened()
    reply = post_chat(gateway, **parameters)
    assert reply.status == 200, reply.body
    assert ", ".join(sorted(reply.headers["x-millrace-dropped-params"].split(", "))) == names
    called = len(upstream.requests)
    strict = gateway.client.post(f"{CHAT}?strict=true", body(**parameters))
    assert strict.status == 400 and len(upstream.requests) == called
    job = gateway.client.wait_terminal(post_chat(gateway, deferred=True, **parameters).json()["request_id"])
    assert job["status"] == "succeeded" and job["dropped_params"] == reply.headers["x-millrace-dropped-params"], job


@pytest.mark.parametrize("status", [400, 500])
def test_a_deferred_failure_names_the_models_and_the_number_of_attempts(opened, family, upstream, status):
    """One failure is final at once, and one after the fourth attempt. One call per attempt: more would open the breaker."""
    upstream.reply_always(family.refusal(status, "no"))
    gateway = opened("--chat.tries", "1")
    job = gateway.client.wait_terminal(post_chat(gateway, deferred=True).json()["request_id"])
    assert job["status"] == "failed" and job["answered_by"] == "m", job
    reply = gateway.client.get(f"/v1/chat/deferred-completion/{job['id']}")
    assert reply.status == {400: 400, 500: 502}[status], reply.body
    assert len(upstream.requests) == {400: 1, 500: 4}[status]
    assert reply.headers["x-millrace-model"] == "m" and reply.headers["x-millrace-attempts"] == "1"
    assert reply.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("deferred", [False, True], ids=["direct", "deferred"])
@pytest.mark.parametrize(
    "url",
    ["http://example.com/a.png", "https://127.1/a.png", "https://[::ffff:10.0.0.1]/a", "https://localhost./a"],
)
def test_a_url_of_an_internal_address_is_refused_before_any_provider_call(opened, upstream, url, deferred):
    parts = [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    reply = post_chat(opened(), messages=[{"role": "user", "content": parts}], instructions="Be brief", deferred=deferred)
    assert "messages.0.content.1.image_url.url" in failed(reply, 422, "fetch_refused")
    assert reply.json()["error"]["param"] == "messages.0.content.1.image_url.url"
    assert not upstream.requests


def test_a_url_of_an_allowed_host_is_passed_to_the_provider_unchanged(opened, family, upstream):
    upstream.reply(family.complete("a cat"))
    parts = [{"type": "image_url", "image_url": {"url": "http://pictures.local/cat.png"}}]
    gateway = opened("--fetch.allow-hosts", "pictures.local")
    assert content_of(post_chat(gateway, messages=[{"role": "user", "content": parts}])) == "a cat"
    assert b"http://pictures.local/cat.png" in upstream.requests[0].body


def test_a_refused_key_is_not_retried_and_not_shown(opened, family, upstream):
    upstream.reply_always(family.refusal(401, f"invalid key {KEY}"))
    message = failed(post_chat(opened()), 502, "upstream_error")
    assert "401" in message and KEY not in message and len(upstream.requests) == 1


def test_responses_and_streams_have_an_id_of_the_gateway_and_the_name_of_the_model(opened, family, upstream):
    gateway = opened()
    upstream.reply(family.complete("Hello"))
    complete = post_chat(gateway).json()
    upstream.reply(family.stream("Hello"))
    first = json.loads(post_chat(gateway, stream=True).body.split(b"\n\n")[0].removeprefix(b"data: "))
    assert complete["id"].startswith("chatcmpl-") and first["id"].startswith("chatcmpl-")
    assert complete["model"] == first["model"] == "m"
