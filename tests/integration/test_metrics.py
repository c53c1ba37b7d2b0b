"""docs/metrics.md against what a gateway really exposes."""

import re

from millrace import ROOT, Gateway

ROW = re.compile(r"^\| `(millrace_[a-z_]+)` \| (counter|gauge|histogram) \| ([a-z, ]*)\|.*\| (\w+) \|$")
TYPE = re.compile(r"^# TYPE (\S+) (\S+)$", re.MULTILINE)
SERIES = re.compile(r"^(millrace_\w+?)(?:_bucket|_sum|_count)?\{([^}]*)\}", re.MULTILINE)


def documented(places):
    rows = [ROW.match(line) for line in (ROOT / "docs" / "metrics.md").read_text().splitlines()]
    return {row[1]: (row[2], set(filter(None, row[3].replace(" ", "").split(",")))) for row in rows if row and row[4] in places}


def exposed(gateway):
    gateway.client.get("/health")  # so that a request has been counted
    text = gateway.client.get("/metrics").body.decode()
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


def test_kafka_adds_its_own(tmp_path):
    """No broker has to be there."""
    gateway = Gateway(tmp_path / "data", "--kafka", "127.0.0.1:1", role="api").start()
    try:
        assert exposed(gateway) == documented({"api", "all", "Kafka"})
    finally:
        gateway.close()
