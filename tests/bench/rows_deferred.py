"""Row 18: thousands of deferred completions submitted at once: how fast they are accepted, compared with OCR jobs of the same size,
and how fast they are sent to a provider, compared with the upstream alone and with the limits of the model."""

import json
import re
import select
import time

import rows_accept
from bench_run import picked
from report import Result

PATH = "/v1/chat/completions"
PER_MINUTE = 30_000  # of the model with a limit
CONNECTIONS = 64  # as many as a worker has slots
BURST, FLOW = PER_MINUTE // 10, (PER_MINUTE - PER_MINUTE // 10 + 1) / 60  # at once, and per second after that


class Setup:
    """An upstream, which responds at once by default, its models `free` and `bounded`, and a new store for each measurement."""

    env = {"BENCH_KEY": "sk-0123456789"}

    def __init__(self, bench, *upstream):
        self.bench = bench
        self.upstream = bench.server("bench_upstream", *upstream)
        row = f"provider: openai, model: bench, base_url: '{self.upstream.url}/v1', api_key: env:BENCH_KEY"
        self.settings = bench.fresh_folder("settings") / "millrace.yaml"
        self.settings.write_text(f"models:\n- {{name: free, {row}}}\n- {{name: bounded, {row}, limits: {{requests_per_minute: {PER_MINUTE}}}}}\n")

    def api(self):
        return self.bench.gateway("--config", self.settings, role="api", env=self.env)

    def body(self, model):
        path = self.bench.folder / f"deferred-{model}.json"
        request = {"model": model, "messages": [{"role": "user", "content": "x"}], "deferred": True}
        request["messages"][0]["content"] *= 1 + rows_accept.BODY_BYTES - len(json.dumps(request))
        path.write_text(json.dumps(request))
        return path

    def submit(self, api, model, **flags):
        request = {"path": PATH, "body_file": self.body(model), "expect": 200, "connections": CONNECTIONS}
        return self.bench.load(api, header=rows_accept.headers(api.client.key), **{**request, **flags})


def _accept(setup, **times):
    api = setup.api()
    result = setup.submit(api, "free", **times)
    setup.bench.end(api)
    return result


def begun(gateway):
    """Attempts that have started and ended, from the metrics of the gateway."""
    page = gateway.client.get("/metrics").body.decode()
    return sum(float(value) for value in re.findall(r'^millrace_job_duration_seconds_count\{[^}]*kind="chat"[^}]*\} (\S+)', page, re.M))


def _drained(setup, model, chats):
    """Seconds from the start of a gateway on a store with `chats` deferred completions to the end of the last one."""
    api = setup.api()
    setup.submit(api, model, requests=chats, seconds=600)
    setup.bench.end(api)
    began = time.monotonic()
    api.command[1] = "serve"
    gateway = setup.bench.keep(api.start())
    while begun(gateway) < chats:
        assert time.monotonic() < began + 300, "the queue does not end"
        select.select([], [], [], 0.02)
    took = time.monotonic() - began
    setup.bench.end(gateway)
    return took


def _upstream_alone(setup, chats):
    flags = {"path": PATH, "body_file": setup.body("free"), "expect": 200, "connections": CONNECTIONS, "requests": chats, "seconds": 600}
    return setup.bench.load(setup.upstream, header=rows_accept.headers("none"), **flags)["per_second"]


def deferred_chats(bench):
    setup = Setup(bench)
    chats = 10_000 if bench.quick else 30_000
    bounded = BURST + int(FLOW * (5 if bench.quick else 20))
    times = {"warmup": 0.5 if bench.quick else 1, "seconds": 2 if bench.quick else 5}
    accepts = bench.side_by_side(ocr=lambda: rows_accept.accept(bench), chat=lambda: _accept(setup, **times))
    drains = bench.side_by_side(
        alone=lambda: _upstream_alone(setup, chats),
        free=lambda: chats / _drained(setup, "free", chats),
        bounded=lambda: (bounded - BURST) / _drained(setup, "bounded", bounded),
    )
    rates = {name: picked(samples, "per_second") for name, samples in accepts.items()}
    return [
        Result(18, "deferred chats accepted, 64 connections, 1 KB", "/s", rates["chat"], "OCR jobs", rates["ocr"], least=0.9),
        Result(18, f"{chats} stored deferred chats completed", "/s", drains["free"], "the upstream alone", drains["alone"]),
        Result(18, f"{bounded} of a model with {PER_MINUTE} requests a minute, beyond the first {BURST}", "/s", drains["bounded"], "the limit", [FLOW] * len(drains["bounded"]), least=0.9),
    ]
