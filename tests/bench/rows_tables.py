"""Row 23: cells of generated tables that are in their places, by class, and tables where there are none."""

import json
import subprocess

from documents import scan_pdf
from millrace import BUILD
from report import Result
from tables import CLASSES, Score, page_without_table, pdf_of, scans_of, table_page, tables_in

PAGES = 30
PLAIN_PAGES = 50
LEAST = 0.95
ENGINE = BUILD / "millrace-engine"


def _scanned(noisy):
    return lambda pdf: scan_pdf(scans_of(pdf, noisy=noisy), quality=85)


KINDS = {"text layer": lambda pdf: pdf, "scan": _scanned(False), "noisy scan": _scanned(True)}


def _read(folder, document):
    path = folder / "tables.pdf"
    path.write_bytes(document)
    out = subprocess.run([ENGINE, "--once", path, "--json"], stdout=subprocess.PIPE, check=True).stdout
    pages = sorted(map(json.loads, out.decode().splitlines()), key=lambda page: page["index"])
    return [tables_in(page["markdown"]) for page in pages]


def tables(bench):
    folder = bench.fresh_folder("tables")
    results = []
    for kind, made in KINDS.items():
        for name in CLASSES:
            pages = [table_page(name, seed) for seed in range(3 if bench.quick else PAGES)]
            score = Score()
            for page, found in zip(pages, _read(folder, made(pdf_of(pages))), strict=True):
                score.add(page.tables, found)
            results.append(Result(23, f"cells in their places, {name}, {kind}", "F1", [score.f1], least=LEAST))
        plain = [page_without_table(seed) for seed in range(PLAIN_PAGES)]
        false = sum(bool(found) for found in _read(folder, made(pdf_of(plain))))
        results.append(Result(23, f"pages of {PLAIN_PAGES} without a table that got one, {kind}", "pages", [false], most=1))
    return results
