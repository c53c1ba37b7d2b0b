"""Documents that are passed to the command line through standard input, pipes and sockets."""

import os
import signal
import socket
import subprocess
import threading

import pytest
from documents import tiny_pdf
from millrace import BUILD

MILLRACE = BUILD / "millrace"


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "one.pdf"
    path.write_bytes(tiny_pdf("the first document"))
    return path


def read(gateway, stdin):
    env = {**os.environ, "MILLRACE_URL": gateway.url, "MILLRACE_API_KEY": gateway.client.key}
    return subprocess.run([MILLRACE, "ocr", "-"], stdin=stdin, capture_output=True, text=True, env=env, timeout=120, check=False)


def test_a_document_comes_from_standard_input_or_through_a_pipe(gateway, document):
    with document.open("rb") as stdin:
        done = read(gateway, stdin=stdin)
    assert done.returncode == 0 and "the first document" in done.stdout, done.stderr
    piped = subprocess.run(
        ["bash", "-c", f"cat {document} | {MILLRACE} ocr - --url {gateway.url}"],
        capture_output=True, text=True, env={**os.environ, "MILLRACE_API_KEY": gateway.client.key}, timeout=120,
    )  # fmt: skip
    assert piped.returncode == 0 and "the first document" in piped.stdout, piped.stderr
    ours, theirs = socket.socketpair()
    with ours, theirs:
        threading.Thread(target=lambda: (ours.sendall(document.read_bytes()), ours.shutdown(socket.SHUT_WR)), daemon=True).start()
        ran = read(gateway, stdin=theirs)
    assert ran.returncode == 0 and "the first document" in ran.stdout, ran.stderr


def test_an_interrupt_ends_the_read_from_a_pipe_without_a_writer(gateway, tmp_path):
    pipe = tmp_path / "q.pdf"
    os.mkfifo(pipe)
    env = {**os.environ, "MILLRACE_API_KEY": gateway.client.key}
    command = [MILLRACE, "ocr", pipe, "--url", gateway.url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=env, text=True) as waiting:
        writer = os.open(pipe, os.O_WRONLY)  # returns when the command opens the pipe
        waiting.send_signal(signal.SIGTERM)
        assert waiting.wait(20) == 130, waiting.stderr.read()
        os.close(writer)
