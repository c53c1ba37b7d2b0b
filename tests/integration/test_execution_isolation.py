"""What a sandboxed command cannot do, on a real gateway with real bubblewrap."""

import pytest
from millrace import TERMINAL, eventually
from sandboxed import ended, execution_path, reachable_folder, run, start, started


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


HOSTILE = [
    ("reads the host's passwords", "cat /etc/shadow"),
    ("looks into /root", "ls /root"),
    ("connects to loopback", "exec 3<>/dev/tcp/127.0.0.1/{port}"),
    ("connects to loopback of version 6", "exec 3<>/dev/tcp/::1/{port}"),
    ("connects to the metadata address", "exec 3<>/dev/tcp/169.254.169.254/80"),
    ("writes to /proc/sys", "echo x > /proc/sys/kernel/core_pattern"),
    ("mounts", "mount -t tmpfs none /mnt"),
    ("mounts in a namespace of its own", "unshare --user --map-root-user --mount mount -t tmpfs none /mnt"),
    ("makes a device", "mknod /workspace/sda b 8 0"),
    ("writes to /usr", "touch /usr/file"),
    ("traces the first process of its jail", "python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, 1, 0, 0) != 0)'"),
    ("ends the gateway", "kill -9 {gateway}"),
    ("limits the first process of its jail", "prlimit --pid 1 --cpu=0"),
]


@pytest.mark.parametrize("what, script", HOSTILE, ids=[what for what, _ in HOSTILE])
def test_a_sandboxed_command_cannot_do_harm(shared, what, script):
    script = script.replace("{port}", str(shared.client.address.port)).replace("{gateway}", str(shared.popen.pid))
    execution, output = run(shared.client, ["bash", "-c", script])
    assert execution["status"] == "failed" and execution["exit_code"] != 0, (execution, output)


def test_neighbours_on_a_machine_do_not_see_each_other(shared):
    neighbour = started(shared.client, ["sh", "-c", "echo begun; exec sleep 1000"])
    eventually(lambda: shared.client.get(execution_path(neighbour) + "/output").json().get("stdout") == "begun\n")
    _, output = run(shared.client, ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"])
    assert "sleep 1000" not in output["stdout"]
    shared.client.request("DELETE", execution_path(neighbour))
    assert ended(shared.client, neighbour)["status"] == "cancelled"


def test_only_the_command_that_exhausts_memory_is_killed(shared):
    hog = "x = []\nwhile True: x.append(bytearray(1 << 26))"
    execution, output = run(shared.client, ["python3", "-c", hog], timeout_ms=60_000)
    assert execution["status"] == "failed", (execution, output)
    assert run(shared.client, ["true"])[0]["status"] == "succeeded"


def test_ten_gigabytes_of_output_are_counted_and_not_kept(shared):
    size = 10 << 30
    execution = started(shared.client, ["head", "-c", str(size), "/dev/zero"], timeout_ms=280_000)
    over = ended(shared.client, execution, within_s=300)
    assert over["status"] == "succeeded" and over["stdout_bytes"] == size and over["stdout_truncated"] is True
    with open(f"/proc/{shared.popen.pid}/status", encoding="ascii") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert peak < 1 << 20, f"{peak} KiB"


def test_killing_everything_kills_the_command_only(shared):
    execution, _ = run(shared.client, ["bash", "-c", "kill -9 -1; sleep 100"], timeout_ms=20_000)
    assert execution["status"] in ("failed", "expired")
    assert shared.client.get("/health").status == 200


def test_a_fork_bomb_ends_with_its_execution(shared):
    execution, _ = run(shared.client, ["bash", "-c", "f(){ f|f& }; f; sleep 2"], timeout_ms=3_000)
    assert execution["status"] in TERMINAL
    assert run(shared.client, ["true"])[0]["status"] == "succeeded"
