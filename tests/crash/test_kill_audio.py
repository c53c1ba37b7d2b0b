"""kill -9 in the middle of a long transcription: finished pieces are not transcribed again."""

import re

from millrace import Gateway, eventually
from recordings import as_mp3, speech, submit

HEARD = re.compile(r'^millrace_stt_pieces_total\{outcome="ok"\} (\d+)', re.MULTILINE)


def transcribed(gateway):
    """The number of pieces that this process has transcribed."""
    return int(HEARD.search(gateway.client.get("/metrics").body.decode())[1])


def done(gateway, job):
    return gateway.client.job(job).get("progress", {}).get("done", 0)


def test_finished_pieces_are_not_transcribed_again(tmp_path):
    gateway = Gateway(tmp_path / "data", "--stt.range-pieces", "2").start()
    try:
        job = submit(gateway, as_mp3(speech(180)), response_format="verbose_json")
        eventually(lambda: done(gateway, job) >= 2, within_s=240, what="two pieces are done")
        kept = done(gateway, job)
        gateway.kill()
        gateway.restart()
        ended = gateway.client.wait_terminal(job, within_s=300)
        assert ended["status"] == "succeeded", ended
        total = ended["progress"]["total"]
        assert kept < total == ended["progress"]["done"], "the kill came too late to prove anything"
        assert transcribed(gateway) <= total - kept
        body = gateway.client.get(f"/v1/jobs/{job}/result").json()
        starts = [segment["start"] for segment in body["segments"]]
        assert starts == sorted(starts) and starts[0] < 10 and starts[-1] > 150
        events = gateway.client.get(f"/v1/jobs/{job}/events?limit=200").json()["items"]
        assert sorted(e["data"]["index"] for e in events if e["type"] == "piece") == list(range(total))
    finally:
        gateway.close()
