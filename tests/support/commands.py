"""Runs commands of the program against a gateway, with pipes or at a terminal."""

import contextlib
import json
import os
import subprocess

from millrace import BUILD, eventually
from terminal import Terminal

MILLRACE = BUILD / "millrace"
FILE_MACHINE = "dm-0192f0a1-7c1e-7000-8000-00000000000f"


def environment(gateway, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
    key = gateway.client.key if hasattr(gateway, "client") else "mr_live_any_key"
    ours = {"MILLRACE_URL": gateway.url, "MILLRACE_API_KEY": key, "MILLRACE_CHAT_HISTORY": "", "TERM": "xterm"}
    return {**env, **ours, **more}


def cli(gateway, *arguments, env=None, within_s=90, **kwargs):
    command = [str(MILLRACE), *map(str, arguments)]
    kwargs = {"stdin": subprocess.DEVNULL, **kwargs} if "input" not in kwargs else kwargs
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(gateway, **(env or {})), timeout=within_s, **kwargs
    )


@contextlib.contextmanager
def on_terminal(gateway, *arguments, **env):
    terminal = Terminal([MILLRACE, *arguments], environment(gateway, **env))
    try:
        yield terminal
    finally:
        terminal.close()


def machine_of(gateway, name):
    done = cli(gateway, "machines", "show", name, "--json")
    return json.loads(done.stdout) if done.returncode == 0 else None


def reaches(gateway, name, phase):
    eventually(lambda: machine_of(gateway, name)["phase"] == phase, what=f"{name} is {phase}")
