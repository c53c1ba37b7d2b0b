"""Debian's nginx with deploy/nginx.conf ends TLS in front of a gateway."""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import time

import pytest
from millrace import ROOT, Gateway, eventually
from venv_programs import run_with

MIB = 2**20
HOST = "gateway.example"  # the public name of the gateway


def substituted(text, pairs):
    """The text with each key, which must be there once, replaced by its value."""
    for old, new in pairs.items():
        assert text.count(old) == 1, old
        text = text.replace(old, str(new))
    return text


class TlsProxy:
    """nginx with the configuration of deploy/, on a free port of loopback."""

    def __init__(self, folder, gateway_port):
        self.folder = folder
        self.gateway_port = gateway_port

    def __enter__(self):
        folder = self.folder
        self._make_certificate()
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = listener.getsockname()[1]
        own = {
            "listen 8443 ssl": f"listen 127.0.0.1:{self.port} ssl",
            "server 127.0.0.1:8080;": f"server 127.0.0.1:{self.gateway_port};",
            "/etc/millrace-tls/cert.pem": folder / "cert.pem",
            "/etc/millrace-tls/key.pem": folder / "key.pem",
            "/run/nginx.pid": folder / "nginx.pid",
        }
        text = substituted((ROOT / "deploy" / "nginx.conf").read_text().replace(" /tmp/", f" {folder}/"), own)
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
        return self

    def __exit__(self, *_):
        self.popen.terminate()
        self.popen.wait(30)

    def _make_certificate(self):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.folder / "key.pem"]
        names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST},IP:127.0.0.1"]
        command = ["openssl", "req", "-x509", *key, "-out", self.folder / "cert.pem", "-days", "2", *names]
        subprocess.run(command, check=True, capture_output=True)

    @property
    def certificate(self):
        return self.folder / "cert.pem"

    def curl(self, path, *arguments, data=None):
        """The response to curl as its status and body. The public name leads to the proxy."""
        url = f"https://{HOST}:{self.port}{path}"
        command = ["curl", "-sS", "--cacert", self.certificate, "--resolve", f"{HOST}:{self.port}:127.0.0.1"]
        out = subprocess.run([*command, "-w", "\n%{http_code}", *arguments, url], input=data, check=True, capture_output=True).stdout
        body, status = out.rsplit(b"\n", 1)
        return int(status), body

    def connect(self):
        context = ssl.create_default_context(cafile=self.certificate)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    settings = ["--http.trusted-proxies", "127.0.0.1", "--http.hosts", HOST, "--log-level", "debug"]
    gateway = Gateway(folder / "data", *settings, env={"MILLRACE_MOCK": "true"}).start()
    with TlsProxy(folder, gateway.client.address.port) as proxy:
        yield gateway, proxy
    gateway.close()


def key_of(gateway):
    return ["-H", f"Authorization: Bearer {gateway.client.key}"]


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_curl_gets_each_page_and_the_api(proxied, version):
    gateway, proxy = proxied
    for path in ("/health", "/docs", "/openapi.json"):
        assert proxy.curl(path, version)[0] == 200
    assert proxy.curl("/v1/models", version)[0] == 401
    status, body = proxy.curl("/v1/models", version, *key_of(gateway))
    assert status == 200 and json.loads(body)["data"]


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
@pytest.mark.parametrize("framing", [[], ["-H", "Transfer-Encoding: chunked"]])
def test_large_uploads_pass_as_they_arrive(proxied, version, framing):
    if version == "--http2":
        framing = []  # it has no chunks
    gateway, proxy = proxied
    body = json.dumps({"model": "mock/chat", "messages": "x" * (60 * MIB)}).encode()
    arguments = [*key_of(gateway), "-H", "Content-Type: application/json", "-H", "Expect:", *framing, "--data-binary", "@-"]
    status, reply = proxy.curl("/v1/chat/completions", version, *arguments, data=body)
    assert status == 200, reply[:500]
    status, reply = proxy.curl("/v1/chat/completions", version, *arguments, data=body + b" " * (5 * MIB))
    assert status == 413 and b"64MiB" in reply  # the gateway's own error


