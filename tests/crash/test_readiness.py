"""/readyz follows what accepting jobs does: while writes to the store fail it is 503, and soon after they succeed again it is 200."""

import errno
import json
import sqlite3

import pytest
from documents import data_uri, tiny_pdf
from millrace import Gateway, eventually
from store_faults import StoreFaults

SOON_S = 5


@pytest.fixture
def faults(tmp_path):
    return StoreFaults(tmp_path / "data")


@pytest.fixture
def gateway(faults):
    gateway = Gateway(faults.data, env=faults.env()).start()
    yield gateway
    faults.disarm()
    gateway.close()


def submit(gateway):
    body = {"document": {"document_url": data_uri(tiny_pdf("a job"))}}
    return gateway.client.post("/v1/ocr", body, headers={"Prefer": "respond-async"}).status


def readiness(gateway):
    return gateway.client.get("/readyz")


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_readiness_follows_a_log_that_cannot_be_written(gateway, faults, error):
    assert submit(gateway) == 202 and readiness(gateway).status == 200
    for _ in range(2):
        faults.refuse_writes("log", error=error)
        assert submit(gateway) >= 500
        eventually(lambda: readiness(gateway).status == 503, SOON_S, "readiness shows that the store fails")
        store = readiness(gateway).json()["store"]
        assert "writes fail" in json.dumps(store) and str(faults.data) not in json.dumps(store)
        assert submit(gateway) >= 500
        faults.disarm()
        eventually(lambda: readiness(gateway).status == 200, SOON_S, "readiness shows that the store works again")
        assert submit(gateway) == 202
    log = gateway.wait_for_log("store_write_failed")
    assert f"{faults.data}/millrace.db" in log[0] and "free some space" in log[0], gateway.tail()
    assert gateway.terminate() == 0, gateway.tail()


def test_readiness_follows_a_lock_of_another_program(tmp_path):
    gateway = Gateway(tmp_path / "data", role="api").start()
    tool = sqlite3.connect(gateway.data / "millrace.db", isolation_level=None)
    try:
        tool.execute("BEGIN IMMEDIATE")
        assert submit(gateway) == 503, "after SQLite's busy time"
        eventually(lambda: readiness(gateway).status == 503, SOON_S, "readiness shows that the store is locked")
        tool.execute("ROLLBACK")
        eventually(lambda: readiness(gateway).status == 200, 3 * SOON_S, "readiness shows that the lock is gone")
        assert submit(gateway) == 202
        gateway.wait_for_log("fuser")
    finally:
        tool.close()
        gateway.close()


def test_a_gateway_without_work_notices_that_the_store_works_again(faults):
    gateway = Gateway(faults.data, env=faults.env(), role="api").start()
    try:
        faults.refuse_writes("log", error=errno.ENOSPC)
        assert submit(gateway) >= 500
        eventually(lambda: readiness(gateway).status == 503, SOON_S, "readiness shows that the store fails")
        faults.disarm()
        eventually(lambda: readiness(gateway).status == 200, SOON_S, "readiness shows that the store works again")
    finally:
        faults.disarm()
        gateway.close()
