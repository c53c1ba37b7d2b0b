"""A gateway on PostgreSQL: kill -9 of the gateway and of the server, and a standby that takes over."""

import random
import time

from ledger import Ledger
from millrace import Gateway, eventually

KILLS = 10
ACCEPTS_AFTER_PROMOTION_S = 5


def test_no_job_is_lost_or_doubled_when_the_gateway_and_postgresql_are_killed(postgres, tmp_path):
    gateway = Gateway(tmp_path / "data", "--store.url", postgres.url).start()
    ledger = Ledger(lambda: gateway.client)
    chance = random.Random(20261130)
    ledger.start(threads=4)
    try:
        for number in range(KILLS):
            ledger.wait_progress(gateway.client)
            ledger.wait_acknowledged(ledger.acknowledged() + chance.randint(0, 10))
            if number % 2:
                postgres.kill()
                postgres.start()
            else:
                gateway.kill()
                gateway.restart()
        ledger.stop()
        assert ledger.check(gateway.client) >= KILLS
    except BaseException:
        print(gateway.tail())
        raise
    finally:
        gateway.close()


def test_a_promoted_standby_has_every_accepted_job(postgres, tmp_path):
    standby = postgres.standby()
    both = postgres.url.rsplit("/", 1)[0] + "," + standby.split("@")[1] + "?target_session_attrs=read-write"
    gateway = Gateway(tmp_path / "data", "--store.url", both).start()
    ledger = Ledger(lambda: gateway.client)
    ledger.start(threads=4)
    try:
        ledger.wait_acknowledged(20)
        postgres.kill()
        postgres.promote()
        before, promoted = ledger.acknowledged(), time.monotonic()
        eventually(lambda: ledger.acknowledged() > before, within_s=ACCEPTS_AFTER_PROMOTION_S, what="an accept after the promotion")
        print(f"accepting {time.monotonic() - promoted:.1f} s after the promotion")
        ledger.wait_progress(gateway.client)
        ledger.stop()
        assert ledger.check(gateway.client) >= 20
    except BaseException:
        print(gateway.tail())
        raise
    finally:
        gateway.close()
