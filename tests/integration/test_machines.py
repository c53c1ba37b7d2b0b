"""Machines over HTTP, on a real gateway: their lifecycle, executions on them, and artifacts."""

import hashlib
import pathlib
import re
import subprocess
import urllib.parse

import pytest
from millrace import BUILD, Client, eventually
from sandboxed import PROBLEM, create, ended, execution_path, fresh_key, reachable_folder, run, start, started

UNKNOWN = "dm-0192f0a1-7c1e-7000-8000-000000000001"


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


@pytest.fixture(scope="module")
def other(shared):
    command = [BUILD / "millrace", "keys", "create", "--name", "other", "--tenant", "other", "--data", shared.data]
    return Client(shared.url, subprocess.check_output(command, text=True).strip())


def make(client, **fields):
    reply = client.post("/v1/machines", fields or None, headers=fresh_key())
    assert reply.status == 200, reply.body
    return reply.json()["machine_id"]


def phase(client, machine):
    return client.get(f"/v1/machines/{machine}").json().get("phase")


def reaches(client, machine, expected):
    eventually(lambda: phase(client, machine) == expected, what=f"{machine} is {expected}")


def test_a_machine_is_created_used_put_to_sleep_woken_and_destroyed(shared):
    client = shared.client
    machine = make(client, name="builder", memory_mib=512, storage_gib=1)
    url = f"/v1/machines/{machine}"
    reaches(client, machine, "running")
    status = client.get(url).json()["status"]
    assert status["limits"] in ("cgroup-v2", "cgroup-v1", "rlimits") and status["disk"] in ("image", "watched")

    first, _ = run(client, ["sh", "-c", "echo kept > /workspace/file"], machine=machine)
    assert first["status"] == "succeeded" and first["machine_id"] == machine

    assert client.post(url + "/sleep").json()["desired_state"] == "sleeping"
    reaches(client, machine, "sleeping")

    waking = create(client, ["cat", "/workspace/file"], machine=machine)
    assert waking.status == 200 and waking.json()["status"] == "wake_in_progress", waking.body
    assert waking.json()["retry_after_ms"] == 1000 and waking.headers["retry-after-ms"] == "1000"
    assert ended(client, waking.json())["status"] == "succeeded"
    assert client.get(execution_path(waking.json()) + "/output").json()["stdout"] == "kept\n"
    reaches(client, machine, "running")

    assert client.post(url + "/reboot").status == 200
    reaches(client, machine, "running")
    assert run(client, ["cat", "/workspace/file"], machine=machine)[1]["stdout"] == "kept\n"

    destroyed = client.request("DELETE", url)
    assert destroyed.status == 200 and destroyed.json()["desired_state"] == "destroyed"
    eventually(lambda: client.get(url).status == 404, what="the machine is gone")
    assert client.request("DELETE", url).status == 404
    assert create(client, ["true"], machine=machine).status == 404


def test_one_wake_serves_all_waiting_executions(shared):
    client = shared.client
    machine = make(client)
    reaches(client, machine, "running")
    client.post(f"/v1/machines/{machine}/sleep")
    reaches(client, machine, "sleeping")
    before = int(client.get(f"/v1/machines/{machine}").json()["status"]["revision"])
    executions = [started(client, ["true"], machine=machine) for _ in range(6)]
    assert all(ended(client, each)["status"] == "succeeded" for each in executions)
    after = int(client.get(f"/v1/machines/{machine}").json()["status"]["revision"])
    assert after - before <= 4, (before, after)


def test_what_runs_keeps_its_machine_from_sleep_and_is_cancelled_by_a_destroy(shared):
    client = shared.client
    machine = make(client)
    execution = started(client, ["sleep", "1000"], machine=machine)
    eventually(lambda: client.get(execution_path(execution)).json()["status"] == "running")
    for act in ("sleep", "reboot"):
        refused = client.post(f"/v1/machines/{machine}/{act}")
        assert refused.status == 409 and refused.json()["error_code"] == "INVALID_STATE"
        assert refused.headers["x-should-retry"] == "false"
    assert client.request("DELETE", f"/v1/machines/{machine}").status == 200
    client.wait_terminal(execution["execution_id"])
    assert client.job(execution["execution_id"])["status"] == "cancelled"
    eventually(lambda: client.get(f"/v1/machines/{machine}").status == 404)


