"""Responses of Gemini's generateContent, after its published description."""

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


def drawing(image, finish="STOP"):
    """The response of a model that draws: an image in base64. None: text instead of an image."""
    parts = [{"text": "Here it is"}]
    if image is not None:
        parts.append({"inlineData": {"mimeType": "image/png", "data": image}})
    return json_reply(_body(parts, finish))


def predictions(*images, filtered=None):
    """The response of Imagen: images in base64, and the reason why one was filtered."""
    rows = [{"mimeType": "image/png", "bytesBase64Encoded": image, "prompt": "better"} for image in images]
    return json_reply({"predictions": rows + ([{"raiFilteredReason": filtered}] if filtered else [])})


def grounded(body, chunks, supports):
    """Adds grounding metadata to the `body` of a response: (title, uri) of each source; bytes and sources of each segment."""
    body["candidates"][0]["groundingMetadata"] = {
        "groundingChunks": [{"web": {"uri": uri, "title": title}} for title, uri in chunks],
        "groundingSupports": [
            {"segment": {"startIndex": begin, "endIndex": end}, "groundingChunkIndices": list(sources)}
            for begin, end, sources in supports
        ],
    }
    return body


def searched(text, chunks, supports, streamed=False):
    if not streamed:
        return json_reply(grounded(_body([{"text": text}], "STOP"), chunks, supports))
    half = len(text) // 2
    last = grounded(_body([{"text": text[half:]}], "STOP"), chunks, supports)
    return sse_reply([(None, _body([{"text": text[:half]}])), (None, last)])


def refusal(status, text="overloaded", name="UNAVAILABLE", **headers):
    return json_reply({"error": {"code": status, "message": text, "status": name}}, status, **headers)


def failure(text="overloaded"):
    """An event that ends a stream with an error."""
    return b'data: {"error":{"code":503,"message":"%s","status":"UNAVAILABLE"}}\n\n' % text.encode()
