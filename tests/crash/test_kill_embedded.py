"""kill -9 of the embedded gateway under load: every accepted job reaches one terminal state, once."""

import random
import time

from ledger import Ledger
from millrace import Gateway

KILLS_AT_START = 8  # in two turns fewer than the lost workers that end a job
KILLS = 50


def test_no_job_is_lost_or_doubled_over_fifty_kills(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    ledger = Ledger(lambda: gateway.client)
    chance = random.Random(20261121)
    ledger.start(threads=4)
    try:
        for _ in range(KILLS):
            # The moment is random by what has happened, from right after the start to well into the load.
            ledger.wait_progress(gateway.client)
            ledger.wait_acknowledged(ledger.acknowledged() + chance.randint(0, 10))
            gateway.kill()
            gateway.restart()
        ledger.stop()
        jobs = ledger.check(gateway.client)
    except BaseException:
        print(gateway.tail())
        raise
    finally:
        gateway.close()
    repeats = sum(order.repeats for order in ledger.orders)
    print(f"{KILLS} kills, {jobs} jobs, {repeats} requests repeated")


def test_no_job_is_lost_when_the_gateway_is_killed_again_and_again_while_it_starts(tmp_path):
    """From before it opens the store to well into the work that it finds there."""
    begun = time.monotonic()
    gateway = Gateway(tmp_path / "data").start()
    start_s = time.monotonic() - begun
    ledger = Ledger(lambda: gateway.client, pages=3, open_per_thread=20)
    chance = random.Random(20261125)
    ledger.start(threads=4)
    try:
        for _ in range(2):
            ledger.wait_acknowledged(ledger.acknowledged() + 20)
            gateway.kill()
            for _ in range(KILLS_AT_START):
                gateway.start_and_kill(chance.uniform(0, 2 * start_s))
            gateway.restart()
            ledger.wait_progress(gateway.client)
        ledger.stop()
        assert ledger.check(gateway.client) >= 40
    finally:
        gateway.close()


def test_documents_under_way_come_out_once_when_the_gateway_is_killed_in_the_middle(tmp_path):
    """The scene of the README: 200 documents, one kill -9, start again."""
    gateway = Gateway(tmp_path / "data").start()
    ledger = Ledger(lambda: gateway.client, pages=3)
    ledger.start(threads=8)
    try:
        ledger.wait_acknowledged(200)
        ledger.stop()
        gateway.kill()
        gateway.restart()
        assert ledger.check(gateway.client) >= 200
    finally:
        gateway.close()


def test_a_long_document_goes_on_from_its_finished_pages(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    ledger = Ledger(lambda: gateway.client, pages=60)
    ledger.start(threads=1)
    try:
        ledger.wait_acknowledged(2)
        ledger.stop()
        gateway.kill()
        gateway.restart()
        ledger.check(gateway.client)
    finally:
        gateway.close()
