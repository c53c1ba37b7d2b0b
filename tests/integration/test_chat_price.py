"""The cost of chats; for streams it is in the last chunk, because the headers are sent before it is known."""

import json
import re

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
