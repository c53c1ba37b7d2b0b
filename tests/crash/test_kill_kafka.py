"""The same guarantee with a real broker, one api and two workers; any process is killed at any moment."""

import random

from ledger import Ledger
from millrace import Gateway, Worker

KILLS = 50


class Deployment:
    """One api and two workers on one store."""

    def __init__(self, folder, broker):
        self.data = folder / "data"
        self.api = Gateway(self.data, "--kafka", broker.address, role="api").start()
        self.workers = [Worker(self.data, "--kafka", broker.address, name=name).start() for name in ("one", "two")]

    @property
    def processes(self):
        return [self.api, *self.workers]

    def close(self):
        for process in self.processes:
            process.close()

    def tails(self):
        return "\n".join(f"== {p.log.name}\n{p.tail(25)}" for p in self.processes)


def test_no_job_is_lost_or_doubled_over_fifty_kills_of_any_process(tmp_path, kafka):
    deployment = Deployment(tmp_path, kafka)
    ledger = Ledger(lambda: deployment.api.client)
    chance = random.Random(3)
    ledger.start(threads=4)
    try:
        for kill in range(KILLS):
            ledger.wait_progress(deployment.api.client)
            ledger.wait_acknowledged(ledger.acknowledged() + chance.randint(0, 10), within_s=90)
            victim = chance.choice(deployment.processes)
            victim.kill()
            victim.start()
            if kill in (KILLS // 3, 2 * KILLS // 3):
                kafka.kill()
                kafka.start()
        ledger.stop()
        jobs = ledger.check(deployment.api.client)
    except BaseException:
        print(deployment.tails())
        raise
    finally:
        deployment.close()
    print(f"{KILLS} kills, {jobs} jobs, {sum(submission.repeats for submission in ledger.submissions)} requests repeated")
