"""Several processes on one data directory: one of them runs the machines, and another takes over when it ends."""

import json

import pytest
from millrace import Gateway, Worker, eventually
from sandboxed import create, ended, execution_path, local, reachable_folder, skip_without_commands, started

EXECUTIONS = 40
SLOTS = 2


@pytest.fixture
def api_and_workers():
    """Yields an api, and a function that starts a worker for it."""
    with reachable_folder() as folder:
        api = Gateway(folder / "data", role="api").start()
        workers = []

        def begin(name):
            worker = Worker(api.data, "--slots", f"exec={SLOTS}", name=name, kinds="exec").start()
            workers.append(worker)
            skip_without_commands(worker)
            return worker

        yield api, begin
        for worker in workers:
            worker.close()
        api.close()


def logged(process, event):
    lines = [json.loads(line) for line in process.log.read_text().splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("event") == event]


def has_local(client):
    return any(machine["name"] == "local" for machine in client.get("/v1/machines").json()["items"])


def test_one_worker_runs_the_machines_and_another_takes_over_when_it_is_killed(api_and_workers):
    api, begin = api_and_workers
    holder, successor = begin("holder"), begin("successor")
    client = api.client
    eventually(lambda: has_local(client), what="the machine local")
    successor.wait_for_log(f"pid {holder.popen.pid},")
    assert successor.log.read_text().count("machines_owned_elsewhere") == 1

    machine = local(client)
    jobs = [create(client, ["sleep", "0.1"], machine=machine).json() for _ in range(EXECUTIONS)]
    client.wait_terminal(jobs[5]["execution_id"])
    holder.kill()

    ends = [ended(client, job) for job in jobs]
    lost = [end for end in ends if end["status"] != "succeeded"]
    assert len(lost) <= SLOTS, lost
    assert all(end["status"] == "failed" and end["error_code"] == "worker_lost" for end in lost), lost
    assert f"pid {successor.popen.pid}," in (api.data / "machines" / "host.lock").read_text()


def test_a_worker_that_drains_hands_the_machines_over(api_and_workers):
    api, begin = api_and_workers
    holder, _ = begin("holder"), begin("successor")
    eventually(lambda: has_local(api.client), what="the machine local")
    assert holder.terminate() == 0
    execution = started(api.client, ["true"])
    assert ended(api.client, execution)["status"] == "succeeded", api.client.get(execution_path(execution)).json()
