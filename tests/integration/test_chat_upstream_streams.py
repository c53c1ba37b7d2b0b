"""Streams of providers of each family: cut anywhere, broken, endless, left by the client."""

import concurrent.futures
import threading

import pytest
from chat_events import calls_of, chunks_of, error_of, finish_of, text_of
from families import ALL
from millrace import Gateway
from open_stream import OpenStream
from upstream import Reply

CHAT = "/v1/chat/completions"
TEXT = "Grüße an die Welt 🙂 – in vielen kleinen Stücken"
CALLS = [("call_1", "weather", {"place": "Zürich", "days": 3})]
BEGUN = 4  # pieces that contain the first words, in each family
DISCONNECTED_WITHIN_S = 2
MIB = 1 << 20


@pytest.fixture(params=ALL, ids=str)
def family(request):
    return request.param


@pytest.fixture
def gateway(tmp_path, family, upstream):
    config = tmp_path / "millrace.yaml"
    config.write_text(f"models:\n{family.row('m', upstream)}")
    instance = Gateway(tmp_path / "data", "--config", config, "--chat.tries", "1", "--chat.idle-timeout", "1s").start()
    yield instance
    instance.close()


@pytest.fixture
def gate():
    return threading.Event()


def body(**more):
    return {"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": True, **more}


def streamed(gateway, **more):
    reply = gateway.client.post(CHAT, body(**more))
    assert reply.status == 200, reply.body
    return reply.body


def begun(gateway):
    """A stream whose first words have been received."""
    stream = OpenStream(gateway.client, CHAT, body())
    assert stream.status == 200, stream.rest()
    stream.read_until(b'"Gr')
    return stream


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_a_stream_in_single_bytes_gives_the_same_response(family, upstream, gateway, line_end):
    upstream.reply(family.stream(TEXT, calls=CALLS).with_line_ends(line_end).cut_every(1))
    chunks = chunks_of(streamed(gateway, stream_options={"include_usage": True}))
    assert text_of(chunks) == TEXT and finish_of(chunks) == "tool_calls"
    assert [call[1:] for call in calls_of(chunks)] == [CALLS[0][1:]]
    assert chunks[-1]["usage"]["total_tokens"] == 12


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_a_stream_cut_at_any_byte_gives_the_same_response(family, upstream, gateway, line_end):
    whole = family.stream(TEXT, calls=CALLS).with_line_ends(line_end)
    size = len(b"".join(whole.pieces))
    upstream.reply(*(whole.cut_at(place) for place in range(1, size)))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: chunks_of(streamed(gateway)), range(1, size)):
            assert text_of(answer) == TEXT and [call[1:] for call in calls_of(answer)] == [CALLS[0][1:]]


def test_comments_and_a_byte_order_mark_are_no_part_of_the_response(family, upstream, gateway):
    reply = family.stream(TEXT)
    reply.pieces = [b"\xef\xbb\xbf: hello\n\n", *(b": still here\nretry: 5\n" + piece for piece in reply.pieces)]
    upstream.reply(reply)
    assert text_of(chunks_of(streamed(gateway))) == TEXT


HALVES = {"escapes": (rb"\ud83d", rb"\ude00"), "bytes": (b"\xf0\x9f", b"\x98\x80"), "raw surrogates": (b"\xed\xa0\xbd", b"\xed\xb8\x80")}


def with_halves(reply, halves):
    """The same reply; the words END and ` REST`, which are in two events, become the halves of a character."""
    reply.pieces = [piece.replace(b"END", halves[0]).replace(b" REST", halves[1]) for piece in reply.pieces]
    return reply


@pytest.mark.parametrize("form", HALVES)
def test_a_character_cut_between_two_events_is_whole_and_a_lone_half_is_replaced(family, upstream, gateway, form):
    upstream.reply(
        with_halves(family.stream("aEND RESTb"), HALVES[form]),
        with_halves(family.stream("aEND b RESTc"), HALVES[form]),
        with_halves(family.stream("a bEND"), HALVES[form]),
        with_halves(family.stream("a", calls=[("call_1", "find", {"q": "xEND RESTyyyy"})]), HALVES[form]),
    )
    assert text_of(chunks_of(streamed(gateway))) == "a😀b"
    two_halves = text_of(chunks_of(streamed(gateway)))
    assert two_halves.replace("\ufffd", "") == "a bc" and two_halves.count("\ufffd") >= 2
    assert text_of(chunks_of(streamed(gateway))) == "a b\ufffd"
    (called,) = calls_of(chunks_of(streamed(gateway)))
    assert called[1:] == ("find", {"q": "x😀yyyy"})


@pytest.mark.parametrize("form", HALVES)
def test_broken_text_of_whole_answers_is_replaced_and_no_model_is_switched_off(family, upstream, gateway, form):
    upstream.reply_always(with_halves(family.complete("aENDb"), HALVES[form]))
    for _ in range(6):
        reply = gateway.client.post(CHAT, body(stream=False))
        assert reply.status == 200, reply.body
        assert reply.json()["choices"][0]["message"]["content"] == "a\ufffdb"


@pytest.fixture
def beating(tmp_path, family, upstream):
    config = tmp_path / "millrace.yaml"
    config.write_text(f"models:\n{family.row('m', upstream)}")
    instance = Gateway(tmp_path / "data", "--config", config, "--chat.tries", "2", "--chat.heartbeat", "100ms").start()
    yield instance
    instance.close()


