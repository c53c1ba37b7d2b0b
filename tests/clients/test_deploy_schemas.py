"""Published validators read the compose files and the manifests of deploy/kubernetes."""

import json
import os
import re
import shutil
import subprocess

import pytest
from millrace import ROOT
from venv_programs import run_with

KUBERNETES = ROOT / "deploy" / "kubernetes"
VALIDATOR = ["kubernetes-validate==1.37.0"]
VERSIONS = ["1.28", "1.33", "1.37"]
MANIFESTS = """
import json, sys
import kubernetes_validate, yaml
versions, files = sys.argv[1].split(","), sys.argv[2:]
for file in files:
    for resource in yaml.safe_load_all(open(file)):
        for version in versions:
            kubernetes_validate.validate(resource, version, strict=True)
        print(json.dumps(resource))
"""
COMPOSE = """
import sys
from compose_spec import PyCompose
parsed = PyCompose.from_yaml(open(sys.argv[1]).read())
parsed.validate()
print(*sorted(parsed.service_names()))
"""
PASSWORDS = ("MILLRACE_POSTGRES_PASSWORD", "MILLRACE_REPLICATION_PASSWORD", "MILLRACE_S3_SECRET_KEY")


def read_manifests(files):
    """The resources by kind and name, without the hash that kustomize adds to a name. Fails unless they are valid."""
    lines = run_with(VALIDATOR, MANIFESTS, ",".join(VERSIONS), *map(str, files)).splitlines()
    resources = [json.loads(line) for line in lines]
    return {(each["kind"], re.sub(r"-[a-z0-9]{10}$", "", each["metadata"]["name"])): each for each in resources}


@pytest.fixture(scope="module")
def manifests():
    named = re.findall(r"^  - (\S+\.yaml)$", (KUBERNETES / "kustomization.yaml").read_text(), re.M)
    others = {path.name for path in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml", "millrace.yaml"}
    assert set(named) == others, "each manifest is in the kustomization"
    return read_manifests([KUBERNETES / name for name in named])


def pod_of(resource):
    return resource["spec"]["template"]["spec"]


def pods(manifests):
    return {key: pod_of(each) for key, each in manifests.items() if key[0] in ("Deployment", "Job")}


def test_the_manifests_are_valid_for_old_and_new_versions_of_kubernetes(manifests):
    kinds = {"Namespace", "Job", "Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler", "NetworkPolicy"}
    assert {kind for kind, _ in manifests} == kinds


def test_each_pod_fits_the_restricted_profile_of_its_namespace(manifests):
    assert manifests["Namespace", "millrace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert len(pods(manifests)) == 3
    for pod in pods(manifests).values():
        assert pod["securityContext"]["runAsUser"] == 10001 and pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"] + pod.get("initContainers", []):
            context = container["securityContext"]
            assert context["capabilities"] == {"drop": ["ALL"]} and context["readOnlyRootFilesystem"]
            assert context["allowPrivilegeEscalation"] is False
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys() and "memory" in container["resources"]["limits"]


def test_the_probes_and_ports_are_those_of_the_program(manifests):
    (api,) = pod_of(manifests["Deployment", "api"])["containers"]
    (worker,) = pod_of(manifests["Deployment", "worker"])["containers"]
    assert api["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert api["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "http"}
    assert worker["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "metrics"}
    settings = settings_of_config()
    assert settings["MILLRACE_METRICS_LISTEN"] == "0.0.0.0:9464"
    assert [port["containerPort"] for port in worker["ports"]] == [9464]


def settings_of_config():
    lines = (KUBERNETES / "config.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_each_variable_is_a_documented_setting():
    known = set(re.findall(r"`(MILLRACE_[A-Z0-9_]+)`", (ROOT / "docs" / "configuration.md").read_text()))
    assert settings_of_config().keys() <= known
    services = (ROOT / "docker-compose.cluster.yml").read_text()
    own = {"MILLRACE_POSTGRES_PASSWORD", "MILLRACE_REPLICATION_PASSWORD"}  # of deploy/cluster/postgres
    assert set(re.findall(r"^ +(MILLRACE_[A-Z0-9_]+):", services, re.M)) - own <= known


def test_a_secret_is_a_file_that_the_operator_writes():
    assert "secret.env" in (KUBERNETES / ".gitignore").read_text().splitlines()
    assert re.fullmatch(r"([A-Z0-9_]+=\n)+", (KUBERNETES / "secret.env.example").read_text()), "without values"


@pytest.mark.skipif(not shutil.which("kubectl"), reason="no kubectl on this machine")
def test_what_kustomize_makes_of_them_is_valid(tmp_path):
    folder = tmp_path / "kubernetes"
    shutil.copytree(KUBERNETES, folder)
    assert subprocess.run(["kubectl", "kustomize", folder], capture_output=True, check=False).returncode != 0, "without secret.env"
    shutil.copy(folder / "secret.env.example", folder / "secret.env")
    made = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=True).stdout
    (tmp_path / "all.yaml").write_text(made)
    resources = read_manifests([tmp_path / "all.yaml"])
    assert {each["metadata"].get("namespace") for key, each in resources.items() if key[0] != "Namespace"} == {"millrace"}
    for pod in pods(resources).values():
        names = {source[kind]["name"] for source in pod["containers"][0]["envFrom"] for kind in source}
        assert len(names) == 2 and all(re.fullmatch(r"millrace-environment-[a-z0-9]{10}", name) for name in names), names


def resolved(file, **environment):
    """The compose file as docker-compose resolves it."""
    command = ["docker-compose", "-f", ROOT / file, "--project-directory", ROOT, "config"]
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=60)


@pytest.mark.parametrize(("file", "services"), [("docker-compose.yml", 11), ("docker-compose.cluster.yml", 10)])
def test_the_compose_files_are_valid_for_docker_compose_and_the_compose_specification(file, services, tmp_path):
    made = resolved(file, **dict.fromkeys(PASSWORDS, "secret"))
    assert made.returncode == 0, made.stderr
    (tmp_path / "compose.yml").write_text(made.stdout)
    assert len(run_with(["compose-spec==0.2.1"], COMPOSE, str(tmp_path / "compose.yml")).split()) == services


@pytest.mark.parametrize("missing", PASSWORDS)
def test_the_cluster_does_not_start_without_a_password_of_its_own(missing):
    made = resolved("docker-compose.cluster.yml", **{name: "secret" for name in PASSWORDS if name != missing})
    assert made.returncode != 0 and "scripts/cluster-env" in made.stderr


def test_the_script_for_passwords_writes_each_of_them_anew():
    first, second = (subprocess.run([ROOT / "scripts" / "cluster-env"], capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert tuple(re.findall(r"^(\w+)=[0-9a-f]{48}$", first, re.M)) == PASSWORDS
    assert not set(first.splitlines()) & set(second.splitlines())