def test_an_idle_machine_goes_to_sleep_after_its_executions_and_the_next_one_wakes_it(shared):
    client = shared.client
    machine = make(client, name="drowsy", autosleep="1s")
    assert run(client, ["sh", "-c", "echo kept > /workspace/file"], machine=machine)[0]["status"] == "succeeded"
    assert phase(client, machine) == "running", "a machine that was just used is awake"
    eventually(lambda: phase(client, machine) == "sleeping", within_s=40, what="asleep")
    assert client.get(f"/v1/machines/{machine}").json()["desired_state"] == "sleeping"
    next_one = started(client, ["cat", "/workspace/file"], machine=machine)
    assert next_one["status"] == "wake_in_progress"
    assert ended(client, next_one)["status"] == "succeeded"
    assert client.get(execution_path(next_one) + "/output").json()["stdout"] == "kept\n"


def test_a_change_is_seen_and_its_repetition_changes_nothing(shared):
    client = shared.client
    machine, key = make(client), fresh_key()
    changed = client.request("PATCH", f"/v1/machines/{machine}", {"name": "b", "autosleep": "15m"}, headers=key)
    assert changed.status == 200 and changed.json()["autosleep_seconds"] == 900
    client.request("PATCH", f"/v1/machines/{machine}", {"name": "c"})
    again = client.request("PATCH", f"/v1/machines/{machine}", {"name": "b", "autosleep": "15m"}, headers=key)
    assert again.body == changed.body and again.headers["idempotent-replayed"] == "true"
    assert client.get(f"/v1/machines/{machine}").json()["name"] == "c"
    reused = client.request("PATCH", f"/v1/machines/{machine}", {"name": "d"}, headers=key)
    assert reused.status == 409 and reused.json()["error_code"] == "IDEMPOTENCY_KEY_REUSED"
    assert set(reused.json()["details"]) == {"expected_request_hash", "provided_request_hash"}


@pytest.mark.parametrize(
    "body, field",
    [
        ({"vcpu": 0}, "vcpu"),
        ({"memory_mib": 63}, "memory_mib"),
        ({"storage_gib": 1.5}, "storage_gib"),
        ({"autosleep": "soon"}, "autosleep"),
        ({"name": "a b"}, "name"),
        ({"driver": "ssh"}, "driver"),
    ],
)
def test_a_bad_size_is_422_and_names_its_field(shared, body, field):
    reply = shared.client.post("/v1/machines", body, headers=fresh_key())
    assert reply.status == 422 and reply.headers["content-type"] == PROBLEM
    assert reply.json()["errors"][0]["location"] == f"body.{field}"


def test_what_does_not_exist_or_belongs_to_another_tenant_is_404(shared, other):
    machine = make(shared.client)
    for client, id_ in [(shared.client, "nobody"), (shared.client, "dm-X"), (shared.client, UNKNOWN), (other, machine)]:
        url = f"/v1/machines/{id_}"
        replies = [client.get(url), client.request("PATCH", url, {"name": "x"}), client.request("DELETE", url)]
        replies += [client.post(f"{url}/{act}") for act in ("sleep", "wake", "reboot")]
        replies += [client.get(url + "/artifacts"), client.get(url + "/executions")]
        for reply in replies:
            assert reply.status == 404 and reply.headers["content-type"] == PROBLEM, reply.body
    assert phase(shared.client, machine) in ("accepted", "starting", "running")


@pytest.fixture(scope="module")
def left(shared):
    """An execution that has written two files, and entries that must not become artifacts."""
    script = """
        cd "$MILLRACE_ARTIFACTS" && mkdir report && printf '<p>hello' > report/index.html
        seq 1 400000 > numbers.txt
        ln -s /etc/passwd link; ln -s .. up; mkfifo pipe; mknod device c 1 3
        echo linked > /workspace/linked; ln /workspace/linked hard
        true
    """
    execution, output = run(shared.client, ["sh", "-c", script])
    assert execution["status"] == "succeeded", (execution, output)
    return execution


