"""The programs of docs/clients.md, run as a reader would: the blocks of one language in order, in one program."""

import os
import subprocess
from pathlib import Path

import pytest
from doc_blocks import blocks_of
from doc_world import put_files
from millrace import Gateway
from npm_programs import node_package, node_tools
from recordings import clip
from venv_programs import python_with

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = Path("docs/clients.md")
CLIENT, COMPILER = ("openai", "7.57.0"), ("typescript", "5.9.3")
WITHIN_S = 120
COMPILE = """
const typescript = require(process.argv[1]);
const text = require("fs").readFileSync(0, "utf8");
const compilerOptions = { module: "esnext", target: "es2022", verbatimModuleSyntax: true };
const { outputText, diagnostics } = typescript.transpileModule(text, { compilerOptions, reportDiagnostics: true });
if (diagnostics.length) throw new Error(typescript.formatDiagnostics(diagnostics, typescript.createCompilerHost({})));
process.stdout.write(outputText);
"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("documented") / "data", env={"MILLRACE_MOCK": "true"}).start()
    yield gateway
    gateway.close()


@pytest.fixture
def folder(tmp_path):
    put_files(tmp_path)
    (tmp_path / "talk.wav").write_bytes(clip())
    return tmp_path


def python_command(program, folder):
    (folder / "program.py").write_text(program)
    return [python_with("openai>=2,<3"), folder / "program.py"]


def typescript_command(program, folder):
    node = node_tools()[0]
    compiled = subprocess.run([node, "--eval", COMPILE, node_package(*COMPILER)], input=program, capture_output=True, text=True, check=True)
    (folder / "node_modules").symlink_to(node_package(*CLIENT).parent)
    (folder / "program.mjs").write_text(compiled.stdout)
    return [node, folder / "program.mjs"]


@pytest.mark.parametrize("language, command_of", [("python", python_command), ("ts", typescript_command)], ids=["python", "typescript"])
def test_the_documented_programs_print_what_the_page_says(gateway, folder, language, command_of):
    blocks = [block for block in blocks_of(DOCUMENT, ROOT) if block.language == language]
    program = "\n".join(block.text for block in blocks).replace("http://127.0.0.1:8080", gateway.url)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MILLRACE_", "OPENAI_", "NODE_"))}
    environment["MILLRACE_API_KEY"] = gateway.client.key
    result = subprocess.run(command_of(program, folder), capture_output=True, text=True, timeout=WITHIN_S, check=False, env=environment, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    place = 0
    assert len(blocks) > 3
    for block in blocks:
        place = result.stdout.find(block.prints, place) + len(block.prints)
        assert block.prints and place >= len(block.prints), f"{block.place}: {block.prints!r} is missing in\n{result.stdout}"
