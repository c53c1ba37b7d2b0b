"""Uploads to /v1/files."""

import uuid

LINES = b'{"custom_id": "one"}\n' * 5000


def form(parts):
    """A multipart body and its content type. A part: name, content, file name or None."""
    boundary = uuid.uuid4().hex
    body = b""
    for name, content, file_name in parts:
        named = f'; filename="{file_name}"' if file_name else ""
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def upload(client, content=LINES, name="requests.jsonl", headers=None, **fields):
    parts = [(key, str(value).encode(), None) for key, value in fields.items()]
    body, content_type = form([*parts, ("file", content, name)])
    return client.post("/v1/files", body, headers={"Content-Type": content_type, **(headers or {})})
