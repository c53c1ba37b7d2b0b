"""Row 13: memory and CPU of an idle gateway, and memory of a gateway with a thousand waiting requests."""

import re
import resource
import select
import socket

import machine
from millrace import eventually
from report import Result
from rows_accept import headers, small_body

WAITING = 1000
SETTLE_S = 5


def _settle(process):
    """Waits for five idle seconds; fails if the process ends meanwhile."""
    ended, _, _ = select.select([process.popen.stdout], [], [], SETTLE_S)
    assert not ended, f"the gateway ended: {process.tail()}"


def _idle(bench):
    gateway = bench.gateway()
    _settle(gateway)
    pids = machine.tree(gateway.popen.pid)
    sample = {"gateway": machine.memory_mb(pids[0]), "children": sum(machine.memory_mb(pid) for pid in pids[1:])}
    before = machine.running_ms(pids)
    _settle(gateway)
    sample["cpu"] = (machine.running_ms(pids) - before) / SETTLE_S
    bench.end(gateway)
    return sample


def _in_flight(gateway):
    found = re.search(r"^millrace_http_in_flight\S* (\S+)", gateway.client.get("/metrics").body.decode(), re.M)
    return float(found.group(1)) if found else 0


def _waiting(bench):
    """KB of resident memory per synchronous request that waits for its job; there is no worker."""
    gateway = bench.gateway(role="api")
    port = int(gateway.url.rsplit(":", 1)[1])
    body = small_body()
    head = ["POST /v1/ocr HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}", *headers(gateway.client.key)[:2], "", ""]
    request = "\r\n".join(head).encode() + body
    _in_flight(gateway)
    before = machine.memory_mb(gateway.popen.pid)
    waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(WAITING)]
    for connection in waiting:
        connection.sendall(request)
    eventually(lambda: _in_flight(gateway) >= WAITING, 60, "all requests wait")
    after = machine.memory_mb(gateway.popen.pid)
    answered, _, _ = select.select(waiting[:500], [], [], 0)
    assert not answered, f"{len(answered)} requests were answered: {answered[0].recv(2000)}"
    for connection in waiting:
        connection.close()
    bench.end(gateway)
    return (after - before) * 1024 / WAITING


def memory(bench):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    samples = bench.side_by_side(idle=lambda: _idle(bench), waiting=lambda: _waiting(bench))
    return [
        Result(13, "idle memory of the gateway process", "MB", [s["gateway"] for s in samples["idle"]], most=60),
        Result(13, "its children at the same time", "MB", [s["children"] for s in samples["idle"]], note="resident, shared pages counted in each"),
        Result(13, "CPU of both while idle", "ms/s", [s["cpu"] for s in samples["idle"]], most=5),
        Result(13, f"memory per waiting request ({WAITING} of them)", "KB", samples["waiting"], most=10),
    ]
