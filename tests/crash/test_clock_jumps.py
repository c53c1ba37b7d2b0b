"""The real program while the wall clock is moved (tests/support/store_faults.c): what a duration made keeps its length, and
a run_at follows the clock. MILLRACE_TEST_MINUTES makes the campaign longer."""

import os
import random
import time
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

import openai_replies
import pytest
from documents import data_uri, tiny_pdf
from families import OPENAI
from millrace import Gateway, eventually
from store_faults import StoreFaults

DAY_S = 86_400
SECONDS = float(os.environ.get("MILLRACE_TEST_MINUTES", "0.25")) * 60
URI = data_uri(tiny_pdf("by the clock"))
KILLS_OF_A_JOB = 12  # fewer than the attempts that a job has (jobs/policy.h)
PAUSE_S = 6  # a provider's retry-after that is too long to wait for within an attempt


class MovedGateway:
    """A gateway whose wall clock the test moves."""

    def __init__(self, folder, *arguments, env=None):
        self.ahead_s = 0
        self._faults = StoreFaults(folder / "data")
        self.gateway = Gateway(folder / "data", *arguments, env={**(env or {}), **self._faults.env()})

    @property
    def client(self):
        return self.gateway.client

    def move(self, seconds):
        self.ahead_s += seconds
        self._faults.move_clock(self.ahead_s)

    def now(self):
        return datetime.now(timezone.utc) + timedelta(seconds=self.ahead_s)

    def pause_queue(self, kind, paused):
        action = "pause" if paused else "resume"
        assert self.client.post(f"/v1/admin/queues/{kind}/{action}").status == 200

    def events(self, job):
        return [event["type"] for event in self.client.get(f"/v1/jobs/{job}/events").json()["items"]]


@contextmanager
def opened(folder, *arguments, ahead_s=0, env=None):
    moved = MovedGateway(folder, *arguments, env=env)
    moved.move(ahead_s)
    moved.gateway.start()
    try:
        yield moved
    except BaseException:
        print(moved.gateway.tail())
        raise
    finally:
        moved.gateway.close()


def time_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
def test_jobs_that_were_accepted_while_the_clock_was_two_days_behind_run_when_it_is_set_right(tmp_path, restarts):
    with opened(tmp_path, ahead_s=-2 * DAY_S) as moved:
        moved.pause_queue("ocr", True)
        jobs = [moved.client.submit_ocr(URI).json()["id"] for _ in range(3)]
        if restarts:
            moved.gateway.kill()
        moved.move(2 * DAY_S)
        if restarts:
            moved.gateway.restart()
        eventually(lambda: time_of(moved.client.job(jobs[0])["expires_at"]) > moved.now() + timedelta(hours=23), what="the deadline is moved")
        moved.pause_queue("ocr", False)
        for job in jobs:
            assert moved.client.wait_terminal(job)["status"] == "succeeded"


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
def test_a_job_in_its_retry_pause_waits_no_longer_when_the_clock_is_set_back_by_a_day(tmp_path, upstream, restarts):
    upstream.reply_always(OPENAI.refusal(429, "come back", retry_after=PAUSE_S))
    config = tmp_path / "millrace.yaml"
    config.write_text(f"models:\n{OPENAI.row('m', upstream, api_key='env:THE_KEY')}")
    with opened(tmp_path, "--config", config, "--chat.retry-after-max", "1s", env={"THE_KEY": "sk-0123456789"}) as moved:
        request = {"model": "m", "messages": "Good morning", "deferred": True}
        job = moved.client.post("/v1/chat/completions", request).json()["id"]
        eventually(lambda: "retry" in moved.events(job), what="the job pauses")
        paused_at = time.monotonic()
        upstream.reply_always(openai_replies.completion("Good morning"))
        if restarts:
            moved.gateway.kill()
        moved.move(-DAY_S)
        if restarts:
            moved.gateway.restart()
        assert moved.client.wait_terminal(job, within_s=60)["status"] == "succeeded"
        assert time.monotonic() - paused_at < PAUSE_S + 15


def test_a_delay_keeps_its_length_and_a_run_at_follows_the_clock(tmp_path):
    with opened(tmp_path) as moved:
        begun = time.monotonic()
        delayed = moved.client.submit_ocr(URI, delay=6).json()
        at_time = moved.client.submit_ocr(URI, run_at=(moved.now() + timedelta(hours=1)).isoformat()).json()
        assert {delayed["status"], at_time["status"]} == {"scheduled"}
        moved.move(3600)
        assert moved.client.wait_terminal(at_time["id"], within_s=20)["status"] == "succeeded"
        moved.move(-DAY_S)
        eventually(lambda: moved.client.job(delayed["id"])["status"] != "scheduled", what="the delay ends")
        assert 5.9 < time.monotonic() - begun < 20


def test_every_job_ends_well_under_a_clock_that_jumps_and_kills(tmp_path):
    chance = random.Random(20261129)
    with opened(tmp_path) as moved:
        jobs, kills, end = [], 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            fields = chance.choice([{}, {"delay": chance.randint(1, 3)}])
            jobs.append(moved.client.submit_ocr(URI, **fields).json()["id"])
            moved.move(chance.choice([-400, -2, -0.01, 0, 0.01, 2, 400]) * DAY_S * chance.choice([0, 0, 1]))
            if chance.random() < 0.1:
                moved.gateway.kill()
                moved.gateway.restart()
                kills += 1
            if kills == KILLS_OF_A_JOB:
                for job in jobs:
                    moved.client.wait_terminal(job)
                kills = 0
        moved.move(-moved.ahead_s)
        ended = [moved.client.wait_terminal(job) for job in jobs]
        assert {job["status"] for job in ended} == {"succeeded"}, [job for job in ended if job["status"] != "succeeded"]
        assert all(moved.events(job).count("succeeded") == 1 for job in jobs)
        print(f"{len(jobs)} jobs")
