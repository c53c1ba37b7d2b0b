"""POST /v1/ocr: no word of a text layer is lost, whatever pictures lie beside, below or over it. Shapes of scans are read once."""

import io
import random

import pytest
from documents import data_uri, scan_pdf
from millrace import Gateway
from PIL import Image, ImageDraw
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas
from tables import scans_of, tables_in

WORDS = "river turns wheel stone sack grain comes down hills becomes flour before night falls quiet water miller counts work bags".split()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("layers") / "data").start()
    yield gateway
    gateway.close()


def read(gateway, document):
    reply = gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(document, "application/pdf")}}, timeout=120)
    assert reply.status == 200, reply.body
    return [page["markdown"] for page in reply.json()["pages"]]


def drawn(*pages):
    out = io.BytesIO()
    to = canvas.Canvas(out, pagesize=(595, 842))
    for page in pages:
        page(to)
        to.showPage()
    to.save()
    return out.getvalue()


def photograph(chance, width, height):
    picture = Image.new("L", (width, height), 120)
    draw = ImageDraw.Draw(picture)
    for _ in range(400):
        x, y = chance.randrange(width), chance.randrange(height)
        draw.ellipse((x, y, x + chance.randrange(5, 200), y + chance.randrange(5, 200)), fill=chance.randrange(30, 220))
    return ImageReader(picture.convert("RGB"))


def mixed(seed, words):
    """Few words on a page that a photograph fills, drawn before or after them."""

    def page(to):
        chance = random.Random(seed)
        over = seed % 2 == 1
        if not over:
            to.drawImage(photograph(chance, 595, 842), 0, 0, 595, 842)
        to.setFont("Helvetica", chance.choice([8, 10, 14]))
        for line in range(4):
            for column in range(3):
                words.append(chance.choice(WORDS) + chance.choice(WORDS) + "abcdefghijkl"[3 * line + column])
                to.drawString(60 + 160 * column, 780 - chance.randrange(40) - 180 * line, words[-1])
        if over:
            to.drawImage(photograph(chance, 595, 842), 0, 0, 595, 842)

    return page


def test_no_word_of_a_text_layer_on_a_picture_is_lost(shared):
    words = [[] for _ in range(6)]
    texts = read(shared, drawn(*(mixed(seed, words[seed]) for seed in range(6))))
    lost = [word for page, text in zip(words, texts, strict=True) for word in page if word not in text]
    assert not lost, texts


STOCK = [("Wheel", "12", "34.50", True), ("Hinge", "7", "4.25", False), ("Cable", "33", "18.75", True), ("Motor", "2", "120.00", False), ("Panel", "18", "64.10", True)]


def stock(to):
    to.setFont("Helvetica", 10)
    to.drawString(60, 760, "Stock of the mill in November")
    for row, (name, count, price, ticked) in enumerate(STOCK):
        y = 730 - 18 * row
        to.drawString(60, y, name)
        to.drawRightString(220, y, count)
        to.drawRightString(320, y, price)
        to.rect(370, y - 1, 9, 9)
        if ticked:
            to.line(371.5, y + 0.5, 377.5, y + 6.5)
            to.line(371.5, y + 6.5, 377.5, y + 0.5)
        to.drawString(384, y, "in stock")


def test_boxes_in_a_table_of_a_scan_are_read_once(shared):
    text = read(shared, scan_pdf(scans_of(drawn(stock)), quality=90))[0]
    assert tables_in(text.replace("] In", "] in")) == [[[name, count, price, f"[{'x' if ticked else ' '}] in stock"] for name, count, price, ticked in STOCK]], text


def test_rows_of_dots_in_a_scan_lead_to_their_numbers(shared):
    entries = [("1 Introduction", "1"), ("1.1 Mills", "3"), ("1.2 Rivers and wheels", "12"), ("2 Flour", "25"), ("Index", "40")]

    def contents(to):
        to.setFont("Helvetica-Bold", 16)
        to.drawString(60, 780, "Contents")
        to.setFont("Helvetica", 10)
        for row, (name, number) in enumerate(entries):
            y, x = 745 - 16 * row, 64 + to.stringWidth(name, "Helvetica", 10)
            to.drawString(60, y, name)
            while x < 515:
                to.drawString(x, y, ".")
                x += 4.5
            to.drawRightString(535, y, number)

    text = read(shared, scan_pdf(scans_of(drawn(contents)), quality=90))[0]
    assert [line.strip() for line in text.splitlines() if line.strip()] == ["# Contents", *(f"{name} {number}" for name, number in entries)], text


def test_masks_and_ratings_in_a_scan_keep_their_bullets(shared):
    cards = [("Visa", "•••• 1234", "12.50"), ("Master", "•••• 9876", "7.20"), ("Amex", "•••• 5555", "99.00"), ("Giro", "••••• 4321", "3.10")]

    def draw(to):
        to.setFont("Helvetica", 10)
        for row, (name, number, amount) in enumerate(cards):
            y = 780 - 16 * row
            to.drawString(60, y, name)
            to.drawString(200, y, number)
            to.drawRightString(420, y, amount)
        for row, name in enumerate(["English", "German", "French"]):
            y = 640 - 18 * row
            to.drawString(60, y, name)
            for dot in range(5):
                to.circle(200 + 9 * dot, y + 3.5, 3, fill=1 if dot < 4 - row else 0)

    text = read(shared, scan_pdf(scans_of(drawn(draw)), quality=90))[0]
    assert tables_in(text)[0] == [list(card) for card in cards], text
    assert [mark for mark in ("●●●●○", "●●●○○", "●●○○○") if mark not in text] == [], text