def opened_early(gateway, **more):
    """A stream whose headers were sent although the provider has sent nothing yet."""
    stream = OpenStream(gateway.client, CHAT, body(**more))
    assert stream.status == 200 and stream.headers["content-type"] == "text/event-stream", stream.rest()
    assert "x-millrace-model" not in stream.headers and "x-millrace-attempts" not in stream.headers
    stream.read_until(b": keep-alive\n\n: keep-alive\n\n")
    return stream


def read_after_a_silence(gateway, gate):
    with opened_early(gateway, guardrails=[]) as stream:
        gate.set()
        chunks = chunks_of(stream.rest())
    assert text_of(chunks) == TEXT and {chunk["model"] for chunk in chunks} == {"m"}
    assert chunks[-1]["dropped_params"] == "guardrails", "is not in a header"


@pytest.mark.parametrize("after", ["nothing", "its head"])
def test_a_client_gets_headers_and_comments_while_the_provider_is_silent(family, upstream, beating, gate, after):
    reply = family.stream(TEXT)
    upstream.reply(reply.held(gate) if after == "nothing" else reply.gated(0, gate))
    read_after_a_silence(beating, gate)


# The first events of other families have text or a role, so the headers are sent with them.
@pytest.mark.parametrize("family", [family for family in ALL if family.name == "anthropic"], indirect=True, ids=str)
def test_a_client_gets_them_too_after_an_event_without_content(family, upstream, beating, gate):
    upstream.reply(family.stream(TEXT).gated(1, gate))
    read_after_a_silence(beating, gate)


def test_another_attempt_continues_after_the_headers_were_sent(family, upstream, beating, gate):
    upstream.reply(family.refusal(500, "broken").held(gate), family.stream(TEXT))
    with opened_early(beating) as stream:
        gate.set()
        assert text_of(chunks_of(stream.rest())) == TEXT


def test_a_failure_after_the_headers_were_sent_is_an_error_in_the_stream(family, upstream, beating, gate):
    upstream.reply(family.refusal(400, "too strange").held(gate))
    with opened_early(beating) as stream:
        gate.set()
        error = error_of(stream.rest())
    assert error["code"] == "bad_request" and "too strange" in error["message"]


def test_text_reaches_the_client_while_the_provider_is_still_generating(family, upstream, gateway, gate):
    upstream.reply(family.stream(TEXT).gated(BEGUN, gate))
    with begun(gateway) as stream:
        gate.set()
        assert text_of(chunks_of(stream.rest())) == TEXT


@pytest.mark.parametrize("end", ["reset", "cut"])
def test_a_stream_that_breaks_off_ends_with_an_error_and_without_done(family, upstream, gateway, gate, end):
    upstream.reply(family.stream(TEXT).broken_at(BEGUN, gate, **{end: True}))
    with begun(gateway) as stream:
        gate.set()
        error = error_of(stream.rest())
        assert error["code"] == "upstream_error" and error["message"].startswith("m: ")


def test_a_stream_that_ends_cleanly_but_too_early_is_an_error(family, upstream, gateway, gate):
    upstream.reply(family.stream(TEXT).broken_at(BEGUN, gate))
    with begun(gateway) as stream:
        gate.set()
        assert "before the completion was over" in error_of(stream.rest())["message"]


def test_an_error_inside_a_stream_has_the_providers_message(family, upstream, gateway, gate):
    reply = family.stream(TEXT).broken_at(BEGUN, gate)
    reply.pieces.append(family.failure("out of breath"))
    upstream.reply(reply)
    with begun(gateway) as stream:
        gate.set()
        assert "out of breath" in error_of(stream.rest())["message"]


def test_what_is_no_event_of_the_protocol_ends_the_stream(family, upstream, gateway, gate):
    reply = family.stream(TEXT).broken_at(BEGUN, gate)
    reply.pieces.append(b"data: <html>oops</html>\n\n")
    upstream.reply(reply)
    with begun(gateway) as stream:
        gate.set()
        error = error_of(stream.rest())
        assert error["code"] == "upstream_error" and "oops" not in error["message"]


def test_a_provider_that_stops_sending_times_out(family, upstream, gateway, gate):
    upstream.reply(family.stream(TEXT).gated(BEGUN, gate))
    with begun(gateway) as stream:
        assert error_of(stream.rest())["code"] == "upstream_timeout"
    assert upstream.requests[-1].disconnected.wait(DISCONNECTED_WITHIN_S)


def test_an_endless_event_is_cut_off_at_its_bound(family, upstream, gateway, gate):
    gate.set()
    upstream.reply(Reply(200, [b"data: "], {"Content-Type": "text/event-stream"}, chunked=True, endless=b"x" * MIB))
    reply = gateway.client.post(CHAT, body())
    assert reply.status == 502 and "an event of more than" in reply.json()["error"]["message"], reply.body
    assert upstream.requests[-1].disconnected.wait(5) and upstream.requests[-1].written < 64 * MIB


def test_a_client_that_leaves_a_stream_closes_the_connection_to_the_provider(family, upstream, gateway, gate):
    upstream.reply(family.stream(TEXT).gated(BEGUN, gate))
    begun(gateway).close()
    assert upstream.requests[-1].disconnected.wait(DISCONNECTED_WITHIN_S)


def test_an_endless_provider_is_paused_by_a_slow_client_and_disconnected_with_it(family, upstream, gateway, gate):
    reply = family.stream(TEXT)
    text_piece = next(piece for piece in reply.pieces if "Grü".encode() in piece)
    gate.set()
    upstream.reply(reply.broken_at(BEGUN, gate, endless=text_piece * 200))
    stream = begun(gateway)
    seen = upstream.requests[-1]
    assert seen.held.wait(20) and seen.written < 64 * MIB
    stream.close()
    assert seen.disconnected.wait(DISCONNECTED_WITHIN_S)
