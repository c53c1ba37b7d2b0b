"""An upstream behind TLS, like real providers: Debian's nginx, which offers HTTP/2, and a gateway that trusts its certificate."""

import os
import shutil
import socket
import subprocess

from millrace import eventually

TRUSTED = "/etc/ssl/certs/ca-certificates.crt"  # the trust store of Debian's libcurl


def trusting(gateway, certificate):
    """Makes a gateway that is not started yet trust only this certificate."""
    assert os.path.exists(TRUSTED), f"{TRUSTED} does not exist: install ca-certificates"
    mounted = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--ro-bind", certificate, TRUSTED]
    gateway.command = [*mounted, *gateway.command]
    return gateway


def _settings(folder, port, offers, upstream):
    user = "user root;" if os.geteuid() == 0 else ""
    temp_paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"""
daemon off; worker_processes 1; {user} pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; {temp_paths}
  proxy_buffering off; proxy_read_timeout 600s;
  proxy_set_header X-Seen-Protocol $server_protocol; proxy_set_header X-Seen-Connection $connection;
  server {{
    listen 127.0.0.1:{port} ssl {offers};
    ssl_certificate {folder}/front.pem; ssl_certificate_key {folder}/front.key;
    location / {{ proxy_pass {upstream}; }}
  }}
}}
"""


class TlsFront:
    """Adds headers for the upstream with the protocol (x-seen-protocol) and the connection (x-seen-connection) of a request."""

    def __init__(self, folder, upstream_url, http2=True):
        self.folder = folder
        self.certificate = folder / "front.pem"
        self.upstream_url = upstream_url
        self.http2 = http2
        self.popen = None
        self.url = None

    def __enter__(self):
        self._make_certificate()
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        port = listener.getsockname()[1]
        settings = self.folder / "nginx.conf"
        settings.write_text(_settings(self.folder, port, "http2" if self.http2 else "", self.upstream_url))
        program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        assert program, "no nginx: scripts/setup test"
        command = [program, "-p", self.folder, "-e", self.folder / "error.log", "-c", settings]
        environment = {**os.environ, "NGINX": f"{listener.fileno()};"}
        with open(self.folder / "nginx.out", "wb") as out:
            self.popen = subprocess.Popen(command, env=environment, pass_fds=[listener.fileno()], stdout=out, stderr=out)
        listener.close()
        eventually(lambda: (self.folder / "nginx.pid").exists() or self.popen.poll() is not None, what="nginx")
        assert self.popen.poll() is None, (self.folder / "nginx.out").read_text()
        self.url = f"https://127.0.0.1:{port}"
        return self

    def __exit__(self, *_):
        self.popen.terminate()
        self.popen.wait(30)

    def _make_certificate(self):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.folder / "front.key"]
        names = ["-subj", "/CN=front", "-addext", "subjectAltName=IP:127.0.0.1"]
        command = ["openssl", "req", "-x509", *key, "-out", self.certificate, "-days", "2", *names]
        subprocess.run(command, check=True, capture_output=True)
