"""MCP servers over real sockets, for three protocol versions: without sessions, with sessions, and the first one, which
responds in a separate stream.

    with McpServer({"add": tool(lambda given: text_result(given["a"] + given["b"]), a="integer", b="integer")}) as server:
        ... a request names server.mcp_url ...
        assert server.calls == [("add", {"a": 1, "b": 2})]
"""

import base64
import json
import threading
from dataclasses import dataclass, field
from typing import Callable

from upstream import Reply, Upstream, json_reply, sse_reply

MODERN = "2026-07-28"
SILENT = Reply(status=0)  # the connection is closed without a byte
META = "io.modelcontextprotocol/"


@dataclass
class Tool:
    answer: Callable  # a function from the arguments to a result or a Reply
    properties: dict = field(default_factory=dict)

    def listed(self, name):
        schema = {"type": "object", "properties": self.properties, "required": list(self.properties)}
        return {"name": name, "description": f"The tool {name}.", "inputSchema": schema}


def tool(answer, /, **types):
    """`types`: the types of the arguments; a dict is a schema."""
    return Tool(answer, {name: each if isinstance(each, dict) else {"type": each} for name, each in types.items()})


def text_result(*texts, **more):
    """A result with these texts."""
    return {"content": [{"type": "text", "text": str(text)} for text in texts], **more}


def result(request, body):
    return {"jsonrpc": "2.0", "id": request["id"], "result": body}


def failure(request, code, message, status=200, **data):
    error = {"code": code, "message": message, **({"data": data} if data else {})}
    return json_reply({"jsonrpc": "2.0", "id": request.get("id"), "error": error}, status)


def greeting(version):
    server = {"name": "test-server", "version": "1"}
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}


def plain(value):
    """The decoded text of a header that may be in base64."""
    wrapped = value.startswith("=?base64?") and value.endswith("?=")
    return base64.b64decode(value[9:-2]).decode() if wrapped else value


class _ToolServer(Upstream):
    def __init__(self, tools, page_size=100):
        super().__init__()
        self.tools = tools
        self.page_size = page_size
        self.calls = []
        self.reply_always(self._reply)

    @property
    def mcp_url(self):
        return f"{self.url}/mcp"

    @property
    def host(self):
        return self.url.removeprefix("http://")

    def _page(self, request):
        start = int(request["params"].get("cursor", 0))
        names = list(self.tools)
        page = {"tools": [self.tools[name].listed(name) for name in names[start : start + self.page_size]]}
        if start + self.page_size < len(names):
            page["nextCursor"] = str(start + self.page_size)
        return page

    def _call(self, request):
        name, given = request["params"]["name"], request["params"]["arguments"]
        self.calls.append((name, given))
        return self.tools[name].answer(given)

    def _write(self, connection, seen, reply):
        return reply.status != 0 and super()._write(connection, seen, reply)


class McpServer(_ToolServer):
    """The protocol without sessions: every request is complete in itself. `events`: responses are streams of events.
    `fresh_ms`: how long a list may be cached; None: the server does not send it."""

    def __init__(self, tools, page_size=100, events=False, fresh_ms=None):
        super().__init__(tools, page_size)
        self.events = events
        self.fresh_ms = fresh_ms

    def _reply(self, seen):
        if seen.method != "POST":
            return json_reply({}, 405)
        request = seen.json
        if request["method"] not in ("tools/list", "tools/call"):
            return failure(request, -32601, "no such method", 404)
        if request["method"] == "tools/call" and request["params"]["name"] not in self.tools:
            return failure(request, -32602, "no such tool")
        wrong = self._mismatch(seen.headers, request)
        if wrong:
            return failure(request, -32020, f"header mismatch: {wrong}", 400)
        if seen.headers["mcp-protocol-version"] != MODERN:
            return failure(request, -32022, "unsupported protocol version", 400, supported=[MODERN])
        body = self._page(request) if request["method"] == "tools/list" else self._call(request)
        if request["method"] == "tools/list" and self.fresh_ms is not None:
            body.update(ttlMs=self.fresh_ms, cacheScope="public")
        return body if isinstance(body, Reply) else self._answer(request, {"resultType": "complete", **body})

    def _answer(self, request, body):
        if not self.events:
            return json_reply(result(request, body))
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
        return sse_reply([(None, progress), ("message", result(request, body))])

    def _mismatch(self, headers, request):
        """The headers that differ from the body; empty if there are none."""
        params = request["params"]
        meta = params.get("_meta", {})
        expected = {"mcp-protocol-version": meta.get(f"{META}protocolVersion"), "mcp-method": request["method"]}
        if request["method"] == "tools/call":
            expected["mcp-name"] = params["name"]
            for name, schema in self.tools[params["name"]].properties.items():
                value = params["arguments"].get(name)
                if "x-mcp-header" in schema and value is not None:
                    expected[f"mcp-param-{schema['x-mcp-header'].lower()}"] = value
        if not all(f"{META}{each}" in meta for each in ("clientInfo", "clientCapabilities")):
            return "_meta"
        for kind in ("application/json", "text/event-stream"):
            if kind not in headers.get("accept", ""):
                return "accept"
        return ", ".join(name for name, value in expected.items() if plain(headers.get(name, "")) != value)


