"""Controls the services of docker-compose.yml. Prints what it does to standard output."""

import json
import os
import shlex
import subprocess
import time

from millrace import ROOT, Client, eventually


class Stack:
    """One docker-compose project; `settings` are environment variables of the compose file."""

    def __init__(self, project, **settings):
        self.project = project
        self.env = {**os.environ, "MILLRACE_PORT": "0", "MILLRACE_TLS_PORT": "0", **settings}
        self.begun = time.monotonic()

    def report(self, text):
        print(f"[{time.monotonic() - self.begun:5.1f} s] {text}", flush=True)

    def compose(self, *arguments, within_s=180):
        """Prints and runs a docker-compose command; returns its standard output."""
        command = [*shlex.split(os.environ["MILLRACE_COMPOSE"]), "-p", self.project, *arguments]
        self.report("$ " + shlex.join(command))
        ran = subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=within_s, check=False)
        assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def docker(self, *arguments):
        ran = subprocess.run(["docker", *arguments], env=self.env, capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == 0, f"docker {arguments}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    def containers(self, service):
        """Ids of the service's containers, including stopped ones."""
        labels = [f"com.docker.compose.project={self.project}", f"com.docker.compose.service={service}"]
        return self.docker("ps", "-aq", "--no-trunc", *[part for label in labels for part in ("--filter", f"label={label}")]).split()

    def inspect(self, container):
        return json.loads(self.docker("inspect", container))[0]

    def health(self, service):
        return [self.inspect(container)["State"].get("Health", {}).get("Status") for container in self.containers(service)]

    def wait_healthy(self, *services, within_s=120):
        for service in services:
            try:
                eventually(lambda service=service: set(self.health(service)) == {"healthy"}, within_s, f"{service} is healthy")
            except AssertionError as late:
                raise AssertionError(f"{late}\n{self.logs(service)[-3000:]}") from None
        self.report("healthy: " + ", ".join(services))

    def log_of(self, container):
        """Both streams."""
        command = ["docker", "logs", container]
        return subprocess.run(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout

    def logs(self, service):
        return "".join(self.log_of(container) for container in self.containers(service))

    def inside(self, container, *arguments):
        return self.docker("exec", container, *arguments)

    def crash(self, container):
        """Kills the program with kill -9, which stops its container."""
        pid = json.loads(self.inside(container, "cat", "/run/millrace/ready"))["pid"]
        self.inside(container, "sh", "-c", f"kill -9 {pid}")
        self.report(f"kill -9 of {self.inspect(container)['Name'].lstrip('/')}")

    def url(self, service):
        (container,) = self.containers(service)
        (port,) = self.inspect(container)["NetworkSettings"]["Ports"]["8080/tcp"]
        assert port["HostIp"] == "127.0.0.1", port
        return f"http://127.0.0.1:{port['HostPort']}"

    def first_keys(self, service):
        """The keys in its log. They are printed once, at the first start."""
        return [line.rsplit(" ", 1)[1] for line in self.logs(service).splitlines() if "first key, shown once" in line]

    def client(self, service):
        (key,) = eventually(lambda: self.first_keys(service), 30, "the first key is in the log")
        return Client(self.url(service), key)

    def down(self):
        self.compose("--profile", "embedded", "down", "-v", "--remove-orphans", "-t", "40")
