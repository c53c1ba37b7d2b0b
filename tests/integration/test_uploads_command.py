"""`millrace files put` of large files, which go in parts."""

import hashlib
import os
import signal
import socket
import subprocess
import threading

import pytest
from commands import MILLRACE, cli, environment, on_terminal
from millrace import Gateway

MIB = 1 << 20


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("uploads") / "data").start()
    yield gateway
    gateway.close()


def used(client):
    return client.get("/v1/usage").json()["stored_bytes"]


class Cutter:
    """A proxy on the way to a gateway. The connections with these numbers are cut after so many bytes of the client, or stall if
    `stalls` is set."""

    def __init__(self, gateway, cut, after, stalls=False):
        self._stalls, self.reached, self._closed = stalls, threading.Event(), threading.Event()
        self._target = int(gateway.url.rsplit(":", 1)[1])
        self._cut, self._after = cut, after
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        number = 0
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            limit = self._after if number in self._cut else None
            number += 1
            threading.Thread(target=self._connect, args=(client, server, limit), daemon=True).start()

    def _connect(self, client, server, limit):
        back = threading.Thread(target=self._pump, args=(server, client, None), daemon=True)
        back.start()
        self._pump(client, server, limit)
        back.join()
        client.close()  # what it still sends is refused
        server.close()

    def _pump(self, source, target, limit):
        passed = 0
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
                passed += len(piece)
                if limit is not None and passed > limit:
                    self.cuts += 1
                    self.reached.set()
                    if self._stalls:
                        self._closed.wait(60)
                    break
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self._closed.set()
        self._listener.close()


def large_file(folder, size):
    path = folder / "large.bin"
    piece = os.urandom(MIB)
    with open(path, "wb") as file:
        for number in range(size // MIB):
            file.write(number.to_bytes(8, "big") + piece[8:])
        file.write(piece[: size % MIB])
    return path


def test_the_command_puts_a_large_file_in_parts(shared, tmp_path):
    path = large_file(tmp_path, 70 * MIB + 5)
    done = cli(shared, "files", "put", path, "--purpose", "batch", "--expire-hours", "2")
    assert done.returncode == 0, done.stderr
    file = shared.client.get(f"/v1/files/{done.stdout.strip()}").json()
    assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest() and file["filename"] == "large.bin"
    assert file["purpose"] == "batch" and file["expires_at"] - file["created_at"] == 7200
    with open(path, "rb") as content:
        piped = cli(shared, "files", "put", "-", "--json", stdin=content)
    assert piped.returncode == 0 and file["sha256"] in piped.stdout and '"stdin"' in piped.stdout, piped.stderr


def test_the_command_shows_its_progress_on_a_terminal(shared, tmp_path):
    with on_terminal(shared, "files", "put", large_file(tmp_path, 70 * MIB)) as terminal:
        for done in ("0B", "16MiB", "32MiB", "48MiB", "64MiB"):
            terminal.until(f"Uploading large.bin: {done} of 70MiB")
        terminal.until("Joining the parts of large.bin")
        terminal.until("file-")
        assert terminal.end()[1] == 0


def test_the_command_repeats_only_the_part_that_broke_off(shared, tmp_path):
    path = large_file(tmp_path, 70 * MIB)
    cutter = Cutter(shared, cut={0, 1}, after=20 * MIB)
    try:
        before = shared.client.get("/v1/files").json()["total"]
        done = cli(shared, "files", "put", path, "--url", cutter.url, env={"MILLRACE_API_KEY": shared.client.key})
        assert done.returncode == 0 and "Trying again" in done.stderr, done.stderr
        file = shared.client.get(f"/v1/files/{done.stdout.strip()}").json()
        assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert cutter.cuts >= 1 and shared.client.get("/v1/files").json()["total"] == before + 1
    finally:
        cutter.close()


def test_ctrl_c_cancels_the_upload_of_the_command(shared, tmp_path):
    path, before = large_file(tmp_path, 70 * MIB), used(shared.client)
    cutter = Cutter(shared, cut={0, 1}, after=20 * MIB, stalls=True)
    command = [MILLRACE, "files", "put", path, "--url", cutter.url]
    try:
        running = subprocess.Popen(command, env=environment(shared, MILLRACE_API_KEY=shared.client.key), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert cutter.reached.wait(60) and used(shared.client) == before + 16 * MIB
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        assert running.returncode == 130, errors
        assert used(shared.client) == before
    finally:
        cutter.close()


def test_the_command_cancels_an_upload_that_fails(shared, tmp_path):
    key = shared.client.post("/v1/admin/keys", {"name": "small", "scopes": ["files:write"], "limits": {"stored_bytes": 40 * MIB}}).json()["key"]
    path, before = large_file(tmp_path, 70 * MIB), used(shared.client)
    failed = cli(shared, "files", "put", path, env={"MILLRACE_API_KEY": key})
    assert failed.returncode != 0 and "stored_bytes" in failed.stderr, failed.stderr
    assert used(shared.client) == before
    large = tmp_path / "too-large"
    with open(large, "wb") as file:
        file.truncate(513 * MIB)
    refused = cli(shared, "files", "put", large)
    assert refused.returncode != 0 and "536870912" in refused.stderr, refused.stderr
