"""`millrace backup`: a copy made while the gateway runs is a complete data directory."""

import fcntl
import os
import re
import signal
import subprocess

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Client, Gateway, admin_key, eventually


def backup(data, target):
    command = [BUILD / "millrace", "backup", target, "--data", data]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_gateway_continues_from_a_backup_with_keys_jobs_and_results(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    copied = tmp_path / "copy"
    try:
        done = gateway.client.submit_ocr(data_uri(tiny_pdf("kept for good"))).json()["id"]
        gateway.client.wait_terminal(done)
        ran = backup(gateway.data, copied)
        assert ran.returncode == 0 and ran.stdout == f"{copied}\n", ran.stderr
        assert re.search(r"a database of [\d.]+[KM]iB, \d+ files? of [\d.]+(Ki|Mi)?B\n", ran.stderr), ran.stderr
        later = gateway.client.submit_ocr(data_uri(tiny_pdf("after it"))).json()["id"]
        gateway.client.wait_terminal(later)
    finally:
        gateway.terminate()
    assert admin_key(copied) == admin_key(gateway.data)
    other = Gateway(copied).start()
    try:
        assert "kept for good" in other.client.get(f"/v1/jobs/{done}/result").json()["pages"][0]["markdown"]
        assert other.client.get(f"/v1/jobs/{later}").status == 404
        assert Client(other.url, admin_key(gateway.data)).get("/v1/jobs").status == 200
    finally:
        other.close()


def test_an_existing_folder_is_not_written(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    gateway.terminate()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    ran = backup(gateway.data, tmp_path / "mine")
    assert ran.returncode == 1 and "already exists" in ran.stderr
    assert [entry.name for entry in (tmp_path / "mine").iterdir()] == ["file"]


def test_a_folder_that_is_no_data_directory_is_an_error(tmp_path):
    ran = backup(tmp_path / "nothing", tmp_path / "copy")
    assert ran.returncode == 2 and "is not a data directory" in ran.stderr


def test_a_killed_backup_leaves_a_folder_only_until_the_next_one(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    gateway.terminate()
    padding, copies = gateway.data / "padding", tmp_path / "copies"
    with padding.open("wb") as file:
        file.truncate(1 << 30)
    with subprocess.Popen([BUILD / "millrace", "backup", copies / "one", "--data", gateway.data]) as running:
        (half,) = eventually(lambda: list(copies.glob("one.new-*/padding")), 60, "the copy has begun")
        running.send_signal(signal.SIGSTOP)
        locked = os.open(half.parent, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(locked)
        running.kill()
    padding.unlink()
    assert half.exists()
    assert backup(gateway.data, copies / "two").returncode == 0
    assert [entry.name for entry in copies.iterdir()] == ["two"]
