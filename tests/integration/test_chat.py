"""Chat completions over a running gateway, with the mock models: complete, streamed, deferred."""

import concurrent.futures
import json
import signal
import socket
import time
import subprocess
import time
from contextlib import closing

import pytest
from millrace import BUILD, Gateway, Worker, eventually

MOCK = {"MILLRACE_MOCK": "true"}
CHAT = "/v1/chat/completions"


def body(content="one two three", **more):
    return {"model": "mock/chat", "messages": [{"role": "user", "content": content}], **more}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("chat") / "data", env=MOCK).start()
    yield gateway
    gateway.close()


def stream(gateway, **more):
    reply = gateway.client.post(CHAT, body(stream=True, **more))
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == "text/event-stream"
    events = reply.body.decode().split("\n\n")
    assert events.pop() == ""
    return events


def answer_later(gateway, request_id, within_s=30):
    path = f"/v1/chat/deferred-completion/{request_id}"
    reply = eventually(lambda: (r := gateway.client.get(path)).status != 202 and r, within_s, f"the completion of {request_id}")
    return reply


def test_a_stream_is_chunks_of_one_id_and_then_done(shared):
    events = stream(shared, stream_options={"include_usage": True})
    assert events.pop() == "data: [DONE]"
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert len({chunk["id"] for chunk in chunks}) == 1 and len({chunk["created"] for chunk in chunks}) == 1
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert all("finish_reason" in choice for chunk in chunks for choice in chunk["choices"])
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["total_tokens"] > 0
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    streamed_text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    complete = shared.client.post(CHAT, body()).json()
    assert complete["choices"][0]["message"]["content"] == streamed_text


def test_a_stream_without_include_usage_has_no_usage_field(shared):
    assert all('"usage"' not in event for event in stream(shared))


def test_an_unknown_model_is_404_and_the_error_names_the_nearest(shared):
    reply = shared.client.post(CHAT, body(model="mock/cht"))
    assert reply.status == 404 and reply.json()["error"]["code"] == "model_not_found"
    assert "mock/chat" in reply.json()["error"]["message"]


def test_a_wrong_field_is_422_with_both_bodies_before_any_byte_of_a_stream(shared):
    reply = shared.client.post(CHAT, body(stream=True, n=129))
    assert reply.status == 422 and reply.headers["content-type"] == "application/json"
    assert reply.json()["detail"][0]["loc"] == ["body", "n"] and reply.json()["error"]["param"] == "n"


@pytest.mark.parametrize(
    "name, shown", [("é", "%C3%A9"), ("ünï", "%C3%BCn%C3%AF"), ("a, b;clamped", "a%2C%20b%3Bclamped")]
)
def test_a_dropped_name_that_a_header_cannot_carry_is_percent_encoded(shared, name, shown):
    reply = shared.client.post(CHAT, {"model": "mock/chat", "messages": "hi", name: 2})
    assert reply.status == 200 and reply.headers["x-millrace-dropped-params"] == shown


def test_what_a_model_does_not_honour_is_named_and_strict_refuses_it(shared):
    kept = shared.client.post(CHAT, body(guardrails=[]))
    assert kept.status == 200 and "guardrails" in kept.headers["x-millrace-dropped-params"]
    strict = shared.client.post(f"{CHAT}?strict=true", body(guardrails=[]))
    assert strict.status == 400 and strict.headers["x-should-retry"] == "false"
    assert shared.client.post(f"{CHAT}?strict=true", body()).status == 200


def test_a_deferred_completion_equals_a_direct_one_and_can_be_read_repeatedly(shared):
    made = shared.client.post(CHAT, body(deferred=True))
    assert made.status == 200 and made.json() == dict.fromkeys(("id", "request_id"), made.json()["request_id"]), made.body
    request_id = made.json()["request_id"]
    first = answer_later(shared, request_id)
    assert first.status == 200, first.body
    direct = shared.client.post(CHAT, body()).json()
    assert first.json()["choices"] == direct["choices"]
    assert answer_later(shared, request_id).body == first.body
    job = shared.client.job(request_id)
    assert job["kind"] == "chat" and job["answered_by"] == "mock/chat" and job["usage"]["total_tokens"] > 0


