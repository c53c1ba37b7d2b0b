"""Rows 10 and 11: reading scans and text layers, by CPU time; the peers are Debian packages."""

import json
import os
import shutil
import subprocess

import machine
from bench_run import apt_get, picked, run_measured
from bench_scans import error_percent, scanned_document, text_document
from documents import data_uri
from millrace import BUILD
from report import Result, report_progress

SCANS = 10
READABLE_PERCENT = 2.0  # a peer with more character errors has not read the pages, so its speed means nothing
TEXT_PAGES = 1000
ENGINE = BUILD / "millrace-engine"


def _install_peers():
    missing = [package for program, package in (("ocrmypdf", "ocrmypdf"), ("tesseract", "tesseract-ocr")) if not shutil.which(program)]
    if not missing:
        return
    report_progress(f"  scripts/bench installs the programs that it compares with: {' '.join(missing)}")
    apt_get("update")
    apt_get("install", "-y", "--no-install-recommends", *missing)


def _sample(cpu_s, recognized, expected):
    return {"pages_per_cpu_s": len(expected) / cpu_s, "cer": error_percent(recognized, expected)}


def _by_engine(folder, pdf, expected):
    with open(folder / "engine.jsonl", "wb") as out:
        cpu_s, _ = run_measured([ENGINE, "--once", pdf, "--json"], stdout=out)
    pages = [json.loads(line) for line in (folder / "engine.jsonl").read_text().splitlines()]
    return _sample(cpu_s, [page["markdown"] for page in sorted(pages, key=lambda page: page["index"])], expected)


def _by_gateway(gateway, pdf, expected):
    body = {"document": {"type": "document_url", "document_url": data_uri(pdf.read_bytes())}}
    before = machine.tree_cpu_s(gateway.popen.pid)
    reply = gateway.client.post("/v1/ocr", body, timeout=300)
    cpu_s = machine.tree_cpu_s(gateway.popen.pid) - before
    assert reply.status == 200, (reply.status, reply.body[:400])
    return _sample(cpu_s, [page["markdown"] for page in reply.json()["pages"]], expected)


def _by_ocrmypdf(folder, pdf, expected):
    sidecar = folder / "sidecar.txt"
    cpu_s, _ = run_measured(["ocrmypdf", "-j2", "--sidecar", sidecar, pdf, folder / "searchable.pdf"])
    return _sample(cpu_s, sidecar.read_text().rstrip("\f").split("\f"), expected)


def _by_tesseract(folder, pictures, expected):
    cpu_s, recognized = 0, []
    for picture in pictures:
        with open(folder / "page.txt", "wb") as out:
            used, _ = run_measured(["tesseract", picture, "-"], stdout=out, env={"OMP_THREAD_LIMIT": "1"})
        cpu_s += used
        recognized.append((folder / "page.txt").read_text())
    return _sample(cpu_s, recognized, expected)


def _warm_gateway(bench, folder):
    """A gateway whose engines have each read a document; engine processes are reused."""
    gateway = bench.gateway()
    pdf = folder / "warm.pdf"
    document, texts = scanned_document(2)
    pdf.write_bytes(document)
    _by_gateway(gateway, pdf, texts)
    return gateway


def scans(bench):
    _install_peers()
    folder = bench.fresh_folder("scans")
    pdf = folder / "scans.pdf"
    document, expected = scanned_document(SCANS)
    pdf.write_bytes(document)
    subprocess.run(["pdftoppm", "-r", "300", "-gray", "-png", pdf, folder / "page"], check=True)
    pictures = sorted(folder.glob("page-*.png"))
    gateway = _warm_gateway(bench, folder)
    samples = bench.side_by_side(
        rounds=1 if bench.quick else 3,
        engine=lambda: _by_engine(folder, pdf, expected),
        gateway=lambda: _by_gateway(gateway, pdf, expected),
        ocrmypdf=lambda: _by_ocrmypdf(folder, pdf, expected),
        tesseract=lambda: _by_tesseract(folder, pictures, expected),
    )
    return _scan_results(samples)


def _scan_results(samples):
    speed = {name: picked(values, "pages_per_cpu_s") for name, values in samples.items()}
    cer = {name: picked(values, "cer") for name, values in samples.items()}
    unit, results = "pages/CPU-s", []
    for ours, called in (("gateway", "through the gateway"), ("engine", "millrace-engine --once")):
        results += [
            Result(10, f"{SCANS} scans {called}", unit, speed[ours], "OCRmyPDF", speed["ocrmypdf"], least=3.0),
            Result(10, f"{SCANS} scans {called}", unit, speed[ours], "tesseract CLI, 300 dpi", speed["tesseract"]),
            Result(10, f"character errors {called}", "%", cer[ours], "OCRmyPDF", cer["ocrmypdf"], no_worse=True),
            Result(10, f"character errors {called}", "%", cer[ours], "tesseract CLI, 300 dpi", cer["tesseract"], no_worse=True),
        ]
    for result in results:
        peer = "ocrmypdf" if result.peer_name == "OCRmyPDF" else "tesseract"
        if max(cer[peer]) > READABLE_PERCENT:
            result.unfair = f"{result.peer_name} could not read the pages"
    results[0].note = (
        "OCRmyPDF also writes a searchable PDF/A; the tesseract CLI gets pages already rasterised (that CPU is not counted), "
        "both read at 300 dpi while ours rasterises at 200; the gateway's engines are warm, the others start for each document"
    )
    return results


def text_layer(bench):
    folder = bench.fresh_folder("text")
    pdf = folder / "text.pdf"
    pdf.write_bytes(text_document(TEXT_PAGES))
    gateway = _warm_gateway(bench, folder)
    core = str(max(os.sched_getaffinity(0)))
    body = {"document": {"type": "document_url", "document_url": data_uri(pdf.read_bytes())}}

    def one_core():
        _, wall_s = run_measured(["taskset", "-c", core, ENGINE, "--once", pdf])
        return TEXT_PAGES / wall_s

    def through_gateway():
        before = machine.tree_cpu_s(gateway.popen.pid)
        reply = gateway.client.post("/v1/ocr", body, timeout=300)
        assert reply.status == 200 and len(reply.json()["pages"]) == TEXT_PAGES, (reply.status, reply.body[:400])
        return TEXT_PAGES / (machine.tree_cpu_s(gateway.popen.pid) - before)

    samples = bench.side_by_side(engine=one_core, gateway=through_gateway)
    return [
        Result(11, f"{TEXT_PAGES} text pages, millrace-engine --once on one core", "pages/s", samples["engine"], least=300),
        Result(11, f"{TEXT_PAGES} text pages through the gateway, all its processes", "pages/CPU-s", samples["gateway"]),
    ]
