"""A streamed response that a test reads piece by piece."""

import http.client
import json

WITHIN_S = 30


class OpenStream:
    """`status` and `headers` are available at once; `seen` is what has been read so far."""

    def __init__(self, client, path, body=None, method="POST", accept="*/*"):
        self.connection = http.client.HTTPConnection(client.address.hostname, client.address.port, timeout=WITHIN_S)
        headers = {"Authorization": f"Bearer {client.key}", "Accept": accept}
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        self.reply = self.connection.getresponse()
        self.status = self.reply.status
        self.headers = {name.lower(): value for name, value in self.reply.getheaders()}
        self.seen = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read_until(self, text):
        while text not in self.seen:
            piece = self.reply.read1(65536)
            assert piece, f"ended before {text!r}: {self.seen!r}"
            self.seen += piece
        return self.seen

    def rest(self):
        """Reads to the clean end; returns everything."""
        self.seen += self.reply.read()
        return self.seen

    def close(self):
        self.reply.close()
        self.connection.close()
