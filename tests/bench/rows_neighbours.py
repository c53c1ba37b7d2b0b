"""Row 22: what one tenant notices of another. Tenant B measures its chats, pages and commands, first alone, then while tenant A
does one of the things by which a tenant could take everything. Each pair of figures has a gateway of its own."""

import contextlib
import http.server
import json
import math
import select
import socket
import subprocess
import threading
import time
import uuid

from documents import data_uri, full_scans, tiny_pdf
from millrace import BUILD, Client, eventually
from report import Result

CHAT = "/v1/chat/completions"
MODEL_CALLS = 8  # at a time, for all tenants
LARGEST_BODY = 72 << 20
PAGE_BYTES = 100_000
SETTLE_S = 1
RETRY_S, GIVE_UP_S = 0.2, 30
SCAN_PAGES = 8  # one page range
REPLY = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "bench",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


class Upstream(http.server.ThreadingHTTPServer):
    """Answers at once, but a request with the word "slow" only at the end."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Answer)
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def kill(self):
        self.over.set()
        self.shutdown()
        self.server_close()


class _Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b"slow" in body:
            self.server.over.wait()
        text = json.dumps(REPLY).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(text)

    def log_message(self, *_):
        pass


class Tenants:
    """A gateway with two tenants, a model that both use, and an awake machine of each."""

    def __init__(self, bench):
        self.upstream = bench.keep(Upstream())
        settings = bench.fresh_folder("settings") / "millrace.yaml"
        limits = f"limits: {{concurrent: {MODEL_CALLS}}}"
        settings.write_text(
            f"models:\n- {{name: shared, provider: openai, model: bench, base_url: '{self.upstream.url}/v1', api_key: env:BENCH_KEY, {limits}}}\n"
        )
        self.gateway = bench.gateway("--config", settings, env={"BENCH_KEY": "sk-0123456789"})
        self.a, self.b = (self._client(tenant) for tenant in ("a", "b"))
        self.machine_a, self.machine_b = (_awake_machine(client) for client in (self.a, self.b))
        self.address = (self.a.address.hostname, self.a.address.port)

    def _client(self, tenant):
        command = [BUILD / "millrace", "keys", "create", "--name", tenant, "--tenant", tenant, "--data", self.gateway.data]
        return Client(self.gateway.url, subprocess.check_output(command, text=True).strip())


def _awake_machine(client):
    machine = _fresh_post(client, "/v1/machines", {"memory_mib": 512, "storage_gib": 1}).json()["machine_id"]
    eventually(lambda: client.get(f"/v1/machines/{machine}").json().get("phase") == "running", what="the machine is awake")
    _command(client, machine)
    return machine


def _fresh_post(client, path, body):
    return client.post(path, body, headers={"Idempotency-Key": str(uuid.uuid4())})


def _until(request):
    """The reply, repeated as clients repeat it, or None."""
    deadline = time.monotonic() + GIVE_UP_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            reply = request()
            if reply.status == 200:
                return reply
        time.sleep(RETRY_S)
    return None


def _end_of(client, submitted, id_field):
    return submitted and _until(lambda: client.get(f"/v1/jobs/{submitted.json()[id_field]}", headers={"Prefer": f"wait={GIVE_UP_S}"}))


def _chat_body(text, **fields):
    return {"model": "shared", "messages": [{"role": "user", "content": text}], **fields}


def _chat(client):
    return _until(lambda: client.post(CHAT, _chat_body("quick")))


def _deferred_chat(client):
    return _end_of(client, _until(lambda: client.post(CHAT, _chat_body("quick", deferred=True))), "request_id")


def _page(client):
    document = {"document": {"type": "document_url", "document_url": data_uri(tiny_pdf("one page of a neighbour", padding=PAGE_BYTES))}}
    return _until(lambda: client.post("/v1/ocr", document))


def _command(client, machine):
    created = _until(lambda: _fresh_post(client, f"/v1/machines/{machine}/executions", {"command": ["true"]}))
    return _end_of(client, created, "execution_id")


def _measure(tenants, times):
    """The p99 of each kind of request, in ms; one that is never answered counts with the time that its client waited."""
    b = tenants.b
    kinds = {
        "chat": lambda: _chat(b),
        "deferred chat": lambda: _deferred_chat(b),
        "page": lambda: _page(b),
        "command": lambda: _command(b, tenants.machine_b),
    }
    took = {kind: [] for kind in kinds}
    for _ in range(times):
        for kind, request in kinds.items():
            began = time.monotonic()
            request()
            took[kind].append((time.monotonic() - began) * 1e3)
    return {kind: sorted(values)[math.ceil(0.99 * times) - 1] for kind, values in took.items()}


def _repeat(stop, step, pause_s=0.05):
    while not stop.wait(pause_s):
        with contextlib.suppress(OSError):
            step()


def _slow_body(tenants, stop, size):
    """Announces a document and sends it slowly, until it is refused."""
    head = f"POST /v1/ocr HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {tenants.a.key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    with contextlib.suppress(OSError), socket.create_connection(tenants.address) as client:
        client.sendall(head.encode())
        while not select.select([client], [], [], 0.1)[0] and not stop.is_set():
            client.sendall(b" " * 600)


def slow_bodies(tenants, stop):
    """Eight of the largest size, and smaller ones that take what these leave."""
    sizes = [LARGEST_BODY] * 8 + [LARGEST_BODY >> halved for halved in range(1, 11)]
    return [lambda size=size: _repeat(stop, lambda: _slow_body(tenants, stop, size)) for size in sizes]


def artifacts(tenants, stop):
    files = "for i in $(seq 12); do truncate -s 100M $MILLRACE_ARTIFACTS/$i; done"
    path = f"/v1/machines/{tenants.machine_a}/executions"
    return [lambda: _repeat(stop, lambda: _fresh_post(tenants.a, path, {"command": ["sh", "-c", files]}), 0.5)]


def commands(tenants, _stop):
    for _ in range(40):
        _fresh_post(tenants.a, f"/v1/machines/{tenants.machine_a}/executions", {"command": ["sleep", "3600"], "timeout_ms": 3_600_000})
    return []


def chats(tenants, stop):
    for _ in range(200):
        tenants.a.post(CHAT, _chat_body("slow", deferred=True))
    return [lambda: _repeat(stop, lambda: tenants.a.post(CHAT, _chat_body("slow")))] * (2 * MODEL_CALLS)


def documents(tenants, _stop):
    scans = data_uri(full_scans(SCAN_PAGES * 4))
    for _ in range(8):
        tenants.a.submit_ocr(scans)
    return []


def machines(tenants, stop):
    largest = {"vcpu": 256, "memory_mib": 1 << 20, "storage_gib": 1024}
    return [lambda: _repeat(stop, lambda: _fresh_post(tenants.a, "/v1/machines", largest))]


ATTACKS = {
    "sends slow bodies": slow_bodies,
    "stores artifacts": artifacts,
    "runs long commands": commands,
    "waits for slow chats": chats,
    "scans long documents": documents,
    "makes machines": machines,
}


@contextlib.contextmanager
def _under(attack, tenants):
    stop = threading.Event()
    threads = [threading.Thread(target=work, daemon=True) for work in attack(tenants, stop)]
    for thread in threads:
        thread.start()
    time.sleep(SETTLE_S)
    try:
        yield
    finally:
        stop.set()


def _page_range_ms(bench):
    """One work unit of the attack that uses the processor."""
    tenants = Tenants(bench)
    began = time.monotonic()
    tenants.a.wait_terminal(tenants.a.submit_ocr(data_uri(full_scans(SCAN_PAGES))).json()["id"])
    bench.end_all()
    return (time.monotonic() - began) * 1e3


def neighbours(bench):
    times, rounds = (20, 1) if bench.quick else (60, 3)
    unit_ms = _page_range_ms(bench)
    results = []
    for name, attack in ATTACKS.items():
        pairs = []
        for _ in range(rounds):
            tenants = Tenants(bench)
            alone = _measure(tenants, times)
            with _under(attack, tenants):
                pairs.append((alone, _measure(tenants, times)))
            bench.end_all()
        for kind in pairs[0][0]:
            quiet, loud = ([side[kind] for side in sides] for sides in zip(*pairs))
            most = max(2, unit_ms / min(quiet)) if attack is documents and kind == "page" else 2
            results.append(Result(22, f"a {kind} of a tenant while another {name}, p99", "ms", loud, "alone", quiet, most=most))
    return results
