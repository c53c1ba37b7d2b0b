"""The environment in which the commands of a document run: a new gateway, the files that the commands use, and a shell that
replaces the addresses, folders and programs of the text with those of this run."""

import contextlib
import os
import re
import subprocess
from pathlib import Path

from documents import tiny_pdf
from mcp_server import McpServer, text_result, tool
from millrace import BUILD, Gateway
from sandboxed import reachable_folder

BEGIN = "======== block"
DOCUMENT_WITHIN_S = 240
CONFIGURATION = "configuration of the commands"


def put_files(folder):
    """Creates the files that documents use, such as `invoice.pdf` and `scans/`. Each document has a separate folder."""
    (folder / "invoice.pdf").write_bytes(tiny_pdf("Invoice number 4711 of the mill", "The second page names the total"))
    (folder / "more.pdf").write_bytes(tiny_pdf("One more page"))
    for name in ("scans", "papers"):
        (folder / name).mkdir()
        for number in (1, 2):
            (folder / name / f"{number}.pdf").write_bytes(tiny_pdf(f"Page {number} of {name}"))


def put_recordings(folder, gateway):
    """Creates recordings with `millrace speak`, only for documents that use them, because it takes a second."""
    (folder / "talks").mkdir()
    for name in ("talk.mp3", "talks/one.mp3"):
        env = {**os.environ, "MILLRACE_URL": gateway.url, "MILLRACE_API_KEY": gateway.client.key}
        arguments = [BUILD / "millrace", "speak", "The mill turns by day and by night.", "-o", folder / name]
        subprocess.run(arguments, env=env, check=True, capture_output=True, timeout=60)


@contextlib.contextmanager
def configuration(blocks, folder):
    """The arguments of `serve`: the configuration in the document, or the mock models."""
    own = [block for block in blocks if block.mark == CONFIGURATION]
    if not own:
        yield ["--mock", "true"]
        return
    with McpServer({"echo": tool(lambda given: text_result(given["message"]), message="string")}) as office:
        (folder / "configuration.yaml").write_text(own[0].text.replace("127.0.0.1:3001", office.host))
        yield ["--config", folder / "configuration.yaml"]


@contextlib.contextmanager
def world(blocks):
    """Yields (gateway, the folder in which the commands run)."""
    with reachable_folder() as outer:
        folder = outer / "here"
        folder.mkdir()
        put_files(folder)
        with configuration(blocks, outer) as arguments:
            gateway = Gateway(outer / "data", *arguments).start()
            try:
                if any("talk" in block.text for block in blocks if block.language == "sh"):
                    put_recordings(folder, gateway)
                yield gateway, folder
            finally:
                gateway.close()


def adapted(shell, gateway):
    shell = re.sub(r"http://(127\.0\.0\.1|localhost):8080", gateway.url, shell)
    shell = shell.replace("/var/lib/millrace", str(gateway.data))
    return shell.replace("build/release/millrace", "millrace")


def script_of(blocks, gateway):
    """One shell script for all blocks, so that a block may use variables of an earlier one. It prints a line before each
    block. A block that fails unexpectedly ends the script."""
    lines = ["set -e", "exec 2>&1"]
    for number, block in enumerate(blocks):
        text = adapted(block.text, gateway)
        lines.append(f"echo; echo '{BEGIN} {number}'")
        lines.append(text if block.exit_code == 0 else f"code=0; (\n{text}) || code=$?; test $code = {block.exit_code}")
    return "\n".join(lines)


def environment(gateway):
    env = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    env.update(MILLRACE_URL=gateway.url, MILLRACE_DATA=str(gateway.data), MILLRACE_API_KEY=gateway.client.key)
    env["PATH"] = f"{BUILD}:{env['PATH']}"
    return env


def run(blocks, gateway, folder):
    """Returns (exit code, the output of each block that was started)."""
    command = ["bash", "-c", script_of(blocks, gateway)]
    try:
        done = subprocess.run(command, cwd=folder, env=environment(gateway), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              text=True, errors="replace", timeout=DOCUMENT_WITHIN_S, check=False)
        code, text = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        code, text = 124, (late.stdout or b"").decode(errors="replace") + f"\nnot within {DOCUMENT_WITHIN_S} s"
    return code, re.split(rf"^{BEGIN} \d+\n", text, flags=re.M)[1:]


def cannot_be_here(gateway, document):
    """The reason why this host cannot run the document, or None."""
    log = Path(gateway.log).read_text()
    if "executions_disabled" in log and document.name in ("executions.md", "ssh.md", "README.md", "command-line.md"):
        return "this host offers no sandbox"
    if "ssh_sessions_disabled" in log and document.name == "ssh.md":
        return "this host offers no SSH sessions"
    return None
