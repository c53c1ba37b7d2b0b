"""Bodies that are on their way: what some clients announce or hold keeps nobody else from sending."""

import json
import socket
import subprocess
import threading
import time

import pytest
from millrace import BUILD, Client, Gateway

MIB = 2**20
ANNOUNCED = 72 * MIB  # the largest body
PIECE = 1500
PIECES_PER_S = 4  # 6 kB/s


def key_of(gateway, tenant):
    command = [BUILD / "millrace", "keys", "create", "--name", tenant, "--tenant", tenant, "--data", gateway.data]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def head(key, path="/v1/ocr", length=ANNOUNCED, method="POST"):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}", "Content-Type: application/json"]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    return "\r\n".join([*lines, "", ""]).encode()


class SlowBodies:
    """Connections that announce a large body and send it slowly, until the block ends."""

    def __init__(self, gateway, count, *start, **more):
        self.sockets = []
        for _ in range(count):
            each = socket.create_connection((gateway.client.address.hostname, gateway.client.address.port), timeout=30)
            each.sendall(head(*start, **more))
            self.sockets.append(each)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._drip)

    def _drip(self):
        while not self.over.wait(1 / PIECES_PER_S):
            for each in self.sockets:
                try:
                    each.sendall(b" " * PIECE)
                except OSError:
                    pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for each in self.sockets:
            each.close()


@pytest.fixture
def tenants(gateway):
    """Clients of two tenants, both of them known to the gateway."""
    clients = [Client(gateway.url, key_of(gateway, tenant)) for tenant in ("slow", "other")]
    for client in clients:
        assert client.get("/v1/models").status == 200
    return clients


def posted(client, size):
    """The status of a large request, and its seconds. The document is no document, so the job is refused."""
    began = time.monotonic()
    body = json.dumps({"model": "m", "document": {"type": "document_url", "document_url": "data:," + "x" * size}})
    return client.post("/v1/ocr", body).status, time.monotonic() - began


def test_bodies_that_are_only_announced_keep_nobody_out(gateway, tenants):
    slow, other = tenants
    with SlowBodies(gateway, 8, slow.key):
        for _ in range(3):
            status, seconds = posted(other, 40 * MIB)
            assert status == 422 and seconds < 10
        assert posted(slow, 40 * MIB)[0] == 422


def test_bodies_without_a_key_keep_nobody_out(gateway, tenants):
    _, other = tenants
    unknown = "mr_live_" + "a" * 8 + "_" + "b" * 43
    with SlowBodies(gateway, 8, unknown), SlowBodies(gateway, 100, "", path="/health", method="GET", length=MIB):
        assert posted(other, 40 * MIB)[0] == 422
        new = Client(gateway.url, key_of(gateway, "new"))
        assert new.post("/v1/ocr", {"model": "m"}).status == 422


def test_one_tenant_holds_at_most_its_share(tmp_path):
    gateway = Gateway(tmp_path / "data", "--http.body-budget", "150MiB").start()  # 75 MiB for one tenant
    try:
        greedy, other = (Client(gateway.url, key_of(gateway, tenant)) for tenant in ("greedy", "other"))
        for client in (greedy, other):
            assert client.get("/v1/models").status == 200
        held = socket.create_connection((gateway.client.address.hostname, gateway.client.address.port), timeout=30)
        held.sendall(head(greedy.key, length=70 * MIB) + b" " * (60 * MIB))
        status, _ = posted(greedy, 40 * MIB)
        assert status == 503
        assert posted(other, 70 * MIB)[0] == 422
        held.close()
    finally:
        gateway.close()


def test_a_large_body_needs_more_than_the_least_rate(tmp_path):
    gateway = Gateway(tmp_path / "data", "--http.body-timeout", "60s").start()
    try:
        with SlowBodies(gateway, 1, gateway.client.key) as slow:
            reply = slow.sockets[0].recv(65536)
        assert reply.startswith(b"HTTP/1.1 408 ") and b"http.body_timeout" in reply
    finally:
        gateway.close()
