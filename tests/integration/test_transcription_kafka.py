"""A long recording over a real broker: one api, two workers that only transcribe."""

import json

import pytest
from millrace import Gateway, Worker, eventually
from recordings import SAID, as_mp3, errors, speech, submit

WRONG_AT_MOST = 0.5
SECONDS = 180


@pytest.fixture
def api_and_workers(tmp_path, kafka):
    """Pieces are published one by one, and each worker transcribes one at a time."""
    broker = ("--kafka", kafka.address)
    api = Gateway(tmp_path / "data", *broker, role="api").start()
    one_by_one = (*broker, "--stt.range-pieces", "1", "--slots", "stt=1")
    workers = [Worker(tmp_path / "data", *one_by_one, name=name, kinds="stt").start() for name in ("one", "two")]
    yield api, workers
    for process in (*workers, api):
        process.close()


def shares_done(worker, job):
    """Ids of the stt jobs that this worker has done, without the parent job."""
    lines = [json.loads(line) for line in worker.log.read_text().splitlines() if line.startswith("{")]
    ended = [line for line in lines if line.get("event") == "job_attempt" and line["kind"] == "stt" and line["job_id"] != job]
    return [line["job_id"] for line in ended if line["outcome"] == "succeeded"]


def all_done(workers, job, pieces):
    shares = [shares_done(worker, job) for worker in workers]
    return shares if len(set(sum(shares, []))) == pieces else None


def test_both_workers_transcribe_a_long_recording_and_its_text_is_complete(api_and_workers):
    api, workers = api_and_workers
    job = submit(api, as_mp3(speech(SECONDS)), response_format="verbose_json")
    ended = api.client.wait_terminal(job, within_s=500)
    assert ended["status"] == "succeeded", ended
    pieces = ended["progress"]["total"]
    done = eventually(lambda: all_done(workers, job, pieces), what="a worker has logged each piece")
    assert all(done) and pieces >= 3, done
    events = api.client.get(f"/v1/jobs/{job}/events?limit=200").json()["items"]
    assert sorted(event["data"]["index"] for event in events if event["type"] == "piece") == list(range(pieces))
    body = api.client.get(f"/v1/jobs/{job}/result").json()
    starts = [segment["start"] for segment in body["segments"]]
    assert starts == sorted(starts) and starts[0] < 10 and starts[-1] > SECONDS - 40
    times = 1 + SECONDS // 29  # the clips with their pauses
    assert errors(body["text"], " ".join(SAID * times)) <= WRONG_AT_MOST + 1 / times, body["text"]
