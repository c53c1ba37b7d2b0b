"""Runs a published Node server for a test: on loopback only, on a free port, with a readiness signal."""

import os
import select
import subprocess

from npm_programs import node_tools

WITHIN_S = 60
# Whatever address the program requests, it gets a free port on loopback. It writes the port to a pipe.
LISTEN = """
const fs = require('node:fs');
const { Server } = require('node:net');
const { listen } = Server.prototype;
Server.prototype.listen = function (...requested) {
  const ready = requested.find((each) => typeof each === 'function');
  return listen.call(this, { port: 0, host: '127.0.0.1' }, function () {
    fs.writeSync(Number(process.env.READY_FD), `${this.address().port}\\n`);
    if (ready) ready.call(this);
  });
};
"""


class NodeServer:
    """`url` is set after `__enter__`."""

    def __init__(self, folder, script, *arguments):
        self.preload = folder / "listen.cjs"
        self.preload.write_text(LISTEN)
        self.log = folder / "node.log"
        self.command = [node_tools()[0], "--require", self.preload, script, *arguments]
        self.popen = None
        self.url = None

    def __enter__(self):
        reader, writer = os.pipe()
        environment = {**os.environ, "READY_FD": str(writer)}
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, pass_fds=[writer]
            )
        os.close(writer)
        ready, _, _ = select.select([reader], [], [], WITHIN_S)
        port = os.read(reader, 16).decode().strip() if ready else ""
        os.close(reader)
        if not port:
            self.__exit__()
        assert port, self.log.read_text(errors="replace")
        self.url = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait(10)
