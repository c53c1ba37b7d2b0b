"""Chat completions with the model `m` of a gateway, and their results."""

CHAT = "/v1/chat/completions"


def body(**more):
    return {"model": "m", "messages": [{"role": "user", "content": "hello"}], **more}


def post_chat(gateway, **more):
    return gateway.client.post(CHAT, body(**more))


def content_of(reply):
    assert reply.status == 200, reply.body
    (choice,) = reply.json()["choices"]
    return choice["message"]["content"]


def failed(reply, status, code):
    assert reply.status == status, reply.body
    error = reply.json()["error"]
    assert error["code"] == code, error
    return error["message"]
