"""`millrace queues` and `millrace workers`, and the message for clients that wait for a paused queue."""

import json
import os
import subprocess

import pytest
from documents import tiny_pdf
from millrace import BUILD, Gateway, eventually

MILLRACE = BUILD / "millrace"


@pytest.fixture
def gateway(tmp_path):
    instance = Gateway(tmp_path / "data", "--worker.name", "reader").start()
    yield instance
    instance.close()


def environment(gateway, key=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    return {**kept, "MILLRACE_URL": gateway.url, "MILLRACE_API_KEY": key or gateway.client.key}


def millrace(gateway, *arguments, key=None):
    command = [str(MILLRACE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(gateway, key), timeout=120, check=False)


def rows(ran):
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_queues_are_listed_paused_and_resumed(gateway):
    listed = millrace(gateway, "queues", "ls")
    assert listed.returncode == 0 and listed.stdout.splitlines()[0].split() == ["KIND", "QUEUED", "RUNNING", "WAITING", "SCHEDULED", "OLDEST", "SLOTS", "STATE"]
    (paused, other) = rows(millrace(gateway, "queues", "pause", "ocr", "chat", "--json"))
    assert (paused["kind"], paused["paused"], other["kind"], other["paused"]) == ("ocr", True, "chat", True)
    now = {row["kind"]: row["paused"] for row in rows(millrace(gateway, "queues", "ls", "--json"))}
    assert now["ocr"] and now["chat"] and not now["stt"]
    assert "paused since 2" in millrace(gateway, "queues", "ls").stdout
    assert not any(row["paused"] for row in rows(millrace(gateway, "queues", "resume", "ocr", "chat", "--json")))


def test_an_unknown_queue_is_named_and_the_others_are_paused(gateway):
    ran = millrace(gateway, "queues", "pause", "orc", "ocr")
    assert ran.returncode == 11 and "no such queue" in ran.stderr
    assert ran.stdout.startswith("ocr ") and "paused since" in ran.stdout


def test_a_drained_worker_is_shown_as_draining(gateway):
    (worker,) = rows(millrace(gateway, "workers", "ls", "--json"))
    assert worker["name"] == "reader" and worker["live"] and not worker["draining"]
    assert "draining" in millrace(gateway, "workers", "drain", "reader").stdout
    assert millrace(gateway, "workers", "drain", "nobody").returncode == 11
    slots = lambda: rows(millrace(gateway, "workers", "ls", "--json"))[0]["slots"]  # noqa: E731
    eventually(lambda: not any(slot["slots"] for slot in slots()), what="the worker claims no new jobs")


def test_a_key_without_the_scope_admin_gets_an_error_that_names_it(gateway):
    key = subprocess.run([str(MILLRACE), "keys", "create", "--name", "plain", "--data", str(gateway.data)], capture_output=True, text=True, check=True).stdout.strip()
    refused = millrace(gateway, "queues", "ls", key=key)
    assert refused.returncode == 10 and "admin" in refused.stderr


def test_ocr_and_jobs_show_report_a_paused_queue(gateway, tmp_path):
    (tmp_path / "one.pdf").write_bytes(tiny_pdf("at last"))
    assert millrace(gateway, "queues", "pause", "ocr").returncode == 0
    waiting = subprocess.Popen(
        [str(MILLRACE), "ocr", str(tmp_path / "one.pdf")], env=environment(gateway), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    output = waiting.stderr.readline()
    assert output == "Waiting: the queue of kind ocr is paused until `millrace queues resume ocr`\n"
    (job,) = rows(millrace(gateway, "jobs", "ls", "--json"))
    assert job["status"] == "queued" and job["paused"] is True
    shown = millrace(gateway, "jobs", "show", job["id"]).stdout
    assert "waiting          the queue of kind ocr is paused" in shown and "\npaused" not in shown
    assert millrace(gateway, "queues", "resume", "ocr").returncode == 0
    out, rest = waiting.communicate(timeout=120)
    assert waiting.returncode == 0 and "at last" in out and "Waiting" not in rest
    (done,) = rows(millrace(gateway, "jobs", "ls", "--json"))
    assert done["status"] == "succeeded" and "paused" not in done
