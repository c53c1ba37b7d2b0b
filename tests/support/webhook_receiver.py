"""A receiver of webhooks on loopback, which answers as a test says."""

import base64
import hashlib
import hmac
import http.server
import json
import queue
import threading


class Received:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, {name.lower(): value for name, value in headers.items()}, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def id(self):
        return self.headers["webhook-id"]

    def signatures(self, version="v1"):
        pairs = (each.split(",", 1) for each in self.headers["webhook-signature"].split(" "))
        return [value for name, value in pairs if name == version]

    def is_signed_with(self, secret):
        text = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        mac = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), text, hashlib.sha256).digest()
        return base64.b64encode(mac).decode() in self.signatures()


class WebhookReceiver(http.server.ThreadingHTTPServer):
    """`answers[PATH]`: statuses of the next requests, of which the last stays; default 200. A status of None: the
    request is answered when `close` is called."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.answers, self.headers = {}, {}
        self.received = queue.Queue()
        self.closing = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def host(self):
        return f"127.0.0.1:{self.server_port}"

    def url(self, path="/hook"):
        return f"http://{self.host}{path}"

    def next(self, within_s=30):
        return self.received.get(timeout=within_s)

    def take(self, count, within_s=30):
        return [self.next(within_s) for _ in range(count)]

    def handle_error(self, request, client_address):
        pass  # the gateway closed the connection

    def close(self):
        self.closing.set()
        self.shutdown()
        self.server_close()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server = self.server
            statuses = server.answers.get(self.path, [200])
            status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
            server.received.put(Received(self.path, self.headers, body))
            if status is None:
                server.closing.wait()
                status = 200
            try:
                self.send_response(status)
                for name, value in server.headers.get(self.path, {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()
            except OSError:
                pass

        def log_message(self, *args):
            pass
