"""Rows 14 to 17: commands on the sandboxed machine `local`, and SSH sessions on it. The clock in a jail is that of
the host, so a command that prints the time reports when it started."""

import http.client
import json
import os
import pathlib
import socket
import statistics
import subprocess
import threading
import time
import uuid

import machine
from bench_run import picked
from report import Result

CLOCK = ["/usr/bin/date", "+%s%N"]
OUTPUT_BYTES = 500_000_000
TICKS = 40
BY_HAND_UID = 219_999


def _gateway(bench):
    """A gateway with an awake machine `local`; the machine's uid must be able to reach its folders."""
    gateway = bench.gateway()
    for folder in [bench.folder, *bench.folder.parents]:
        assert os.geteuid() != 0 or folder.stat().st_mode & 0o001, f"{folder} is closed to the machine's uid"
    local = next(m["machine_id"] for m in gateway.client.get("/v1/machines").json()["items"] if m["name"] == "local")
    _run(gateway.client, local, ["true"])
    return gateway, local


def _create(client, local, command):
    reply = client.post(f"/v1/machines/{local}/executions", {"command": command}, headers={"Idempotency-Key": str(uuid.uuid4())})
    assert reply.status == 200, reply.body
    return reply.json()["execution_id"]


def _run(client, local, command):
    execution = _create(client, local, command)
    assert client.job(execution, wait_s=60)["status"] == "succeeded", execution
    return execution


def _output(client, local, execution):
    return client.get(f"/v1/machines/{local}/executions/{execution}/output").json()


def _gateway_start_ms(client, local):
    began = time.time_ns()
    execution = _run(client, local, CLOCK)
    return (int(_output(client, local, execution)["stdout"]) - began) / 1e6


def _by_hand():
    """The argv of the measurement without a gateway: another uid, limits, namespaces."""
    user = ["setpriv", f"--reuid={BY_HAND_UID}", f"--regid={BY_HAND_UID}", "--clear-groups", "--no-new-privs", "--"] if os.geteuid() == 0 else []
    limits = ["prlimit", "--core=0", "--nofile=1024", "--data=1073741824", "--"]
    jail = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--uid", "65534", "--gid", "65534"]
    view = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]
    rest = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--clearenv", "--", *CLOCK]
    return [*user, *limits, *jail, *view, *rest]


def _hand_start_ms():
    began = time.time_ns()
    done = subprocess.run(_by_hand(), capture_output=True, check=True)
    return (int(done.stdout) - began) / 1e6


def _events(client, local, execution):
    """Yields each event as JSON when it arrives, until the execution has ended."""
    connection = http.client.HTTPConnection(client.address.hostname, client.address.port, timeout=60)
    headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {client.key}"}
    connection.request("GET", f"/v1/machines/{local}/executions/{execution}/events", headers=headers)
    for line in connection.getresponse():
        if line.startswith(b"data:"):
            yield json.loads(line[5:])
    connection.close()


def _line_to_client_ms(client, local):
    """Each line of output is the time at which the command wrote it."""
    execution = _create(client, local, ["bash", "-c", f"for ((i = 0; i < {TICKS}; ++i)); do echo $EPOCHREALTIME; sleep 0.05; done"])
    took = []
    for event in _events(client, local, execution):
        now = time.time()
        if event["type"] == "stdout":
            took += [(now - float(line)) * 1e3 for line in event["chunk"].split()]
    assert len(took) == TICKS, (execution, took)
    return statistics.median(took)


def command_start(bench):
    gateway, local = _gateway(bench)
    times = 20 if bench.quick else 60

    def median_of(one):
        return statistics.median(one() for _ in range(times))

    samples = bench.side_by_side(
        ours=lambda: median_of(lambda: _gateway_start_ms(gateway.client, local)),
        hand=lambda: median_of(_hand_start_ms),
        line=lambda: _line_to_client_ms(gateway.client, local),
    )
    above = [ours - hand for ours, hand in zip(samples["ours"], samples["hand"])]
    return [
        Result(14, "create → process started, p50", "ms", samples["ours"], most=15),
        Result(14, "the same above a jail started by hand, p50", "ms", above, most=3, note=f"by hand: {statistics.median(samples['hand']):.1f} ms"),
        Result(14, "a line that a running command writes → its event at an SSE client, p50", "ms", samples["line"], most=20),
    ]


def _many(client, local, commands):
    left = list(range(commands))
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                if not left:
                    return
                left.pop()
            _run(client, local, ["true"])

    began = time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return commands / (time.monotonic() - began) / os.cpu_count()


def short_commands(bench):
    gateway, local = _gateway(bench)
    commands = 200 if bench.quick else 600
    samples = bench.side_by_side(commands=lambda: _many(gateway.client, local, commands))["commands"]
    return [Result(15, "short commands (`true`) per second and core, client included", "/s", samples, least=50)]


def _large_output(gateway, local):
    before = machine.memory_mb(gateway.popen.pid)
    execution = _run(gateway.client, local, ["/usr/bin/head", "-c", str(OUTPUT_BYTES), "/dev/zero"])
    events = gateway.client.get(f"/v1/machines/{local}/executions/{execution}").json()
    assert events["stdout_bytes"] == OUTPUT_BYTES and events["stdout_truncated"], events
    seconds = _seconds_between(events["started_at"], events["completed_at"])
    return {"per_second": OUTPUT_BYTES / 1e6 / seconds, "grown_mb": machine.memory_mb(gateway.popen.pid) - before}


