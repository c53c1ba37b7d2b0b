"""The Debian package in a separate container: installed, started, used, removed, purged. Run by scripts/test-compose, which
provides the engine and the base image."""

import os
import subprocess
import time
import uuid

import pytest
from documents import tiny_pdf
from millrace import BUILD, ROOT, eventually

pytestmark = pytest.mark.skipif("MILLRACE_COMPOSE" not in os.environ, reason="run by scripts/test-compose")

IMAGE = "millrace-test-package"
DATA = "/var/lib/millrace"
READY = f"{DATA}/ready"


def run(*command, stdin=None, within_s=120):
    ran = subprocess.run([str(part) for part in command], cwd=ROOT, input=stdin, capture_output=True, timeout=within_s, check=False)
    assert ran.returncode == 0, f"{command}: {ran.stdout.decode()}{ran.stderr.decode()}"
    return ran.stdout.decode()


def make_image(name, base, packages):
    """Builds an image; the engine keeps it for the next run, as long as the list of packages is the same."""
    recipe = (
        f"FROM {base}\nRUN mkdir -p /usr/share/man/man1 && apt-get update -qq && DEBIAN_FRONTEND=noninteractive "
        f"apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 {' '.join(packages)} >/dev/null\n"
    )
    run("env", "DOCKER_BUILDKIT=0", "docker", "build", "--network", "host", "-t", name, "-", stdin=recipe.encode(), within_s=600)


def depends_of(package):
    return [one.split("|")[0].split("(")[0].strip() for one in run("dpkg-deb", "-f", package, "Depends").split(",")]


class Debian:
    """A container without a network, so only local packages can be installed."""

    def __init__(self, name, image, package, *command, rights=()):
        self.name = name
        self.begun = time.monotonic()
        self.leave()
        run("docker", "run", "-d", "--name", name, "--network", "none", *rights, image, *command)
        run("docker", "cp", package, f"{name}:/opt/millrace.deb")

    def leave(self):
        subprocess.run(["docker", "rm", "-f", self.name], capture_output=True, check=False)

    def report(self, text):
        print(f"[{time.monotonic() - self.begun:5.1f} s] {self.name}: {text}", flush=True)

    def inside(self, *command, user="root", stdin=None):
        keep = ["-i"] if stdin is not None else []
        return run("docker", "exec", *keep, "-u", user, self.name, *command, stdin=stdin)

    def has(self, path):
        return subprocess.run(["docker", "exec", self.name, "test", "-e", path], check=False).returncode == 0

    def state_of_systemd(self):
        query = ["docker", "exec", self.name, "systemctl", "is-system-running"]
        return subprocess.run(query, capture_output=True, text=True, timeout=60, check=False).stdout.strip()

    def reads_a_document(self):
        marker = uuid.uuid4().hex
        self.inside("sh", "-c", "cat > /tmp/one.pdf", stdin=tiny_pdf(f"read as {marker}"))
        return marker in self.inside("millrace", "ocr", "/tmp/one.pdf")  # root can read the key

    def apt(self, *arguments):
        return self.inside("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-qq", "-o", "Dpkg::Use-Pty=0", *arguments)


@pytest.fixture(scope="module")
def package():
    made = run("scripts/package", "--from", BUILD).strip()
    make_image(IMAGE, "millrace-test-base", depends_of(made))
    return made


@pytest.fixture(scope="module")
def installed(package):
    debian = Debian("millrace-test-package", IMAGE, package, "sleep", "infinity")
    debian.inside("dpkg", "-i", "/opt/millrace.deb")
    debian.report("installed")
    yield debian
    debian.leave()


@pytest.fixture(scope="module")
def booted(package):
    """The same with systemd as its first process. Docker's masks over /proc are removed, because a host has none."""
    make_image(f"{IMAGE}-systemd", IMAGE, ["systemd", "systemd-sysv"])
    covers = "acpi asound bus fs irq kcore keys latency_stats scsi sys sysrq-trigger timer_list timer_stats sched_debug"
    start = (
        f"for c in /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,rw $c; done; for c in {covers}; do umount /proc/$c; done; exec /sbin/init"
    )
    rights = ["--cap-add", "SYS_ADMIN", "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"]
    rights += ["--cgroupns", "private", "--tmpfs", "/run", "--tmpfs", "/run/lock", "-e", "container=docker"]
    debian = Debian("millrace-test-service", f"{IMAGE}-systemd", package, "sh", "-c", start, rights=rights)
    try:
        eventually(lambda: debian.state_of_systemd() in ("running", "degraded"), 60, "systemd runs")
    except AssertionError:
        state = debian.state_of_systemd()
        debian.leave()
        print(f"SKIPPED test_package: systemd does not run in a container here ({state or 'it exits at once'})")
        pytest.skip("systemd does not run in a container here")
    yield debian
    debian.leave()


