"""Debian's nginx with deploy/cluster/nginx.conf in front of two `api`."""

import os
import shutil
import socket
import subprocess

import pytest
from documents import data_uri, tiny_pdf
from millrace import ROOT, Client, Gateway, Worker, eventually


def substituted(text, pairs):
    """The text with each key, which must be there once, replaced by its value."""
    for old, new in pairs.items():
        assert text.count(old) == 1, old
        text = text.replace(old, str(new))
    return text


class Proxy:
    """nginx with the configuration of the cluster. Debian's version cannot resolve names of an upstream again and again."""

    def __init__(self, folder, apis):
        self.folder = folder
        own = {f"server api{n}:8080 resolve": f"server 127.0.0.1:{api.client.address.port}" for n, api in enumerate(apis, 1)}
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        own |= {
            "resolver 127.0.0.11 valid=5s ipv6=off;": "",
            "listen 8080;": f"listen {self.url.removeprefix('http://')};",
            "/run/nginx.pid": folder / "nginx.pid",
        }
        text = substituted((ROOT / "deploy" / "cluster" / "nginx.conf").read_text().replace(" /tmp/", f" {folder}/"), own)
        user = "user root;\n" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(user + text)
        program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        assert program, "no nginx: scripts/setup test"
        command = [program, "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf", "-g", "daemon off;"]
        with open(folder / "nginx.out", "wb") as out:
            environment = {**os.environ, "NGINX": f"{listener.fileno()};"}
            self.popen = subprocess.Popen(command, env=environment, pass_fds=[listener.fileno()], stdout=out, stderr=out)
        listener.close()
        eventually(lambda: (folder / "nginx.pid").exists() or self.popen.poll() is not None, what="nginx")
        assert self.popen.poll() is None, (folder / "nginx.out").read_text()

    def close(self):
        self.popen.terminate()
        self.popen.wait(30)


@pytest.fixture
def apis(tmp_path):
    data, flags = tmp_path / "data", ("--http.trusted-proxies", "127.0.0.1", "--mock", "true")
    both = [Gateway(data, *flags, role="api").start() for _ in range(2)]
    yield both
    for api in both:
        print(api.tail(10))
        api.close()


@pytest.fixture
def proxy(apis, tmp_path):
    folder = tmp_path / "nginx"
    folder.mkdir()
    instance = Proxy(folder, apis)
    yield instance
    instance.close()


def test_both_nodes_answer_and_one_is_enough(apis, proxy):
    client = Client(proxy.url, apis[0].client.key)
    worker = Worker(apis[0].data).start()
    try:
        jobs = [client.submit_ocr(data_uri(tiny_pdf(f"before {number}"))).json()["id"] for number in range(8)]
        apis[1].kill()
        jobs += [client.submit_ocr(data_uri(tiny_pdf(f"after {number}"))).json()["id"] for number in range(8)]
        assert {client.wait_terminal(job)["status"] for job in jobs} == {"succeeded"}
    finally:
        worker.close()


def test_the_gateway_gets_the_name_that_the_client_used(apis, proxy):
    client = Client(proxy.url, apis[0].client.key)
    reply = client.get("/v1/models", headers={"X-Forwarded-For": "203.0.113.9", "Host": "elsewhere.example"})
    assert reply.status == 421
    assert client.get("/readyz").status == 200
