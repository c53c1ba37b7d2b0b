"""Chats of the mock model with the tools of MCP servers."""

import contextlib

from millrace import Gateway

CHAT = "/v1/chat/completions"
MOCK = {"MILLRACE_MOCK": "true"}
EVERYTHING = ("@modelcontextprotocol/server-everything", "2026.8.31")


def chat(gateway, text, *servers, **more):
    """Sends a chat to the mock model, which calls the tool named in the text."""
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": text}], "mcp_servers": list(servers), **more}
    reply = gateway.client.post(CHAT, body)
    assert reply.status == 200, reply.body
    return reply if more.get("stream") else reply.json()


def named(name, server):
    return {"name": name, "url": server if isinstance(server, str) else server.mcp_url}


@contextlib.contextmanager
def opened(folder, *hosts, config=None, env=()):
    """A gateway that may connect to these loopback hosts."""
    arguments = ["--fetch.allow-hosts", ",".join(hosts)] if hosts else []
    if config:
        (folder / "millrace.yaml").write_text(config)
        arguments += ["--config", folder / "millrace.yaml"]
    gateway = Gateway(folder / "data", *arguments, env={**MOCK, **dict(env)}).start()
    try:
        yield gateway
    finally:
        gateway.close()


def only_result(reply):
    (outcome,) = reply["mcp_tool_results"]
    return outcome
