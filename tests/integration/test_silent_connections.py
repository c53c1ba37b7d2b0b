"""Connections without a request: they delay nobody else, at the API and at the metrics listener."""

import http.client
import json
import socket
import time
from urllib.parse import urlsplit

import pytest
from millrace import Gateway

CONNECTIONS = 200
SCRAPERS = 64  # connections of the metrics listener
AT_ONCE_S = 3


@pytest.fixture
def watched(tmp_path):
    """A gateway with few connections and a metrics listener; the address of that listener."""
    ready = tmp_path / "ready"
    gateway = Gateway(tmp_path / "data", "--http.connections-max", CONNECTIONS, "--metrics.listen", "127.0.0.1:0", "--ready-file", ready)
    gateway.start()
    yield gateway, urlsplit(json.loads(ready.read_text())["metrics"])
    gateway.close()


def silent(address, count):
    return [socket.create_connection((address.hostname, address.port), timeout=10) for _ in range(count)]


def status_from(source, address, path, key):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=AT_ONCE_S, source_address=(source, 0))
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_silent_connections_of_one_address_shut_nobody_out(watched):
    gateway, metrics = watched
    key = gateway.client.key
    for address, path, connections in ((gateway.client.address, "/v1/models", CONNECTIONS), (metrics, "/metrics", SCRAPERS)):
        held = silent(address, 2 * connections)
        began = time.monotonic()
        assert status_from("127.0.0.2", address, path, key) == 200
        assert status_from("127.0.0.1", address, path, key) == 200
        assert time.monotonic() - began < AT_ONCE_S
        for each in held:
            each.close()


def test_a_connection_that_sent_a_valid_key_stays_open(watched):
    gateway, _ = watched
    address = gateway.client.address
    known = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    for _ in range(2):
        known.request("GET", "/v1/models", headers={"Authorization": f"Bearer {gateway.client.key}"})
        reply = known.getresponse()
        assert reply.status == 200 and reply.read()
        own = known.sock.getsockname()
        held = silent(address, 2 * CONNECTIONS)
        assert known.sock.getsockname() == own
        for each in held:
            each.close()
    known.close()
