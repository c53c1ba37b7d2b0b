"""Two hosts that share a database: machines, limits, secrets and names. Both run on this computer, with other names."""

import shutil
import statistics
import subprocess
import uuid

import openai_replies
import pytest
from batches import chat, end, lines_of, output, start
from commands import cli
from millrace import BUILD, Client, Gateway, Kafka, Worker, admin_key, eventually, time_of
from postgres import Postgres
from s3 import S3
from sandboxed import reachable_folder, run, skip_without_commands
from upstream import Upstream

STARTED_S = 0.3  # far below the time between two looks for jobs


class Hosts:
    """Hosts by name, with a schema of the database and with secrets that all of them have."""

    def __init__(self, folder, store_url, s3, prefix):
        self.folder, self.store_url, self.gateways = folder, store_url, {}
        self.blobs = s3.flags(prefix)

    def flags(self, name, secrets="secrets"):
        own = ["--host.name", name, "--secrets.dir", self.folder / secrets]
        return ["--store.url", self.store_url, *own, *self.blobs]

    def start(self, name, *flags, role="serve", **more):
        gateway = Gateway(self.folder / name, *self.flags(name), *flags, role=role, **more)
        self.gateways[name] = gateway
        super(Gateway, gateway).start()
        gateway.client = Client(gateway.url, admin_key(self.folder / "alpha"))
        return gateway

    def close(self):
        for gateway in self.gateways.values():
            print(gateway.tail())
            gateway.close()


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    postgres, s3 = Postgres(), S3(tmp_path_factory.mktemp("s3"))
    try:
        postgres.start()
        s3.start()
        yield postgres, s3
    finally:
        postgres.close()
        s3.kill()


@pytest.fixture
def hosts(servers):
    postgres, s3 = servers
    schema = f"s{uuid.uuid4().hex}"
    postgres.query(f"CREATE SCHEMA {schema}")
    with reachable_folder() as folder:
        hosts = Hosts(folder, f"{postgres.url}?options=-csearch_path%3D{schema}", s3, schema)
        yield hosts
        hosts.close()


def names(client):
    return {host["name"]: host for host in client.get("/v1/admin/hosts").json()["items"]}


def wait_for_reports(client, expected):
    """Each host has reported since all of them were there, and so knows of the others."""

    def reports():
        return {name: host["processes"][0]["seen_at"] for name, host in names(client).items()}

    eventually(lambda: reports().keys() == expected, what="all hosts report")
    before = reports()
    eventually(lambda: all(now != before[name] for name, now in reports().items()), what="all hosts report again")


def wait_for_machines(client, count):
    def on_all():
        found = names(client)
        return len(found) == count and all("machines" in host["processes"][0]["roles"] for host in found.values()) and found

    return eventually(on_all, what=f"{count} hosts run machines")


def test_a_machine_runs_where_it_was_placed_whichever_host_is_asked(hosts):
    alpha, beta = hosts.start("alpha"), hosts.start("beta")
    skip_without_commands(alpha)
    assert wait_for_machines(alpha.client, 2).keys() == {"alpha", "beta"}
    machine = alpha.client.post("/v1/machines", {"host": "beta"}).json()
    assert machine["host"] == "beta", machine
    execution, output = run(alpha.client, ["sh", "-c", "echo $MILLRACE_MACHINE_ID >kept; cat kept"], machine=machine["machine_id"])
    assert execution["status"] == "succeeded" and output["stdout"].strip() == machine["machine_id"]
    assert (hosts.folder / "beta" / "machines" / machine["machine_id"]).exists()
    assert not (hosts.folder / "alpha" / "machines" / machine["machine_id"]).exists()
    execution, output = run(beta.client, ["cat", "kept"], machine=machine["machine_id"])
    assert output["stdout"].strip() == machine["machine_id"]


@pytest.mark.parametrize("with_kafka", [False, True], ids=["without Kafka", "with Kafka"])
def test_a_command_starts_at_once_on_the_host_of_its_machine(hosts, with_kafka, tmp_path):
    kafka = Kafka(tmp_path / "kafka")
    try:
        flags = ["--kafka", kafka.start()] if with_kafka else []
        alpha, beta = hosts.start("alpha", *flags), hosts.start("beta", *flags)
        skip_without_commands(alpha)
        wait_for_machines(alpha.client, 2)
        clients = {"alpha": alpha.client, "beta": beta.client}
        machines = {name: alpha.client.post("/v1/machines", {"host": name}).json()["machine_id"] for name in clients}
        for name, machine in machines.items():
            run(clients[name], ["true"], machine=machine)  # it is awake
        waits = []
        for number in range(10):
            name = ("alpha", "beta")[number % 2]
            execution, _ = run(alpha.client, ["true"], machine=machines[name])
            waits.append(time_of(execution["started_at"]) - time_of(execution["created_at"]))
        print("from accept to start:", ", ".join(f"{wait:.3f} s" for wait in waits))
        assert statistics.median(waits) < STARTED_S and max(waits) < 1.0
    finally:
        kafka.kill()


