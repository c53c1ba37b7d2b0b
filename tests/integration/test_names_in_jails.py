"""Programs find the names of the user and of the host, in an execution and in an SSH login alike."""

import pytest
from commands import cli
from jail_ways import skip_without_ssh
from sandboxed import reachable_folder, run, start

SCRIPTS = {
    "whoami": ("whoami; id -gn", "machine\nmachine\n"),
    "getpass": ("python3 -c 'import getpass, pwd, os; print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir)'", "machine /workspace\n"),
    "expanduser": ("env -u HOME python3 -c 'import os; print(os.path.expanduser(\"~\"))'", "/workspace\n"),
    "localhost": ("python3 -c 'import socket; print(sorted({a[4][0] for a in socket.getaddrinfo(\"localhost\", 1)}))'", "['127.0.0.1', '::1']\n"),
    "host": ("python3 -c 'import socket; print(socket.gethostbyname(socket.gethostname()), socket.getfqdn())'", "127.0.1.1 machine.internal\n"),
    "service": ("getent hosts localhost >/dev/null && echo known", "known\n"),
    "ssh-keygen": ("rm -f /tmp/k; ssh-keygen -q -t ed25519 -N '' -f /tmp/k && cut -d' ' -f3 /tmp/k.pub", "machine@machine\n"),
    "git": (
        "rm -rf /tmp/r; git init -q /tmp/r 2>/dev/null; cd /tmp/r; echo a > a; git add a; git commit -q -m one; git log --format='%an <%ae>'",
        "machine <machine@machine.internal>\n",
    ),
    "unknown user": ("id nosuch 2>&1; ls -ld /usr | cut -d' ' -f3", "id: ‘nosuch’: no such user\nnobody\n"),
}
NEEDS = {"git": "git", "ssh-keygen": "ssh-keygen"}


@pytest.fixture(scope="module")
def gateway():
    with reachable_folder() as folder:
        gateway = start(folder / "data")
        try:
            (folder / "run").mkdir(mode=0o700)
            gateway.runtime = folder / "run"
            yield gateway
        finally:
            gateway.close()


@pytest.fixture(params=["command", "login"])
def output_of(request, gateway):
    skip_without_ssh(gateway, request.param)

    def by_command(script):
        done, output = run(gateway.client, ["sh", "-c", script])
        assert done["status"] == "succeeded", output
        return output["stdout"]

    def by_login(script):
        done = cli(gateway, "ssh", "local", "--", script, env={"XDG_RUNTIME_DIR": str(gateway.runtime)})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return by_command if request.param == "command" else by_login


@pytest.mark.parametrize("what", SCRIPTS)
def test_names_are_found(output_of, what):
    script, expected = SCRIPTS[what]
    tool = NEEDS.get(what)
    if tool and output_of(f"command -v {tool} || true") == "":
        pytest.skip(f"{tool} is not installed")
    assert output_of(f"export LC_ALL=C.UTF-8; {script}") == expected


def test_a_file_has_the_same_owner_on_both_ways(gateway):
    skip_without_ssh(gateway, "login")
    done, output = run(gateway.client, ["sh", "-c", "echo a > /workspace/shared; stat -c '%U %u' /workspace/shared"])
    login = cli(gateway, "ssh", "local", "--", "stat -c '%U %u' /workspace/shared", env={"XDG_RUNTIME_DIR": str(gateway.runtime)})
    assert done["status"] == "succeeded" and output["stdout"] == login.stdout == "machine 1000\n", login.stderr
