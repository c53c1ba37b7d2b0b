"""POST /v1/ocr: boxes to tick as fields of a PDF, as drawings in a text layer, and in scans."""

import io
import subprocess

import pytest
from documents import data_uri
from millrace import Gateway
from reportlab.pdfgen import canvas


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("forms") / "data").start()
    yield gateway
    gateway.close()


def read(gateway, document, media="application/pdf"):
    kind = "document_url" if media == "application/pdf" else "image_url"
    reply = gateway.client.post("/v1/ocr", {"document": {"type": kind, kind: data_uri(document, media)}})
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0]["markdown"].strip()


def drawn(draw):
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=(595, 842))
    page.setFont("Helvetica", 12)
    draw(page)
    page.save()
    return out.getvalue()


def scanned(document, tmp_path):
    source = tmp_path / "form.pdf"
    source.write_bytes(document)
    subprocess.run(["pdftoppm", "-r", "200", "-gray", "-png", "-singlefile", source, tmp_path / "form"], check=True, timeout=60)
    return (tmp_path / "form.png").read_bytes()


TITLE = "Application form for membership of the club"


def fields(page):
    page.drawString(60, 740, TITLE)
    page.drawString(80, 702, "I accept the terms")
    page.acroForm.checkbox(name="accept", x=60, y=700, size=12, checked=True)
    page.drawString(80, 672, "Send me the news")
    page.acroForm.checkbox(name="news", x=60, y=670, size=12, checked=False)
    page.drawString(80, 642, "By letter")
    page.acroForm.radio(name="way", value="letter", x=60, y=640, size=12, selected=False)
    page.drawString(80, 612, "By telephone")
    page.acroForm.radio(name="way", value="telephone", x=60, y=610, size=12, selected=True)
    page.drawString(60, 580, "Name")
    page.acroForm.textfield(name="name", value="Anna Sharp", x=120, y=574, width=200, height=18, fontSize=10)


TICKED = ["[x] I accept the terms", "[ ] Send me the news"]


def test_buttons_of_a_form_have_their_state(shared):
    text = read(shared, drawn(fields))
    for line in [*TICKED, "[ ] By letter", "[x] By telephone", TITLE, "Anna Sharp"]:
        assert line in text, text


def test_a_scanned_form_has_its_boxes(shared, tmp_path):
    """Circles that are lower than the letters, as these radio buttons, cannot be told from hollow bullets."""
    text = read(shared, scanned(drawn(fields), tmp_path), "image/png")
    for line in [*TICKED, TITLE, "Anna Sharp"]:
        assert line in text, text
    assert not {"|", "\\|", "(]", "[Anna", "\\[Anna"} & set(text.split()), text


def boxes(page):
    page.drawString(60, 740, TITLE)
    page.setLineWidth(0.7)
    for number, line in enumerate(["I accept the terms", "Send me the news"]):
        y = 700 - 30 * number
        page.drawString(80, y + 2, line)
        page.rect(60, y, 12, 12)
        if number == 0:
            page.line(62, y + 2, 70, y + 10)
            page.line(62, y + 10, 70, y + 2)


def test_drawn_boxes_beside_a_text_layer_are_found(shared):
    text = read(shared, drawn(boxes))
    assert all(line in text for line in TICKED), text


def test_drawn_boxes_of_a_scan_are_found(shared, tmp_path):
    text = read(shared, scanned(drawn(boxes), tmp_path), "image/png")
    assert all(line in text for line in TICKED), text


@pytest.mark.parametrize("dpi", [150, 200, 300])
def test_shapes_without_text_are_no_letters(shared, tmp_path, dpi):
    def draw(page):
        page.drawString(60, 600, "C")
        for x in (60, 85, 200, 225):
            page.rect(x, 700, 14, 14)
            page.circle(x + 7, 680, 8)

    document = drawn(draw)
    assert read(shared, document) == "C"
    source = tmp_path / "shapes.pdf"
    source.write_bytes(document)
    subprocess.run(["pdftoppm", "-r", str(dpi), "-gray", "-png", "-singlefile", source, tmp_path / "shapes"], check=True, timeout=60)
    assert len(read(shared, (tmp_path / "shapes.png").read_bytes(), "image/png")) <= 1


def test_a_box_far_from_a_sentence_says_nothing(shared):
    def draw(page):
        page.drawString(60, 700, "I agree.")
        page.rect(200, 700, 14, 14)

    assert read(shared, drawn(draw)) == "I agree."


def test_letters_in_words_and_numbers_stay(shared, tmp_path):
    def draw(page):
        for number, line in enumerate(["O Canada, our home and native land", "0 1 2 3 4 5 6 7 8 9 and 100 000", "OOH TOO GOOD: a book of Oslo"]):
            page.drawString(60, 740 - 24 * number, line)

    text = read(shared, scanned(drawn(draw), tmp_path), "image/png")
    for word in ("Canada", "home", "100", "GOOD", "book", "Oslo"):
        assert word in text, text
    assert "[ ]" not in text and "[x]" not in text, text


def test_hidden_fields_and_buttons_to_push_are_none(shared):
    def draw(page):
        page.drawString(80, 702, "I accept the terms of the club and its rules")
        page.acroForm.checkbox(name="accept", x=60, y=700, size=12, checked=True, annotationFlags="hidden")

    assert "[x]" not in read(shared, drawn(draw))
