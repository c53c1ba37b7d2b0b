"""The connections to providers: they are closed when the client leaves, and use HTTP/2 if it is offered."""

import contextlib
import http.client
import json
import threading
import time

import openai_replies
import pytest
from families import ALL
from millrace import Gateway
from open_stream import OpenStream
from sandboxed import skip_without_namespaces
from tls_front import TlsFront, trusting
from upstream import Reply

CHAT = "/v1/chat/completions"
LET_GO_WITHIN_S = 0.1  # the bound in the design
TIMES = 20  # the fastest is what the gateway adds; others may be delayed by a busy machine
STAGES = ["before the head", "in a stream", "in a whole reply"]


@contextlib.contextmanager
def opened(folder, *rows, dress=lambda gateway: gateway):
    config = folder / "millrace.yaml"
    config.write_text("models:\n" + "".join(rows))
    gateway = dress(Gateway(folder / "data", "--config", config)).start()
    try:
        yield gateway
    finally:
        gateway.close()


def body(model="m", **more):
    return {"model": model, "messages": [{"role": "user", "content": "hello"}], **more}


def never_ending(family, stage):
    """A reply that stops at this stage and never ends."""
    never = threading.Event()
    if stage == "before the head":
        return Reply(before_head=never)
    if stage == "in a stream":
        whole = family.stream("Hello world")
        return whole.gated(len(whole.pieces) - 1, never)
    (piece,) = family.complete("Hello").pieces
    return Reply(pieces=[piece[:10], never, piece[10:]])


def left(gateway, upstream, family, stage):
    """The time until the provider's connection was closed, measured by the provider."""
    upstream.reply(never_ending(family, stage))
    number = len(upstream.requests) + 1
    if stage == "in a stream":
        stream = OpenStream(gateway.client, CHAT, body(stream=True))
        stream.read_until(b"Hello")
        leave = stream.close
    else:
        leave = send_and_leave(gateway)
    seen = upstream.wait_for(number)[-1]
    began = time.monotonic()
    leave()
    assert seen.disconnected.wait(30), "the provider's connection is never closed"
    return seen.disconnected_at - began


def send_and_leave(gateway):
    address = gateway.client.address
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    fields = {"Authorization": f"Bearer {gateway.client.key}", "Content-Type": "application/json"}
    connection.request("POST", CHAT, json.dumps(body()), fields)
    return connection.close


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("family", ALL, ids=str)
def test_the_connection_to_a_provider_is_closed_within_the_bound_when_the_client_leaves(tmp_path, upstream, family, stage):
    with opened(tmp_path, family.row("m", upstream)) as gateway:
        waited = [left(gateway, upstream, family, stage) for _ in range(TIMES)]
    assert min(waited) <= LET_GO_WITHIN_S, waited


@pytest.fixture(params=[True, False], ids=["HTTP/2", "HTTP/1.1"])
def front(request, tmp_path, upstream):
    skip_without_namespaces("a gateway cannot be made to trust a certificate")
    with TlsFront(tmp_path, upstream.url, http2=request.param) as instance:
        yield instance


@pytest.fixture
def behind(tmp_path, front):
    row = f"- {{name: m, provider: openai, base_url: '{front.url}/v1'}}\n"
    with opened(tmp_path, row, dress=lambda gateway: trusting(gateway, front.certificate)) as gateway:
        yield gateway


def test_http2_is_used_with_a_provider_that_offers_it(behind, upstream, front):
    upstream.reply_always(lambda seen: (openai_replies.stream if seen.json.get("stream") else openai_replies.completion)("Hello"))
    for stream in (False, True):
        reply = behind.client.post(CHAT, body(stream=stream))
        assert reply.status == 200 and b"Hello" in reply.body, reply.body
    spoken = "HTTP/2.0" if front.http2 else "HTTP/1.1"
    assert {seen.headers["x-seen-protocol"] for seen in upstream.requests} == {spoken}


@pytest.mark.parametrize("count", [1, 3])
def test_streams_of_one_connection_end_independently_and_at_once(behind, upstream, front, count):
    gates = [threading.Event() for _ in range(count)]
    whole = openai_replies.stream("Hello world")
    for gate in gates:
        upstream.reply(whole.gated(2, gate))
    with contextlib.ExitStack() as all_of_them:
        streams = []
        for number in range(count):
            streams.append(all_of_them.enter_context(OpenStream(behind.client, CHAT, body(stream=True))))
            upstream.wait_for(number + 1)
            streams[-1].read_until(b"Hello")
        left, *others = upstream.requests
        streams[0].close()
        assert left.disconnected.wait(30), "the provider is not notified before another stream of the connection sends something"
        assert not any(seen.disconnected.is_set() for seen in others)
        for gate in gates[1:]:
            gate.set()
        for stream in streams[1:]:
            assert stream.rest().endswith(b"data: [DONE]\n\n")
    connections = {seen.headers["x-seen-connection"] for seen in upstream.requests}
    assert len(connections) == (1 if front.http2 else count)


def test_an_untrusted_certificate_is_a_502_and_no_key_is_sent(tmp_path, upstream):
    with TlsFront(tmp_path, upstream.url) as front:
        row = f"- {{name: m, provider: openai, base_url: '{front.url}/v1'}}\n"
        with opened(tmp_path, row) as gateway:
            reply = gateway.client.post(CHAT, body())
    assert reply.status == 502 and reply.json()["error"]["code"] == "upstream_error", reply.body
    assert upstream.requests == []