def test_the_package_brings_program_service_pages_and_completions(installed):
    assert installed.inside("millrace", "--version").startswith("millrace ")
    for path in (
        "/lib/systemd/system/millrace.service",
        "/etc/millrace/millrace.yaml",
        "/usr/share/man/man1/millrace.1.gz",
        "/usr/share/man/man1/millrace-ocr.1.gz",
        "/usr/share/bash-completion/completions/millrace",
        "/usr/share/zsh/vendor-completions/_millrace",
        "/usr/share/fish/vendor_completions.d/millrace.fish",
    ):
        assert installed.has(path), path
    assert installed.inside("stat", "-c", "%U %a", DATA).split() == ["millrace", "711"]
    assert not installed.inside("sh", "-c", "ldd /usr/lib/millrace/millrace /usr/lib/millrace/millrace-engine | grep 'not found' || true")
    assert "mistake" not in installed.inside("millrace", "config", "check", user="millrace")


def test_the_package_brings_the_speech_engine_whose_libraries_are_found(installed):
    fetched = ROOT / "build/speech/version"
    if not fetched.exists():
        pytest.skip("there is no speech engine (scripts/fetch-speech)")
    assert installed.inside("cat", "/usr/lib/millrace/speech/version", user="millrace") == fetched.read_text()
    for library in ("libsherpa-onnx-c-api.so", "libonnxruntime.so"):
        links = installed.inside("ldd", f"/usr/lib/millrace/speech/lib/{library}")
        assert "libstdc++" in links and "not found" not in links, links


def test_the_installed_program_reads_a_document_as_its_user(installed):
    installed.inside("sh", "-c", f"nohup millrace serve --data {DATA} --ready-file {READY} >/tmp/log 2>&1 &", user="millrace")
    try:
        eventually(lambda: installed.has(READY), 60, "ready")
    except AssertionError as late:
        raise AssertionError(f"{late}: {installed.inside('cat', '/tmp/log')}") from None
    assert installed.reads_a_document()
    installed.report("a document was read")


def test_a_stop_drains(installed):
    pid = installed.inside("sed", "-n", r's/.*"pid": \([0-9]*\).*/\1/p', READY).strip()
    installed.inside("sh", "-c", f"kill -TERM {pid}")
    eventually(lambda: "stopped" in installed.inside("tail", "-n", "3", "/tmp/log"), 60, "stopped")


def test_a_removal_keeps_data_and_configuration_and_a_purge_deletes_them(installed):
    installed.apt("remove", "millrace")
    assert not installed.has("/usr/bin/millrace")
    assert installed.has(f"{DATA}/millrace.db") and installed.has("/etc/millrace/millrace.yaml")
    installed.inside("dpkg", "-i", "/opt/millrace.deb")
    assert installed.has(f"{DATA}/admin.key"), "an installation keeps existing data"
    installed.apt("purge", "millrace")
    assert not installed.has(DATA) and not installed.has("/etc/millrace")
    installed.report("removed, installed again, purged")


def ready(debian):
    eventually(lambda: debian.has("/run/millrace/ready"), 60, "the service is ready")
    return debian.inside("systemctl", "show", "-p", "MainPID", "--value", "millrace").strip()


def test_the_service_reads_documents_and_runs_commands_in_jails(booted):
    booted.inside("dpkg", "-i", "/opt/millrace.deb")
    pid = ready(booted)
    status = booted.inside("cat", f"/proc/{pid}/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2" and int(fields["CapBnd"], 16) == 0, fields
    assert booted.reads_a_document()
    assert booted.inside("millrace", "exec", "run", "--", "hostname") == "machine\n"
    checked = booted.inside("runuser", "-u", "millrace", "--", "millrace", "doctor", "--data", DATA)
    assert "ok    sandbox   documents and recordings are read in a sandbox" in checked, checked
    booted.report("the service reads documents and runs commands")


def test_the_service_reloads_restarts_with_an_upgrade_and_ends_in_order(booted):
    pid = ready(booted)
    booted.inside("systemctl", "reload", "millrace")
    booted.inside("dpkg", "-i", "/opt/millrace.deb")
    assert ready(booted) != pid
    booted.inside("systemctl", "stop", "millrace")
    assert booted.inside("systemctl", "show", "-p", "Result", "--value", "millrace").strip() == "success"
    log = booted.inside("journalctl", "-u", "millrace", "--no-pager")
    assert "models_reloaded" in log and log.count('"stopped"') == 2, log[-2000:]


def test_a_disabled_service_stays_disabled_after_an_upgrade(booted):
    booted.inside("systemctl", "disable", "millrace")
    booted.inside("dpkg", "-i", "/opt/millrace.deb")
    ran = subprocess.run(["docker", "exec", booted.name, "systemctl", "is-active", "millrace"], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "inactive"
