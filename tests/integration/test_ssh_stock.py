"""The HTTP API and a stock ssh alone: a key and known_hosts of the caller's own, and what sshd says to a session's
certificate while it lasts, after its close and after its end."""

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
def door(shared):
    """Open from here on: the first session waits for the sshd of its machine, the others do not."""
    with reachable_folder() as folder:
        Login(shared.client, folder)


class Login:
    """A session and the files that a stock ssh reads it from."""

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
        words = ["ssh", "-F", "none", "-i", self.folder / "id", "-p", str(self.connection["port"])]
        words += [word for option in options for word in ("-o", option)]
        words += [f"{self.connection['ssh_username']}@{self.connection['endpoint']}", command]
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    def is_let_in(self):
        done = self.ssh("echo in")
        return (done.returncode, done.stdout) == (0, "in\n")

    def is_refused(self):
        """By sshd, and not for the host's key or because nobody listens."""
        done = self.ssh("echo in")
        return done.returncode == 255 and done.stdout == "" and "Permission denied (publickey)" in done.stderr


def test_a_session_that_is_closed_is_refused_where_it_was_let_in(shared, tmp_path):
    login = Login(shared.client, tmp_path)
    assert login.is_let_in()
    closed = shared.client.request("DELETE", login.url)
    assert closed.status == 200 and closed.json()["status"] == "closed", closed.body
    assert login.is_refused()


def test_a_session_past_its_end_is_refused_where_it_was_let_in_and_is_shown_as_expired(shared, tmp_path):
    login = Login(shared.client, tmp_path)
    assert login.is_let_in()
    eventually(lambda: login.status() == "expired", what="the session has expired")
    assert login.is_refused()
    past = shared.client.request("DELETE", login.url)
    assert past.status == 200 and past.json()["status"] == "expired", "there is nothing left to close"
    listed = shared.client.get(f"/v1/machines/{login.session['machine_id']}/ssh").json()["items"]
    assert [item["status"] for item in listed if item["session_id"] == login.session["session_id"]] == ["expired"]
