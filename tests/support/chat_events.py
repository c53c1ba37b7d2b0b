"""Reads a streamed completion the way clients do."""

import json


def chunks_of(body):
    """The chunks of a stream that ends with [DONE]."""
    events = body.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""], events[-3:]
    data_events = [event for event in events[:-2] if not event.startswith(":")]
    assert all(event.startswith("data: ") and "\n" not in event for event in data_events), data_events
    return [json.loads(event.removeprefix("data: ")) for event in data_events]


def text_of(chunks):
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


def calls_of(chunks):
    """The complete tool calls: (id, name, arguments as an object)."""
    calls = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            for piece in choice["delta"].get("tool_calls") or []:
                call = calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
                call["id"] = call["id"] or piece.get("id", "")
                call["name"] += piece.get("function", {}).get("name") or ""
                call["arguments"] += piece.get("function", {}).get("arguments") or ""
    assert list(calls) == list(range(len(calls))), calls
    return [(call["id"], call["name"], json.loads(call["arguments"])) for call in calls.values()]


def finish_of(chunks):
    """The only finish_reason of the only choice."""
    (reason,) = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]]
    return reason


def error_of(body):
    """The error that ends a stream. Nothing may follow it, not even [DONE]."""
    events = body.decode().split("\n\n")
    assert events[-1] == "" and b"[DONE]" not in body, body
    name, _, data = events[-2].partition("\n")
    assert name == "event: error" and data.startswith("data: "), events[-2]
    return json.loads(data.removeprefix("data: "))["error"]
