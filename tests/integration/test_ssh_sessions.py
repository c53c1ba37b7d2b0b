"""SSH sessions over HTTP, on a real gateway: how they are issued, shown and closed. Logins with a stock ssh are
tested in test_ssh_login.py."""

import base64
import subprocess

import pytest
from millrace import BUILD, Client, eventually
from sandboxed import PROBLEM, fresh_key, local, reachable_folder, start

UNKNOWN = "ssh-0192f0a1-7c1e-7000-8000-000000000001"


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        yield gateway
        gateway.close()


def key_line(folder, *options):
    """A new public key, as a line of a file."""
    name = folder / ("key" + "".join(options).replace("-", "_"))
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", name, *options], check=True)
    return name.with_suffix(".pub").read_text().strip()


@pytest.fixture(scope="module")
def ed25519(tmp_path_factory):
    return key_line(tmp_path_factory.mktemp("keys"), "-t", "ed25519")


def sessions(client):
    return f"/v1/machines/{local(client)}/ssh"


def create_session(client, public_key, key=None):
    return client.post(sessions(client), {"public_key": public_key}, headers=key or fresh_key())


def ready(client, public_key):
    reply = create_session(client, public_key)
    assert reply.status == 200, reply.body
    url = f"{sessions(client)}/{reply.json()['session_id']}"
    return url, eventually(lambda: is_ready(client.get(url)), what="the session is ready")


def is_ready(reply):
    session = reply.json()
    assert session["status"] in ("wake_in_progress", "ready"), session
    if session["status"] == "ready":
        return session
    assert reply.headers["retry-after-ms"] == str(session["retry_after_ms"])
    return None


def test_a_ready_session_has_everything_that_a_stock_ssh_needs(shared, ed25519, tmp_path):
    _, session = ready(shared.client, ed25519)
    connection = session["connection"]
    assert connection["endpoint"] and connection["port"] > 0 and connection["ssh_username"] == "machine"
    trust = connection["host_trust"]
    assert trust["kind"] == "cert_authority" and trust["public_key"].startswith("ssh-ed25519 ")
    assert trust["host_pattern"] == f"[{connection['endpoint']}]:{connection['port']}"
    certificate = tmp_path / "key-cert.pub"
    certificate.write_text(connection["user_certificate"] + "\n")
    certificate_text = subprocess.run(["ssh-keygen", "-L", "-f", certificate], capture_output=True, text=True, check=True).stdout
    assert session["session_id"] in certificate_text and session["machine_id"] in certificate_text
    assert "permit-pty" in certificate_text and "permit-port-forwarding" not in certificate_text and "user certificate" in certificate_text


def test_a_repeated_idempotency_key_makes_one_session(shared, ed25519):
    ready(shared.client, ed25519)
    key = fresh_key()
    first, again = create_session(shared.client, ed25519, key), create_session(shared.client, ed25519, key)
    assert first.body == again.body and again.headers["idempotent-replayed"] == "true"
    reused = create_session(shared.client, ed25519 + " other", key)
    assert reused.status == 409 and reused.json()["error_code"] == "IDEMPOTENCY_KEY_REUSED"
    without = shared.client.post(sessions(shared.client), {"public_key": ed25519})
    assert without.status == 400 and b"Idempotency-Key" in without.body
    assert without.headers["content-type"] == PROBLEM


def test_a_closed_session_is_shown_as_closed_and_its_serial_is_on_the_revocation_list(shared, ed25519, tmp_path):
    client = shared.client
    url, session = ready(client, ed25519)
    certificate = tmp_path / "key-cert.pub"
    certificate.write_text(session["connection"]["user_certificate"] + "\n")
    revoked = ["ssh-keygen", "-Q", "-f", str(shared.data / "ca" / "revoked.krl"), str(certificate)]
    closed = client.request("DELETE", url)
    assert closed.status == 200 and closed.json()["status"] == "closed"
    assert subprocess.run(revoked, capture_output=True).returncode == 1
    assert client.get(url).json()["status"] == "closed"
    assert any(item["session_id"] == session["session_id"] for item in client.get(sessions(client)).json()["items"])


