#!/usr/bin/env python3
"""Prints the software bill of materials as SPDX 2.3 JSON: what the programs link, contain and start, by Debian package.

Usage: sbom.py --version V --compiler CXX --headers H,… --speech DIR --starts PACKAGE,… PROGRAM…
  --headers  headers of libraries that are compiled into the programs
  --speech   the folder of the speech engine, which no Debian package has; it need not exist
  --starts   packages with programs that are started and with data; they need not be installed here
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import uuid
from pathlib import Path

# Archives of which parts are in every program, or all of it in the static one.
ARCHIVES = ("libc.a", "libstdc++.a", "libgcc.a")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def linked(program):
    """The libraries of a program, with those that they need: {soname: path}. Empty for a static program."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    assert "not found" not in listed, listed
    found = re.findall(r"^\s*(?:(\S+) => )?(/\S+) \(0x", listed, re.M)
    return {soname or Path(path).name: path for soname, path in found}


def packages_of(paths):
    """{package: files}; a file that no package has installed is its own. /lib may be a link to /usr/lib."""
    forms = {path: {path, "/usr" + path, os.path.realpath(path), os.path.realpath(path).removeprefix("/usr")} for path in paths}
    asked = sorted(set().union(*forms.values()))
    found = subprocess.run(["dpkg", "-S", *asked], capture_output=True, text=True, check=False).stdout
    owners = {path: package for package, path in re.findall(r"^([^:,\s]+)[^/]*: (/.+)$", found, re.M)}
    out = {}
    for path in paths:
        owner = next((owners[form] for form in forms[path] if form in owners), Path(path).name)
        out.setdefault(owner, []).append(path)
    return out


def installed(package):
    """Its version, architecture and source; empty if it is not installed."""
    form = "${db:Status-Abbrev}\t${Version}\t${Architecture}\t${source:Package} ${source:Version}\n"
    lines = subprocess.run(["dpkg-query", "-W", f"-f={form}", package], capture_output=True, text=True, check=False).stdout
    rows = [line.split("\t") for line in lines.splitlines() if line.startswith("ii")]
    return dict(zip(("version", "architecture", "source"), rows[0][1:])) if rows else {}


def distribution():
    fields = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return fields["ID"].strip('"'), fields.get("VERSION_ID", "").strip('"')


def described(package, comment):
    name, release = distribution()
    found = installed(package)
    out = {"SPDXID": spdx_id(package), "name": package, "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "comment": comment}
    if not found:
        return out
    version = urllib.parse.quote(found["version"], safe="")
    purl = f"pkg:deb/{name}/{package}@{version}?arch={found['architecture']}&distro={name}-{release}"
    return {
        **out,
        "versionInfo": found["version"],
        "supplier": f"Organization: {name.capitalize()}",
        "sourceInfo": f"built from {found['source']}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
    }


def speech_components(folder):
    """(name, version, licence, place of download, relation, files) of each part of the speech engine."""
    if not (folder / "version").is_file():
        return []
    pinned = dict(pair.split() for pair in (folder / "version").read_text().split(", "))
    runtime = folder / "lib/libonnxruntime.so"
    (found,) = set(re.findall(rb"\0VERS_([0-9.]+)\0", runtime.read_bytes()))
    library = [folder / "lib/libsherpa-onnx-c-api.so"]
    return [
        ("sherpa-onnx-core", pinned["sherpa-onnx-core"], "Apache-2.0", "pypi/sherpa-onnx-core", "DYNAMIC_LINK", library),
        ("onnxruntime", found.decode(), "MIT", "", "DYNAMIC_LINK", [runtime]),
        ("moonshine-cpp", pinned["moonshine-cpp"], "MIT", "pypi/moonshine-cpp", "DEPENDS_ON", sorted((folder / "moonshine-en").iterdir())),
    ]


def described_files(component, folder):
    """The package and its files with their hashes. SPDX demands SHA-1 and makes the package's own code of it."""
    name, version, licence, place, _, paths = component
    files, sums = [], []
    for path in paths:
        data = path.read_bytes()
        sums.append(hashlib.sha1(data).hexdigest())
        hashes = [("SHA1", sums[-1]), ("SHA256", hashlib.sha256(data).hexdigest())]
        files.append({
            "SPDXID": spdx_id(f"File-{path.name}"),
            "fileName": f"./lib/millrace/speech/{path.relative_to(folder)}",
            "checksums": [{"algorithm": algorithm, "checksumValue": value} for algorithm, value in hashes],
        })
    package = {
        "SPDXID": spdx_id(name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()},
        "licenseDeclared": licence,
        "comment": " ".join(path.name for path in paths),
    }
    if place:
        locator = f"pkg:{place}@{version}"
        package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]
    return package, files


def spdx_id(package):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", package.replace("+", "-plus"))


def document(version, contained, started, shared, speech):
    own = {
        "SPDXID": "SPDXRef-millrace",
        "name": "millrace",
        "versionInfo": version,
        "supplier": "Organization: Millrace",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseDeclared": "Apache-2.0",
        "primaryPackagePurpose": "APPLICATION",
    }
    packages, relations = [own], [relation("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    comments = {}
    for kind, group in (("DYNAMIC_LINK", shared), ("STATIC_LINK", contained), ("DEPENDS_ON", started)):
        for package, files in group.items():
            comments.setdefault(package, []).extend(files)
            relations.append(relation(own["SPDXID"], kind, spdx_id(package)))
    packages += [described(package, " ".join(sorted(set(files)))) for package, files in sorted(comments.items())]
    all_files = []
    for component in speech_components(speech):
        package, files = described_files(component, speech)
        packages.append(package)
        all_files += files
        relations.append(relation(own["SPDXID"], component[4], package["SPDXID"]))
        relations += [relation(package["SPDXID"], "CONTAINS", file["SPDXID"]) for file in files]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    contents = json.dumps([packages, all_files, relations])
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"millrace-{version}",
        "documentNamespace": f"https://millrace.invalid/spdx/{uuid.uuid5(uuid.NAMESPACE_OID, contents)}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": [f"Tool: millrace-sbom-{version}"]},
        "packages": packages,
        "files": all_files,
        "relationships": relations,
    }


def relation(of, kind, to):
    return {"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to}


def main():
    arguments = argparse.ArgumentParser()
    for name in ("--version", "--compiler", "--headers", "--speech", "--starts"):
        arguments.add_argument(name, required=True)
    arguments.add_argument("programs", nargs="+")
    given = arguments.parse_args()
    speech = Path(given.speech).resolve()
    loaders = [*given.programs, *sorted((speech / "lib").glob("*.so"))]
    libraries = {soname: path for program in loaders for soname, path in linked(program).items() if speech not in Path(path).parents}
    sonames = {path: soname for soname, path in libraries.items()}
    shared = {package: [sonames[path] for path in paths] for package, paths in packages_of(sonames).items()}
    archives = [output(given.compiler, f"-print-file-name={name}").strip() for name in ARCHIVES]
    headers = [f"/usr/include/{name}" for name in given.headers.split(",")]
    contained = packages_of(headers + [os.path.realpath(each) for each in archives])
    contained = {package: [Path(path).name for path in paths] for package, paths in contained.items()}
    started = {re.split(r"[\s(|]", package.strip())[0]: [] for package in given.starts.split(",")}
    json.dump(document(given.version, contained, started, shared, speech), sys.stdout, indent=1)
    print()


main()
