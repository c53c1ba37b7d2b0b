"""A long recording over a real broker: one api, two workers that hear recordings and nothing else."""

import json

import pytest
from millrace import Gateway, Worker, eventually
from recordings import SAID, as_mp3, errors, speech, submit

WRONG_AT_MOST = 0.5
SECONDS = 180


@pytest.fixture
def house(tmp_path, kafka):
    """Pieces go out one by one, and each worker hears one at a time."""
    broker = ("--kafka", kafka.address)
    api = Gateway(tmp_path / "data", *broker, role="api").start()
    one_by_one = (*broker, "--stt.range-pieces", "1", "--slots", "stt=1")
    workers = [Worker(tmp_path / "data", *one_by_one, name=name, kinds="stt").start() for name in ("one", "two")]
    yield api, workers
    for process in (*workers, api):
        process.close()


def shares_heard(worker, job):
    """Jobs of kind stt that this worker has done, without the recording's own."""
    lines = [json.loads(line) for line in worker.log.read_text().splitlines() if line.startswith("{")]
    ended = [line for line in lines if line.get("event") == "job_attempt" and line["kind"] == "stt" and line["job_id"] != job]
    return [line["job_id"] for line in ended if line["outcome"] == "succeeded"]


def all_heard(workers, job, pieces):
    shares = [shares_heard(worker, job) for worker in workers]
    return shares if len(set(sum(shares, []))) == pieces else None


def test_both_workers_hear_a_long_recording_and_its_text_is_whole(house):
    api, workers = house
    job = submit(api, as_mp3(speech(SECONDS)), response_format="verbose_json")
    ended = api.client.wait_terminal(job, within_s=500)
    assert ended["status"] == "succeeded", ended
    pieces = ended["progress"]["total"]
    heard = eventually(lambda: all_heard(workers, job, pieces), what="a line in a worker's log for each piece")
    assert all(heard) and pieces >= 3, heard
    events = api.client.get(f"/v1/jobs/{job}/events?limit=200").json()["items"]
    assert sorted(event["data"]["index"] for event in events if event["type"] == "piece") == list(range(pieces))
    body = api.client.get(f"/v1/jobs/{job}/result").json()
    starts = [segment["start"] for segment in body["segments"]]
    assert starts == sorted(starts) and starts[0] < 10 and starts[-1] > SECONDS - 40
    times = 1 + SECONDS // 29  # the clips with their pauses
    assert errors(body["text"], " ".join(SAID * times)) <= WRONG_AT_MOST + 1 / times, body["text"]