def test_an_upload_is_not_kept_back_until_it_is_complete(proxied):
    """The gateway refuses a document by its head while the body is still on its way."""
    _, proxy = proxied
    connection = proxy.connect()
    connection.putrequest("POST", "/v1/ocr")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(40 * MIB))
    connection.endheaders()
    connection.send(b"{")
    assert connection.getresponse().status == 401
    connection.close()


def test_a_streams_events_are_not_kept_back(proxied):
    gateway, proxy = proxied
    connection = proxy.connect()
    headers = {"Authorization": f"Bearer {gateway.client.key}", "Accept": "text/event-stream"}
    connection.request("GET", "/v1/admin/events", headers=headers)
    response = connection.getresponse()
    assert response.status == 200 and response.headers["Content-Type"].startswith("text/event-stream")
    began = time.monotonic()
    while not response.readline().startswith(b"data:"):  # although the stream goes on
        pass
    assert time.monotonic() - began < 5
    connection.close()


OPENAI = """
import sys, openai, httpx, ssl, json
url, key, certificate = sys.argv[1:4]
http = httpx.Client(verify=ssl.create_default_context(cafile=certificate))
client = openai.OpenAI(base_url=url + "/v1", api_key=key, http_client=http)
messages = [{"role": "user", "content": "one two three"}]
whole = client.chat.completions.create(model="mock/chat", messages=messages)
chunks = list(client.chat.completions.create(model="mock/chat", messages=messages, stream=True))
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
image = client.images.generate(model="mock/image", prompt="a red square", response_format="url").data[0].url
print(json.dumps([whole.choices[0].message.content, text, len(chunks), image, http.get(image).status_code]))
"""


def test_the_openai_client_talks_through_it_and_gets_links_with_https(proxied):
    gateway, proxy = proxied
    url = f"https://127.0.0.1:{proxy.port}"
    out = run_with(["openai>=2,<3"], OPENAI, url, gateway.client.key, str(proxy.certificate))
    whole, text, chunks, image, status = json.loads(out.splitlines()[-1])
    assert whole == text == "one two three" and chunks >= 3
    assert image.startswith(f"{url}/v1/images/files/") and status == 200


def peer_of(gateway, request_id):
    """The client's address in the gateway's log."""

    def logged():
        for line in gateway.log.read_text().splitlines():
            if request_id in line and "http_request" in line:
                return json.loads(line)["peer"]
        return None

    return eventually(logged, what="the request is logged")


def test_the_proxy_decides_who_the_client_is(proxied):
    gateway, proxy = proxied
    spoofed = ["-H", "X-Forwarded-For: 203.0.113.9", "-H", "Forwarded: for=203.0.113.9", "-H", "X-Forwarded-Host: evil.example"]
    assert proxy.curl("/v1/models", "--interface", "127.0.0.3", "-H", "X-Request-Id: through-proxy", *spoofed)[0] == 401
    assert peer_of(gateway, "through-proxy") == "127.0.0.3"


def test_a_host_that_is_not_the_gateways_is_refused_through_the_proxy_too(proxied):
    _, proxy = proxied
    status, body = proxy.curl("/docs", "-H", "Host: evil.example")
    assert status == 421 and b"http.hosts" in body


def test_a_slow_client_is_ended_by_the_gateway_and_costs_it_no_connection(proxied):
    """nginx opens a connection to the gateway only for a complete head."""
    gateway, proxy = proxied

    def open_connections():
        metrics = gateway.client.get("/metrics").body.decode()
        return next(float(line.split()[1]) for line in metrics.splitlines() if line.startswith("millrace_http_connections "))

    before = open_connections()
    silent = [socket.create_connection(("127.0.0.1", proxy.port), timeout=10) for _ in range(200)]
    assert proxy.curl("/health")[0] == 200
    assert open_connections() <= before + 5
    for each in silent:
        each.close()
