"""Responses of a provider of OpenAI's protocol, after its published API description."""

import base64
import json
import struct

from upstream import Reply, json_reply, sse_reply

USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}


def completion(text="Hello", *, calls=(), finish=None, usage=None, model="upstream-model", **message):
    """`calls`: (id, name, arguments as dict)."""
    content = {"role": "assistant", "content": text, "refusal": None, **message}
    if calls:
        content["tool_calls"] = [call(i, name, _text(given), position=None) for i, name, given in calls]
    choice = {"index": 0, "message": content, "logprobs": None, "finish_reason": finish or ("tool_calls" if calls else "stop")}
    return json_reply(
        {
            "id": "chatcmpl-upstream",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": model,
            "choices": [choice],
            "usage": usage or USAGE,
        }
    )


def call(call_id, name, arguments, position=0):
    member = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return member if position is None else {"index": position, **member}


def chunk(delta, finish=None, usage=None, model="upstream-model"):
    body = {
        "id": "chatcmpl-upstream",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": model,
        "choices": [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    if usage:
        body["usage"] = usage
    return None, body


def stream(text="Hello world", *, calls=(), usage=None) -> Reply:
    """A stream with one chunk per word."""
    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": word}) for word in _words(text)]
    for position, (call_id, name, given) in enumerate(calls):
        arguments = _text(given)
        events.append(chunk({"tool_calls": [call(call_id, name, "", position)]}))
        events += [
            chunk({"tool_calls": [{"index": position, "function": {"arguments": piece}}]})
            for piece in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :])
        ]
    events.append(chunk({}, "tool_calls" if calls else "stop"))
    events.append(chunk(None, usage=usage or USAGE))
    return sse_reply([*events, (None, "[DONE]")])


def embeddings(vectors, *, packed=False, order=None):
    """`packed`: little-endian float32 in base64; `order`: the order of the rows."""

    def row(index):
        raw = struct.pack(f"<{len(vectors[index])}f", *vectors[index])
        value = base64.b64encode(raw).decode() if packed else vectors[index]
        return {"object": "embedding", "index": index, "embedding": value}

    rows = [row(index) for index in order or range(len(vectors))]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return json_reply({"object": "list", "data": rows, "model": "upstream-model", "usage": usage})


def refusal(status, text="no", **headers):
    return json_reply({"error": {"message": text, "type": "upstream", "param": None, "code": None}}, status, **headers)


def failure(text="overloaded"):
    """An event that ends a stream with an error."""
    return b'data: {"error":{"message":"%s","type":"server_error","param":null,"code":null}}\n\n' % text.encode()


def _text(given):
    return json.dumps(given, ensure_ascii=False)


def _words(text):
    words = text.split(" ")
    return [word if at == 0 else " " + word for at, word in enumerate(words) if text]