def test_the_first_command_after_a_start_does_not_wait_for_a_report(hosts):
    alpha = hosts.start("alpha")
    skip_without_commands(alpha)
    execution, _ = run(alpha.client, ["true"])
    assert time_of(execution["started_at"]) - time_of(execution["created_at"]) < 1.5, execution


def test_an_unknown_host_is_refused_with_the_names_of_the_others(hosts):
    alpha = hosts.start("alpha")
    skip_without_commands(alpha)
    wait_for_machines(alpha.client, 1)
    reply = alpha.client.post("/v1/machines", {"host": "gamma"})
    assert reply.status == 422 and reply.json()["error"]["param"] == "host", reply.body
    assert "alpha" in reply.json()["error"]["message"]


def key_of(client, name, requests_per_minute):
    body = {"name": name, "scopes": ["jobs:read"], "limits": {"requests_per_minute": requests_per_minute}}
    return client.post("/v1/admin/keys", body).json()["key"]


def test_each_of_two_api_processes_grants_half_of_a_limit(hosts):
    alpha, beta = hosts.start("alpha"), hosts.start("beta")
    many, few = key_of(alpha.client, "many", 10_000), key_of(alpha.client, "few", 8)

    def remaining(gateway):
        reply = Client(gateway.url, many).get("/v1/jobs")
        return int(reply.headers.get("x-ratelimit-remaining-requests", 0))

    def counts_for_two(gateway):
        before = remaining(gateway)
        return before - remaining(gateway) == 2

    for gateway in (alpha, beta):
        eventually(lambda gateway=gateway: counts_for_two(gateway), what="the process knows of the other")
        statuses = [Client(gateway.url, few).get("/v1/jobs").status for _ in range(8)]
        assert 4 <= statuses.count(200) <= 5, statuses


def test_each_of_two_processes_that_call_a_model_uses_half_of_its_limit(hosts, tmp_path):
    with Upstream() as upstream:
        upstream.reply_always(openai_replies.completion("Hello"))
        config = tmp_path / "millrace.yaml"
        row = f"provider: openai, base_url: '{upstream.url}', api_key: env:UP_KEY"
        config.write_text(f"models:\n- {{name: bounded, {row}, limits: {{requests_per_minute: 10}}}}\n")
        env = {"UP_KEY": "sk-0123456789"}
        for name in ("alpha", "beta"):
            hosts.start(name, "--config", config, env=env)
        wait_for_reports(hosts.gateways["alpha"].client, {"alpha", "beta"})
        for name in ("alpha", "beta"):
            body = {"model": "bounded", "messages": "hello"}
            statuses = [hosts.gateways[name].client.post("/v1/chat/completions", body).status for _ in range(10)]
            assert statuses == [200] * 5 + [429] * 5
        assert len(upstream.requests) == 10


def test_the_url_of_a_picture_works_on_every_host(hosts):
    alpha, beta = hosts.start("alpha", "--mock"), hosts.start("beta", role="api")
    made = alpha.client.post("/v1/images/generations", {"model": "mock/image", "prompt": "a red square"}).json()
    url = made["data"][0]["url"]
    assert url.startswith(alpha.url)
    replies = [Client(gateway.url, None).get(url.removeprefix(alpha.url)) for gateway in (alpha, beta)]
    assert [reply.status for reply in replies] == [200, 200], replies[1].body
    assert replies[0].body == replies[1].body and replies[0].body.startswith(b"\x89PNG")


