"""A gateway on PostgreSQL: kill -9 of the gateway and of the server, and a standby that stops or takes over."""

import json
import random
import threading
import time
from contextlib import closing

import openai_replies
import pytest
from cluster import AnyNode
from documents import data_uri, tiny_pdf
from ledger import CONNECTION_ERRORS, Ledger, all_jobs
from millrace import Client, Gateway, eventually
from upstream import Upstream

KILLS = 10
ACCEPTS_AFTER_PROMOTION_S = 5
NOTICED_S = 4  # a commit that lasts 2 s, seen once a second
RECOVERED_S = 3
REFUSED_S = 5
AT_ONCE_S = 1
LEASE_S = 20
MODEL = "team/held"


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
    gateway = Gateway(tmp_path / "data", "--store.url", postgres.standby()).start()
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


class Submission:
    """A request of a thread of its own. `reply` is None until there is one, and if the connection is lost."""

    def __init__(self, gateway, text):
        self._gateway, self._text = gateway, text
        self.reply = None
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self):
        try:
            self.reply = self.send()
        except CONNECTION_ERRORS:
            pass

    def send(self):
        body = {"document": {"type": "document_url", "document_url": data_uri(tiny_pdf(self._text))}}
        return self._gateway.client.post("/v1/ocr", body, headers={"Prefer": "respond-async", "Idempotency-Key": self._text})

    def accepted(self):
        return self.reply is not None and self.reply.status in (200, 202)

    def check(self):
        """The submission has one job, whatever its first answer was, and that is the one of the answer."""
        self._thread.join(60)
        assert not self._thread.is_alive(), "the request was never answered"
        assert self.reply is not None and self.reply.status in (200, 202, 503), self.reply
        again = eventually(lambda: (reply := self.send()).status in (200, 202) and reply, what="accepted")
        job = again.headers["x-millrace-job"]
        if self.accepted():
            assert self.reply.headers["x-millrace-job"] == job
        client = AnyNode(lambda: [self._gateway.client])  # repeats a read while connections are made
        assert client.wait_terminal(job)["status"] == "succeeded"
        assert self._text in client.get(f"/v1/jobs/{job}/result").json()["pages"][0]["markdown"]
        assert set(all_jobs(client)) == {job}


@pytest.fixture
def replicated(postgres, tmp_path):
    """A gateway on a server with a standby."""
    with closing(Gateway(tmp_path / "data", "--store.url", postgres.standby()).start()) as gateway:
        yield gateway
        print(gateway.tail())


def readiness(gateway):
    return gateway.client.get("/readyz")


def test_a_commit_that_the_standby_lacks_is_no_answer_after_a_restart_until_the_standby_has_it(postgres, replicated):
    postgres.pause_standby()
    submission = Submission(replicated, "on the server alone")
    eventually(postgres.waits_for_standby, what="the COMMIT waits for the standby")
    postgres.kill()
    postgres.start()
    replicated.wait_for_log("store_commit_in_doubt")
    eventually(postgres.waits_for_standby, what="the restarted server waits for the standby")
    assert not submission.accepted()
    postgres.resume()
    submission.check()
    replicated.wait_for_log("store_commit_settled")


def test_a_commit_that_the_standby_lacks_was_not_done_after_its_promotion(postgres, replicated):
    postgres.detach_standby()
    submission = Submission(replicated, "lost with the server")
    eventually(postgres.waits_for_standby, what="the COMMIT waits for the standby")
    postgres.kill()
    postgres.promote()
    submission.check()
    settled = replicated.wait_for_log("store_commit_settled")[0]
    assert not json.loads(settled)["committed"]


