"""`millrace machines wake --wait`, against a gateway that says what a test has it say."""

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


def waking(silent, *words):
    command = [MILLRACE, "machines", "wake", FILE_MACHINE, "--wait", *words]
    return subprocess.Popen(command, env=environment(silent), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def say_phase(silent, phase, desired="running", **status):
    line, connection = silent.next_request()
    machine = {"machine_id": FILE_MACHINE, "name": "far", "desired_state": desired, "phase": phase, "status": status}
    silent.answer(connection, 200, json.dumps(machine), content_type="application/json")
    return line


def test_a_machine_that_fails_is_said_with_the_reason(silent):
    with waking(silent) as running:
        assert say_phase(silent, "starting").startswith("POST ")
        assert say_phase(silent, "starting").startswith(f"GET /v1/machines/{FILE_MACHINE} ")
        say_phase(silent, "failed", last_error="the disk is gone")
        assert running.wait(30) == 1 and "has failed: the disk is gone" in running.stderr.read()


def test_nobody_waits_longer_than_was_said(silent):
    with waking(silent, "--wait-timeout", "1ms") as running:
        say_phase(silent, "starting")
        say_phase(silent, "starting")
        assert running.wait(30) == 1 and "is still starting after 1ms" in running.stderr.read()


def test_nobody_waits_for_what_somebody_else_has_undone(silent):
    with waking(silent) as running:
        say_phase(silent, "starting")
        say_phase(silent, "stopping", desired="sleeping")
        assert running.wait(30) == 1 and "is wanted sleeping by now" in running.stderr.read()
