"""Files that are copied into a machine and out of it: by the API and by `millrace exec cp`."""

import hashlib
import json
import os
import threading

import pytest
from commands import cli, machine_of, reaches
from millrace import Gateway, Worker, eventually
from sandboxed import PROBLEM, local, reachable_folder, run, skip_without_commands, start

LARGE = os.urandom(1 << 20) * 100  # the largest file
LARGEST = 100 << 20
ANY = {"Content-Type": "application/octet-stream"}


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


@pytest.fixture
def files(shared):
    """The path of the files of `local`, whose folder is empty."""
    sh(shared, "rm -rf /workspace/* /workspace/.m*")
    return f"/v1/machines/{local(shared.client)}/files/"


def sh(gateway, script, machine=None):
    execution, output = run(gateway.client, ["sh", "-c", script], machine=machine)
    assert execution["status"] == "succeeded", (execution, output)
    return output.get("stdout", "")


def put(client, path, content, **headers):
    return client.request("PUT", path, content, {**ANY, **headers})


def digest(content):
    return hashlib.sha256(content).hexdigest()


def test_a_file_goes_in_is_used_and_comes_back(shared, files):
    made = put(shared.client, files + "data/in%20put.csv", b"a,b\n1,2\n")
    assert made.status == 201 and made.json() == {"path": "data/in put.csv", "size_bytes": 8, "sha256": digest(b"a,b\n1,2\n")}, made.body
    assert sh(shared, "cat '/workspace/data/in put.csv'; stat -c '%U %a' '/workspace/data/in put.csv'") == "a,b\n1,2\nmachine 644\n"
    assert put(shared.client, files + "data/in%20put.csv", b"new").status == 200
    sh(shared, "tr a-z A-Z < '/workspace/data/in put.csv' > /workspace/out")
    out = shared.client.get(files + "out")
    assert out.status == 200 and out.body == b"NEW" and out.headers["etag"] == f'"{digest(b"NEW")}"'
    assert shared.client.get(files + "/workspace/out").body == b"NEW", "as a command names it"
    assert shared.client.request("DELETE", files + "out").status == 204
    assert shared.client.get(files + "out").status == 404
    assert shared.client.request("DELETE", files + "out").status == 404
    items = f"/v1/machines/{local(shared.client)}/executions"
    eventually(lambda: not [each for each in shared.client.get(items).json()["items"] if each["command"][0] in ("put", "get", "delete")],
               what="the executions of the copies are deleted")


@pytest.mark.parametrize("content", [b"", b"\0\xff\n", LARGE], ids=["empty", "bytes", "largest"])
def test_every_content_comes_back_as_it_went_in(shared, files, content):
    assert put(shared.client, files + "x", content).json()["size_bytes"] == len(content)
    assert sh(shared, "sha256sum < /workspace/x").split()[0] == digest(content)
    back = shared.client.get(files + "x")
    assert back.status == 200 and back.headers["content-length"] == str(len(content)) and back.body == content


def test_what_is_too_large_is_refused_on_both_ways(shared, files):
    refused = put(shared.client, files + "x", LARGE + b"x")
    assert refused.status == 413 and refused.headers["content-type"] == PROBLEM
    sh(shared, f"truncate -s {LARGEST + 1} /workspace/large; test ! -e /workspace/x")
    large = shared.client.get(files + "large")
    assert large.status == 413 and "100MiB" in large.json()["detail"], large.body


def test_a_replaced_file_keeps_its_mode_and_its_readers(shared, files):
    put(shared.client, files + "tool", b"#!/bin/sh\necho one\n")
    sh(shared, "chmod 755 /workspace/tool; ln /workspace/tool /workspace/other")
    assert put(shared.client, files + "tool", b"#!/bin/sh\necho two\n").status == 200
    assert sh(shared, "/workspace/tool; /workspace/other; ls -A /workspace") == "two\none\nother\ntool\n"
    sh(shared, "echo secret > /workspace/key; chmod 600 /workspace/key")
    assert put(shared.client, files + "key", b"new").status == 200
    assert sh(shared, "stat -c %a /workspace/key /workspace/tool; cat /workspace/key") == "600\n755\nnew"


