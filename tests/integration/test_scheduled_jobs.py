"""run_at and delay on every request that becomes a job."""

import json
import time
import uuid
from datetime import datetime, timedelta, timezone

import pytest
from commands import cli
from documents import data_uri, tiny_pdf
from millrace import Gateway, Worker, eventually, time_of
from recordings import clip, form
from sandboxed import create, local, reachable_folder, start
from store_faults import StoreFaults

URI = data_uri(tiny_pdf("read later"))
LATE_MAX = 8  # s on a busy machine; without a look at the time, maintenance is idle for 30
CHAT = {"model": "mock/chat", "messages": "Good morning", "deferred": True}


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data", "--mock", "true")
        yield gateway
        gateway.close()


def in_s(seconds):
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def upload(gateway, path, file, **fields):
    body, kind = form(file, **fields)
    return gateway.client.post(path, body, headers={"Content-Type": kind})


def by_json(gateway, **start):
    return gateway.client.post("/v1/ocr", {"document": {"document_url": URI}, **start})


def by_form(gateway, **start):
    return upload(gateway, "/v1/ocr", tiny_pdf("a form"), **start)


def by_query(gateway, **start):
    query = "&".join(f"{name}={str(value).replace('+', '%2B')}" for name, value in start.items())
    return gateway.client.post(f"/v1/ocr?{query}", tiny_pdf("a body"), headers={"Content-Type": "application/pdf"})


def by_chat(gateway, **start):
    return gateway.client.post("/v1/chat/completions", {**CHAT, **start})


def by_recording(gateway, **start):
    return upload(gateway, "/v1/audio/transcriptions", clip(4), model="millrace/sphinx-en", **start)


def by_translation(gateway, **start):
    return upload(gateway, "/v1/audio/translations", clip(4), model="millrace/sphinx-en", **start)


def by_command(gateway, **start):
    return create(gateway.client, ["true"], **start)


WAYS = [by_json, by_form, by_query, by_chat, by_recording, by_translation, by_command]


def id_of(reply):
    assert reply.status in (200, 202), (reply.status, reply.body)
    return reply.json().get("id") or reply.json()["execution_id"]


def cancel(gateway, job):
    assert gateway.client.post(f"/v1/jobs/{job}/cancel").json()["status"] == "cancelled"


@pytest.mark.parametrize("way", WAYS)
def test_every_request_that_becomes_a_job_starts_at_its_time(shared, way):
    run_at = in_s(5)
    job = id_of(way(shared, run_at=run_at))
    row = shared.client.job(job)
    assert row["status"] == "scheduled" and time_of(row["run_at"]) == pytest.approx(time_of(run_at), abs=0.001)
    assert time_of(row["expires_at"]) == pytest.approx(time_of(run_at) + 24 * 3600, abs=0.001)
    ended = shared.client.wait_terminal(job)
    assert ended["status"] == "succeeded" and "run_at" not in ended, ended
    assert -0.001 <= time_of(ended["started_at"]) - time_of(run_at) < LATE_MAX


@pytest.mark.parametrize("way", WAYS)
def test_a_delay_counts_from_the_request(shared, way):
    job = id_of(way(shared, delay="1h"))
    row = shared.client.job(job)
    assert row["status"] == "scheduled" and time_of(row["run_at"]) - time_of(row["created_at"]) == pytest.approx(3600, abs=1)
    assert job in [item["id"] for item in shared.client.get("/v1/jobs?status=scheduled&limit=200").json()["items"]]
    assert job not in [item["id"] for item in shared.client.get("/v1/jobs?status=queued&limit=200").json()["items"]]
    cancel(shared, job)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "start, words",
    [
        ({"run_at": "2020-01-01T00:00:00Z"}, "has passed"),
        ({"run_at": "2999-01-01T00:00:00Z"}, "jobs.run_at_max"),
        ({"run_at": "tomorrow"}, "RFC 3339"),
        ({"delay": "999d"}, "jobs.run_at_max"),
        ({"delay": "soon"}, "15m"),
        ({"delay": "-1"}, "15m"),
        ({"run_at": "2999-01-01T00:00:00Z", "delay": "1h"}, "Only one of `run_at` and `delay`"),
    ],
)
def test_a_time_that_is_wrong_is_refused(shared, way, start, words):
    reply = way(shared, **start)
    assert reply.status == 422 and words in reply.body.decode(), reply.body


@pytest.mark.parametrize("start", [{"run_at": True}, {"run_at": -1}, {"delay": 1.5}, {"delay": {}}, {"delay": -3}])
def test_a_wrong_type_is_refused(shared, start):
    for way in (by_json, by_chat, by_command):
        assert way(shared, **start).status == 422


def test_a_number_beyond_64_bits_is_refused(shared):
    for way in (by_json, by_chat, by_command):
        reply = way(shared, run_at=10**30)
        assert reply.status in (400, 422) and "run_at" in reply.body.decode(), reply.body


