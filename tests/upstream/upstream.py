"""A fake model provider on real sockets; the test defines every reply.

    with Upstream() as upstream:
        upstream.reply(openai.completion("Hello"))                  # for the next request
        upstream.reply_always(openai.stream("Hello world"))         # for all requests after the queued ones
        ... the gateway is configured with upstream.url ...
        assert upstream.requests[0].json["model"] == "m"

A Reply may be cut at any byte, wait for a gate between two pieces, be reset, be endless or be compressed.
"""

import gzip
import json
import queue
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Callable

WITHIN_S = 30
HELD_AFTER_S = 0.5


@dataclass
class Seen:
    """A request as it was received."""

    method: str
    path: str
    headers: dict
    body: bytes
    disconnected: threading.Event = field(default_factory=threading.Event)  # the gateway closed the connection before the end of the reply
    held: threading.Event = field(default_factory=threading.Event)  # the gateway does not read at the moment
    written: int = 0  # bytes of the reply's body so far
    at: float = field(default_factory=time.monotonic)
    disconnected_at: float = 0

    @property
    def json(self):
        return json.loads(self.body)

    def leave(self):
        if not self.disconnected.is_set():
            self.disconnected_at = time.monotonic()
            self.disconnected.set()


@dataclass
class Reply:
    """A reply that is written piece by piece. A piece is bytes, or a threading.Event to wait for."""

    status: int = 200
    pieces: list = field(default_factory=list)
    headers: dict = field(default_factory=lambda: {"Content-Type": "application/json"})
    chunked: bool = False
    reset: bool = False  # the connection is reset after the last piece
    cut: bool = False  # the connection is closed cleanly there, without the end of the body
    endless: bytes = b""  # repeated after the pieces until the gateway leaves
    before_head: threading.Event | None = None  # waited for before the first byte

    def cut_every(self, size):
        """The same bytes in pieces of `size`."""
        whole = b"".join(self.pieces)
        return self._with(pieces=[whole[at : at + size] for at in range(0, len(whole), size)])

    def cut_at(self, place):
        whole = b"".join(self.pieces)
        return self._with(pieces=[whole[:place], whole[place:]])

    def with_line_ends(self, line_end):
        return self._with(pieces=[piece.replace(b"\n", line_end) for piece in self.pieces])

    def gated(self, place, gate):
        """Waits for `gate` before the piece with this number."""
        return self._with(pieces=[*self.pieces[:place], gate, *self.pieces[place:]])

    def held(self, gate):
        """Sends nothing before `gate` is open."""
        return self._with(before_head=gate)

    def broken_at(self, place, *gate, **end):
        """Stops after `place` pieces and, once the gate is open, applies `end` (reset, cut or endless)."""
        return self._with(pieces=[*self.pieces[:place], *gate], **end)

    def gzipped(self):
        packed = gzip.compress(b"".join(self.pieces))
        return self._with(pieces=[packed], headers={**self.headers, "Content-Encoding": "gzip"})

    def _with(self, **changes):
        return Reply(**{**self.__dict__, **changes})


def json_reply(body, status=200, **headers):
    fields = {"Content-Type": "application/json", **{k.replace("_", "-"): str(v) for k, v in headers.items()}}
    return Reply(status, [json.dumps(body).encode()], fields)


def sse_reply(events, end=b""):
    """`events`: (name or None, data as dict or text)."""
    pieces = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        head = f"event: {name}\n" if name else ""
        pieces.append(f"{head}data: {text}\n\n".encode())
    return Reply(200, [*pieces, *([end] if end else [])], {"Content-Type": "text/event-stream"}, chunked=True)


class Upstream:
    """Listens on a free port, by default of loopback; one thread per connection."""

    def __init__(self, listen="127.0.0.1"):
        self.listener = socket.create_server((listen, 0), backlog=512)
        self.url = f"http://{listen}:{self.listener.getsockname()[1]}"
        self.requests = []
        self._arrived = threading.Condition()
        self._queued = queue.Queue()
        self._always: Callable[[Seen], Reply] | None = None
        self._connections = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self):
        self._accepting.start()
        return self

    def __exit__(self, *_):
        self.listener.close()
        with self._arrived:
            connections = list(self._connections)
        for each in connections:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def reply(self, *replies):
        """Queues one reply for each of the next requests, in order."""
        for each in replies:
            self._queued.put(each)

    def reply_always(self, reply):
        """Sets the reply for every request after the queued ones, or a function from Seen to Reply."""
        self._always = reply if callable(reply) else lambda _: reply

    def wait_for(self, count, within_s=WITHIN_S):
        """Waits until there are `count` requests; returns the requests."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.requests) >= count, within_s), (
                f"{len(self.requests)} of {count} requests arrived"
            )
            return list(self.requests)

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._arrived:
                self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        stream = connection.makefile("rb")
        try:
            while (seen := self._read(stream)) is not None:
                with self._arrived:
                    self.requests.append(seen)
                    self._arrived.notify_all()
                if not self._write(connection, seen, self._next(seen)):
                    return
        except OSError:
            return
        finally:
            stream.close()
            connection.close()

    def _next(self, seen):
        try:
            return self._queued.get_nowait()
        except queue.Empty:
            if self._always is None:
                return json_reply({"error": {"message": "the test has no reply for this request"}}, 500)
            return self._always(seen)

    @staticmethod
    def _read(stream):
        line = stream.readline()
        if not line:
            return None
        method, path, _ = line.decode().split(" ", 2)
        headers = {}
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode().partition(":")
            headers[name.strip().lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", 0)))
        return Seen(method, path, headers, body)

    def _write(self, connection, seen, reply):
        """Returns true if the connection continues."""
        fields = dict(reply.headers)
        if reply.chunked:
            fields["Transfer-Encoding"] = "chunked"
        else:
            fields["Content-Length"] = str(sum(len(each) for each in reply.pieces if isinstance(each, bytes)))
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        try:
            if reply.before_head:
                _wait_or_leave(connection, seen, reply.before_head)
            connection.sendall(f"HTTP/1.1 {reply.status} Status\r\n{head}\r\n".encode())
            for piece in reply.pieces:
                self._write_piece(connection, seen, reply, piece)
            while reply.endless:
                self._write_piece(connection, seen, reply, reply.endless)
            if reply.reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            if reply.cut:
                return False
            if reply.chunked:
                connection.sendall(b"0\r\n\r\n")
        except OSError:
            seen.leave()
            return False
        return True

    @staticmethod
    def _write_piece(connection, seen, reply, piece):
        if isinstance(piece, threading.Event):
            _wait_or_leave(connection, seen, piece)
            return
        if reply.endless and not select.select([], [connection], [], HELD_AFTER_S)[1]:
            seen.held.set()
        connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if reply.chunked else piece)
        seen.written += len(piece)


def _wait_or_leave(connection, seen, gate):
    """Waits until the gate opens; OSError if the other side disconnects first."""
    connection.settimeout(0.05)
    try:
        while not gate.is_set():
            try:
                if connection.recv(1, socket.MSG_PEEK) == b"":
                    seen.leave()
                    raise ConnectionResetError
            except TimeoutError:
                continue
            gate.wait(WITHIN_S)
    finally:
        connection.settimeout(None)
