"""Tests docker-compose.yml with a real engine. Run by scripts/test-compose, which provides the engine and the images. The
tests use one stack, in the order of this file."""

import io
import json
import os
import uuid
import wave
from pathlib import Path

import pytest
from compose_stack import Stack
from documents import data_uri, tiny_pdf
from ledger import Ledger
from millrace import ROOT, Client, eventually
from sandboxed import run

pytestmark = pytest.mark.skipif("MILLRACE_COMPOSE" not in os.environ, reason="run by scripts/test-compose")

GO_FORWARD = Path("/usr/share/pocketsphinx/test/data/goforward.raw")  # "go forward ten meters", 16 kHz
WORKERS = ("worker-ocr", "worker-chat", "worker-exec", "worker-stt")
READERS = 3


@pytest.fixture(scope="module")
def stack():
    services = Stack("millrace-test", MILLRACE_MOCK="true")
    services.down()
    services.compose("up", "-d", "--scale", f"worker-ocr={READERS}", within_s=300)
    yield services
    services.down()
    assert not services.docker("ps", "-aq", "--filter", "label=com.docker.compose.project=millrace-test")
    assert not services.docker("volume", "ls", "-q", "--filter", "label=com.docker.compose.project=millrace-test")


@pytest.fixture(scope="module")
def client(stack):
    stack.wait_healthy("kafka", "api", *WORKERS)
    return stack.client("api")


def test_up_starts_the_services_and_the_first_key_is_valid(stack, client):
    assert client.get("/v1/jobs").status == 200
    assert client.get("/readyz").json()["dispatch"]["status"] == "ok"


def test_no_millrace_container_has_rights_that_it_does_not_need(stack, client):
    for service in ("api", *WORKERS):
        for container in stack.containers(service):
            seen = stack.inspect(container)["HostConfig"]
            assert seen["ReadonlyRootfs"] and seen["CapDrop"] == ["ALL"] and not seen["Privileged"], service
            profiles = [option for option in seen["SecurityOpt"] if option.startswith("seccomp")]
            assert bool(profiles) == (service == "worker-exec"), (service, profiles)
            mounts = {mount["Destination"] for mount in stack.inspect(container)["Mounts"]}
            assert ("/run/secrets" in mounts) == (service != "worker-exec"), (service, mounts)
            status = stack.inside(container, "cat", "/proc/1/status")
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            assert fields["Uid"].split() == ["10001"] * 4 and int(fields["CapBnd"], 16) == 0, (service, fields)
            assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2", (service, fields)


def test_documents_are_read_once_each_by_three_containers_while_broker_and_worker_die(stack, client):
    ledger = Ledger(lambda: client, pages=2)
    ledger.start(threads=3)
    ledger.wait_acknowledged(40)
    victim = stack.containers("worker-ocr")[0]
    stack.crash(victim)
    stack.compose("kill", "kafka")
    ledger.wait_acknowledged(ledger.acknowledged() + 30)
    eventually(lambda: client.get("/readyz").json()["dispatch"]["status"] == "degraded", 60, "readyz reports degraded without the broker")
    stack.report("readyz: dispatch is degraded, jobs are accepted")
    stack.compose("start", "kafka")
    ledger.wait_acknowledged(ledger.acknowledged() + 30)
    ledger.stop()
    jobs = ledger.check(client)
    stack.report(f"{jobs} jobs submitted, {jobs} done, each once, with the text of its document")
    eventually(lambda: client.get("/readyz").json()["dispatch"]["status"] == "ok", 90, "recovered")
    eventually(lambda: stack.inspect(victim)["State"]["Running"], 60, "the killed worker runs again")
    stack.wait_healthy("kafka", "worker-ocr")


def attempts(stack, container):
    """Outcomes of the attempts in this container's log."""
    return [json.loads(line)["outcome"] for line in stack.log_of(container).splitlines() if '"job_attempt"' in line]


def test_each_of_the_three_readers_had_its_share(stack, client):
    shares = [len(attempts(stack, container)) for container in stack.containers("worker-ocr")]
    stack.report(f"attempts by reader: {shares}")
    assert len(shares) == READERS and min(shares) > 0


