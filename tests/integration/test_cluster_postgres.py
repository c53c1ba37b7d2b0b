"""deploy/cluster/postgres: two PostgreSQL servers that replace each other, as in docker-compose.cluster.yml."""

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from millrace import BUILD, ROOT, Gateway, eventually

PROGRAMS = "/usr/lib/postgresql/15/bin"
SCRIPT = ROOT / "deploy" / "cluster" / "postgres"
PASSWORD, REPLICATION = "a password", "another: pass'word"


def free_port(addresses):
    while True:
        port = random.randrange(20_000, 30_000)
        try:
            for address in addresses:
                socket.create_server((address, port)).close()
            return port
        except OSError:
            continue


class Node:
    """One of both servers, with a loopback address as its host."""

    def __init__(self, folder, name, address, peer, peer_address, port):
        self.folder = folder / name
        (self.folder / "sockets").mkdir(parents=True)
        self.data = self.folder / "main"
        self.log = folder / f"{name}.log"
        self.address, self.port = address, port
        self.popen = None
        self.env = {
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "LC_ALL": "C",
            "PGDATA": str(self.data),
            "PGPORT": str(port),
            "POSTGRES_NODE": name,
            "POSTGRES_PEER": peer,
            "POSTGRES_PEER_HOST": peer_address,
            "POSTGRES_LISTEN": address,
            "POSTGRES_SOCKETS": str(self.folder / "sockets"),
            "POSTGRES_CREATES": "true" if name == "pg1" else "false",
            "MILLRACE_POSTGRES_PASSWORD": PASSWORD,
            "MILLRACE_REPLICATION_PASSWORD": REPLICATION,
        }
        if os.geteuid() == 0:
            for path in (self.folder, self.folder / "sockets"):
                shutil.chown(path, "postgres", "postgres")

    def _command(self, *arguments):
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        return [*user, SCRIPT, *arguments]

    def run(self):
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen(self._command("run"), env=self.env, stdout=log, stderr=log, cwd="/")

    def do(self, command):
        done = subprocess.run(self._command(command), env=self.env, capture_output=True, text=True, timeout=60, check=False, cwd="/")
        assert done.returncode == 0, done.stderr

    def end(self, number=signal.SIGINT):
        if self.popen and self.popen.poll() is None:
            self.popen.send_signal(number)
            self.popen.wait(60)

    def query(self, sql, within_s=20):
        env = {**self.env, "PGPASSWORD": PASSWORD, "PGCONNECT_TIMEOUT": "3"}
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", self.address, "-U", "millrace", "-d", "millrace", "-c", sql]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=within_s, check=False)

    def is_primary(self):
        return self.query("SELECT pg_is_in_recovery()").stdout.strip() == "f"

    def is_standby(self):
        return self.query("SELECT pg_is_in_recovery()").stdout.strip() == "t"

    def standby(self):
        """`sync` or `async` while a standby follows, as the superuser sees it."""
        command = ["psql", "-XqAt", "-h", self.folder / "sockets", "-U", "postgres", "-c"]
        sql = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'"
        return subprocess.run([*command, sql], env=self.env, capture_output=True, text=True, timeout=20, check=False).stdout.strip()


@pytest.fixture
def nodes():
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.fail("PostgreSQL is missing: run scripts/setup test")
    folder = Path(tempfile.mkdtemp(prefix="millrace-cluster-"))
    folder.chmod(0o755)
    port = free_port(("127.0.0.11", "127.0.0.12"))
    both = (Node(folder, "pg1", "127.0.0.11", "pg2", "127.0.0.12", port), Node(folder, "pg2", "127.0.0.12", "pg1", "127.0.0.11", port))
    yield both
    for node in both:
        node.end()
        print(node.log.read_text()[-3000:] if node.log.exists() else "")
    shutil.rmtree(folder, ignore_errors=True)


def start(one, two):
    two.run()
    one.run()
    eventually(one.is_primary, 60, "the primary")
    eventually(two.is_standby, 60, "the standby")
    eventually(lambda: one.standby() == "sync", 30, "replication")


def millrace_url(one, two):
    password = PASSWORD.replace(" ", "%20")
    hosts = f"{one.address}:{one.port},{two.address}:{two.port}"
    return f"postgresql://millrace:{password}@{hosts}/millrace?target_session_attrs=read-write&connect_timeout=3"


def test_jobs_outlive_the_primary_and_it_comes_back_as_the_standby(nodes, tmp_path):
    one, two = nodes
    start(one, two)
    url = millrace_url(one, two)
    checked = subprocess.run([BUILD / "millrace", "store", "init", "--data", tmp_path / "x", "--store.url", url], capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stderr
    checked = subprocess.run([BUILD / "millrace", "store", "check", "--data", tmp_path / "x", "--store.url", url], capture_output=True, text=True, timeout=60, check=False)
    assert "a synchronous standby" in checked.stdout, checked.stdout + checked.stderr
    gateway = Gateway(tmp_path / "data", "--store.url", url, "--mock", "true").start()
    try:
        body = {"model": "mock/chat", "deferred": True, "messages": [{"role": "user", "content": "before"}]}
        before = gateway.client.post("/v1/chat/completions", body).json()["request_id"]
        one.end(signal.SIGKILL)
        two.do("promote")
        eventually(lambda: gateway.client.post("/v1/chat/completions", body).status == 200, 60, "the gateway accepts again")
        assert gateway.client.wait_terminal(before)["status"] == "succeeded"

        one.run()
        eventually(one.is_standby, 60, "the old primary follows")
        eventually(two.standby, 30, "replication")
        two.do("require-standby")
        eventually(lambda: two.standby() == "sync", 30, "a synchronous standby")
        after = gateway.client.post("/v1/chat/completions", body).json()["request_id"]
        assert gateway.client.wait_terminal(after)["status"] == "succeeded"
        assert one.query("SELECT count(*) FROM jobs").stdout == two.query("SELECT count(*) FROM jobs").stdout
    finally:
        print(gateway.tail())
        gateway.close()
    for node in nodes:
        node.end()
    for node in nodes:
        node.run()
    eventually(two.is_primary, 60, "both keep their roles")
    eventually(one.is_standby, 60, "both keep their roles")


def test_an_old_primary_that_starts_alone_commits_nothing_and_follows_later(nodes):
    one, two = nodes
    start(one, two)
    assert one.query("CREATE TABLE seen (text text)").returncode == 0
    one.end(signal.SIGKILL)
    two.do("promote")
    assert two.query("INSERT INTO seen VALUES ('new')").returncode == 0
    two.end()
    one.run()
    eventually(one.is_primary, 60, "it does not know of the promotion")
    with pytest.raises(subprocess.TimeoutExpired):
        one.query("INSERT INTO seen VALUES ('old')", within_s=2)  # it waits for a standby, so nobody is told of a COMMIT
    two.run()
    eventually(two.is_primary, 60, "the newer primary does not follow an older one")
    one.end()
    one.run()
    eventually(one.is_standby, 60, "it follows")
    eventually(lambda: one.query("SELECT text FROM seen").stdout.split() == ["new"], 30, "the rows of the new primary")
    assert (one.folder / "main.old").is_dir()


def test_without_its_standby_the_primary_goes_on_when_the_operator_says_so(nodes):
    one, two = nodes
    start(one, two)
    two.end()
    one.do("release-standby")
    assert one.query("CREATE TABLE seen (text text)").returncode == 0
    two.run()
    eventually(lambda: one.standby() == "async", 60, "replication")
    one.do("require-standby")
    eventually(lambda: one.standby() == "sync", 30, "a synchronous standby")
