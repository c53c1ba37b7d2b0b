"""Rows 8 and 9: direct chat completions, whole and streamed, compared with the upstream alone and with nginx in front of it."""

import json
import resource
import socket
from dataclasses import dataclass

import machine
from bench_run import picked
from millrace import BUILD
from nginx_peer import Nginx
from report import Result

PROMPT_BYTES = 900
STREAMS, FRAMES_PER_SECOND = 256, 200
QUICK_FRAMES = 3
IDLE_STREAMS = 1000
PATH = "/v1/chat/completions"


@dataclass
class Route:
    """How a client reaches an upstream: `base` is the prefix of the path, `process` the one whose CPU and memory are measured."""

    process: object
    base: str = ""
    key: str = "none"

    @property
    def port(self):
        return self.process.url.rsplit(":", 1)[1]

    def headers(self):
        return [f"Authorization: Bearer {self.key}", "Content-Type: application/json"]

    def cpu_s(self):
        return machine.tree_cpu_s(self.process.popen.pid)


class Setup:
    """Upstreams with three behaviours, and both gateways in front of them. A model has the name of its upstream."""

    def __init__(self, bench):
        self.bench = bench
        self.paced_frames = FRAMES_PER_SECOND * (2 if bench.quick else 5)
        self.upstreams = {
            "quick": bench.server("bench_upstream", "--frames", QUICK_FRAMES),
            "paced": bench.server("bench_upstream", "--frames", self.paced_frames, "--rate", FRAMES_PER_SECOND),
            "idle": bench.server("bench_upstream", "--frames", 0),
        }
        urls = {name: server.url for name, server in self.upstreams.items()}
        self.nginx = bench.keep(Nginx(bench.fresh_folder("nginx"), urls))
        self.gateway = self.new_gateway(urls)

    def new_gateway(self, urls):
        rows = "".join(f"- {{name: {name}, provider: openai, model: bench, base_url: '{url}/v1', api_key: env:BENCH_KEY}}\n" for name, url in urls.items())
        settings = self.bench.fresh_folder("settings") / "millrace.yaml"
        settings.write_text(f"limits: {{single_tenant: true}}\nmodels:\n{rows}")  # a round uses more tokens than a tenant may
        return self.bench.gateway("--config", settings, role="api", env={"BENCH_KEY": "sk-0123456789"})

    def body(self, model, stream):
        path = self.bench.folder / f"{model}-{stream}.json"
        path.write_bytes(_body(model, stream))
        return path

    def routes(self, name):
        direct, nginx = Route(self.upstreams[name]), Route(self.nginx, base=f"/{name}")
        return {"direct": direct, "nginx": nginx, "ours": Route(self.gateway, key=self.gateway.client.key)}


def _body(model, stream):
    """A conversation with about PROMPT_BYTES."""
    question = "What is it that makes a family unhappy in a way of its own? "
    request = {
        "model": model,
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": question * (PROMPT_BYTES // len(question))},
        ],
        "temperature": 0.7,
        "max_tokens": 256,
    }
    return json.dumps(request | ({"stream": True} if stream else {}), separators=(",", ":")).encode()


def _load(setup, route, **flags):
    body = setup.body("quick", False)
    return setup.bench.load(route.process, header=route.headers(), path=route.base + PATH, body_file=body, expect=200, **flags)


def _streams(setup, route, model, connections, rounds, frames):
    command = [BUILD / "bench_streams", "--port", route.port, "--path", route.base + PATH, "--body-file", setup.body(model, True)]
    command += ["--connections", connections, "--rounds", rounds, "--frames", frames]
    for header in route.headers():
        command += ["--header", header]
    return setup.bench.run_json(command)


def _added(samples, *keys):
    """The time that each gateway adds to the time of the upstream alone, round by round."""

    def value(sample):
        for key in keys:
            sample = sample[key]
        return sample

    floor = [value(sample) for sample in samples["direct"]]
    return {name: [value(sample) - least for sample, least in zip(samples[name], floor)] for name in ("ours", "nginx")}


def _per_core(setup, route):
    """Requests per CPU second of the gateway's process, with all 32 connections busy."""
    requests = 15_000 if setup.bench.quick else 60_000
    before = route.cpu_s()
    replies = _load(setup, route, connections=32, requests=requests)["replies"]
    return replies / (route.cpu_s() - before)