def test_a_login_that_one_host_certifies_is_accepted_by_the_machine_of_another(hosts):
    alpha, beta = hosts.start("alpha"), hosts.start("beta")
    skip_without_commands(alpha)
    wait_for_machines(alpha.client, 2)
    machine = alpha.client.post("/v1/machines", {"host": "beta"}).json()["machine_id"]
    offers = cli(beta, "doctor", "--data", beta.data, *hosts.flags("beta")).stdout.splitlines()
    if not any(line.split()[:2] == ["ok", "sshd"] for line in offers):
        pytest.skip("according to `millrace doctor` this host offers no SSH sessions")
    done = cli(alpha, "ssh", machine, "--", "echo", "$MILLRACE_MACHINE_ID")
    assert (done.returncode, done.stdout.strip()) == (0, machine), done.stderr


def test_a_host_with_other_secrets_is_refused(hosts):
    hosts.start("alpha")
    command = [BUILD / "millrace", "serve", "--data", hosts.folder / "beta", "--listen", "127.0.0.1:0"]
    refused = subprocess.run(
        [*command, *hosts.flags("beta", "other-secrets")], capture_output=True, text=True, timeout=60, check=False
    )
    assert refused.returncode != 0 and "other-secrets" in refused.stderr, refused.stderr


def test_the_name_of_a_living_host_or_worker_is_refused(hosts):
    hosts.start("alpha")
    command = [BUILD / "millrace", "worker", "--kinds", "ocr", "--data", hosts.folder / "beta"]
    same_host = subprocess.Popen([*command, *hosts.flags("alpha")], stderr=subprocess.PIPE, text=True)
    shutil.copytree(hosts.folder / "alpha", hosts.folder / "copied", ignore=lambda folder, names: [n for n in names if n == "machines"])
    copied = subprocess.Popen(
        [*command[:-1], hosts.folder / "copied", *hosts.flags("alpha")], stderr=subprocess.PIPE, text=True
    )
    worker = Worker(hosts.folder / "beta", *hosts.flags("beta"), name="one").start()
    try:
        eventually(lambda: hosts.gateways["alpha"].client.get("/v1/admin/workers").json()["items"], what="workers report")
        in_use = subprocess.run(
            [*command[:-1], hosts.folder / "gamma", *hosts.flags("gamma"), "--worker.name", "one"],
            capture_output=True, text=True, timeout=60, check=False,
        )
        assert in_use.returncode != 0 and "worker.name" in in_use.stderr, in_use.stderr
        _, errors = same_host.communicate(timeout=60)
        assert same_host.returncode != 0 and "host.name" in errors, errors
        _, errors = copied.communicate(timeout=60)
        assert copied.returncode != 0 and "host.name" in errors, errors
    finally:
        same_host.kill()
        copied.kill()
        worker.close()


def test_the_maintenance_moves_to_another_host_within_ten_seconds(hosts):
    alpha, beta = hosts.start("alpha"), hosts.start("beta", role="api")
    assert eventually(lambda: names(beta.client).get("alpha", {}).get("maintains"), what="alpha maintains the store")
    alpha.kill()
    eventually(lambda: names(beta.client)["beta"]["maintains"], within_s=10, what="beta maintains the store")


def test_doctor_lists_the_hosts_and_finds_wrong_secrets(hosts):
    hosts.start("alpha")
    hosts.start("beta", role="api")
    command = [BUILD / "millrace", "doctor", "--data", hosts.folder / "alpha"]
    output = subprocess.run([*command, *hosts.flags("alpha")], capture_output=True, text=True, timeout=120, check=False).stdout
    assert "alpha, beta; this one is alpha" in output, output
    wrong = hosts.folder / "wrong"
    shutil.copytree(hosts.folder / "secrets", wrong)
    (wrong / "pepper").write_text("0" * 64 + "\n")
    output = subprocess.run([*command, *hosts.flags("alpha", "wrong")], capture_output=True, text=True, timeout=120, check=False).stdout
    assert "wrong/pepper is not the file that this store has been used with" in output, output


def test_another_host_goes_on_with_the_batch_of_one_that_was_killed(hosts):
    alpha = hosts.start("alpha", "--mock")
    beta = hosts.start("beta", "--mock")
    content = lines_of([chat(f"word {i}") for i in range(2000)])
    batch = start(alpha.client, content)
    eventually(lambda: beta.client.get(f"/v1/batches/{batch['id']}").json()["request_counts"]["completed"] > 0, what="it has begun")
    alpha.kill()
    done = end(beta.client, batch, 120)
    assert done["status"] == "completed" and done["request_counts"] == {"total": 2000, "completed": 2000, "failed": 0}
    replies = output(beta.client, done)
    assert all(replies[f"line-{i}"]["response"]["body"]["choices"][0]["message"]["content"] == f"word {i}" for i in range(2000))