def test_a_standby_that_does_not_answer_degrades_the_store_until_it_does(postgres, replicated):
    postgres.pause_standby()
    begun = time.monotonic()
    submission = Submission(replicated, "before the standby was known to be stopped")
    eventually(lambda: readiness(replicated).status == 503, NOTICED_S, "the store is degraded")
    print(f"degraded {time.monotonic() - begun:.1f} s after the standby was stopped")
    store = readiness(replicated).json()["store"]
    assert store["status"] == "degraded", store
    named = "synchronous_standby_names = standby"
    eventually(lambda: named in readiness(replicated).json()["store"]["detail"], NOTICED_S, "the standby is named")
    replicated.wait_for_log(named)
    refused = Submission(replicated, "while it is stopped")
    eventually(lambda: refused.reply, NOTICED_S, "an answer")
    assert refused.reply.status == 503 and int(refused.reply.headers["retry-after"]) >= 1
    postgres.resume()
    resumed = time.monotonic()
    eventually(lambda: readiness(replicated).status == 200, RECOVERED_S, "the store accepts again")
    print(f"ready {time.monotonic() - resumed:.1f} s after the standby went on")
    submission.check()


def test_an_api_node_with_nothing_to_write_is_ready_again_after_its_standby_was_stopped(postgres, tmp_path):
    with closing(Gateway(tmp_path / "data", "--store.url", postgres.standby(), role="api").start()) as gateway:
        postgres.pause_standby()
        submission = Submission(gateway, "the only one")
        eventually(lambda: readiness(gateway).status == 503, NOTICED_S, "the store is degraded")
        postgres.resume()
        eventually(lambda: readiness(gateway).status == 200, RECOVERED_S, "the store accepts again")
        eventually(lambda: submission.reply, what="an answer")


def test_a_worker_that_cannot_renew_a_lease_ends_its_work_before_the_lease_ends(postgres, tmp_path):
    gate = threading.Event()
    with Upstream() as upstream:
        config = tmp_path / "millrace.yaml"
        config.write_text(
            f"models:\n- {{name: {MODEL}, provider: openai, model: held, base_url: '{upstream.url}', api_key: env:UP_KEY}}\n"
        )
        flags = ("--store.url", postgres.url, "--config", config)
        with closing(Gateway(tmp_path / "data", *flags, env={"UP_KEY": "sk-0123456789"}).start()) as gateway:
            upstream.reply(openai_replies.completion("too late").held(gate), openai_replies.completion("the second one"))
            job = gateway.client.post("/v1/chat/completions", {"model": MODEL, "messages": "wait", "deferred": True}).json()["request_id"]
            (call,) = upstream.wait_for(1)
            postgres.pause()
            paused = time.monotonic()
            assert call.disconnected.wait(LEASE_S), "the call goes on although another worker may have the job"
            print(f"the call was ended {call.disconnected_at - paused:.1f} s after the last renewal was possible")
            postgres.resume()
            eventually(lambda: gateway.client.get(f"/v1/jobs/{job}").status == 200, what="the store can be read again")
            assert gateway.client.wait_terminal(job, within_s=60)["status"] == "succeeded"
            assert "the second one" in gateway.client.get(f"/v1/jobs/{job}/result").body.decode()
            gate.set()


def test_health_checks_and_refusals_go_on_while_the_server_does_not_answer(postgres, tmp_path):
    with closing(Gateway(tmp_path / "data", "--store.url", postgres.url).start()) as gateway:
        quick = Client(gateway.url, gateway.client.key, timeout=REFUSED_S)
        ledger = Ledger(lambda: quick)
        ledger.start(threads=4)
        ledger.wait_acknowledged(10)
        postgres.pause()
        eventually(lambda: answered_at_once(quick, "/readyz").status == 503, NOTICED_S, "the store is degraded")
        refused = Submission(gateway, "while it does not answer")
        eventually(lambda: refused.reply, REFUSED_S, "an answer")
        assert refused.reply.status == 503
        assert quick.get("/v1/jobs").status == 503
        postgres.resume()
        eventually(lambda: answered_at_once(quick, "/readyz").status == 200, RECOVERED_S, "the store accepts again")
        ledger.wait_acknowledged(ledger.acknowledged() + 10)
        ledger.stop()
        assert ledger.check(AnyNode(lambda: [gateway.client])) >= 20


def answered_at_once(client, path):
    began = time.monotonic()
    reply = client.get(path)
    assert time.monotonic() - began < AT_ONCE_S, f"{path} took {time.monotonic() - began:.1f} s"
    return reply
