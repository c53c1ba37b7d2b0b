"""Servers of tools as the gateway meets them: MCP over real sockets, of the era without sessions, of the one with, and of
the first one, which answers in one stream.

    with McpServer({"add": tool(lambda given: said(given["a"] + given["b"]), a="integer", b="integer")}) as server:
        ... the gateway is told server.mcp_url ...
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
    answer: Callable  # from the arguments to a result, or to a Reply
    properties: dict = field(default_factory=dict)

    def listed(self, name):
        schema = {"type": "object", "properties": self.properties, "required": list(self.properties)}
        return {"name": name, "description": f"The tool {name}.", "inputSchema": schema}


def tool(answer, /, **types):
    """`types`: of the arguments; a dict is a schema."""
    return Tool(answer, {name: each if isinstance(each, dict) else {"type": each} for name, each in types.items()})


def said(*texts, **more):
    """A result that is these texts."""
    return {"content": [{"type": "text", "text": str(text)} for text in texts], **more}


def result(asked, body):
    return {"jsonrpc": "2.0", "id": asked["id"], "result": body}


def failure(asked, code, message, status=200, **data):
    error = {"code": code, "message": message, **({"data": data} if data else {})}
    return json_reply({"jsonrpc": "2.0", "id": asked.get("id"), "error": error}, status)


def greeting(version):
    server = {"name": "test-server", "version": "1"}
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}


def plain(value):
    """The text of a header that may be in base64."""
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

    def _page(self, asked):
        start = int(asked["params"].get("cursor", 0))
        names = list(self.tools)
        page = {"tools": [self.tools[name].listed(name) for name in names[start : start + self.page_size]]}
        if start + self.page_size < len(names):
            page["nextCursor"] = str(start + self.page_size)
        return page

    def _call(self, asked):
        name, given = asked["params"]["name"], asked["params"]["arguments"]
        self.calls.append((name, given))
        return self.tools[name].answer(given)

    def _write(self, connection, seen, reply):
        return reply.status != 0 and super()._write(connection, seen, reply)


class McpServer(_ToolServer):
    """The era without sessions: every request says all there is to know. `events`: answers come as a stream.
    `fresh_ms`: for how long a list is good; None: it does not say."""

    def __init__(self, tools, page_size=100, events=False, fresh_ms=None):
        super().__init__(tools, page_size)
        self.events = events
        self.fresh_ms = fresh_ms

    def _reply(self, seen):
        if seen.method != "POST":
            return json_reply({}, 405)
        asked = seen.json
        if asked["method"] not in ("tools/list", "tools/call"):
            return failure(asked, -32601, "no such method", 404)
        if asked["method"] == "tools/call" and asked["params"]["name"] not in self.tools:
            return failure(asked, -32602, "no such tool")
        wrong = self._mismatch(seen.headers, asked)
        if wrong:
            return failure(asked, -32020, f"header mismatch: {wrong}", 400)
        if seen.headers["mcp-protocol-version"] != MODERN:
            return failure(asked, -32022, "unsupported protocol version", 400, supported=[MODERN])
        body = self._page(asked) if asked["method"] == "tools/list" else self._call(asked)
        if asked["method"] == "tools/list" and self.fresh_ms is not None:
            body.update(ttlMs=self.fresh_ms, cacheScope="public")
        return body if isinstance(body, Reply) else self._answer(asked, {"resultType": "complete", **body})

    def _answer(self, asked, body):
        if not self.events:
            return json_reply(result(asked, body))
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
        return sse_reply([(None, progress), ("message", result(asked, body))])

    def _mismatch(self, headers, asked):
        """What the headers and the body say differently; empty: nothing."""
        params = asked["params"]
        meta = params.get("_meta", {})
        wanted = {"mcp-protocol-version": meta.get(f"{META}protocolVersion"), "mcp-method": asked["method"]}
        if asked["method"] == "tools/call":
            wanted["mcp-name"] = params["name"]
            for name, schema in self.tools[params["name"]].properties.items():
                value = params["arguments"].get(name)
                if "x-mcp-header" in schema and value is not None:
                    wanted[f"mcp-param-{schema['x-mcp-header'].lower()}"] = value
        if not all(f"{META}{each}" in meta for each in ("clientInfo", "clientCapabilities")):
            return "_meta"
        for kind in ("application/json", "text/event-stream"):
            if kind not in headers.get("accept", ""):
                return "accept"
        return ", ".join(name for name, value in wanted.items() if plain(headers.get(name, "")) != value)


class SessionServer(_ToolServer):
    """The era with sessions. `pings`: it asks for a ping before it answers a call. `breaks`: the stream of a call ends
    before the answer, which comes when it is resumed."""

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
        """As a server does that is started again."""
        self.sessions.clear()

    def _reply(self, seen):
        session = seen.headers.get("mcp-session-id")
        if seen.method == "DELETE":
            self.sessions.discard(session)
            self.ended.set()
            return Reply(status=200)
        if seen.method == "GET":
            return self._resume(seen)
        asked = seen.json
        if asked.get("method") == "initialize":
            return self._initialize(asked)
        if session is None:
            return failure(asked, -32000, "Bad Request: no session", 400)
        if session not in self.sessions:
            return failure(asked, -32001, "Session not found", 404)
        if "id" not in asked or "method" not in asked:
            if asked.get("id") == "ping-1" and asked.get("result") == {}:
                self._ponged.set()
            return Reply(status=202, headers={})
        return self._answer(asked)

    def _initialize(self, asked):
        self.opened += 1
        session = f"session-{self.opened}"
        self.sessions.add(session)
        return json_reply(result(asked, greeting(asked["params"]["protocolVersion"])), Mcp_Session_Id=session)

    def _answer(self, asked):
        if asked["method"] == "tools/list":
            return json_reply(result(asked, self._page(asked)))
        body = self._call(asked)
        if isinstance(body, Reply):
            return body
        if self.breaks:
            event = f"event-{asked['id']}"
            self._owed[event] = result(asked, body)
            pieces = [f"id: {event}\ndata:\n\n".encode()]
            return Reply(pieces=pieces, headers={"Content-Type": "text/event-stream"}, chunked=True)
        if not self.pings:
            return json_reply(result(asked, body))
        ping = {"jsonrpc": "2.0", "id": "ping-1", "method": "ping"}
        reply = sse_reply([(None, ping), (None, result(asked, body))])
        reply.pieces.insert(1, self._ponged)
        return reply

    def _resume(self, seen):
        owed = self._owed.pop(seen.headers.get("last-event-id"), None)
        if owed is None or seen.headers.get("mcp-session-id") not in self.sessions:
            return json_reply({}, 405)
        return sse_reply([(None, owed)])


class StreamServer(_ToolServer):
    """The first version, 2024-11-05: a GET is a stream of all that the server says, and its first event names where it
    takes messages. `place`: that name, if it is not one of its own. `breaks`: the stream ends where a call should be
    answered."""

    def __init__(self, tools, place=None, breaks=False):
        super().__init__(tools)
        self.place = place
        self.breaks = breaks
        self.streams = []  # of each: what has been written, and the gate before what comes next

    def _reply(self, seen):
        if seen.method == "GET":
            return self._open()
        if seen.method != "POST" or not seen.path.startswith("/messages?stream="):
            return Reply(status=404, headers={"Content-Type": "text/html"}, pieces=[b"Cannot POST"])
        stream = self.streams[int(seen.path.partition("=")[2])]
        asked = seen.json
        if "id" in asked and "method" in asked:
            self._say(stream, result(asked, self._result(asked)), ends=self.breaks and asked["method"] == "tools/call")
        return Reply(status=202, headers={})

    def _open(self):
        place = self.place or f"/messages?stream={len(self.streams)}"
        self.streams.append([f"event: endpoint\ndata: {place}\n\n".encode(), threading.Event()])
        return Reply(pieces=self.streams[-1], headers={"Content-Type": "text/event-stream"}, chunked=True)

    def _result(self, asked):
        if asked["method"] == "initialize":
            return greeting("2024-11-05")
        return self._page(asked) if asked["method"] == "tools/list" else self._call(asked)

    @staticmethod
    def _say(stream, message, ends):
        gate = stream[-1]
        if not ends:
            stream += [f"event: message\ndata: {json.dumps(message)}\n\n".encode(), threading.Event()]
        gate.set()
