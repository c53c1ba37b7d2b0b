"""A fake gateway that accepts connections and sends only what a test makes it send."""

import socket

WITHIN_S = 30


class SilentGateway:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(WITHIN_S)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections = []

    def next_head(self, connection=None):
        """The headers of the next request and its connection. Accepts a new connection if none is given."""
        if connection is None:
            connection, _ = self.listener.accept()
            connection.settimeout(WITHIN_S)
            self.connections.append(connection)
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        return head.decode(), connection

    def next_request(self, connection=None):
        """The first line of the next request, and its connection."""
        head, connection = self.next_head(connection)
        return head.split("\r\n")[0], connection

    @staticmethod
    def answer(connection, status, body="", **headers):
        """Sends the complete response and waits until the other side has closed the connection."""
        fields = {"Content-Length": len(body.encode()), "Connection": "close"}
        fields.update({name.replace("_", "-"): value for name, value in headers.items()})
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        connection.sendall(f"HTTP/1.1 {status} Status\r\n{head}\r\n{body}".encode())
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass
        connection.close()

    def close(self):
        for each in (self.listener, *self.connections):
            each.close()
