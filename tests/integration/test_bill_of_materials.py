"""The bill of materials (SPDX) that scripts/install and the Debian package install: valid, and complete."""

import hashlib
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


SPEECH = ("sherpa-onnx-core", "onnxruntime", "moonshine-cpp")  # no Debian packages


def test_every_package_has_the_version_that_is_installed(bill):
    versions = dict(line.split("\t") for line in lines("dpkg-query", "-W", "-f=${Package}\t${Version}\n"))
    packages = {package["name"]: package.get("versionInfo") for package in bill["packages"] if package["name"] not in ("millrace", *SPEECH)}
    assert len(packages) > 50
    assert {name: (version, versions.get(name)) for name, version in packages.items() if version != versions.get(name)} == {}


@pytest.fixture(scope="module")
def engine(prefix):
    """The installed speech engine."""
    folder = prefix / "lib/millrace/speech"
    if not folder.exists():
        pytest.skip("this build has no speech engine (scripts/fetch-speech)")
    return folder


def test_it_names_the_parts_of_the_speech_engine_with_versions_and_licences(bill, engine):
    found = {package["name"]: (package["versionInfo"], package["licenseDeclared"]) for package in bill["packages"] if package["name"] in SPEECH}
    pinned = dict(pair.split() for pair in (engine / "version").read_text().strip().split(", "))
    (runtime,) = {name for name in re.findall(r"\bVERS_([0-9.]+)", "\n".join(lines("readelf", "-VW", engine / "lib/libonnxruntime.so")))}
    assert found == {
        "sherpa-onnx-core": (pinned["sherpa-onnx-core"], "Apache-2.0"),
        "onnxruntime": (runtime, "MIT"),
        "moonshine-cpp": (pinned["moonshine-cpp"], "MIT"),
    }


def test_the_installed_files_of_the_speech_engine_have_the_hashes_that_it_names(bill, prefix, engine):
    named = {
        file["fileName"]: next(sum["checksumValue"] for sum in file["checksums"] if sum["algorithm"] == "SHA256") for file in bill["files"]
    }
    files = [path for folder in ("lib", "moonshine-en") for path in (engine / folder).iterdir()]
    assert named == {f"./{path.relative_to(prefix)}": hashlib.sha256(path.read_bytes()).hexdigest() for path in files} and len(named) == 5


def test_the_speech_engine_is_installed_without_its_header_and_readable_by_everyone(engine):
    assert {path.name for path in engine.iterdir()} == {"lib", "licences", "moonshine-en", "version"}
    assert {path.name for path in (engine / "licences").iterdir()} == {"moonshine", "onnxruntime", "sherpa-onnx"}
    assert all(path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644) for path in engine.rglob("*"))


def test_no_installed_program_links_a_library_that_it_does_not_name(prefix, named):
    """Follows the libraries' own entries, independently of the program that made the bill."""
    where = {}
    for soname, path in re.findall(r"^\s*(\S+) \(.*\) => (\S+)$", "\n".join(lines("/sbin/ldconfig", "-p")), re.M):
        where.setdefault(soname, path)  # the first one is of this machine's own architecture
    programs = sorted(path for path in (prefix / "lib/millrace").iterdir() if path.is_file())
    assert len(programs) == 3
    engine = list((prefix / "lib/millrace/speech/lib").glob("*.so"))  # loaded by millrace-engine
    seen, waiting = set(), set().union(*map(needed, programs + engine))
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
