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


HEADS = ["never", "rarely", "often", "mostly", "always"]
QUESTIONS = ["The staff were friendly", "The room was clean and quiet", "We would come again"]
ANSWERS = [[3], [0], [4]]


def survey(box):
    """Questions with five boxes each, one of which is ticked."""

    def draw(page):
        page.drawString(60, 740, "What our guests say about the house")
        for column in range(5):
            page.drawCentredString(286 + 50 * column, 700, HEADS[column])
        page.drawString(60, 700, "Question")
        for number, question in enumerate(QUESTIONS):
            y = 676 - 24 * number
            page.drawString(60, y, question)
            for column in range(5):
                box(page, f"q{number}{column}", 280 + 50 * column, y - 1, column in ANSWERS[number])

    return draw


def drawn_box(page, _, x, y, ticked):
    page.setLineWidth(0.8)
    page.setFillGray(0.92)
    page.rect(x, y, 12, 12, fill=1)
    page.setFillGray(0)
    if ticked:
        page.line(x + 2, y + 2, x + 10, y + 10)
        page.line(x + 2, y + 10, x + 10, y + 2)


def field(page, name, x, y, ticked):
    page.acroForm.checkbox(name=name, x=x, y=y, size=12, checked=ticked)


@pytest.mark.parametrize(("box", "scan"), [(field, False), (drawn_box, False), (drawn_box, True)])
def test_boxes_in_the_columns_of_a_table_stay(shared, tmp_path, box, scan):
    document = drawn(survey(box))
    text = read(shared, scanned(document, tmp_path), "image/png") if scan else read(shared, document)
    assert f"| Question | {' | '.join(HEADS)} |" in text, text
    for question, ticked in zip(QUESTIONS, ANSWERS, strict=True):
        cells = ["[x]" if column in ticked else "[ ]" for column in range(5)]
        assert f"| {question} | {' | '.join(cells)} |" in text, text


def test_letters_and_numbers_in_boxes_and_circles_are_read(shared, tmp_path):
    def sign(page, x, y, text, around):
        page.setLineWidth(0.9)
        if around == "circle":
            page.circle(x, y + 4, 8.5)
        else:
            page.rect(x - 9, y - 5, 18, 18)
        page.drawCentredString(x, y, text)

    def draw(page):
        page.drawString(60, 740, "How to change the filter of the machine")
        for number, line in enumerate(["Switch off the machine.", "Remove the cover.", "Take out the filter."]):
            sign(page, 70, 700 - 28 * number, str(number + 1), "circle")
            page.drawString(90, 700 - 28 * number, line)
        page.drawString(60, 610, "Press")
        sign(page, 110, 610, "F", "box")
        page.drawString(128, 610, "twice and then key")
        sign(page, 250, 610, "12", "box")
        page.drawString(60, 580, "The capital of Norway is")
        for number, letter in enumerate("ABCD"):
            sign(page, 230 + 40 * number, 580, letter, "circle")
        sign(page, 70, 550, "", "box")
        page.line(64, 548, 76, 560)
        page.line(64, 560, 76, 548)
        page.drawString(90, 550, "I have read this page")

    text = read(shared, scanned(drawn(draw), tmp_path), "image/png")
    for line in ["1 Switch off the machine.", "3 Take out the filter.", "Press F ", "key 12", "The capital of Norway is A B C D", "[x] I have read this page"]:
        assert line in text, text


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


def boxed_characters(page):
    page.drawString(60, 740, TITLE)
    page.drawString(60, 702, "Date of birth")
    page.drawString(60, 662, "Postcode")
    for row, text in [(696, "17041961"), (656, "SW1A 2AA")]:
        for place, character in enumerate(text):
            page.rect(160 + 18 * place, row, 18, 22)
            page.drawCentredString(169 + 18 * place, row + 6, character)
    page.drawString(60, 620, "Sign below and send the form to the office before the end of the month.")


def test_a_field_with_a_box_for_each_character_is_read_as_a_word(shared, tmp_path):
    form = drawn(boxed_characters)
    for text in (read(shared, form), read(shared, scanned(form, tmp_path), "image/png")):
        assert "Date of birth 17041961" in text and "Postcode SW1A 2AA" in text, text


def ticked_in_white(page):
    page.drawString(60, 740, TITLE)
    for row, text in enumerate(["Standard delivery", "Express delivery", "Pay by card", "Pay by invoice"]):
        y = 700 - 26 * row
        page.drawString(82, y, text)
        page.setFillColorRGB(0.1, 0.45, 0.9)
        page.setStrokeColorRGB(0.3, 0.3, 0.3)
        if row % 2:
            page.rect(61, y - 1, 11, 11)
        elif row:
            page.circle(66.5, y + 4.5, 7, stroke=0, fill=1)
        else:
            page.roundRect(60, y - 2, 13, 13, 2, stroke=0, fill=1)
        if row % 2 == 0:
            page.setStrokeColorRGB(1, 1, 1)
            page.setLineWidth(1.6)
            page.lines([(63, y + 4.5, 65.5, y + 2), (65.5, y + 2, 70.5, y + 7.5)])
            page.setLineWidth(1)
        page.setFillColorRGB(0, 0, 0)


def test_a_white_tick_in_a_filled_box_of_a_scan_ticks_it(shared, tmp_path):
    text = read(shared, scanned(drawn(ticked_in_white), tmp_path), "image/png")
    for line in ("[x] Standard delivery", "[ ] Express delivery", "[x] Pay by card", "[ ] Pay by invoice"):
        assert line in text, text
