"""Completions of a gateway's model `m`, and what came of them."""

CHAT = "/v1/chat/completions"


def body(**more):
    return {"model": "m", "messages": [{"role": "user", "content": "hello"}], **more}


def ask(gateway, **more):
    return gateway.client.post(CHAT, body(**more))


def said(reply):
    assert reply.status == 200, reply.body
    (choice,) = reply.json()["choices"]
    return choice["message"]["content"]


def failed(reply, status, code):
    assert reply.status == status, reply.body
    error = reply.json()["error"]
    assert error["code"] == code, error
    return error["message"]
