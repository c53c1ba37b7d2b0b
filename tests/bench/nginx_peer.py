"""Debian's nginx between a client and upstreams: the peer of the gateway."""

import os
import shutil
import socket
import subprocess

from bench_run import apt_get
from millrace import BUILD
from report import report_progress

KEPT_OPEN = 512  # connections to each upstream


def _program():
    """The installed nginx, or else Debian's package, unpacked next to the bench: installing it would start a server."""
    installed = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if installed:
        return installed
    folder = BUILD / "nginx"
    program = folder / "usr/sbin/nginx"
    if not program.exists():
        report_progress("  scripts/bench downloads the program that it compares with: nginx")
        folder.mkdir(exist_ok=True)
        apt_get("update")
        apt_get("download", "nginx", cwd=folder)
        (package,) = folder.glob("nginx_*.deb")
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    return program


def _settings(folder, port, upstreams):
    user = "user root;" if os.geteuid() == 0 else ""
    temp_paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    groups = "".join(f"upstream {name} {{ server {address}; keepalive {KEPT_OPEN}; keepalive_requests 1000000000; }}" for name, address in upstreams.items())
    locations = "".join(f"location /{name}/ {{ proxy_pass http://{name}/; }}" for name in upstreams)
    return f"""
daemon off; worker_processes 1; {user} pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; tcp_nodelay on; {temp_paths}
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_read_timeout 600s;
  {groups}
  server {{ listen 127.0.0.1:{port}; {locations} }}
}}
"""


class Nginx:
    """nginx with one worker; `/NAME/…` goes to the upstream of that name. It inherits the socket, so the port is free."""

    def __init__(self, folder, upstreams):
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        settings = folder / "nginx.conf"
        settings.write_text(_settings(folder, port, {name: url.removeprefix("http://") for name, url in upstreams.items()}))
        command = [_program(), "-p", folder, "-e", folder / "error.log", "-c", settings]
        environment = {**os.environ, "NGINX": f"{listener.fileno()};"}
        self.popen = subprocess.Popen(command, env=environment, pass_fds=[listener.fileno()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        listener.close()

    def kill(self):
        self.popen.terminate()
        self.popen.wait(10)
