"""The HTTP API and a stock ssh, with the caller's key and known_hosts: whether sshd accepts the certificate of a session
while it is open, after it is closed and after it has expired."""

import subprocess

import pytest
from millrace import eventually
from sandboxed import fresh_key, local, reachable_folder, start

LIFETIME = "10s"


@pytest.fixture(scope="module")
def shared():
    with reachable_folder() as folder:
        gateway = start(folder / "data", "--ssh.session-lifetime", LIFETIME)
        if "ssh_sessions_disabled" in gateway.log.read_text():
            gateway.close()
            pytest.skip("this host offers no SSH sessions: " + gateway.tail())
        yield gateway
        gateway.close()


@pytest.fixture(scope="module", autouse=True)
def listener(shared):
    """Opens the first session, which waits for the sshd of its machine; later sessions do not."""
    with reachable_folder() as folder:
        Login(shared.client, folder)


class Login:
    """A session and the files with which a stock ssh uses it."""

    def __init__(self, client, folder):
        self.client, self.folder = client, folder
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "id"], check=True)
        sessions = f"/v1/machines/{local(client)}/ssh"
        reply = client.post(sessions, {"public_key": (folder / "id.pub").read_text()}, headers=fresh_key())
        assert reply.status == 200, reply.body
        self.url = f"{sessions}/{reply.json()['session_id']}"
        eventually(lambda: self.status() != "wake_in_progress", what="the session is ready")
        self.session = client.get(self.url).json()
        connection = self.connection = self.session["connection"]
        trust = connection["host_trust"]
        (folder / "id-cert.pub").write_text(connection["user_certificate"] + "\n")
        (folder / "known_hosts").write_text(f"@cert-authority {trust['host_pattern']} {trust['public_key']}\n")

    def status(self):
        return self.client.get(self.url).json()["status"]

    def ssh(self, command):
        options = [
            "BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=yes", "GlobalKnownHostsFile=/dev/null",
            f"UserKnownHostsFile={self.folder}/known_hosts", f"CertificateFile={self.folder}/id-cert.pub",
        ]
        arguments = ["ssh", "-F", "none", "-i", self.folder / "id", "-p", str(self.connection["port"])]
        arguments += [part for option in options for part in ("-o", option)]
        arguments += [f"{self.connection['ssh_username']}@{self.connection['endpoint']}", command]
        return subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    def is_accepted(self):
        done = self.ssh("echo in")
        return (done.returncode, done.stdout) == (0, "in\n")

    def is_refused(self):
        """Whether sshd refuses the certificate, and not because of the host key or a closed port."""
        done = self.ssh("echo in")
        return done.returncode == 255 and done.stdout == "" and "Permission denied (publickey)" in done.stderr


def test_a_closed_session_is_refused_where_it_was_accepted(shared, tmp_path):
    login = Login(shared.client, tmp_path)
    assert login.is_accepted()
    closed = shared.client.request("DELETE", login.url)
    assert closed.status == 200 and closed.json()["status"] == "closed", closed.body
    assert login.is_refused()


def test_an_expired_session_is_refused_where_it_was_accepted_and_is_shown_as_expired(shared, tmp_path):
    login = Login(shared.client, tmp_path)
    assert login.is_accepted()
    eventually(lambda: login.status() == "expired", what="the session has expired")
    assert login.is_refused()
    past = shared.client.request("DELETE", login.url)
    assert past.status == 200 and past.json()["status"] == "expired", "an expired session needs no close"
    listed = shared.client.get(f"/v1/machines/{login.session['machine_id']}/ssh").json()["items"]
    assert [item["status"] for item in listed if item["session_id"] == login.session["session_id"]] == ["expired"]