LINKS = """cd /workspace; mkdir -p in/side; echo inside > in/file; ln -s in/side folder; ln -s in/file good; ln -s /etc/passwd out
ln -s /tmp away; ln -s .. up; ln -s nowhere dangling; mkfifo pipe; ln -s loop loop; echo x > file"""


@pytest.mark.parametrize(("path", "get", "put_status", "delete"), [
    ("in", 409, 409, 409), ("in/file/x", 409, 409, 409), ("away/x", 409, 409, 409), ("up/x", 409, 409, 409), ("out", 409, 200, 204),
    ("good", 200, 200, 204), ("folder/new", 404, 201, 404), ("dangling", 404, 200, 204), ("dangling/x", 409, 409, 409), ("pipe", 409, 409, 204),
    ("loop", 404, 200, 204), ("none/x", 404, 201, 404), ("-rf", 404, 201, 404), ("$(id)", 404, 201, 404)])
def test_no_link_leads_out_and_no_entry_blocks(shared, files, path, get, put_status, delete):
    sh(shared, LINKS)
    where = files + path.replace("$", "%24")
    reply = shared.client.get(where)
    assert (reply.status, shared.client.request("DELETE", where).status) == (get, delete), reply.body
    sh(shared, "rm -rf /workspace/*")
    sh(shared, LINKS)
    assert put(shared.client, where, b"new").status == put_status
    assert sh(shared, "cd /workspace; cat in/file; ls -A /workspace | grep -c millrace-put || true") == "inside\n0\n"


def test_bad_paths_are_named(shared, files):
    for path in ("..%2Fx", "a/../../x", "a%00b", "x/", "%2Fetc%2Fpasswd", "a//b", "%2Fworkspace%2F..%2Fx", "x" * 300):
        reply = put(shared.client, files + path, b"x")
        assert reply.status == 422 and reply.json()["errors"][0]["location"] == "path.path", (path, reply.body)


def test_a_full_disk_keeps_the_old_file(shared):
    made = cli(shared, "machines", "create", "--name", "small", "--storage-gib", "1", "--wait")
    machine = made.stdout.split()[0]
    if machine_of(shared, "small")["status"].get("disk") != "image":
        pytest.skip("only an image bounds the disk of a machine at every moment")
    where = f"/v1/machines/{machine}/files/x"
    assert put(shared.client, where, b"old").status == 201
    sh(shared, "cd /workspace; i=0; while fallocate -l 64M fill$i 2>/dev/null; do i=$((i+1)); done; rm fill0", machine=machine)
    full = put(shared.client, where, LARGE)
    assert full.status == 409 and full.json()["error_code"] == "QUOTA_EXCEEDED" and "storage_gib" in full.json()["message"], full.body
    assert shared.client.get(where).body == b"old"
    assert sh(shared, "ls -A /workspace | grep -c millrace-put || true", machine=machine) == "0\n"
    assert cli(shared, "machines", "rm", "small", "--yes").returncode == 0


def test_a_machine_that_sleeps_is_woken(shared, files):
    assert cli(shared, "machines", "sleep", "local", "--wait").returncode == 0
    assert put(shared.client, files + "x", b"x").status == 201
    reaches(shared, "local", "running")


def test_many_copies_at_once_leave_one_whole_file(shared, files):
    contents, statuses = [bytes([65 + i]) * 300_000 for i in range(8)], []
    threads = [threading.Thread(target=lambda c=c: statuses.append(put(shared.client, files + "x", c).status)) for c in contents]
    [each.start() for each in threads]
    [each.join() for each in threads]
    assert set(statuses) <= {200, 201} and len(statuses) == 8
    assert shared.client.get(files + "x").body in contents
    assert sh(shared, "ls -A /workspace") == "x\n"


