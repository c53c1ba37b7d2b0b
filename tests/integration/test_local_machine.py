"""The machine `local`: the first start creates it if bubblewrap works; otherwise the reason is reported."""

import os
import subprocess

import kernel_without
import pytest
from millrace import BUILD, Gateway
from sandboxed import reachable_folder, run, start

HIDE_BWRAP = 'mount --bind /dev/null /usr/bin/bwrap && exec "$@"'


@pytest.fixture(scope="module")
def shared():
    """A gateway on a host that runs commands; the checks of doctor need a data directory."""
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


def without_bwrap():
    """The prefix of a command that is to run without bubblewrap."""
    user = [] if os.geteuid() == 0 else ["--map-current-user", "--keep-caps"]
    return ["unshare", "--mount", *user, "--", "sh", "-c", HIDE_BWRAP, "sh"]


def lines_of(check, data, before):
    """The lines of one doctor check: the finding, and what to do."""
    command = [*before, BUILD / "millrace", "doctor", "--data", data]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    at = next((n for n, line in enumerate(lines) if line.split()[1:2] == [check]), None)
    assert at is not None, done.stdout + done.stderr
    following = [line for line in lines[at + 1 :] if line.startswith(" ")]
    return lines[at], following[0] if following else ""


def test_doctor_reports_a_missing_program_and_how_to_install_it(shared):
    if subprocess.run([*without_bwrap(), "true"], capture_output=True).returncode != 0:
        pytest.skip("mounts are not possible here, so the program cannot be hidden")
    finding, then = lines_of("machines", shared.data, without_bwrap())
    assert finding.startswith("warn") and "/usr/bin/bwrap" in finding and "apt-get install bubblewrap" in finding
    assert "does not create `local`" in then


def test_doctor_reports_what_the_kernel_must_allow(shared):
    finding, then = lines_of("machines", shared.data, kernel_without.prefix("namespaces"))
    assert finding.startswith("warn") and "bwrap: " in finding, finding
    allowed = "the kernel's settings allow user namespaces" in finding and "seccomp=unconfined" in finding
    assert allowed or "sysctl -w" in finding, finding  # depends on the settings of this machine
    assert "does not create `local`" in then
    assert lines_of("machines", shared.data, [])[0].startswith("ok")


def test_a_start_that_cannot_create_local_logs_the_reason_and_the_first_that_can_creates_it():
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data")
        plain = gateway.command
        gateway.command = [*kernel_without.prefix("namespaces"), *plain]
        try:
            gateway.start()
            assert gateway.client.get("/v1/machines").json()["items"] == []
            log = gateway.log.read_text()
            assert "executions_disabled" in log and "allow user namespaces" in log
            gateway.terminate()
            gateway.command = plain
            gateway.start()
            assert [item["name"] for item in gateway.client.get("/v1/machines").json()["items"]] == ["local"]
            assert run(gateway.client, ["true"])[0]["status"] == "succeeded"
        finally:
            gateway.close()