def direct_chat(bench):
    setup = Setup(bench)
    times = {"connections": 1, "warmup": 0.5, "seconds": 1.5 if bench.quick else 4}
    routes = setup.routes("quick")
    samples = bench.side_by_side(**{name: lambda route=route: _load(setup, route, **times) for name, route in routes.items()})
    busy = bench.side_by_side(**{name: lambda route=route: _per_core(setup, route) for name, route in routes.items() if name != "direct"})
    results = []
    for quantile, most in (("p50", 1.5), ("p99", 2.0)):
        added = _added(samples, f"{quantile}_us")
        results.append(Result(8, f"direct chat, c=1: added to the upstream's time, {quantile}", "µs", added["ours"], "nginx", added["nginx"], most=most))
    direct = ", ".join(f"{quantile} {min(picked(samples['direct'], f'{quantile}_us')):.0f}" for quantile in ("p50", "p99"))
    results[0].note = f"the upstream alone: {direct} µs in its best round"
    results.append(Result(8, "requests per second of the gateway's CPU, c=32", "/s", busy["ours"], "nginx", busy["nginx"], least=0.5))
    return results


def streams(bench):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    setup = Setup(bench)
    first = bench.side_by_side(**{name: lambda route=route: _first_token(setup, route) for name, route in setup.routes("quick").items()})
    many = bench.side_by_side(**{name: lambda route=route: _many(setup, route) for name, route in setup.routes("paced").items()})
    memory = bench.side_by_side(rounds=1 if bench.quick else 3, ours=lambda: _idle_kb(setup))
    results = []
    for quantile in ("p50", "p99"):
        added = _added(first, f"{quantile}_us")
        goal = {"no_worse": True} if quantile == "p50" else {}
        results.append(Result(9, f"added time to the first token, c=1, {quantile}", "µs", added["ours"], "nginx", added["nginx"], **goal))
    what = f"{STREAMS} streams × {FRAMES_PER_SECOND} frames/s"
    results.append(Result(9, f"{what}: lost, merged or cut off", "frames", [s["bad"] for s in many["ours"]], most=0))
    for quantile in ("p50", "p99"):
        ours, nginx = (picked(many[name], f"{quantile}_us") for name in ("ours", "nginx"))
        results.append(Result(9, f"{what}: from the upstream's write to the client, {quantile}", "µs", ours, "nginx", nginx))
    results.append(Result(9, f"{what}: CPU of the gateway", "cores", picked(many["ours"], "cores"), "nginx", picked(many["nginx"], "cores")))
    results.append(Result(9, f"memory of an idle stream ({IDLE_STREAMS} of them)", "KB", memory["ours"], most=10))
    return results


def _first_token(setup, route):
    rounds = 2_000 if setup.bench.quick else 8_000
    return _streams(setup, route, "quick", 1, rounds, QUICK_FRAMES)["first"]


def _many(setup, route):
    before = route.cpu_s()
    result = _streams(setup, route, "paced", STREAMS, 1, setup.paced_frames)
    bad = result["lost"] + result["merged"] + result["cut_off"]
    return {**result["delay"], "bad": bad, "waited": result["waited"], "cores": (route.cpu_s() - before) / result["seconds"]}


def _idle_kb(setup):
    """KB of resident memory per stream that has received its first frame and waits for the next; uses a new gateway."""
    gateway = setup.new_gateway({"idle": setup.upstreams["idle"].url})
    route = Route(gateway, key=gateway.client.key)
    body = _body("idle", True)
    head = [f"POST {PATH} HTTP/1.1", f"Host: 127.0.0.1:{route.port}", f"Content-Length: {len(body)}", *route.headers(), "", ""]
    request = "\r\n".join(head).encode() + body
    _open_streams(route, request, 1)
    before = machine.memory_mb(gateway.popen.pid)
    open_streams = _open_streams(route, request, IDLE_STREAMS)
    after = machine.memory_mb(gateway.popen.pid)
    for stream in open_streams:
        stream.close()
    setup.bench.end(gateway)
    return (after - before) * 1024 / IDLE_STREAMS


def _open_streams(route, request, count):
    """Opens connections and waits until each has received its first frame."""
    streams = []
    for _ in range(count):
        stream = socket.create_connection(("127.0.0.1", int(route.port)), timeout=30)
        stream.sendall(request)
        streams.append(stream)
        seen = b""
        while b"frame#0@" not in seen:
            piece = stream.recv(65536)
            assert piece, f"no stream: {seen!r}"
            seen += piece
    return streams
