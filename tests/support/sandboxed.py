"""A gateway whose machine `local` runs commands in real bubblewrap, and helpers for tests that use it."""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import uuid

import pytest
from millrace import Gateway

PROBLEM = "application/problem+json"


def start(data, *args):
    gateway = Gateway(data, *args).start()
    try:
        skip_without_commands(gateway)
    except BaseException:
        gateway.close()
        raise
    return gateway


def skip_without_commands(process):
    """Skips the test if a gateway or worker runs no commands; the only accepted reason is this host."""
    log = process.log.read_text()
    if "executions_disabled" not in log:
        return
    if "chmod o+x" in log:
        pytest.skip(f"a machine's uid cannot reach the data of {process.log}: the temporary folder is closed to others")
    skip_without_namespaces("executions are off")
    pytest.fail(process.tail())


def skip_without_namespaces(then):
    if not bubblewrap_works():
        pytest.skip(f"bubblewrap makes no namespaces on this machine, so {then}")


def bubblewrap_works():
    """Whether bubblewrap works for an ordinary user, independently of Millrace."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "/usr/bin/true"]
    return subprocess.run([*user, *command], capture_output=True).returncode == 0


@contextlib.contextmanager
def reachable_folder():
    """A folder that other users can reach: the uid of a machine cannot reach the folders of pytest."""
    with tempfile.TemporaryDirectory(prefix="millrace-exec-") as folder:
        os.chmod(folder, 0o711)
        yield pathlib.Path(folder)


def fresh_key():
    return {"Idempotency-Key": str(uuid.uuid4())}


def local(client):
    machines = client.get("/v1/machines").json()["items"]
    return next(m["machine_id"] for m in machines if m["name"] == "local")


def create(client, command, machine=None, key=None, **fields):
    path = f"/v1/machines/{machine or local(client)}/executions"
    return client.post(path, {"command": command, **fields}, headers={"Idempotency-Key": key or str(uuid.uuid4())})


def started(client, command, **fields):
    reply = create(client, command, **fields)
    assert reply.status == 200, reply.body
    return reply.json()


def execution_path(execution):
    return f"/v1/machines/{execution['machine_id']}/executions/{execution['execution_id']}"


def ended(client, execution, within_s=60):
    client.wait_terminal(execution["execution_id"], within_s)
    return client.get(execution_path(execution)).json()


def run(client, command, **fields):
    execution = ended(client, started(client, command, **fields))
    return execution, client.get(execution_path(execution) + "/output").json()
