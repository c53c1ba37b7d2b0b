"""Debian's nginx in front of two `api`, with deploy/cluster/nginx.conf and with the server of docs/cluster.md."""

import os
import re
import shutil
import socket
import ssl
import subprocess
import urllib.request

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
    """nginx with a configuration, which `configure(address)` makes for the address of its listener."""

    def __init__(self, folder, configure):
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        user = "user root;\n" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(user + configure(self.address))
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


def compose_configuration(folder, apis, address):
    """That of compose. Debian's version cannot resolve names of an upstream again and again."""
    own = {f"server api{n}:8080 resolve": f"server 127.0.0.1:{api.client.address.port}" for n, api in enumerate(apis, 1)}
    own |= {
        "resolver 127.0.0.11 valid=5s ipv6=off;": "",
        "listen 8080;": f"listen {address};",
        "/run/nginx.pid": folder / "nginx.pid",
    }
    return substituted((ROOT / "deploy" / "cluster" / "nginx.conf").read_text().replace(" /tmp/", f" {folder}/"), own)


def page_configuration(folder, apis, address):
    """That of docs/cluster.md, in the place of a file in Debian's conf.d."""
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gateway.example.com"]
    subprocess.run([*make, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], capture_output=True, check=True)
    own = {f"server 10.0.0.1{n}:8080": f"server 127.0.0.1:{api.client.address.port}" for n, api in enumerate(apis, 1)}
    own |= {
        "listen 443 ssl": f"listen {address} ssl",
        "/etc/ssl/gateway/cert.pem": folder / "cert.pem",
        "/etc/ssl/gateway/key.pem": folder / "key.pem",
    }
    block = re.search(r"```text\n(upstream .*?)```", (ROOT / "docs" / "cluster.md").read_text(), re.S).group(1)
    return f"pid {folder}/nginx.pid;\nevents {{}}\nhttp {{\n{substituted(block, own)}}}\n"


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
    instance = Proxy(folder, lambda address: compose_configuration(folder, apis, address))
    yield instance
    instance.close()


def test_both_nodes_answer_and_one_is_enough(apis, proxy):
    client = Client(f"http://{proxy.address}", apis[0].client.key)
    worker = Worker(apis[0].data).start()
    try:
        jobs = [client.submit_ocr(data_uri(tiny_pdf(f"before {number}"))).json()["id"] for number in range(8)]
        apis[1].kill()
        jobs += [client.submit_ocr(data_uri(tiny_pdf(f"after {number}"))).json()["id"] for number in range(8)]
        assert {client.wait_terminal(job)["status"] for job in jobs} == {"succeeded"}
    finally:
        worker.close()


def test_the_gateway_gets_the_name_that_the_client_used(apis, proxy):
    client = Client(f"http://{proxy.address}", apis[0].client.key)
    reply = client.get("/v1/models", headers={"X-Forwarded-For": "203.0.113.9", "Host": "elsewhere.example"})
    assert reply.status == 421
    assert client.get("/readyz").status == 200


def test_the_server_of_the_page_ends_tls(apis, tmp_path):
    folder = tmp_path / "page"
    folder.mkdir()
    proxy = Proxy(folder, lambda address: page_configuration(folder, apis, address))
    try:
        trust = ssl.create_default_context(cafile=folder / "cert.pem")
        trust.check_hostname = False
        apis[1].kill()
        for _ in range(4):
            with urllib.request.urlopen(f"https://{proxy.address}/readyz", context=trust, timeout=30) as reply:
                assert reply.status == 200
    finally:
        proxy.close()
