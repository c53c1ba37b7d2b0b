"""POST /v1/ocr with tables of several classes (tests/support/tables.py): F1 of their cells, and tables where there are none."""

import io

import pytest
from documents import data_uri
from millrace import Gateway
from tables import CLASSES, Score, page_without_table, pdf_of, scans_of, table_page, tables_in

PAGES = 3
SCANNED = {"ruled lines": 0.95, "booktabs": 0.9, "spanning heads": 0.9, "invoice": 0.9}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("tables") / "data").start()
    yield gateway
    gateway.close()


def read(gateway, document, media="application/pdf"):
    reply = gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(document, media)}}, timeout=120)
    assert reply.status == 200, reply.body
    return [page["markdown"] for page in reply.json()["pages"]]


def score_of(pages, texts):
    score = Score()
    for page, text in zip(pages, texts, strict=True):
        score.add(page.tables, tables_in(text))
    return score


@pytest.mark.parametrize("kind", CLASSES)
def test_the_cells_of_a_text_layer_are_in_their_places(shared, kind):
    pages = [table_page(kind, seed) for seed in range(PAGES)]
    texts = read(shared, pdf_of(pages))
    assert score_of(pages, texts).f1 >= 0.95, texts


@pytest.mark.parametrize("kind", SCANNED)
def test_the_cells_of_a_scan_are_in_their_places(shared, kind):
    page = table_page(kind, 0)
    out = io.BytesIO()
    scans_of(pdf_of([page]))[0].save(out, "PNG")
    texts = read(shared, out.getvalue(), "image/png")
    assert score_of([page], texts).f1 >= SCANNED[kind], texts


def test_pages_without_tables_have_none(shared):
    pages = [page_without_table(seed) for seed in range(50)]
    texts = read(shared, pdf_of(pages))
    false = [text for text in texts if tables_in(text)]
    assert len(false) <= 1, false
