"""A program with a separate terminal, used as a person would use it. Standard library only."""

import os
import select
import subprocess
import time


class Terminal:
    def __init__(self, command, env):
        self.master, slave = os.openpty()
        self.shown = ""
        self.found = 0  # the end of the last match of `until`
        self.process = subprocess.Popen(
            [str(part) for part in command], env=env, preexec_fn=lambda: os.login_tty(slave), close_fds=True
        )
        os.close(slave)

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, text, within_s=60):
        """Waits until `text` is shown after the previous match."""
        self._read(lambda: text in self.shown[self.found :], text, within_s)
        self.found = self.shown.index(text, self.found) + len(text)

    def end(self, within_s=60):
        """Waits for the end; returns everything that was shown, and the exit code."""
        self._read(lambda: False, None, within_s)
        return self.shown, self.process.wait(within_s)

    def hang_up(self):
        os.close(self.master)
        self.master = None

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        if self.master is not None:
            self.hang_up()

    def _read(self, is_enough, what, within_s):
        deadline = time.monotonic() + within_s
        while not is_enough():
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"not within {within_s} s: {what!r} in {self.shown!r}"
            piece = self._piece()
            if not piece:
                assert what is None, f"it ended without {what!r}: {self.shown!r}"
                break
            self.shown += piece

    def _piece(self):
        try:
            return os.read(self.master, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            return ""