def test_commands_run_in_a_sandbox_of_the_exec_worker(stack, client):
    command = "hostname; for path in /run/proc /run/secrets /var/lib/millrace; do ! ls $path || exit 1; done; grep -c : /proc/net/dev"
    execution, output = run(client, ["sh", "-c", command])
    assert execution["status"] == "succeeded" and output["stdout"] == "machine\n1\n", (execution, output)
    stack.report("a command ran in its sandbox, without network and without access to the container's folders")


def test_a_deferred_chat_is_completed_by_the_chat_worker(stack, client):
    made = client.post("/v1/chat/completions", {"model": "mock/chat", "messages": [{"role": "user", "content": "hello"}], "deferred": True})
    assert made.status in (200, 202), made.body
    assert client.wait_terminal(made.json()["request_id"])["status"] == "succeeded"


def wav(samples, rate=16_000):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples)
    return out.getvalue()


def test_a_recording_is_transcribed_by_the_stt_worker(stack, client):
    edge = uuid.uuid4().hex
    part = f"--{edge}\r\nContent-Disposition: form-data; name="
    head = f'{part}"model"\r\n\r\nmillrace/sphinx-en\r\n{part}"file"; filename="go.wav"\r\nContent-Type: audio/wav\r\n\r\n'
    form = head.encode() + wav(GO_FORWARD.read_bytes()) + f"\r\n--{edge}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}"}
    reply = client.post("/v1/audio/transcriptions", form, headers=headers)
    assert reply.status == 200 and "forward ten meters" in reply.json()["text"].lower(), reply.body
    stack.report(f"transcribed: {reply.json()['text']}")


def test_the_image_has_the_speech_engine_without_its_header(stack, client):
    fetched = ROOT / "build/speech/version"
    if not fetched.exists():
        pytest.skip("there is no speech engine (scripts/fetch-speech)")
    (container,) = stack.containers("worker-stt")
    folder = "/usr/lib/millrace/speech"
    assert stack.inside(container, "cat", f"{folder}/version") == fetched.read_text()
    assert stack.inside(container, "ls", folder).split() == ["lib", "licences", "moonshine-en", "version"]
    assert stack.inside(container, "sh", "-c", f"cat {folder}/lib/* {folder}/moonshine-en/* | wc -c").strip() == str(
        sum(path.stat().st_size for part in ("lib", "moonshine-en") for path in (fetched.parent / part).iterdir())
    )


def test_metrics_require_the_key_that_is_stored_for_prometheus(stack, client):
    (container,) = stack.containers("api")
    key = eventually(lambda: stack.inside(container, "sh", "-c", "cat /var/lib/observer/metrics.key || true"), 30, "the key for Prometheus")
    assert Client(stack.url("api"), key.strip()).get("/metrics").status == 200
    assert Client(stack.url("api"), "nobody's").get("/metrics").status == 401
    assert Client(stack.url("api"), key.strip()).get("/v1/jobs").status == 403
    for worker in WORKERS:
        for container in stack.containers(worker):
            scrape = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:9464/metrics"]
            assert stack.inside(container, *scrape) == "401", worker
            assert stack.inside(container, *scrape, "-H", f"Authorization: Bearer {key.strip()}") == "200", worker


def test_a_restart_keeps_the_key_and_shows_it_no_second_time(stack, client):
    stack.compose("restart", "-t", "40", "api")
    stack.wait_healthy("api")
    assert stack.first_keys("api") == [client.key]
    again = Client(stack.url("api"), client.key)
    assert again.get("/v1/jobs").status == 200


def test_embedded_is_one_container_that_does_everything(client):
    alone = Stack("millrace-test-embedded", MILLRACE_MOCK="true")
    alone.compose("up", "-d", "embedded", within_s=120)
    try:
        alone.wait_healthy("embedded")
        gateway = alone.client("embedded")
        marker = uuid.uuid4().hex
        job = gateway.submit_ocr(data_uri(tiny_pdf(f"alone with {marker}"))).json()["id"]
        assert gateway.wait_terminal(job)["status"] == "succeeded"
        assert marker in gateway.get(f"/v1/jobs/{job}/result").json()["pages"][0]["markdown"]
        execution, output = run(gateway, ["cat"], stdin=marker)
        assert execution["status"] == "succeeded" and output["stdout"] == marker, (execution, output)
        assert len(alone.docker("ps", "-q", "--filter", "label=com.docker.compose.project=millrace-test-embedded").split()) == 1
    finally:
        alone.down()
