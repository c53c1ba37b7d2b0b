"""The bill of materials (SPDX) that scripts/install and the Debian package install: valid, and complete."""

import json
import re
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway
from peak_use import family
from venv_programs import run_with

# With all that it needs, so that a new release of another package does not change the result.
VALIDATOR = """
spdx-tools==0.8.3 beartype==0.23.1 boolean.py==5.0 click==8.5.1 license-expression==30.4.4 ply==3.11 pyparsing==3.3.3 PyYAML==6.0.4 rdflib==7.6.0
semantic-version==2.10.0 uritools==7.0.0 xmltodict==1.0.4
""".split()
PROGRAM = """
import sys
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
for message in validate_full_spdx_document(parse_file(sys.argv[1])):
    print(message.validation_message)
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder, "--component", "program"], check=True, capture_output=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def bill(prefix):
    return json.loads((prefix / "share/doc/millrace/sbom.spdx.json").read_text())


@pytest.fixture(scope="module")
def named(bill):
    """All file names in it."""
    return {name for package in bill["packages"] for name in package.get("comment", "").split()}


def lines(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, timeout=120).stdout.splitlines()


def needed(path):
    return set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", "\n".join(lines("readelf", "-dW", path))))


def test_it_is_valid_spdx(prefix):
    assert run_with(VALIDATOR, PROGRAM, str(prefix / "share/doc/millrace/sbom.spdx.json")) == ""


def test_every_package_has_the_version_that_is_installed(bill):
    versions = dict(line.split("\t") for line in lines("dpkg-query", "-W", "-f=${Package}\t${Version}\n"))
    packages = {package["name"]: package.get("versionInfo") for package in bill["packages"] if package["name"] != "millrace"}
    assert len(packages) > 50
    assert {name: (version, versions.get(name)) for name, version in packages.items() if version != versions.get(name)} == {}


def test_no_installed_program_links_a_library_that_it_does_not_name(prefix, named):
    """Follows the libraries' own entries, independently of the program that made the bill."""
    where = {}
    for soname, path in re.findall(r"^\s*(\S+) \(.*\) => (\S+)$", "\n".join(lines("/sbin/ldconfig", "-p")), re.M):
        where.setdefault(soname, path)  # the first one is of this machine's own architecture
    programs = sorted((prefix / "lib/millrace").iterdir())
    assert len(programs) == 3
    seen, waiting = set(), set().union(*map(needed, programs))
    while waiting:
        seen |= waiting
        waiting = set().union(*(needed(where[soname]) for soname in waiting if soname in where)) - seen
    assert len(seen) > 60 and seen - named == set()


def test_no_process_has_mapped_a_library_that_it_does_not_name(tmp_path, named):
    """Also those that are loaded at run time. A process of another package's program, such as ffmpeg, is that package's."""
    with closing(Gateway(tmp_path / "data", "--mock", "true").start()) as gateway:
        gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(tiny_pdf("x"))}})
        gateway.client.post("/v1/ocr", {"document": {"document_url": "https://host.invalid/a.pdf"}}, headers={"Prefer": "wait=1"})
        mapped, programs = set(), set()
        for pid in family(gateway.popen.pid):
            try:
                program, text = Path(f"/proc/{pid}/exe").readlink().name, Path(f"/proc/{pid}/maps").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if program.startswith("millrace"):
                programs.add(program)
                mapped |= {Path(path) for path in re.findall(r"(/\S+\.so[.0-9]*)$", text, re.M)}
    assert programs >= {"millrace", "millrace-engine"}
    real = {Path(path).resolve().name for path in {line.split(" => ")[1] for line in lines("/sbin/ldconfig", "-p") if " => " in line} if Path(path).name in named}
    assert {path for path in mapped if path.name not in named | real} == set()


def test_it_names_the_libraries_that_are_compiled_into_the_programs(bill):
    """A development package whose headers are used is named, or the library that is built from the same source is."""
    names = {package["name"] for package in bill["packages"]}
    headers = {line.strip() for line in lines("ninja", "-C", BUILD, "-t", "deps") if line.startswith("    /usr/include/")}
    assert len(headers) > 500
    owners = {line.split(":")[0].split(",")[0] for line in lines("dpkg", "-S", *headers)}
    of_tests = {"libgtest-dev", "libgmock-dev"}
    sources = dict(line.split("\t") for line in lines("dpkg-query", "-W", "-f=${Package}\t${source:Package}\n"))
    unnamed = set()
    for owner in owners - names - of_tests - {"linux-libc-dev"}:
        depends = " ".join(lines("dpkg-query", "-W", "-f=${Depends}", owner))
        libraries = {re.split(r"[\s(:]", each.strip())[0] for each in depends.split(",")} & names
        if sources[owner] not in {sources.get(each) for each in libraries}:
            unnamed.add(owner)
    assert unnamed == set()