def wire(*fields):
    """Encodes the fields of a key as on the wire: a signed number or a text, each after its length."""
    parts = [f.to_bytes(f.bit_length() // 8 + 1, "big") if isinstance(f, int) else f.encode() for f in fields]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def line_of(kind, *numbers):
    return f"{kind} {base64.b64encode(wire(kind, *numbers)).decode()} me@laptop"


def odd_number(bits):
    return (1 << bits) - 1


WEAK = {
    "a DSA key": line_of("ssh-dss", odd_number(1024), odd_number(160), 2, odd_number(1023)),
    "an RSA key of 1024 bits": line_of("ssh-rsa", 65_537, odd_number(1024)),
    "an RSA key of 2048 bits": line_of("ssh-rsa", 65_537, odd_number(2048)),
}


def assert_refused(reply, expected):
    assert reply.status == 422 and reply.headers["content-type"] == PROBLEM, reply.body
    (error,) = reply.json()["errors"]
    assert error["location"] == "body.public_key" and expected in error["message"], error


@pytest.mark.parametrize("what", WEAK)
def test_a_weak_public_key_returns_422(shared, what):
    assert_refused(create_session(shared.client, WEAK[what]), what)


@pytest.mark.parametrize("bits", ["256", "384", "521"])
def test_ecdsa_keys_are_accepted(shared, tmp_path, bits):
    _, session = ready(shared.client, key_line(tmp_path, "-t", "ecdsa", "-b", bits))
    assert session["connection"]["user_certificate"].startswith(f"ecdsa-sha2-nistp{bits}-cert-v01@openssh.com ")


NOT_ONE_KEY = {
    "private": "is a private key",
    "two": "send exactly one key",
    "two in a line": "send exactly one key",
    "options": "options are not supported",
    "64 KiB": "at most 16384 bytes",
    "cut": "is damaged",
    "empty": "is empty",
    "certificate": "is a certificate",
    "unknown type": "has an unsupported type",
    "another type": "has a different type",
    "no base64": "is damaged",
    "NUL": "a control character",
}


@pytest.mark.parametrize("what", NOT_ONE_KEY)
def test_a_line_that_is_not_one_public_key_is_422(shared, ed25519, tmp_path, what):
    key_line(tmp_path, "-t", "ed25519")
    private = (tmp_path / "key_ted25519").read_text()
    _, session = ready(shared.client, ed25519)
    line = {
        "private": private,
        "two": f"{ed25519}\n{ed25519}",
        "two in a line": f"{ed25519} {ed25519}",
        "options": f'command="id" {ed25519}',
        "64 KiB": "ssh-rsa " + "A" * 65_536,
        "cut": " ".join(ed25519.split()[:2])[:-8],
        "empty": " ",
        "certificate": session["connection"]["user_certificate"],
        "unknown type": line_of("ssh-ed448"),
        "another type": ed25519.replace("ssh-ed25519 ", "ssh-rsa "),
        "no base64": "ssh-ed25519 !!!!",
        "NUL": ed25519 + "\0",
    }[what]
    reply = create_session(shared.client, line)
    assert_refused(reply, NOT_ONE_KEY[what])
    secret = private.splitlines()[1]
    assert "PRIVATE" not in reply.body.decode() and secret not in reply.body.decode()
    assert secret not in shared.log.read_text()


def test_what_does_not_exist_or_belongs_to_another_tenant_is_404(shared, ed25519):
    client = shared.client
    url, _ = ready(client, ed25519)
    command = [BUILD / "millrace", "keys", "create", "--name", "other", "--tenant", "other", "--data", shared.data]
    other = Client(shared.url, subprocess.check_output(command, text=True).strip())
    for reply in [
        other.get(url),
        other.request("DELETE", url),
        other.get(sessions(client)),
        other.post(sessions(client), {"public_key": ed25519}, headers=fresh_key()),
        client.get(f"{sessions(client)}/{UNKNOWN}"),
        client.get(f"{sessions(client)}/ssh-x"),
        client.post("/v1/machines/dm-x/ssh", {"public_key": ed25519}, headers=fresh_key()),
    ]:
        assert reply.status == 404 and reply.headers["content-type"] == PROBLEM, reply.body
    assert client.get(url).json()["status"] == "ready"


def test_a_machine_with_the_hosts_network_has_no_sessions_and_is_the_only_one_of_its_name(ed25519):
    machine = "dm-0192f0a1-7c1e-7000-8000-00000000000f"
    with reachable_folder() as folder:
        file = folder / "millrace.yaml"
        file.write_text(f"machines:\n- id: {machine}\n  name: local\n  network: true\n")
        gateway = start(folder / "data", "--config", file)
        try:
            assert [item["machine_id"] for item in gateway.client.get("/v1/machines").json()["items"]] == [machine]
            url = f"{sessions(gateway.client)}/{create_session(gateway.client, ed25519).json()['session_id']}"
            eventually(lambda: gateway.client.get(url).json()["status"] == "failed", what="the session has failed")
            session = gateway.client.get(url).json()
            assert session["error_code"] == "machine_not_routable" and "host's network" in session["error_message"]
        finally:
            gateway.close()


def test_a_start_writes_the_revocation_list_that_a_crash_left_unwritten(shared):
    written = shared.data / "ca" / "revoked.krl"
    written.unlink(missing_ok=True)
    shared.kill()
    shared.restart()
    assert written.read_bytes().startswith(b"SSHKRL")
