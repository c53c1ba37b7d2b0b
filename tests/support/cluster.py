"""API nodes and workers on several hosts, with one PostgreSQL, one S3 server and perhaps one Kafka."""

import itertools
import threading
import time

from ledger import CONNECTION_ERRORS
from millrace import Client, Gateway, Worker, admin_key

ANSWER_S = 5  # of a node to a submission, before the client tries another node
CONNECT_S = 1
WITHIN_S = 60


class Cluster:
    """`hosts`: of hosts.py, one folder of data each. `flags`: of all processes. The hosts share a folder of secrets, as if
    each had a copy."""

    def __init__(self, folder, hosts, flags, apis=2, workers=0, kinds="ocr,chat", env=None):
        self._key = None

        def place(host):
            return folder / host.name / "data", *flags, "--secrets.dir", folder / "secrets", "--host.name", host.name

        self.apis = [Gateway(*place(host), role="api", host=host, env=env) for host in hosts[:apis]]
        self.workers = [Worker(*place(host), kinds=kinds, name=f"{host.name}-worker", host=host, env=env) for host in hosts[:workers]]

    def start(self):
        first = self.apis[0]
        first.start()
        self._key = admin_key(first.data)
        for api in self.apis:
            api.key = self._key
        for process in (*self.apis[1:], *self.workers):
            process.start()
        return self

    def clients(self, timeout=150):
        return [Client(api.url, self._key, timeout, CONNECT_S) for api in self.apis if api.url]

    def any_node(self):
        return AnyNode(self.clients)

    @property
    def processes(self):
        return [*self.apis, *self.workers]

    def close(self):
        for process in self.processes:
            process.close()

    def tails(self, lines=25):
        return "\n".join(f"== {p.log}\n{p.tail(lines)}" for p in self.processes if p.log.exists())


class AnyNode(Client):
    """Sends each request to one API node after the other until one answers, and not that it is unavailable. `clients`:
    called for the clients of the nodes."""

    def __init__(self, clients):
        self._clients = clients
        self._turns = itertools.count()

    def request(self, method, path, body=None, headers=None, timeout=30):
        deadline = time.monotonic() + WITHIN_S
        pause = threading.Event()
        failure = None
        while time.monotonic() < deadline:
            nodes = self._clients()
            try:
                reply = nodes[next(self._turns) % len(nodes)].request(method, path, body=body, headers=headers, timeout=timeout)
                if reply.status != 503:
                    return reply
                failure = reply
            except CONNECTION_ERRORS as error:
                failure = error
            pause.wait(0.05)
        raise AssertionError(f"no API node answers {method} {path}: {failure!r}")
