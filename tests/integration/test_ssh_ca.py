"""The SSH certificate authorities for operators: `millrace ssh-ca show`, `sign-host` and `krl` on a data directory."""

import json
import subprocess

import pytest
from millrace import BUILD, Gateway

MILLRACE = BUILD / "millrace"


def ssh_ca(data, *arguments, given=None):
    return subprocess.run(
        [MILLRACE, "ssh-ca", *arguments, "--data", data], input=given, capture_output=True, timeout=120, check=False
    )


def output(data, *arguments, given=None):
    done = ssh_ca(data, *arguments, given=given)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def ssh_keygen(*arguments):
    return subprocess.run(["ssh-keygen", *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("authority") / "data", role="api").start()
    gateway.close()
    return gateway.data


@pytest.fixture
def host_key(tmp_path):
    assert ssh_keygen("-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "host")).returncode == 0
    return tmp_path / "host.pub"


def test_both_keys_are_shown_with_what_to_do_with_them(data):
    shown = output(data, "show")
    keys = [line for line in shown.splitlines() if "ssh-ed25519 AAAA" in line]
    assert len(keys) == 2 and len({key.split("ssh-ed25519 ")[1].split()[0] for key in keys}) == 2
    assert "TrustedUserCAKeys" in shown and "known_hosts" in shown
    assert keys[1].startswith("@cert-authority * ")
    assert keys[0] == (data / "ca" / "user_ca.pub").read_text().strip()


def test_the_machines_that_a_remote_host_lets_in_are_shown_with_their_ids(data, tmp_path):
    assert "principals" not in output(data, "show")
    file = tmp_path / "machines.yaml"
    machine = "dm-0192f0a1-7c1e-7000-8000-000000000001"
    file.write_text(f"machines:\n- {{id: {machine}, name: far, driver: ssh, ssh: {{host: far.example, user: deploy}}}}\n")
    shown = output(data, "show", "--config", file)
    assert f"on far.example: echo {machine} >> /etc/ssh/millrace/principals/deploy\n" in shown
    assert "AuthorizedPrincipalsFile" in shown


def test_a_host_key_is_signed_for_its_names(data, host_key, tmp_path):
    line = output(data, "sign-host", host_key, "--names", "box.example,10.0.0.7", "--days", "30")
    assert line.startswith("ssh-ed25519-cert-v01@openssh.com ") and line.count("\n") == 1
    certificate = tmp_path / "host-cert.pub"
    certificate.write_text(line)
    read = ssh_keygen("-L", "-f", str(certificate)).stdout
    assert "host certificate" in read and "box.example\n                10.0.0.7" in read
    fingerprint = ssh_keygen("-l", "-f", str(data / "ca" / "host_ca.pub")).stdout.split()[1]
    assert f"Signing CA: ED25519 {fingerprint}" in read
    assert output(data, "sign-host", "-", "--names", "box.example", given=host_key.read_bytes()).startswith("ssh-ed25519-")


def test_each_host_key_that_is_signed_is_in_the_audit_log(data, host_key):
    output(data, "sign-host", host_key, "--names", "box.example,10.0.0.8", "--days", "30")
    fingerprint = ssh_keygen("-l", "-f", str(host_key)).stdout.split()[1]
    log = subprocess.run(
        [MILLRACE, "audit", "export", "--data", data], capture_output=True, timeout=60, check=True, text=True
    )
    row = [json.loads(line) for line in log.stdout.splitlines()][-1]
    assert (row["act"], row["actor"], row["target"]) == ("ssh.sign_host", "cli", fingerprint)
    assert row["data"]["names"] == ["box.example", "10.0.0.8"] and row["data"]["expires_at"]
    verified = subprocess.run([MILLRACE, "audit", "verify", "--data", data], timeout=60, check=False)
    assert verified.returncode == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--names", "a,,b"], b"--names"),
        (["--names", "a b"], b"--names"),
        (["--names", "a", "--days", "0"], b"--days"),
        (["--names", "a", "--days", "4000"], b"--days"),
    ],
)
def test_names_and_days_have_bounds(data, host_key, options, expected):
    done = ssh_ca(data, "sign-host", host_key, *options)
    assert done.returncode == 2 and expected in done.stderr and done.stdout == b""


def test_a_file_that_is_no_public_key_is_named_and_not_shown(data, host_key):
    private = host_key.with_suffix("")
    for file, expected in ((private, b"is a private key"), (host_key.with_name("none.pub"), b"cannot be read")):
        done = ssh_ca(data, "sign-host", file, "--names", "a")
        assert done.returncode == 2 and expected in done.stderr and str(file).encode() in done.stderr
    assert private.read_text().splitlines()[1].encode() not in done.stderr


def test_the_revocation_list_is_one_for_openssh(data, tmp_path):
    file = tmp_path / "revoked.krl"
    output(data, "krl", "-o", file)
    assert ssh_keygen("-Q", "-l", "-f", str(file)).stdout.startswith("# KRL version")
    assert file.stat().st_mode & 0o777 == 0o644
    piped = ssh_ca(data, "krl", "-o", "-")
    assert piped.returncode == 0 and piped.stdout.startswith(b"SSHKRL\n\0")


def test_what_is_no_file_is_not_replaced_by_the_list(data, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("folder", "link"):
        done = ssh_ca(data, "krl", "-o", tmp_path / name)
        assert done.returncode == 1 and b"not a regular file" in done.stderr
    assert (tmp_path / "link").is_symlink() and not (tmp_path / "elsewhere").exists()


def test_a_directory_without_a_store_gets_no_authority(tmp_path):
    done = ssh_ca(tmp_path / "empty", "show")
    assert done.returncode == 2 and not (tmp_path / "empty").exists()