def copy_over_a_kill(api, name):
    """Kills the only worker while it copies, and starts another one. True: the copy was not over before the kill."""
    worker = Worker(api.data, name=f"first-{name}", kinds="exec").start()
    eventually(lambda: api.client.get("/v1/machines").json()["items"], what="the machine local")
    where, replies = f"/v1/machines/{local(api.client)}/files/{name}", []
    thread = threading.Thread(target=lambda: replies.append(put(api.client, where, LARGE)))
    thread.start()
    running = "/v1/jobs?kind=exec&status=running"
    eventually(lambda: api.client.get(running).json()["items"] or not thread.is_alive(), what="the copy runs")
    worker.kill()
    cut = thread.is_alive()
    worker = Worker(api.data, name=f"second-{name}", kinds="exec").start()
    try:
        thread.join(120)
        assert replies[0].status in (200, 201), replies[0].body
        assert api.client.get(where).body == LARGE
        assert sh(api, "ls -A /workspace").split() == [name]
        assert api.client.request("DELETE", where).status == 204
    finally:
        worker.close()
    return cut


def test_a_copy_survives_the_worker_that_began_it():
    with reachable_folder() as folder:
        api = Gateway(folder / "data", role="api").start()
        try:
            worker = Worker(api.data, name="probe", kinds="exec").start()
            skip_without_commands(worker)
            worker.close()
            assert any(copy_over_a_kill(api, f"x{number}") for number in range(5)), "each copy was over before the kill"
        finally:
            api.close()


def test_files_are_copied_by_command_line(shared, files, tmp_path):
    (tmp_path / "in.txt").write_text("hello")
    (tmp_path / "b").write_bytes(b"\0")
    copied = cli(shared, "exec", "cp", tmp_path / "in.txt", "local:data/x.txt", "--json")
    assert copied.returncode == 0 and json.loads(copied.stdout)["path"] == "data/x.txt", copied.stderr
    assert cli(shared, "exec", "cp", tmp_path / "in.txt", tmp_path / "b", "local:").returncode == 0
    assert cli(shared, "exec", "cp", tmp_path / "b", f"{local(shared.client)}:/workspace/data/").returncode == 0
    assert cli(shared, "exec", "cp", "-", "local:stdin", input="typed").returncode == 0
    assert sh(shared, "cd /workspace; find . -type f | sort; cat stdin") == "./b\n./data/b\n./data/x.txt\n./in.txt\n./stdin\ntyped"
    assert cli(shared, "exec", "cp", "local:data/x.txt", "-").stdout == "hello"
    assert cli(shared, "exec", "cp", "local:data/x.txt", "local:b", tmp_path / "out").returncode == 0
    assert (tmp_path / "out" / "x.txt").read_text() == "hello" and (tmp_path / "out" / "b").read_bytes() == b"\0"
    assert cli(shared, "exec", "cp", "local:data/x.txt", tmp_path / "mine").returncode == 0
    assert (tmp_path / "mine").read_text() == "hello"


def test_a_file_that_replaces_a_link_has_the_mode_of_a_new_file(shared, files):
    sh(shared, "ln -s /etc/passwd /workspace/link; ln -s nowhere /workspace/broken; touch /workspace/own; chmod 750 /workspace/own")
    for name in ("link", "broken", "own"):
        assert put(shared.client, files + name, b"x").status in (200, 201)
    assert sh(shared, "cd /workspace; stat -c '%F %a' link broken own") == "regular file 644\nregular file 644\nregular file 750\n"


def test_wrong_copies_say_why_and_leave_nothing(shared, files, tmp_path):
    (tmp_path / "a").write_text("a")
    for arguments, code, said in [
        (("local:none", tmp_path / "x"), 11, "does not exist"), (("nowhere:a", tmp_path / "x"), 11, "there is no machine"),
        ((tmp_path / "a", "nowhere:a"), 11, "there is no machine"), ((tmp_path, "local:a"), 1, "is a folder"),
        ((tmp_path / "none", "local:a"), 1, "cannot read"), ((tmp_path / "a", tmp_path / "b"), 2, "MACHINE:PATH"),
        (("local:a", "local:b"), 2, "between this computer and a machine"), ((tmp_path / "a", tmp_path / "a", "local:x"), 2, "local:x/"),
        (("-", "local:"), 2, "needs a name"), (("local:../x", tmp_path / "x"), 13, "`..`"), (("local:", tmp_path / "x"), 2, "local")]:
        done = cli(shared, "exec", "cp", *arguments)
        assert done.returncode == code and said in done.stderr, (arguments, done)
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    assert sh(shared, "ls -A /workspace") == ""