def artifacts_of(client, execution):
    url = f"/v1/machines/{execution['machine_id']}/artifacts?execution_id={execution['execution_id']}"
    return {item["name"]: item for item in client.get(url).json()["items"]}


def test_only_regular_files_of_the_folder_become_artifacts(shared, left):
    names = set(artifacts_of(shared.client, left))
    assert {"report/index.html", "numbers.txt"} <= names
    assert not names & {"link", "up", "pipe", "device", "hard"}
    assert not any("passwd" in name or ".." in name for name in names)
    assert {item["name"] for item in left["artifacts"]} == names


def test_sparse_artifacts_stay_sparse(shared):
    script = 'cd "$MILLRACE_ARTIFACTS"; for i in 1 2 3 4; do truncate -s 100M $i; printf end | dd of=$i bs=1 seek=104857597 conv=notrunc status=none; done'
    folder = shared.data / "blobs"
    before = bytes_on_disk(folder)
    execution, output = run(shared.client, ["sh", "-c", script])
    assert execution["status"] == "succeeded", (execution, output)
    items = artifacts_of(shared.client, execution)
    assert [items[name]["size_bytes"] for name in "1234"] == [104_857_600] * 4
    assert bytes_on_disk(folder) - before < 4 << 20
    reply = shared.client.get(urllib.parse.urlsplit(items["1"]["download_url"]).path, headers={"Range": "bytes=104857590-"})
    assert reply.status == 206 and bytes(reply.body) == bytes(7) + b"end"


def bytes_on_disk(folder):
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*"))


def test_an_artifact_has_its_size_type_and_digest(shared, left):
    item = artifacts_of(shared.client, left)["report/index.html"]
    assert item["size_bytes"] == 8 and item["mime_type"] == "text/html"
    assert item["sha256"] == hashlib.sha256(b"<p>hello").hexdigest()
    assert item["execution_id"] == left["execution_id"] and item["expires_at"]


def test_the_bytes_of_an_artifact_are_sent_completely_in_part_or_as_not_modified(shared, left):
    client = shared.client
    whole = "".join(f"{number}\n" for number in range(1, 400001)).encode()
    item = artifacts_of(client, left)["numbers.txt"]
    url = urllib.parse.urlsplit(item["download_url"]).path
    reply = client.get(url)
    assert reply.status == 200 and reply.body == whole and reply.headers["content-type"] == "text/plain"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["content-disposition"].startswith('attachment; filename="numbers.txt"')
    etag = reply.headers["etag"]
    assert etag == f'"{item["sha256"]}"'
    part = client.get(url, headers={"Range": "bytes=1000000-", "If-Range": etag})
    assert part.status == 206 and part.body == whole[1000000:]
    assert part.headers["content-range"] == f"bytes 1000000-{len(whole) - 1}/{len(whole)}"
    assert client.get(url, headers={"Range": "bytes=-5"}).body == whole[-5:]
    past = client.get(url, headers={"Range": f"bytes={len(whole)}-"})
    assert past.status == 416 and past.headers["content-range"] == f"bytes */{len(whole)}"
    assert client.get(url, headers={"If-None-Match": etag}).status == 304
    head = client.request("HEAD", url)
    assert head.status == 200 and head.body == b"" and head.headers["etag"] == etag


def test_an_artifact_is_visible_to_its_owner_alone_and_is_deleted_on_request(shared, other, left):
    client = shared.client
    item = artifacts_of(client, left)["report/index.html"]
    url = f"/v1/machines/{left['machine_id']}/artifacts/{item['artifact_id']}"
    for path in (url, url + "/content"):
        assert other.get(path).status == 404
    assert other.request("DELETE", url).status == 404
    assert client.get(url).status == 200
    assert client.request("DELETE", url).json()["name"] == "report/index.html"
    assert client.get(url).status == 404 and client.get(url + "/content").status == 404
    assert "report/index.html" not in artifacts_of(client, left)


def test_what_the_gateway_holds_in_memory_is_never_written_to_a_core_file(shared):
    limits = pathlib.Path(f"/proc/{shared.popen.pid}/limits").read_text()
    assert re.search(r"^Max core file size +0 +0 ", limits, re.M), limits