def test_a_deferred_completion_is_waited_for_as_preferred(shared, tmp_path):
    made = shared.client.post(CHAT, body(deferred=True)).json()["id"]
    waited = shared.client.get(f"/v1/chat/deferred-completion/{made}", headers={"Prefer": "wait=30"})
    assert waited.status == 200 and waited.json()["object"] == "chat.completion", waited.body
    with closing(Gateway(tmp_path / "data", role="api", env=MOCK).start()) as api:
        queued = api.client.post(CHAT, body(deferred=True)).json()["id"]
        began = time.monotonic()
        pending = api.client.get(f"/v1/chat/deferred-completion/{queued}", headers={"Prefer": "wait=1"})
        assert pending.status == 202 and pending.body == b"" and time.monotonic() - began > 0.9
        unknown = api.client.get("/v1/chat/deferred-completion/chat-01900000-0000-7000-8000-000000000000", headers={"Prefer": "wait=1"})
        assert unknown.status == 404
    stored = shared.client.get(f"{CHAT}/chatcmpl-1")
    assert stored.status == 404 and "deferred-completion" in stored.json()["error"]["message"], stored.body


def test_deferred_completions_survive_kill_9_of_the_worker_and_of_the_api(tmp_path):
    api = Gateway(tmp_path / "data", role="api", env=MOCK).start()
    worker = None
    try:
        ids = [api.client.post(CHAT, body(f"number {i}", deferred=True)).json()["request_id"] for i in range(40)]
        pending = api.client.get(f"/v1/chat/deferred-completion/{ids[0]}")
        assert pending.status == 202 and pending.headers["content-length"] == "0"
        assert "content-type" not in pending.headers and pending.body == b""
        worker = Worker(api.data, name="first", kinds="chat")
        worker.env = MOCK
        worker.start().kill()
        api.kill()
        api.restart()
        worker = Worker(api.data, name="first", kinds="chat")
        worker.env = MOCK
        worker.start()
        for i, request_id in enumerate(ids):
            reply = answer_later(api, request_id, 60)
            assert reply.status == 200 and f"number {i}" in reply.json()["choices"][0]["message"]["content"]
    finally:
        if worker:
            worker.close()
        api.close()


def test_a_deferred_request_for_a_removed_model_fails_with_its_original_status(tmp_path):
    api = Gateway(tmp_path / "data", role="api", env=MOCK).start()
    request_id = api.client.post(CHAT, body(deferred=True)).json()["request_id"]
    api.close()
    gateway = Gateway(tmp_path / "data").start()  # without the mock's models
    try:
        reply = answer_later(gateway, request_id)
        assert reply.status == 404 and reply.json()["error"]["code"] == "model_not_found"
        assert reply.headers["x-should-retry"] == "false"
    finally:
        gateway.close()


def test_the_same_key_gives_the_same_deferred_request(shared):
    key = {"Idempotency-Key": "once"}
    first = shared.client.post(CHAT, body(deferred=True), headers=key)
    again = shared.client.post(CHAT, body(deferred=True), headers=key)
    assert first.json() == again.json() and again.headers["idempotent-replayed"] == "true"
    assert shared.client.post(CHAT, body("other", deferred=True), headers=key).status == 409


def test_many_concurrent_streams_are_each_complete(shared):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for events in pool.map(lambda _: stream(shared), range(64)):
            assert events[-1] == "data: [DONE]"


