"""Rows 8 and 9: direct chat completions, whole and streamed, against the upstream itself and nginx before it."""

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
class Way:
    """How a client reaches an upstream: `base` before the path, and whose CPU and memory that costs."""

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


class Ground:
    """Upstreams of three manners, and both gateways before them. A model is called as its upstream."""

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
        settings.write_text(f"models:\n{rows}")
        return self.bench.gateway("--config", settings, role="api", env={"BENCH_KEY": "sk-0123456789"})

    def body(self, model, stream):
        path = self.bench.folder / f"{model}-{stream}.json"
        path.write_bytes(_body(model, stream))
        return path

    def ways(self, name):
        direct, nginx = Way(self.upstreams[name]), Way(self.nginx, base=f"/{name}")
        return {"direct": direct, "nginx": nginx, "ours": Way(self.gateway, key=self.gateway.client.key)}


def _body(model, stream):
    """A conversation of about PROMPT_BYTES."""
    said = "What is it that makes a family unhappy in a way of its own? "
    request = {
        "model": model,
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": said * (PROMPT_BYTES // len(said))},
        ],
        "temperature": 0.7,
        "max_tokens": 256,
    }
    return json.dumps(request | ({"stream": True} if stream else {}), separators=(",", ":")).encode()


def _load(ground, way, **flags):
    return ground.bench.load(way.process, header=way.headers(), path=way.base + PATH, body_file=ground.body("quick", False), expect=200, **flags)


def _streams(ground, way, model, connections, rounds, frames):
    command = [BUILD / "bench_streams", "--port", way.port, "--path", way.base + PATH, "--body-file", ground.body(model, True)]
    command += ["--connections", connections, "--rounds", rounds, "--frames", frames]
    for header in way.headers():
        command += ["--header", header]
    return ground.bench.run_json(command)


def _added(samples, *keys):
    """What each gateway adds to the upstream's own time, round by round."""

    def value(sample):
        for key in keys:
            sample = sample[key]
        return sample

    floor = [value(sample) for sample in samples["direct"]]
    return {name: [value(sample) - least for sample, least in zip(samples[name], floor)] for name in ("ours", "nginx")}


def _per_core(ground, way):
    """Requests per second of CPU that the gateway's process uses, all 32 connections busy."""
    requests = 15_000 if ground.bench.quick else 60_000
    before = way.cpu_s()
    replies = _load(ground, way, connections=32, requests=requests)["replies"]
    return replies / (way.cpu_s() - before)


def direct_chat(bench):
    ground = Ground(bench)
    times = {"connections": 1, "warmup": 0.5, "seconds": 1.5 if bench.quick else 4}
    ways = ground.ways("quick")
    samples = bench.side_by_side(**{name: lambda way=way: _load(ground, way, **times) for name, way in ways.items()})
    busy = bench.side_by_side(**{name: lambda way=way: _per_core(ground, way) for name, way in ways.items() if name != "direct"})
    results = []
    for quantile, most in (("p50", 1.5), ("p99", 2.0)):
        added = _added(samples, f"{quantile}_us")
        results.append(Result(8, f"direct chat, c=1: added to the upstream's time, {quantile}", "µs", added["ours"], "nginx", added["nginx"], most=most))
    direct = ", ".join(f"{quantile} {min(picked(samples['direct'], f'{quantile}_us')):.0f}" for quantile in ("p50", "p99"))
    results[0].note = f"the upstream itself: {direct} µs in its best round"
    results.append(Result(8, "requests per second of the gateway's CPU, c=32", "/s", busy["ours"], "nginx", busy["nginx"], least=0.5))
    return results


def streams(bench):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ground = Ground(bench)
    first = bench.side_by_side(**{name: lambda way=way: _first_token(ground, way) for name, way in ground.ways("quick").items()})
    many = bench.side_by_side(**{name: lambda way=way: _many(ground, way) for name, way in ground.ways("paced").items()})
    memory = bench.side_by_side(rounds=1 if bench.quick else 3, ours=lambda: _idle_kb(ground))
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


def _first_token(ground, way):
    rounds = 2_000 if ground.bench.quick else 8_000
    return _streams(ground, way, "quick", 1, rounds, QUICK_FRAMES)["first"]


def _many(ground, way):
    before = way.cpu_s()
    result = _streams(ground, way, "paced", STREAMS, 1, ground.paced_frames)
    bad = result["lost"] + result["merged"] + result["cut_off"]
    return {**result["delay"], "bad": bad, "waited": result["waited"], "cores": (way.cpu_s() - before) / result["seconds"]}


def _idle_kb(ground):
    """KB of resident memory per stream that has had its first frame and waits for the next; a gateway of its own."""
    gateway = ground.new_gateway({"idle": ground.upstreams["idle"].url})
    way = Way(gateway, key=gateway.client.key)
    body = _body("idle", True)
    head = [f"POST {PATH} HTTP/1.1", f"Host: 127.0.0.1:{way.port}", f"Content-Length: {len(body)}", *way.headers(), "", ""]
    request = "\r\n".join(head).encode() + body
    _open_streams(way, request, 1)
    before = machine.memory_mb(gateway.popen.pid)
    open_streams = _open_streams(way, request, IDLE_STREAMS)
    after = machine.memory_mb(gateway.popen.pid)
    for stream in open_streams:
        stream.close()
    ground.bench.end(gateway)
    return (after - before) * 1024 / IDLE_STREAMS


def _open_streams(way, request, count):
    """Connections on each of which the first frame has come."""
    streams = []
    for _ in range(count):
        stream = socket.create_connection(("127.0.0.1", int(way.port)), timeout=30)
        stream.sendall(request)
        streams.append(stream)
        seen = b""
        while b"frame#0@" not in seen:
            piece = stream.recv(65536)
            assert piece, f"no stream: {seen!r}"
            seen += piece
    return streams
