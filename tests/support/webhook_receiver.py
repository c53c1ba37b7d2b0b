"""A receiver of webhooks on loopback, which answers as a test says."""

import base64
import hashlib
import hmac
import http.server
import json
import queue
import threading

from millrace import Gateway, eventually

MOCK = {"MILLRACE_MOCK": "true"}


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


def webhook_gateway(tmp_path, *receivers, **kwargs):
    settings = ["--webhooks.allowed-hosts", ",".join(each.host for each in receivers), "--webhooks.retries", "100ms,100ms"]
    return Gateway(tmp_path / "data", *settings, *kwargs.pop("args", []), env=MOCK, **kwargs).start()


def add(gateway, receiver, path="/hook", client=None, **fields):
    reply = (client or gateway.client).post("/v1/webhooks", {"url": receiver.url(path), **fields})
    assert reply.status == 200, reply.body
    assert reply.headers["cache-control"] == "no-store"
    return reply.json()


def chat(client, text="hello"):
    """Submits a job; returns its id."""
    body = {"model": "mock/chat", "messages": [{"role": "user", "content": text}], "deferred": True}
    reply = client.post("/v1/chat/completions", body)
    assert reply.status == 200, reply.body
    return reply.json()["request_id"]


def deliveries(gateway, webhook):
    return gateway.client.get(f"/v1/webhooks/{webhook['id']}/deliveries?limit=200").json()["items"]


def shown(gateway, webhook):
    return gateway.client.get(f"/v1/webhooks/{webhook['id']}").json()


def disabled(gateway, webhook):
    return eventually(lambda: (now := shown(gateway, webhook))["status"] == "disabled" and now, what="the webhook is disabled")


def delivered(gateway, webhook, count=1):
    return eventually(
        lambda: len(done := [each for each in deliveries(gateway, webhook) if each["state"] == "delivered"]) >= count and done,
        what=f"{count} deliveries are recorded",
    )