@pytest.fixture
def provider():
    """A server socket; the test writes its responses."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(20)
    yield listener
    listener.close()


@pytest.fixture
def behind(tmp_path, provider):
    """A gateway with the model `slow` of `provider`."""
    port = provider.getsockname()[1]
    config = tmp_path / "c.yaml"
    config.write_text(f"models:\n- {{name: slow, provider: openai, base_url: 'http://127.0.0.1:{port}/v1'}}\n")
    gateway = Gateway(tmp_path / "data", "--config", config, "--chat.heartbeat", "100ms", "--drain.timeout", "8s").start()
    yield gateway
    gateway.close()


def send(gateway, **more):
    """Sends a request without waiting for the response; returns the connection."""
    text = json.dumps(body(model="slow", **more))
    client = socket.create_connection((gateway.client.address.hostname, gateway.client.address.port), 10)
    client.settimeout(20)
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {gateway.client.key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    client.sendall((head + text).encode())
    return client


def read_until(connection, text):
    seen = b""
    while text not in seen:
        piece = connection.recv(65536)
        assert piece, f"ended before {text!r}: {seen!r}"
        seen += piece
    return seen


def begin_stream(provider):
    upstream, _ = provider.accept()
    upstream.settimeout(20)
    read_until(upstream, b'"stream":true')
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunk["choices"] = [{"index": 0, "delta": {"role": "assistant", "content": "first"}, "finish_reason": None}]
    upstream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
    upstream.sendall(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    return upstream


@pytest.mark.parametrize("streamed", [False, True])
def test_a_client_that_leaves_closes_the_connection_to_the_provider(behind, provider, streamed):
    client = send(behind, stream=streamed)
    upstream, _ = provider.accept()
    upstream.settimeout(5)
    read_until(upstream, b'"model"')
    client.close()
    while upstream.recv(65536):  # until the end of the connection, or the time-out
        pass
    upstream.close()


def test_comments_keep_a_silent_stream_open_and_its_break_is_an_error_without_done(behind, provider):
    client = send(behind, stream=True)
    upstream = begin_stream(provider)
    seen = read_until(client, b": keep-alive\n\n")
    upstream.close()
    seen += read_until(client, b"\r\n0\r\n\r\n")
    assert b"first" in seen and b"event: error\n" in seen and b"[DONE]" not in seen


def answer(upstream, text):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    reply = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}).encode()
    upstream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(reply) + reply)


LONGER_THAN_A_QUARTER_S = 2.5  # of drain.timeout


def test_a_whole_chat_that_is_under_way_ends_well_in_a_drain(behind, provider):
    client = send(behind)
    upstream, _ = provider.accept()
    upstream.settimeout(20)
    read_until(upstream, b'"model"')
    behind.popen.send_signal(signal.SIGTERM)
    client.settimeout(LONGER_THAN_A_QUARTER_S)
    with pytest.raises(TimeoutError):
        client.recv(1)
    client.settimeout(20)
    answer(upstream, "late but whole")
    assert b"late but whole" in read_until(client, b"late but whole")
    upstream.close()
    client.close()
    assert behind.popen.wait(20) == 0


def test_a_stream_that_is_under_way_ends_well_in_a_drain(behind, provider):
    client = send(behind, stream=True)
    upstream = begin_stream(provider)
    read_until(client, b"first")
    behind.popen.send_signal(signal.SIGTERM)
    began = time.monotonic()
    while time.monotonic() - began < LONGER_THAN_A_QUARTER_S:
        read_until(client, b": keep-alive\n\n")
    upstream.sendall(b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":'
                     b'[{"index":0,"delta":{"content":"last"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    upstream.close()
    seen = read_until(client, b"[DONE]")
    assert b"last" in seen and b"event: error" not in seen
    client.close()
    assert behind.popen.wait(20) == 0


def test_an_open_stream_gets_an_error_when_the_gateway_ends(behind, provider):
    client = send(behind, stream=True)
    upstream = begin_stream(provider)
    read_until(client, b"first")
    behind.popen.send_signal(signal.SIGTERM)
    seen = read_until(client, b"\r\n0\r\n\r\n")
    assert b"event: error\n" in seen and b"shutting down" in seen and b"[DONE]" not in seen
    upstream.close()
    assert behind.popen.wait(20) == 0


def test_models_are_reloaded_on_sighup(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("models: []\n")
    gateway = Gateway(tmp_path / "data", "--config", config).start()
    try:
        assert gateway.client.get("/v1/models/mine").status == 404
        config.write_text("models:\n- {name: mine, provider: mock}\n")
        gateway.popen.send_signal(signal.SIGHUP)
        eventually(lambda: gateway.client.get("/v1/models/mine").status == 200, 10, "the new model")
        assert gateway.client.post(CHAT, body(model="mine")).status == 200
    finally:
        gateway.close()


def test_doctor_reports_for_each_model_server_whether_it_responds(tmp_path, provider):
    port = provider.getsockname()[1]
    provider.close()
    config = tmp_path / "c.yaml"
    config.write_text(f"models:\n- {{name: gone, provider: openai, base_url: 'http://127.0.0.1:{port}/v1'}}\n")
    command = [BUILD / "millrace", "doctor", "--data", tmp_path / "data", "--config", config]
    streamed_text = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout
    line = next(line for line in streamed_text.splitlines() if "openai at" in line)
    assert line.startswith("warn") and f"127.0.0.1:{port}" in line
