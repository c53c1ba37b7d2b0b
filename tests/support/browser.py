"""A real headless Chromium, controlled through chromedriver over WebDriver. Standard library only."""

import base64
import http.client
import json
import os
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
READY_WITHIN_S = 30
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--no-first-run", "--force-color-profile=srgb"]


class Refused(AssertionError):
    """An error response of the driver; `name` is the error code of the protocol."""

    def __init__(self, name, message):
        super().__init__(f"{name}: {message.splitlines()[0] if message else ''}")
        self.name = name


class Browser:
    def __init__(self, folder, width=1280, height=900):
        self.folder, self.size, self.session, self.driver = Path(folder), (width, height), None, None

    def start(self):
        log = open(self.folder / "chromedriver.log", "wb")  # noqa: SIM115  # chromedriver inherits it
        command = [shutil.which("chromedriver") or "chromedriver", "--port=0"]
        with log:
            self.driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        self.port = self._port()
        options = {"args": [*FLAGS, f"--user-data-dir={self.folder / 'profile'}", "--window-size=%d,%d" % self.size],
                   "binary": shutil.which("chromium"),
                   "prefs": {"download.default_directory": str(self.folder)}}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = self._send("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
        return self

    def _port(self):
        deadline, output, found = time.monotonic() + READY_WITHIN_S, b"", None
        while not found:
            ready, _, _ = select.select([self.driver.stdout], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.driver.stdout.fileno(), 4096) if ready else b""
            assert piece, f"chromedriver does not print its port: {output}"
            output += piece
            found = re.search(rb"successfully on port (\d+)\.", output)
        return int(found[1])

    def close(self):
        if self.session:
            self._call("DELETE", "")
        if self.driver:
            self.driver.terminate()
            self.driver.wait(10)
            self.driver.stdout.close()

    def _send(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise Refused(value["error"], value.get("message", ""))
        return value

    def _call(self, method, path, body=None):
        return self._send(method, f"/session/{self.session}{path}", body)

    def cdp(self, command, **parameters):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self._call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The script calls `arguments[arguments.length - 1]` with its result."""
        return self._call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def eventually(self, condition, within_s=20, what=None):
        """Polls until the condition is true; an element that has just disappeared counts as false."""
        deadline = time.monotonic() + within_s
        while True:
            try:
                value = condition()
            except Refused as refused:
                if refused.name not in ("no such element", "stale element reference", "element not interactable",
                                        "element click intercepted"):
                    raise
                value = None
            if value:
                return value
            assert time.monotonic() < deadline, f"{what or 'condition'}: not within {within_s} s; the text of the page:\n{self.text()}"
            select.select([], [], [], 0.05)

    def text(self, css="body"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", css)

    def wait_for(self, css, text="", within_s=20):
        """Returns the first visible element that matches the selector and contains the text."""
        script = """for (const e of document.querySelectorAll(arguments[0]))
          if (e.getClientRects().length && (e.innerText ?? '').includes(arguments[1])) return e; return null"""
        found = self.eventually(lambda: self.run(script, css, text), within_s, f"{css} with {text!r}")
        return found[ELEMENT]

    def click(self, css, text=""):
        def act():
            self._call("POST", f"/element/{self.wait_for(css, text)}/click", {})
            return True
        self.eventually(act, what=f"a click on {css} {text!r}")

    def type(self, css, text, clear=False):
        element = self.wait_for(css)
        if clear:
            self._call("POST", f"/element/{element}/clear", {})
        self._call("POST", f"/element/{element}/value", {"text": text})

    def press(self, *keys):
        acts = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": acts}]})

    def choose_file(self, css, *files):
        """Works for hidden file inputs, too."""
        element = self._call("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]
        self._call("POST", f"/element/{element}/value", {"text": "\n".join(str(file) for file in files)})

    def look(self, width, dark):
        """Sets the width of the window and the colour scheme of the system."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=800 if width > 500 else 740, deviceScaleFactor=1, mobile=width < 500)
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                         {"name": "prefers-reduced-motion", "value": "reduce"}])

    def screenshot(self, file):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def console(self):
        """Warnings and errors on the console since the last call."""
        entries = self._call("POST", "/se/log", {"type": "browser"})
        return [e["message"] for e in entries if e["level"] in ("WARNING", "SEVERE")]

    def requests(self):
        """The URLs that the pages have requested since the last call."""
        entries = [json.loads(e["message"])["message"] for e in self._call("POST", "/se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]