@pytest.mark.parametrize("start", [{"run_at": None}, {"delay": 0}, {"delay": "0s"}])
def test_no_time_and_no_delay_is_at_once(shared, start):
    assert by_json(shared, deferred=True, **start).json()["status"] == "queued"


def test_unix_seconds_and_a_time_that_has_just_passed_are_taken(shared):
    later = by_json(shared, run_at=int(time.time()) + 3600).json()
    assert later["status"] == "scheduled"
    cancel(shared, later["id"])
    assert by_form(shared, run_at=int(time.time()) + 3600).json()["status"] == "scheduled"
    assert by_json(shared, run_at=in_s(-30)).json()["status"] == "queued"


def test_a_chat_that_is_not_deferred_is_refused_and_names_deferred(shared):
    for start in ({"delay": "1h"}, {"run_at": in_s(60)}):
        reply = shared.client.post("/v1/chat/completions", {**CHAT, "deferred": False, **start})
        assert reply.status == 422 and "deferred" in reply.json()["detail"][0]["msg"]


def test_a_stream_of_a_recording_is_refused(shared):
    assert by_recording(shared, stream="true", delay="1h").status == 422


def test_the_response_has_the_time(shared):
    assert by_chat(shared, delay="1h").json()["run_at"]
    execution = by_command(shared, delay="1h").json()
    assert execution["status"] == "queued" and execution["run_at"]
    events = shared.client.get(f"/v1/machines/{execution['machine_id']}/executions/{execution['execution_id']}/events").json()
    assert [event["status"] for event in events["items"]] == ["queued"]
    assert shared.client.get(f"/v1/jobs/{execution['execution_id']}/events").json()["items"][0]["type"] == "scheduled"


def test_a_scheduled_job_is_deleted_and_its_retry_starts_at_once(shared):
    gone = id_of(by_json(shared, delay="1h"))
    assert shared.client.request("DELETE", f"/v1/jobs/{gone}").status == 200
    assert shared.client.get(f"/v1/jobs/{gone}").status == 404
    job = id_of(by_json(shared, delay="1h"))
    cancel(shared, job)
    again = shared.client.post(f"/v1/jobs/{job}/retry").json()["id"]
    assert shared.client.wait_terminal(again)["status"] == "succeeded"


def test_an_idempotency_key_gives_the_same_scheduled_job(shared):
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    request = {"document": {"document_url": URI}, "delay": "1h"}
    first, again = (shared.client.post("/v1/ocr", request, headers=headers) for _ in range(2))
    assert first.status == again.status == 202 and first.json()["id"] == again.json()["id"]
    assert again.headers["idempotent-replayed"] == "true" and again.json()["status"] == "scheduled"
    other = shared.client.post("/v1/ocr", {**request, "delay": "2h"}, headers=headers)
    assert other.status == 409


class Keyed:
    """A gateway whose client sends one Idempotency-Key with every POST."""

    def __init__(self, gateway):
        self._client = gateway.client
        self.client, self.key = self, str(uuid.uuid4())

    def get(self, path):
        return self._client.get(path)

    def post(self, path, body=None, headers=None):
        return self._client.post(path, body, headers={**(headers or {}), "Idempotency-Key": self.key})


def test_a_repeat_with_the_key_gives_the_same_job_even_after_its_time():
    with reachable_folder() as folder:
        faults = StoreFaults(folder / "data")
        gateway = Gateway(folder / "data", "--mock", "true", env=faults.env()).start()
        try:
            run_at, senders = in_s(3600), [(way, Keyed(gateway)) for way in WAYS]
            jobs = [id_of(way(sender, run_at=run_at)) for way, sender in senders]
            faults.move_clock(2 * 3600)
            assert by_json(gateway, run_at=run_at).status == 422
            for (way, sender), job in zip(senders, jobs):
                again = way(sender, run_at=run_at)
                assert again.status in (200, 202) and again.headers["idempotent-replayed"] == "true", (way, again.body)
                assert again.headers["x-millrace-job"] == job
        finally:
            gateway.close()


def test_it_starts_in_time_although_another_gateway_does_the_maintenance(tmp_path):
    first = Gateway(tmp_path / "data").start()
    second = Gateway(tmp_path / "data").start()
    try:
        job = id_of(by_json(second, delay=2))
        due = second.client.job(job)["run_at"]
        assert -0.001 <= time_of(second.client.wait_terminal(job)["started_at"]) - time_of(due) < LATE_MAX
    finally:
        second.close()
        first.close()


def test_bulk_cancel_and_retry_know_the_status(shared):
    jobs = {id_of(by_chat(shared, delay="1h")) for _ in range(3)}
    reply = shared.client.post("/v1/admin/jobs/cancel", {"filter": {"status": "scheduled", "kind": "chat"}}).json()
    assert reply["changed"] >= 3
    assert {shared.client.job(job)["status"] for job in jobs} == {"cancelled"}
    reply = shared.client.post("/v1/admin/jobs/retry", {"ids": sorted(jobs)}).json()
    assert reply["changed"] == 3


