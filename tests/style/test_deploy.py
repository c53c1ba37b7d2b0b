"""The files in deploy/ refer only to things that exist."""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
METRIC = re.compile(r"\bmillrace_[a-z_]+")


def documented_metrics():
    return set(re.findall(r"^\| `(millrace_[a-z_]+)`", (ROOT / "docs" / "metrics.md").read_text(), re.M))


def expressions_of(value):
    """Every `expr` in a Grafana dashboard or in alert rules."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "expr":
                yield inner
            else:
                yield from expressions_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions_of(inner)


def of_dashboard():
    return list(expressions_of(json.loads((DEPLOY / "grafana" / "dashboards" / "millrace.json").read_text())))


def of_alerts():
    return re.findall(r"^ +expr: (.*)$", (DEPLOY / "alerts.yml").read_text(), re.M)


@pytest.mark.parametrize("expressions", [of_dashboard, of_alerts])
def test_every_metric_that_is_watched_is_documented(expressions):
    known = documented_metrics()
    watched = {name for expression in expressions() for name in METRIC.findall(expression)}
    assert len(known) > 20 and len(watched) >= 5
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in watched} <= known


def test_no_two_panels_of_the_dashboard_overlap():
    panels = json.loads((DEPLOY / "grafana" / "dashboards" / "millrace.json").read_text())["panels"]
    places = [panel["gridPos"] for panel in panels]
    cells = [(x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]
    assert len(cells) == len(set(cells)) and all(at["x"] + at["w"] <= 24 for at in places)


FORBIDDEN = ("bpf", "ptrace", "keyctl", "add_key", "init_module", "finit_module", "kexec_load", "io_uring_setup", "open_by_handle_at",
             "process_vm_writev", "perf_event_open", "setns", "userfaultfd", "fsopen", "move_mount", "reboot", "clock_settime")


def test_the_profile_of_exec_allows_a_jail_and_no_dangerous_system_call():
    profile = json.loads((DEPLOY / "seccomp-exec.json").read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = [name for rule in profile["syscalls"] for name in rule["names"]]
    assert {"clone", "unshare", "mount", "umount2", "pivot_root"} <= set(allowed)
    assert not set(FORBIDDEN) & set(allowed)
    assert all(rule["action"] == "SCMP_ACT_ALLOW" for rule in profile["syscalls"])


def service(name, file="docker-compose.yml"):
    text = (ROOT / file).read_text()
    return re.search(rf"^  {name}:\n((?:    .*\n|\n)+)", text, re.M).group(1)


def test_only_what_runs_commands_has_namespaces():
    with_jails = {name for name in ("api", "worker-ocr", "worker-chat", "worker-stt", "worker-exec", "embedded") if "*jails" in service(name)}
    assert with_jails == {"worker-exec", "embedded"}


def test_the_gateway_knows_the_names_by_which_other_containers_address_it():
    targets = re.findall(r'targets: \["([a-z-]+):8080"\]', (DEPLOY / "prometheus.yml").read_text())
    assert targets == ["api"]
    for name in (*targets, "embedded"):
        assert f"MILLRACE_HTTP_HOSTS: ${{MILLRACE_HTTP_HOSTS:-{name}}}" in service(name)


def test_the_proxy_for_tls_has_no_rights_and_the_gateway_trusts_only_its_address():
    tls, nginx = service("tls"), (DEPLOY / "nginx.conf").read_text()
    for line in ('user: "101:101"', "read_only: true", "cap_drop: [ALL]", 'network_mode: "service:api"'):
        assert line in tls
    assert re.search(r"MILLRACE_HTTP_TRUSTED_PROXIES: 127\.0\.0\.1\b", service("api"))
    assert "server 127.0.0.1:8080;" in nginx and "listen 8443 ssl" in nginx and ":8443\"" in service("api")


ROW = re.compile(r"^(?:# )?models:\n(?:# )?- name: (\S+)\n(?:# )?  provider: openai\n(?:# )?  base_url: http://whisper:(\d+)/v1$", re.M)


def test_the_whisper_server_has_no_rights_no_published_port_and_a_pinned_image():
    whisper = service("whisper")
    for line in ("profiles: [whisper]", "read_only: true", "cap_drop: [ALL]", 'security_opt: ["no-new-privileges:true"]', 'user: "1000:1000"'):
        assert line in whisper
    assert "ports:" not in whisper and "networks: [millrace]" in whisper
    assert re.search(r"image: \$\{MILLRACE_WHISPER_IMAGE:-\S+:\d+\.\d+\.\d+-cpu\}", whisper)


@pytest.mark.parametrize("file", ["deploy/millrace.yaml", "docs/compose.md"])
def test_the_documented_row_addresses_the_whisper_server_and_the_model_that_is_downloaded(file):
    ((name, port),) = ROW.findall((ROOT / file).read_text())
    assert f"http://127.0.0.1:{port}/health" in service("whisper")
    (downloaded,) = re.findall(rf"curl --fail -X POST http://127\.0\.0\.1:{port}/v1/models/(\S+)", (ROOT / "docs/compose.md").read_text())
    assert name.split("/", 1)[1] == downloaded and "whisper" in name  # the name selects the transcription of recordings


CLUSTER = "docker-compose.cluster.yml"


def test_the_images_of_the_cluster_have_exact_versions():
    images = re.findall(r"image: \$\{(\w+):-(\S+)\}", (ROOT / CLUSTER).read_text())
    own = dict(images).pop("MILLRACE_IMAGE")
    assert own == "millrace:latest" and len(images) == 5
    assert all(re.search(r":(s3proxy-)?\d+\.\d+(\.\d+)?$", image) for name, image in images if name != "MILLRACE_IMAGE"), images


def test_the_cluster_has_the_same_broker_as_one_host():
    def settings(file):
        return set(re.findall(r"^ +((?:CLUSTER|KAFKA)_\w+: .+)$", service("kafka", file), re.M))

    assert settings(CLUSTER) == settings("docker-compose.yml") and settings(CLUSTER)


def test_no_secret_of_the_cluster_has_a_value_in_the_file():
    secrets = re.findall(r"^ +(\w*(?:PASSWORD|SECRET_KEY|CREDENTIAL)): (.*)$", (ROOT / CLUSTER).read_text(), re.M)
    assert len(secrets) >= 6
    for name, value in secrets:
        is_named_elsewhere = value in ("env:S3_SECRET_KEY", "unused")  # `unused`: the files of S3Proxy need none
        assert is_named_elsewhere or re.fullmatch(r"\$\{MILLRACE_\w+:\?run scripts/cluster-env >> \.env\}", value), (name, value)
    for ignored in (".gitignore", ".dockerignore"):
        assert ".env" in (ROOT / ignored).read_text().splitlines()


def test_only_the_container_for_commands_has_namespaces_in_the_cluster():
    text = (ROOT / CLUSTER).read_text()
    assert text.count("seccomp=deploy/seccomp-exec.json") == 1 and "seccomp=deploy/seccomp-exec.json" in service("worker-exec", CLUSTER)
    assert "worker --kinds exec" in service("worker-exec", CLUSTER) and "exec" not in re.search(r"command: (.*)", service("worker", CLUSTER)).group(1)


def test_only_the_proxy_of_the_cluster_has_a_port_on_the_host():
    text = (ROOT / CLUSTER).read_text()
    assert text.count("ports:") == 1 and '"127.0.0.1:${MILLRACE_PORT:-8080}:8080"' in service("proxy", CLUSTER)
    nginx = (DEPLOY / "cluster" / "nginx.conf").read_text()
    for api in ("api1", "api2"):
        assert f"server {api}:8080 resolve" in nginx and f"hostname: {api}" in service(api, CLUSTER)
