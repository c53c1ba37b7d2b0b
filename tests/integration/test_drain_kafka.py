"""A draining worker leaves its Kafka partitions to the others while its process still runs."""

import pytest
from documents import data_uri, tiny_pdf
from millrace import Gateway, Kafka, Worker, eventually

PARTITIONS = 8  # per kind: the default of kafka.partitions


@pytest.fixture
def kafka(tmp_path):
    broker = Kafka(tmp_path / "kafka")
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture
def api(tmp_path, kafka):
    gateway = Gateway(tmp_path / "data", "--kafka", kafka.address, role="api").start()
    workers = [Worker(gateway.data, "--kafka", kafka.address, name=name).start() for name in ("one", "two")]
    yield gateway
    for worker in workers:
        worker.close()
    gateway.close()


def partitions(gateway):
    """The number of partitions of each worker, from its heartbeat."""
    workers = gateway.client.get("/v1/admin/workers").json()["items"]
    return {worker["name"]: len([part for slot in worker["slots"] for part in slot.get("partitions", [])]) for worker in workers}


def test_a_drained_workers_partitions_go_to_the_one_that_works(api):
    eventually(lambda: is_shared(partitions(api)), 60, "both have partitions")
    assert api.client.post("/v1/admin/workers/one/drain").status == 200
    eventually(lambda: partitions(api) == {"one": 0, "two": PARTITIONS}, 60, "the other worker has all partitions")
    job = api.client.submit_ocr(data_uri(tiny_pdf("read by the other worker"))).json()["id"]
    assert api.client.wait_terminal(job)["status"] == "succeeded"


def is_shared(seen):
    return len(seen) == 2 and all(seen.values()) and sum(seen.values()) == PARTITIONS
