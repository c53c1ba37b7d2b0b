"""Chats that many threads send to gateways, and how their budget looks."""

import http.client
import json
import subprocess
import threading

from millrace import BUILD, admin_key, eventually

CHAT = "/v1/chat/completions"
WITHIN_S = 120
TRIES = 40
LOST_CONNECTION = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)


class Senders:
    """Threads that send requests to a gateway, each over its own connection. A request whose reply is lost, or that is
    refused, is sent again; a thread ends when one was sent TRIES times."""

    def __init__(self, gateway):
        self._gateway = gateway
        self._key = admin_key(gateway.data)
        self._threads = []
        self._pause = threading.Event()
        self._lock = threading.Lock()
        self.replies = []  # (status, body), all of them
        self.lost = 0

    def start(self, threads, bodies):
        for number in range(threads):
            thread = threading.Thread(target=self._send_all, args=(bodies[number::threads],), daemon=True)
            self._threads.append(thread)
            thread.start()

    def join(self):
        for thread in self._threads:
            thread.join(WITHIN_S)
            assert not thread.is_alive()

    def accepted(self):
        """The ids of the jobs of the deferred chats that were accepted."""
        return [json.loads(body)["request_id"] for status, body in self.replies if status == 200]

    def refused(self):
        """The errors of the replies with status 429."""
        return [json.loads(body)["error"] for status, body in self.replies if status == 429]

    def statuses(self):
        return {status for status, _ in self.replies}

    def _send_all(self, bodies):
        for body in bodies:
            tries = 0
            while self._send(json.dumps(body)) != 200:
                tries += 1
                if tries == TRIES:
                    return
                self._pause.wait(0.05)

    def _send(self, body):
        address = self._gateway.client.address
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        try:
            connection.request("POST", CHAT, body=body, headers=headers)
            reply = connection.getresponse()
            read = reply.read()
        except LOST_CONNECTION:
            with self._lock:
                self.lost += 1
            return None
        finally:
            connection.close()
        with self._lock:
            self.replies.append((reply.status, read))
        return reply.status


def set_budget(gateway, usd):
    """For all time, of the tenant `default`. Returns when the gateway shows it."""
    command = [BUILD / "millrace", "tenants", "set", "default", f"usd={usd}", "period=total", "--data", gateway.data]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    eventually(lambda: gateway.client.get("/v1/usage").json()["budget"], what="budget")


def check_books(gateway, upstream, budget_usd):
    """What the provider billed is at most what was charged or reserved, and that is within the budget."""
    billed = upstream.billed  # before the books: requests may arrive in between
    books = gateway.client.get("/v1/usage?period=total").json()
    assert billed <= budget_usd
    assert books["cost_usd"] + books["reserved_usd"] <= budget_usd + 1e-9, books
    assert billed <= books["cost_usd"] + books["reserved_usd"] + 1e-9, (billed, books)
    return books


def direct(number):
    return {"model": "billed", "messages": f"say {number}", "stream": number % 2 == 0}


def deferred(number):
    return {"model": "billed", "messages": f"say {number}", "deferred": True}
