"""A store refuses the pepper or the secret.key of another store, instead of refusing every key later."""

import base64
import secrets
import subprocess

import pytest
from commands import MILLRACE
from millrace import Gateway

OTHERS = {"pepper": secrets.token_hex(32), "secret.key": base64.b64encode(secrets.token_bytes(32)).decode()}


@pytest.fixture
def data(tmp_path):
    """A data directory that was used once."""
    gateway = Gateway(tmp_path / "data").start()
    assert gateway.client.get("/v1/jobs").status == 200
    assert gateway.terminate() == 0
    return gateway.data


def program(*arguments):
    return subprocess.run([str(MILLRACE), *map(str, arguments)], capture_output=True, text=True, timeout=60)


def refused_start(data):
    done = program("serve", "--data", data, "--listen", "127.0.0.1:0")
    assert done.returncode == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("change", ["another", "missing"])
def test_a_start_without_the_stores_own_secret_is_refused(data, name, change):
    own = (data / name).read_text()
    (data / name).unlink()
    if change == "another":
        (data / name).write_text(OTHERS[name] + "\n")
    for _ in range(2):
        text = refused_start(data)
        assert f"{data}/{name} is" in text and "accept-secrets" in text, text
    (data / name).write_text(own)
    gateway = Gateway(data).start()
    try:
        assert gateway.client.get("/v1/jobs").status == 200
    finally:
        gateway.close()


def test_a_lost_pepper_can_be_replaced_on_purpose(data):
    (data / "pepper").write_text(OTHERS["pepper"] + "\n")
    assert program("keys", "create", "--data", data, "--name", "new").returncode == 1
    accepted = program("keys", "accept-secrets", "--data", data)
    assert accepted.returncode == 0, accepted.stderr
    made = program("keys", "create", "--data", data, "--name", "new")
    assert made.returncode == 0, made.stderr
    gateway = Gateway(data).start()
    try:
        assert gateway.client.get("/v1/jobs").status == 401, "keys of the lost pepper are void"
        gateway.client.key = made.stdout.strip()
        assert gateway.client.get("/v1/jobs").status == 200
    finally:
        gateway.close()


def test_a_store_without_checks_refuses_a_pepper_that_its_admin_key_was_not_made_with(data):
    import sqlite3

    with sqlite3.connect(data / "millrace.db") as store:
        store.execute("DELETE FROM secret_checks")
    store.close()
    (data / "pepper").write_text(OTHERS["pepper"] + "\n")
    assert f"{data}/pepper is not the file" in refused_start(data)
