"""Compares docs/metrics.md with the metrics that a gateway exposes."""

import json
import re

import pytest
from documents import data_uri, tiny_pdf
from millrace import ROOT, Client, Gateway, Worker, eventually

ROW = re.compile(r"^\| `(millrace_[a-z_]+)` \| (counter|gauge|histogram) \| ([a-z, ]*)\|.*\| (\w+) \|$")
TYPE = re.compile(r"^# TYPE (\S+) (\S+)$", re.MULTILINE)
SERIES = re.compile(r"^(millrace_\w+?)(?:_bucket|_sum|_count)?\{([^}]*)\}", re.MULTILINE)


def documented(places):
    rows = [ROW.match(line) for line in (ROOT / "docs" / "metrics.md").read_text().splitlines()]
    return {row[1]: (row[2], set(filter(None, row[3].replace(" ", "").split(",")))) for row in rows if row and row[4] in places}


def exposed(gateway):
    gateway.client.get("/health")  # so that one request has been counted
    return read(gateway.client.get("/metrics").body.decode())


def read(text):
    metrics = {name: (kind, set()) for name, kind in TYPE.findall(text)}
    for name, labels in SERIES.findall(text):
        metrics[name][1].update(re.findall(r"(\w+)=", labels))
        metrics[name][1].discard("le")
    return metrics


def test_every_metric_is_documented_with_its_type_and_labels_and_no_other(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        assert exposed(gateway) == documented({"api", "worker", "all"})
    finally:
        gateway.close()


def test_kafka_adds_its_metrics(tmp_path):
    """No broker is needed."""
    gateway = Gateway(tmp_path / "data", "--kafka", "127.0.0.1:1", role="api").start()
    try:
        assert exposed(gateway) == documented({"api", "all", "Kafka"})
    finally:
        gateway.close()


def test_chat_adds_its_metrics(tmp_path):
    """Uses a model without a server, and its fallback."""
    rows = "- {name: m, provider: openai, base_url: 'http://127.0.0.1:9/v1', fallbacks: [n]}\n- {name: n, provider: mock}"
    (tmp_path / "c.yaml").write_text(f"models:\n{rows}\n")
    gateway = Gateway(tmp_path / "data", "--config", tmp_path / "c.yaml", "--chat.tries", "1").start()
    try:
        reply = gateway.client.post("/v1/chat/completions", {"model": "m", "messages": "hello", "stream": True})
        assert reply.status == 200 and reply.headers["x-millrace-model"] == "n"
        assert exposed(gateway) == documented({"api", "worker", "all", "chat"})
    finally:
        gateway.close()


@pytest.fixture
def gateway_and_worker(tmp_path):
    """A gateway without workers, and a worker with a metrics endpoint."""
    gateway = Gateway(tmp_path / "data", role="api").start()
    ready = tmp_path / "ready"
    worker = Worker(gateway.data, "--metrics.listen", "127.0.0.1:0", "--ready-file", ready, name="reader").start()
    yield gateway, Client(json.loads(ready.read_text())["metrics"], gateway.client.key)
    worker.close()
    gateway.close()


def test_a_separate_worker_exposes_its_metrics(gateway_and_worker):
    gateway, watched = gateway_and_worker
    job = gateway.client.submit_ocr(data_uri(tiny_pdf("to be read"))).json()["id"]
    assert gateway.client.wait_terminal(job)["status"] == "succeeded"
    text = eventually(lambda: has_line(watched, 'millrace_ocr_pages_total{outcome="ok"} 1'), what="the page is counted")
    assert 'millrace_job_attempts_total{kind="ocr"} 1' in text
    assert re.search(r'^millrace_worker_info\{version="[^"]+",worker="reader"\} 1$', text, re.M), text
    assert read(text) == documented({"worker", "all"})
    assert 'millrace_ocr_pages_total{outcome="ok"}' not in gateway.client.get("/metrics").body.decode()


def has_line(watched, line):
    text = watched.get("/metrics").body.decode()
    return text if line in text.splitlines() else None


def test_a_worker_serves_nothing_but_its_metrics(gateway_and_worker):
    _, watched = gateway_and_worker
    assert watched.get("/livez").status == 200
    assert watched.get("/v1/jobs").status == 404 and watched.get("/").status == 404


def test_two_workers_at_one_address_are_refused_by_name(gateway_and_worker, tmp_path):
    gateway, watched = gateway_and_worker
    second = Worker(gateway.data, "--metrics.listen", f"127.0.0.1:{watched.address.port}", name="second")
    with pytest.raises(AssertionError):
        second.start()
    assert "--metrics.listen HOST:PORT" in second.tail()
    second.close()