def _seconds_between(began, ended):
    import datetime

    read = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (read(ended) - read(began)).total_seconds()


def output(bench):
    gateway, local = _gateway(bench)
    samples = bench.side_by_side(output=lambda: _large_output(gateway, local))["output"]
    return [
        Result(16, f"{OUTPUT_BYTES // 10**6} MB of output past the cap, started → completed", "MB/s", picked(samples, "per_second"), least=500),
        Result(16, "resident memory that it adds", "MB", picked(samples, "grown_mb"), most=16),
    ]


class _Login:
    """A stock ssh with separate configuration files; with a certificate or a plain key."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.key = self.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        self.public = (self.folder / "key.pub").read_text().strip()

    def take(self, session):
        connection = session["connection"]
        trust = connection["host_trust"]
        (self.folder / "key-cert.pub").write_text(connection["user_certificate"] + "\n")
        (self.folder / "known").write_text(f"@cert-authority {trust['host_pattern']} {trust['public_key']}\n")
        self.arguments = ["-p", str(connection["port"]), f"{connection['ssh_username']}@{connection['endpoint']}"]

    def seconds(self, *options):
        files = ["-i", self.key, "-o", f"UserKnownHostsFile={self.folder / 'known'}", "-o", "GlobalKnownHostsFile=/dev/null"]
        strict = ["-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]
        arguments = ["ssh", "-F", "none", *strict, *files, *options, *self.arguments, "true"]
        began = time.monotonic()
        subprocess.run([str(part) for part in arguments], check=True, stdin=subprocess.DEVNULL)
        return time.monotonic() - began


def _session(client, local, public):
    return client.post(f"/v1/machines/{local}/ssh", {"public_key": public}, headers={"Idempotency-Key": str(uuid.uuid4())})


def _ready(client, local, public):
    session = _session(client, local, public).json()
    while session["status"] == "wake_in_progress":
        session = client.get(f"/v1/machines/{local}/ssh/{session['session_id']}").json()
    assert session["status"] == "ready", json.dumps(session)
    return session


def _issue_ms(connection, client, local, public):
    """Uses a keep-alive connection, as clients do."""
    head = {"Authorization": f"Bearer {client.key}", "Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
    body = json.dumps({"public_key": public})
    began = time.monotonic()
    connection.request("POST", f"/v1/machines/{local}/ssh", body, head)
    reply = connection.getresponse().read()
    took = time.monotonic() - began
    assert json.loads(reply)["status"] == "ready", reply
    return took * 1e3


def _plain_sshd(bench, login):
    """Debian's sshd with default settings and the plain key; like the gateway, it starts one process per connection."""
    folder = bench.fresh_folder("sshd")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "host"], check=True)
    (folder / "authorized").write_text(login.public + "\n")
    options = {"HostKey": folder / "host", "AuthorizedKeysFile": folder / "authorized", "StrictModes": "no", "UsePAM": "no", "PidFile": "none", "PermitRootLogin": "yes"}
    flags = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    return ["/usr/sbin/sshd", "-i", "-e", "-f", "/dev/null", *flags], folder


def _plain_seconds(login, sshd, folder):
    """Logs in through ProxyCommand, which starts one sshd process per connection."""
    known = folder / "known"
    known.write_text("plain " + (folder / "host.pub").read_text())
    arguments = ["ssh", "-F", "none", "-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"]
    arguments += ["-o", f"UserKnownHostsFile={known}"]
    arguments += ["-o", "CertificateFile=none", "-i", login.key, "-o", "HostKeyAlias=plain"]
    arguments += ["-o", "ProxyCommand=" + " ".join(map(str, sshd)) + " 2>/dev/null", "root@plain", "true"]
    began = time.monotonic()
    subprocess.run([str(part) for part in arguments], check=True, stdin=subprocess.DEVNULL)
    return time.monotonic() - began


def sessions(bench):
    gateway, local = _gateway(bench)
    login = _Login(bench.fresh_folder("login"))
    login.take(_ready(gateway.client, local, login.public))
    plain = _Login(bench.fresh_folder("plain"))
    sshd, folder = _plain_sshd(bench, plain)
    kept = http.client.HTTPConnection("127.0.0.1", int(gateway.url.rsplit(":", 1)[1]))
    kept.connect()
    kept.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = 5 if bench.quick else 15
    issued = 100 if bench.quick else 400
    samples = bench.side_by_side(
        issue=lambda: statistics.median(_issue_ms(kept, gateway.client, local, login.public) for _ in range(issued)),
        certificate=lambda: statistics.median(login.seconds() for _ in range(times)) * 1e3,
        plain=lambda: statistics.median(_plain_seconds(plain, sshd, folder) for _ in range(times)) * 1e3,
    )
    return [
        Result(17, "an SSH session issued, p50", "ms", samples["issue"], most=1),
        Result(17, "login by certificate into the machine's jail + `true`, p50", "ms", samples["certificate"], "plain key, sshd without a jail", samples["plain"], most=1.05),
    ]
