"""`millrace machines wake --wait`, against a fake gateway."""

import json
import subprocess

import pytest
from commands import FILE_MACHINE, MILLRACE, environment
from silent_gateway import SilentGateway


@pytest.fixture
def silent():
    gateway = SilentGateway()
    yield gateway
    gateway.close()


def waking(silent, *arguments):
    command = [MILLRACE, "machines", "wake", FILE_MACHINE, "--wait", *arguments]
    return subprocess.Popen(command, env=environment(silent), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def reply_phase(silent, phase, desired="running", **status):
    line, connection = silent.next_request()
    machine = {"machine_id": FILE_MACHINE, "name": "far", "desired_state": desired, "phase": phase, "status": status}
    silent.answer(connection, 200, json.dumps(machine), content_type="application/json")
    return line


def test_the_failure_of_a_machine_is_reported_with_its_reason(silent):
    with waking(silent) as running:
        assert reply_phase(silent, "starting").startswith("POST ")
        assert reply_phase(silent, "starting").startswith(f"GET /v1/machines/{FILE_MACHINE} ")
        reply_phase(silent, "failed", last_error="the disk is gone")
        assert running.wait(30) == 1 and "has failed: the disk is gone" in running.stderr.read()


def test_a_wait_ends_at_its_timeout(silent):
    with waking(silent, "--wait-timeout", "1ms") as running:
        reply_phase(silent, "starting")
        reply_phase(silent, "starting")
        assert running.wait(30) == 1 and "is still starting after 1ms" in running.stderr.read()


def test_a_wait_ends_when_another_client_changes_the_desired_state(silent):
    with waking(silent) as running:
        reply_phase(silent, "starting")
        reply_phase(silent, "stopping", desired="sleeping")
        assert running.wait(30) == 1 and "is now requested to be sleeping" in running.stderr.read()
