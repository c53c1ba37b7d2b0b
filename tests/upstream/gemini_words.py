"""What Gemini's generateContent says, after its published description."""

from upstream import Reply, json_reply, sse_reply

USAGE = {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12}


def _body(parts, finish=None):
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "gemini-upstream", "responseId": "r1"}


def content(text="Hello", *, calls=()):
    parts = [{"text": text}] if text else []
    parts += [{"functionCall": {"name": name, "args": given}} for _, name, given in calls]
    return json_reply(_body(parts, "STOP"))


def stream(text="Hello world", *, calls=()) -> Reply:
    parts = [{"text": word} for word in text.replace(" ", "\0 ").split("\0")]
    parts += [{"functionCall": {"name": name, "args": given}} for _, name, given in calls]
    return sse_reply([(None, _body([part], "STOP" if at + 1 == len(parts) else None)) for at, part in enumerate(parts)])


def embeddings(vectors):
    return json_reply({"embeddings": [{"values": vector} for vector in vectors]})


def refusal(status, text="overloaded", name="UNAVAILABLE", **headers):
    return json_reply({"error": {"code": status, "message": text, "status": name}}, status, **headers)


def failure(text="overloaded"):
    """An event that ends a stream which has begun."""
    return b'data: {"error":{"code":503,"message":"%s","status":"UNAVAILABLE"}}\n\n' % text.encode()