class SessionServer(_ToolServer):
    """The protocol with sessions. `pings`: the server sends a ping before it responds to a call. `breaks`: the stream of a call
    ends before the response, which is sent when the stream is resumed."""

    def __init__(self, tools, page_size=100, pings=False, breaks=False):
        super().__init__(tools, page_size)
        self.pings = pings
        self.breaks = breaks
        self._owed = {}
        self.sessions = set()
        self.opened = 0
        self.ended = threading.Event()
        self._ponged = threading.Event()

    def forget(self):
        """Forgets all sessions, as a server does when it restarts."""
        self.sessions.clear()

    def _reply(self, seen):
        session = seen.headers.get("mcp-session-id")
        if seen.method == "DELETE":
            self.sessions.discard(session)
            self.ended.set()
            return Reply(status=200)
        if seen.method == "GET":
            return self._resume(seen)
        request = seen.json
        if request.get("method") == "initialize":
            return self._initialize(request)
        if session is None:
            return failure(request, -32000, "Bad Request: no session", 400)
        if session not in self.sessions:
            return failure(request, -32001, "Session not found", 404)
        if "id" not in request or "method" not in request:
            if request.get("id") == "ping-1" and request.get("result") == {}:
                self._ponged.set()
            return Reply(status=202, headers={})
        return self._answer(request)

    def _initialize(self, request):
        self.opened += 1
        session = f"session-{self.opened}"
        self.sessions.add(session)
        return json_reply(result(request, greeting(request["params"]["protocolVersion"])), Mcp_Session_Id=session)

    def _answer(self, request):
        if request["method"] == "tools/list":
            return json_reply(result(request, self._page(request)))
        body = self._call(request)
        if isinstance(body, Reply):
            return body
        if self.breaks:
            event = f"event-{request['id']}"
            self._owed[event] = result(request, body)
            pieces = [f"id: {event}\ndata:\n\n".encode()]
            return Reply(pieces=pieces, headers={"Content-Type": "text/event-stream"}, chunked=True)
        if not self.pings:
            return json_reply(result(request, body))
        ping = {"jsonrpc": "2.0", "id": "ping-1", "method": "ping"}
        reply = sse_reply([(None, ping), (None, result(request, body))])
        reply.pieces.insert(1, self._ponged)
        return reply

    def _resume(self, seen):
        owed = self._owed.pop(seen.headers.get("last-event-id"), None)
        if owed is None or seen.headers.get("mcp-session-id") not in self.sessions:
            return json_reply({}, 405)
        return sse_reply([(None, owed)])


class StreamServer(_ToolServer):
    """The first version, 2024-11-05: a GET opens the stream of all messages of the server; its first event names the endpoint
    for messages to the server. `place`: another endpoint to name. `breaks`: the stream ends instead of responding to a call.
    `refusals`: how many times it refuses `initialize`. `loses`: the response to the first call, whose stream it has lost."""

    def __init__(self, tools, place=None, breaks=False, refusals=0, loses=None):
        super().__init__(tools)
        self.loses = loses
        self.refusals = refusals
        self.place = place
        self.breaks = breaks
        self.streams = []  # for each stream: what has been written, and the gate before the next message

    def _reply(self, seen):
        if seen.method == "GET":
            return self._open()
        if seen.method != "POST" or not seen.path.startswith("/messages?stream="):
            return Reply(status=404, headers={"Content-Type": "text/html"}, pieces=[b"Cannot POST"])
        stream = self.streams[int(seen.path.partition("=")[2])]
        request = seen.json
        if self.loses and request.get("method") == "tools/call":
            lost, self.loses = self.loses, None
            return lost
        if "id" in request and "method" in request:
            self._send(stream, self._response(request), ends=self.breaks and request["method"] == "tools/call")
        return Reply(status=202, headers={})

    def _open(self):
        place = self.place or f"/messages?stream={len(self.streams)}"
        self.streams.append([f"event: endpoint\ndata: {place}\n\n".encode(), threading.Event()])
        return Reply(pieces=self.streams[-1], headers={"Content-Type": "text/event-stream"}, chunked=True)

    def _response(self, request):
        if request["method"] == "initialize" and self.refusals > 0:
            self.refusals -= 1
            return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32603, "message": "not ready"}}
        return result(request, self._result(request))

    def _result(self, request):
        if request["method"] == "initialize":
            return greeting("2024-11-05")
        return self._page(request) if request["method"] == "tools/list" else self._call(request)

    @staticmethod
    def _send(stream, message, ends):
        gate = stream[-1]
        if not ends:
            stream += [f"event: message\ndata: {json.dumps(message)}\n\n".encode(), threading.Event()]
        gate.set()