def test_scheduled_jobs_are_counted_apart(shared):
    def counts():
        queues = shared.client.get("/v1/admin/queues").json()["items"]
        queue = next(queue for queue in queues if queue["kind"] == "stt")
        return queue["queued"], queue["scheduled"], queue.get("oldest_queued_seconds")

    before = counts()[1]
    job = id_of(by_recording(shared, delay="1h"))
    assert counts() == (0, before + 1, None)
    line = f'millrace_queue_scheduled{{kind="stt"}} {before + 1}'
    eventually(lambda: line in shared.client.get("/metrics").body.decode().splitlines(), what=line)
    cancel(shared, job)


def test_the_commands_have_flags(shared, tmp_path):
    run = cli(shared, "exec", "run", "-d", "--delay", "1h", "true")
    assert run.returncode == 0, run.stderr
    assert "run_at" in cli(shared, "jobs", "show", run.stdout.strip()).stdout
    late = cli(shared, "exec", "run", "--run-at", in_s(2), "echo", "now")
    assert late.returncode == 0 and late.stdout == "now\n" and "starts at" in late.stderr
    (tmp_path / "a.pdf").write_bytes(tiny_pdf("read by the command"))
    read = cli(shared, "ocr", tmp_path / "a.pdf", "--delay", "2s")
    assert read.returncode == 0 and "read by the command" in read.stdout, read.stderr
    chat = cli(shared, "chat", "-m", "mock/chat", "--deferred", "--delay", "1h", "hello")
    assert shared.client.job(chat.stdout.strip())["status"] == "scheduled"
    result = cli(shared, "jobs", "result", chat.stdout.strip())
    assert result.returncode == 16 and "scheduled for" in result.stderr
    assert cli(shared, "chat", "-m", "mock/chat", "--delay", "1h", "hello").returncode == 2
    assert cli(shared, "exec", "run", "--delay", "1h", "--run-at", "1", "true").returncode == 2
    refused = cli(shared, "exec", "run", "--delay", "soon", "true")
    assert refused.returncode == 13 and "--delay" in refused.stderr


def test_a_batch_submits_all_its_documents_before_their_time_and_reads_them(shared, tmp_path):
    for i in range(20):
        (tmp_path / f"{i}.pdf").write_bytes(tiny_pdf(f"number {i}"))
    read = cli(shared, "ocr", tmp_path, "--in-flight", "2", "--run-at", in_s(15), "--json")
    assert read.returncode == 0, read.stderr
    rows = [json.loads(line) for line in read.stdout.splitlines()]
    assert {row["status"] for row in rows} == {"succeeded"} and len(rows) == 20, read.stdout
    jobs = [shared.client.job(row["job"]) for row in rows]
    assert max(job["created_at"] for job in jobs) < min(job["started_at"] for job in jobs)


def test_a_sleeping_machine_is_woken_at_the_time(shared):
    machine = local(shared.client)
    assert shared.client.post(f"/v1/machines/{machine}/sleep").status == 200
    eventually(lambda: shared.client.get(f"/v1/machines/{machine}").json()["phase"] == "sleeping", what="it sleeps")
    job = id_of(by_command(shared, delay=2))
    assert shared.client.get(f"/v1/machines/{machine}").json()["phase"] == "sleeping"
    assert shared.client.wait_terminal(job)["status"] == "succeeded"


def test_it_is_on_disk_before_the_reply_and_starts_in_time_over_kills(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    run_at = in_s(8)
    try:
        jobs = []
        for _ in range(3):
            jobs.append(id_of(by_json(gateway, run_at=run_at)))
            gateway.kill()
            gateway.restart()
        ready = time.time()
        for job in jobs:
            ended = gateway.client.wait_terminal(job)
            assert ended["status"] == "succeeded"
            assert time_of(run_at) - 0.001 <= time_of(ended["started_at"]) < max(time_of(run_at), ready) + LATE_MAX
    finally:
        gateway.close()


def test_it_starts_in_time_although_another_process_does_the_maintenance(tmp_path):
    data = tmp_path / "data"
    worker = Worker(data, name="one").start()
    gateway = Gateway(data, role="api").start()
    try:
        job = id_of(by_json(gateway, delay=2))
        due = gateway.client.job(job)["run_at"]
        assert -0.001 <= time_of(gateway.client.wait_terminal(job)["started_at"]) - time_of(due) < LATE_MAX
    finally:
        worker.close()
        gateway.close()


def test_a_scheduled_job_goes_through_kafka(tmp_path, kafka):
    gateway = Gateway(tmp_path / "data", "--kafka", kafka.address, role="api").start()
    worker = Worker(gateway.data, "--kafka", kafka.address, name="one").start()
    try:
        run_at = in_s(3)
        job = id_of(by_json(gateway, run_at=run_at))
        assert gateway.client.job(job)["status"] == "scheduled"
        ended = gateway.client.wait_terminal(job)
        assert ended["status"] == "succeeded"
        assert -0.001 <= time_of(ended["started_at"]) - time_of(run_at) < 5
    finally:
        worker.close()
        gateway.close()
