"""Responses of Anthropic's Messages API, after its published description."""

import json

from upstream import Reply, json_reply, sse_reply


def message(text="Hello", *, calls=(), stop=None):
    content = [{"type": "text", "text": text}] if text else []
    content += [{"type": "tool_use", "id": i, "name": n, "input": given} for i, n, given in calls]
    return json_reply(
        {
            "id": "msg_upstream",
            "type": "message",
            "role": "assistant",
            "model": "claude-upstream",
            "content": content,
            "stop_reason": stop or ("tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "usage": {"input_tokens": 9, "output_tokens": 3},
        }
    )


def stream(text="Hello world", *, calls=()) -> Reply:
    start = {
        "id": "msg_upstream",
        "type": "message",
        "role": "assistant",
        "model": "claude-upstream",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }
    texts = [{"type": "text_delta", "text": piece} for piece in text.replace(" ", "\0 ").split("\0")]
    events = [{"type": "message_start", "message": start}, *_block(0, {"type": "text", "text": ""}, texts), {"type": "ping"}]
    for at, (call_id, name, given) in enumerate(calls, 1):
        arguments = json.dumps(given, ensure_ascii=False)
        pieces = (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :])
        block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        events += _block(at, block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])
    stop = "tool_use" if calls else "end_turn"
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 3}})
    events.append({"type": "message_stop"})
    return sse_reply([(event["type"], event) for event in events])


def _block(index, block, deltas):
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def searched(blocks, streamed=False):
    """A response with text blocks, each with the (title, url) of its sources."""
    content = [
        {
            "type": "text",
            "text": text,
            "citations": [
                {"type": "web_search_result_location", "url": url, "title": title, "cited_text": "x", "encrypted_index": "e"}
                for title, url in cited
            ],
        }
        for text, cited in blocks
    ]
    whole = {
        "id": "msg_upstream",
        "type": "message",
        "role": "assistant",
        "model": "claude-upstream",
        "content": [] if streamed else content,
        "stop_reason": None if streamed else "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 3},
    }
    if not streamed:
        return json_reply(whole)
    events = [{"type": "message_start", "message": whole}]
    for at, block in enumerate(content):
        deltas = [{"type": "text_delta", "text": block["text"]}]
        deltas += [{"type": "citations_delta", "citation": each} for each in block["citations"]]
        events += _block(at, {"type": "text", "text": "", "citations": []}, deltas)
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}})
    events.append({"type": "message_stop"})
    return sse_reply([(event["type"], event) for event in events])


def refusal(status, text="Overloaded", kind="overloaded_error", **headers):
    return json_reply({"type": "error", "error": {"type": kind, "message": text}}, status, **headers)


def failure(text="Overloaded"):
    """An event that ends a stream with an error."""
    return b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"%s"}}\n\n' % text.encode()
