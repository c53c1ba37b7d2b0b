"""POST /v1/ocr with tables of several classes (tests/support/tables.py): F1 of their cells, and tables where there are none."""

import random

import pytest
from documents import data_uri, scan_pdf
from millrace import Gateway
from tables import CLASSES, FONTS, NAMES, PLACES, Score, Sheet, facts, page_without_table, pdf_of, scans_of, table_page, tables_in

PAGES = 3
LEAST = 0.95


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


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("kind", CLASSES)
def test_the_cells_of_a_scan_are_in_their_places(shared, kind, noisy):
    pages = [table_page(kind, seed) for seed in (3, 5)]
    texts = read(shared, scan_pdf(scans_of(pdf_of(pages), noisy=noisy), quality=85))
    assert score_of(pages, texts).f1 >= LEAST, texts


MEASURES = [lambda chance: f"{chance.uniform(0, 99):.1f}", lambda chance: f"{chance.uniform(0, 9):.2f}", lambda chance: f"{chance.randint(0, 40)} ms"]


def measured(seed):
    """A page with a table of measured values under heads of letters and digits."""
    chance = random.Random(seed)
    sheet = Sheet("measured", chance)
    sheet.font = FONTS[seed % len(FONTS)]
    rows = [["Step", "p50", "p99", "Qty", "SD"]]
    for n in range(12):
        rows.append([f"{chance.choice(NAMES)}", *(chance.choice(MEASURES[:2])(chance) for _ in range(2)), str(chance.randint(1, 9)), MEASURES[2](chance)])
    for column in (1, 2):
        kind = chance.choice(MEASURES[:2])
        for row in rows[1:]:
            row[column] = kind(chance)
    sheet.table(rows, [120, 70, 70, 60, 80], ["left"] + ["right"] * 4, chance.choice(["booktabs", "ruled", "plain"]))
    return sheet.page


@pytest.mark.parametrize("noisy", [False, True])
def test_the_numbers_of_a_scanned_table_are_read_as_numbers(shared, noisy):
    pages = [measured(seed) for seed in range(8)]
    texts = read(shared, scan_pdf(scans_of(pdf_of(pages), noisy=noisy), quality=85))
    wrong, numbers = [], 0
    for page, text in zip(pages, texts, strict=True):
        read_ones = {cell for table in tables_in(text) for cell in facts(table)}
        for row, column, cell in sorted(facts(page.tables[0])):
            if row == 0 or column == 0:
                continue
            numbers += 1
            if (row, column, cell) not in read_ones:
                wrong.append((page.kind, row, column, cell))
    assert len(wrong) <= 0.005 * numbers, (wrong, texts)


def test_small_type_below_large_type_is_read(shared):
    sheet = Sheet("census", random.Random(1))
    sheet.font, sheet.size, sheet.lead = "DejaVu", 14, 20
    for _ in range(2):
        sheet.paragraph(30)
    sheet.size, sheet.lead = 3.3, 4
    rows = [[sheet.chance.choice(PLACES), *(str(sheet.chance.randint(10, 9999)) for _ in range(8))] for _ in range(40)]
    sheet.table(rows, [40] + [30] * 8, ["left"] + ["right"] * 8, "plain", between=2)
    text = read(shared, scan_pdf(scans_of(pdf_of([sheet.page])), quality=90))[0]
    assert score_of([sheet.page], [text]).f1 >= 0.85, text


def test_scanned_pages_without_tables_have_none(shared):
    pages = [page_without_table(seed) for seed in range(10)]
    texts = read(shared, scan_pdf(scans_of(pdf_of(pages)), quality=85))
    assert not [text for text in texts if tables_in(text)]


def test_pages_without_tables_have_none(shared):
    pages = [page_without_table(seed) for seed in range(50)]
    texts = read(shared, pdf_of(pages))
    false = [text for text in texts if tables_in(text)]
    assert len(false) <= 1, false
