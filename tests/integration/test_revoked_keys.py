"""A key that ends, over two API processes on one data directory: what happens to open requests in each of them."""

import http.client
import time
from contextlib import closing

import pytest
from commands import cli
from millrace import Gateway

WITHIN_S = 1.0
READ_S = 30
ALL = "chat,ocr,jobs:read,jobs:write"


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    data = tmp_path_factory.mktemp("revoked") / "data"
    with closing(Gateway(data, role="api").start()) as first, closing(Gateway(data, role="api").start()) as second:
        yield first, second


def new_key(gateway):
    return gateway.client.post("/v1/admin/keys", {"name": "short", "scopes": ALL.split(",")}).json()


def stream(gateway, job, key):
    """The response and its connection; the head has been read."""
    where = gateway.client.address
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=READ_S)
    headers = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
    connection.request("GET", f"/v1/jobs/{job}/events", headers=headers)
    response = connection.getresponse()
    assert response.status == 200
    assert response.read1(65536).startswith(b"id: 1\nevent: queued")
    return response, connection


def end_of(response):
    """The time when the server ends the response, which must be incomplete."""
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        response.read()
    return time.monotonic()


@pytest.mark.parametrize("how", ["by the API of the first process", "by the command line"])
def test_streams_in_both_processes_end_within_a_second(processes, how):
    first, second = processes
    job = first.client.submit_ocr("data:application/pdf;base64,JVBERi0xLjQK").json()["id"]
    key = new_key(first)
    assert second.client.get("/v1/models").status == 200
    open_streams = [stream(gateway, job, key["key"]) for gateway in (first, second)]
    begun = time.monotonic()
    if how.startswith("by the API"):
        assert first.client.request("DELETE", f"/v1/admin/keys/{key['id']}").status == 200
    else:
        assert cli(first, "keys", "revoke", key["id"], "--data", first.data).returncode == 0
    revoked = time.monotonic()
    for response, connection in open_streams:
        ended = end_of(response)
        connection.close()
        assert begun <= ended < revoked + WITHIN_S
    for gateway in processes:
        refused = gateway.client.request("GET", "/v1/jobs", headers={"Authorization": f"Bearer {key['key']}"})
        assert refused.status == 401
