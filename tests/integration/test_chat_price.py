"""The cost of chats; for streams it is in the last chunk, because the headers are sent before it is known."""

import http.client
import json
import re
import threading

import openai_replies
import pytest
from millrace import Gateway, eventually
from open_stream import OpenStream
from upstream import Reply

CHAT = "/v1/chat/completions"
COST = "x-millrace-cost-usd"


@pytest.fixture
def gateway(tmp_path, upstream):
    config = tmp_path / "millrace.yaml"
    config.write_text(f"""mock: true
models:
- {{name: priced, provider: mock, price: {{prompt: 3, completion: 5}}}}
- {{name: far, provider: openai, base_url: '{upstream.url}/v1', price: {{prompt: 3, completion: 5}}}}
- {{name: free, provider: mock}}
- {{name: nowhere, provider: openai, base_url: 'http://127.0.0.1:1/v1'}}
""")
    instance = Gateway(tmp_path / "data", "--config", config).start()
    yield instance
    instance.close()


def body(model, **more):
    return {"model": model, "messages": [{"role": "user", "content": "one two three"}], **more}


def chunks(reply):
    assert reply.status == 200, reply.body
    events = reply.body.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    return [json.loads(event.removeprefix("data: ")) for event in events[:-2] if event.startswith("data: ")]


def paid(gateway, model):
    """The cost in dollars according to the metrics."""
    text = gateway.client.get("/metrics").body.decode()
    found = re.search(rf'^millrace_cost_usd_total{{[^}}]*model="{model}"[^}}]*}} (\S+)$', text, re.M)
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize("more", [{}, {"stream_options": {"include_usage": True}}], ids=["plain", "usage"])
def test_the_last_chunk_of_a_stream_has_the_cost_that_a_header_has_otherwise(gateway, more):
    cost = float(gateway.client.post(CHAT, body("priced")).headers[COST])
    reply = gateway.client.post(CHAT, body("priced", stream=True, **more))
    sent = chunks(reply)
    assert COST not in reply.headers and sent[-1]["cost_usd"] == pytest.approx(cost) and cost > 0
    assert not any("cost_usd" in chunk for chunk in sent[:-1])
    assert paid(gateway, "priced") == pytest.approx(2 * cost)


def test_a_job_of_a_deferred_chat_has_its_cost_too(gateway):
    job = gateway.client.wait_terminal(gateway.client.post(CHAT, body("priced", deferred=True)).json()["request_id"])
    cost = float(gateway.client.post(CHAT, body("priced")).headers[COST])
    assert job["cost_usd"] == pytest.approx(cost)


def test_without_a_known_price_no_cost_is_returned(gateway):
    assert COST not in gateway.client.post(CHAT, body("free")).headers
    assert not any("cost_usd" in chunk for chunk in chunks(gateway.client.post(CHAT, body("free", stream=True))))


def test_a_stream_that_breaks_off_costs_what_was_received(gateway, upstream):
    upstream.reply(openai_replies.stream("Hello world").broken_at(2, reset=True))
    reply = gateway.client.post(CHAT, body("far", stream=True))
    assert b"event: error" in reply.body
    assert paid(gateway, "far") > 0


def test_a_stream_that_the_client_leaves_costs_what_was_received(gateway, upstream):
    event = openai_replies.stream("Hello").pieces[1]
    headers = {"Content-Type": "text/event-stream"}
    upstream.reply(Reply(pieces=[event], headers=headers, chunked=True, endless=event))
    with OpenStream(gateway.client, CHAT, body("far", stream=True)) as stream:
        stream.read_until(b"Hello")
    eventually(lambda: paid(gateway, "far") > 0, what="the price of the part that was received")


def used_tokens(gateway):
    return gateway.client.get("/v1/usage").json()["tokens"]


def counted_tokens(gateway):
    text = gateway.client.get("/metrics").body.decode()
    found = re.findall(r'^millrace_tokens_total{[^}]*model="far"[^}]*type="(?:prompt|completion)"[^}]*} (\S+)$', text, re.M)
    return sum(map(float, found))


def left_before_the_answer(gateway, upstream, **more):
    """The tokens of the usage page and of the metrics for a chat whose client leaves while the provider is silent."""
    never = threading.Event()
    upstream.reply(Reply(before_head=never))
    before, counted = used_tokens(gateway), counted_tokens(gateway)
    address = gateway.client.address
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    fields = {"Authorization": f"Bearer {gateway.client.key}", "Content-Type": "application/json"}
    number = len(upstream.requests) + 1
    connection.request("POST", CHAT, json.dumps(body("far", **more)), fields)
    upstream.wait_for(number)
    connection.close()
    eventually(lambda: used_tokens(gateway) > before, what="the tokens of the call that was left")
    never.set()
    return used_tokens(gateway) - before, counted_tokens(gateway) - counted


def test_a_whole_chat_that_the_client_leaves_has_the_tokens_of_a_stream(gateway, upstream):
    whole = left_before_the_answer(gateway, upstream)
    assert whole[0] == whole[1] > 0
    assert left_before_the_answer(gateway, upstream, stream=True) == whole
    many = left_before_the_answer(gateway, upstream, tools=[])
    assert many == whole


def test_a_chat_that_no_provider_got_has_no_tokens(gateway):
    assert gateway.client.post(CHAT, body("nowhere")).status == 502
    eventually(lambda: gateway.client.get("/v1/usage").json()["requests"] > 0, what="the request's usage")
    assert used_tokens(gateway) == 0
