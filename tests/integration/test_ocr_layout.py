"""POST /v1/ocr with pages that have a text layer: their text is returned in reading order."""

import io
import subprocess

import pytest
from documents import data_uri
from millrace import Gateway
from PIL import Image, ImageDraw
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen import canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

pdfmetrics.registerFont(TTFont("DejaVu", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"))
ACROSS = "The table of the quarter with all its rows stands below; it was made by the mill and is complete."


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("layout") / "data").start()
    yield gateway
    gateway.close()


def read(gateway, document):
    reply = gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(document)}})
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0]["markdown"].strip()


def drawn(draw, size=A4, font="Helvetica", points=11):
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=size)
    page.setFont(font, points)
    draw(page)
    page.save()
    return out.getvalue()


def lines(texts, font="Helvetica", pitch=14, left=80):
    def draw(page):
        for number, text in enumerate(texts):
            page.drawString(left, 760 - number * pitch, text)

    return drawn(draw, font=font)


def table(rows, step, pitch, heading=ACROSS):
    def draw(page):
        page.drawString(60, 790, heading)
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                page.drawString(60 + column * step, 740 - number * pitch, cell)

    return drawn(draw, points=9)


def cells(markdown):
    rows = [line.strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if "---" not in row[0]]


@pytest.mark.parametrize("text", ["Il1O0-B8S5", "Глава первая", "€ 1.234,56", "4711"])
def test_a_text_layer_is_used_however_short_it_is(shared, text):
    assert read(shared, lines([text], font="DejaVu")) == text


def test_a_word_on_a_huge_page_is_found(shared):
    assert read(shared, drawn(lambda page: page.drawString(7000, 7000, "Hello plain page"), (14400, 14400))) == "Hello plain page"


def test_text_from_right_to_left_is_read_in_its_logical_order(shared):
    logical = ["בתחילה ברא אלוהים את השמים ואת הארץ", "מחיר: 120 שקלים בלבד"]

    def draw(page):
        for number, line in enumerate(logical):
            seen = [word if word.isdigit() else word[::-1] for word in reversed(line.split())]
            page.drawRightString(500, 700 - number * 18, " ".join(seen))

    assert read(shared, drawn(draw, font="DejaVu", points=12)) == " ".join(logical)


@pytest.mark.parametrize("step, pitch", [(125, 14), (125, 18), (125, 30)])
def test_a_table_of_even_columns_keeps_its_rows(shared, step, pitch):
    rows = [[f"r{row}c{column} text" for column in range(4)] for row in range(6)]
    assert cells(read(shared, table(rows, step, pitch))) == rows


def test_a_table_of_many_words_keeps_its_rows(shared):
    rows = [[f"A longer description {n}", f"and a remark of words {n}", f"{n}.00 EUR"] for n in range(7)]
    assert cells(read(shared, table(rows, 170, 14))) == rows


@pytest.mark.parametrize("count", [2, 3])
def test_columns_of_prose_with_aligned_lines_are_read_one_after_the_other(shared, count):
    words = "the river turns a wheel and the wheel turns a stone so every sack of grain becomes flour".split()
    width = 480 // count
    text = [[words[(7 * row + 3 * column + k) % len(words)] for k in range(40)] for row in range(30) for column in range(count)]

    def draw(page):
        for column in range(count):
            for row in range(30):
                line = ""
                for word in text[row * count + column]:
                    if page.stringWidth(f"{line} {word}", "Helvetica", 9) < width - 20:
                        line = f"{line} {word}".strip()
                page.drawString(55 + column * width, 740 - 11 * row, line)
            page.drawString(55 + column * width, 400, f"This is the end of column {column}")

    markdown = read(shared, drawn(draw, points=9))
    assert "|" not in markdown
    ends = [markdown.index(f"end of column {n}") for n in range(count)]
    assert ends == sorted(ends), markdown
    assert markdown.count("\n\n") <= 2 * count, markdown


@pytest.mark.parametrize("widths", [[30, 220, 40, 80, 80], [30, 150, 40, 80, 80], None])
def test_a_short_invoice_is_one_table_below_its_title(shared, widths):
    rows = [["Pos", "Description", "Qty", "Unit price", "Amount"], ["1", "Wheat flour", "12", "18.40", "220.80"],
            ["2", "Rye, whole grain", "3", "15.00", "45.00"], ["", "", "", "Total", "265.80"]]
    ruled = Table(rows, colWidths=widths, style=[("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("ALIGN", (2, 0), (-1, -1), "RIGHT")])
    styles, out = getSampleStyleSheet(), io.BytesIO()
    SimpleDocTemplate(out).build([Paragraph("Invoice", styles["Title"]), ruled, Paragraph("Pay soon.", styles["Normal"])])
    markdown = read(shared, out.getvalue())
    assert markdown.startswith("# Invoice\n\n|") and markdown.endswith("|\n\nPay soon."), markdown
    assert cells(markdown) == rows


@pytest.mark.parametrize("sentences", [1, 3])
@pytest.mark.parametrize("side", ["TOP", "MIDDLE", "BOTTOM"])
def test_a_cell_of_several_lines_is_one_cell_wherever_its_neighbours_are(shared, side, sentences):
    sentence, styles, out = " ".join([ACROSS] * sentences), getSampleStyleSheet(), io.BytesIO()
    rows = [["Name", "What it does", "Qty"], ["Flour", sentence, "12"], ["Rye", sentence, "9"], ["Oats", sentence, "3"]]
    drawn_rows = [[name, Paragraph(text, styles["Normal"]) if text == sentence else text, count] for name, text, count in rows]
    after = Paragraph(ACROSS, styles["Normal"])
    SimpleDocTemplate(out).build([Table(drawn_rows, colWidths=[80, 260, 60], style=[("VALIGN", (0, 0), (-1, -1), side)]), after])
    markdown = read(shared, out.getvalue())
    assert cells(markdown) == rows
    assert markdown.endswith("|\n\n" + ACROSS)


def test_each_list_item_keeps_its_line(shared):
    for marks in (["1.", "2.", "3."], ["a)", "b)", "c)"]):
        texts = [f"{mark} item {name}" for mark, name in zip(marks, ("one", "two", "three"))]
        assert read(shared, lines(texts)) == "\n".join(texts)


def test_an_address_and_names_with_their_values_keep_their_lines(shared):
    address = ["ACME Mills", "12 River Street", "London E1 6AN"]
    for texts in (address, ["Invoice no: 4711", "Date: 2026-11-23", "Total: 12.00 EUR"]):
        assert read(shared, lines(texts)) == "  \n".join(texts)


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_text_is_read_upright_in_any_orientation(shared, turn):
    texts = ["The first line of a page that lies", "on its side or on its head, and the", "third line that ends it here."]

    def draw(page):
        page.translate(300, 400)
        page.rotate(turn)
        for number, text in enumerate(texts):
            page.drawString(-100, 20 - number * 14, text)

    assert read(shared, drawn(draw)) == " ".join(texts)


def test_a_table_on_its_side_below_an_upright_line_is_a_table(shared):
    rows = [["Item", "Count", "Price"], ["Widget", "3", "9.99"], ["Gadget", "14", "120.00"]]

    def draw(page):
        page.drawString(72, 810, "Appendix A, see the table")
        page.translate(500, 100)
        page.rotate(90)
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                page.drawString(column * 150, 100 - number * 20, cell)

    markdown = read(shared, drawn(draw))
    assert markdown.startswith("Appendix A, see the table\n\n|")
    assert cells(markdown) == rows


@pytest.mark.parametrize(("stamp", "angle", "points"), [("CONFIDENTIAL", 45, 70), ("DO NOT COPY", 55, 60), ("SAMPLE", 0, 120), ("Draft 3", 30, 30)])
def test_a_stamp_across_the_text_does_not_change_its_lines_and_comes_last(shared, stamp, angle, points):
    prose = [f"Line {number} of a page of prose whose words should be read in their order and no other." for number in range(1, 41)]

    def draw(page):
        for number, text in enumerate(prose):
            page.drawString(60, 770 - number * 16, text)
        page.translate(A4[0] / 2, A4[1] / 2)
        page.rotate(angle)
        page.setFont("Helvetica-Bold", points)
        page.setFillGray(0.85)
        page.drawCentredString(0, 0, stamp)

    assert read(shared, drawn(draw)) == " ".join(prose) + "\n\n" + stamp


def test_text_that_reads_as_markup_is_escaped(shared):
    for text in ("```", "~~~", "---", "+ plus", "<script>alert(1)</script>"):
        assert read(shared, lines([text], font="DejaVu")).replace("\\</", "</") == "\\" + text


def test_ligatures_and_soft_hyphens_are_written_as_letters(shared):
    assert read(shared, lines(["\ufb01nal of\ufb01ce soft\u00adhyphen"], font="DejaVu")) == "final office softhyphen"


@pytest.mark.parametrize(
    "font, text",
    [
        ("HeiseiMin-W3", "日本語の文章です。吾輩は猫である。"),
        ("STSong-Light", "这是一个中文句子。"),
        ("HYSMyeongJo-Medium", "한국어 문장입니다"),
    ],
)
def test_chinese_japanese_and_korean_in_fonts_that_are_not_in_the_document_are_read(shared, font, text):
    pdfmetrics.registerFont(UnicodeCIDFont(font))
    assert read(shared, lines([text], font=font)) == text


def test_arabic_presentation_forms_become_letters(shared):
    """As old producers write them: each form in the order of the page, the ligature of lam and alef as one."""

    def draw(page):
        page.drawString(300, 700, "\ufee1\ufefc\ufeb3")
        page.drawString(300, 660, "\u0645\ufefb\u0633")

    text = read(shared, drawn(draw, font="DejaVu"))
    assert text.count("سلام") == 2, text


COLUMNS = ["日本語の文章は縦に書く。", "右から左へ読む物で有る。"]


def test_letters_below_each_other_are_columns_from_right_to_left(shared):
    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))

    def draw(page):
        page.drawString(80, 780, "日本語の縦書き")
        for column, letters in enumerate(COLUMNS):
            for row, letter in enumerate(letters):
                page.drawString(480 - 24 * column, 720 - 15 * row, letter)

    text = read(shared, drawn(draw, font="HeiseiMin-W3", points=12))
    assert text == "日本語の縦書き\n\n" + "".join(COLUMNS), text


def turned_scan(document, turns, tmp_path):
    source = tmp_path / "page.pdf"
    source.write_bytes(document)
    subprocess.run(["pdftoppm", "-r", "200", "-gray", "-png", "-singlefile", source, tmp_path / "page"], check=True, timeout=60)
    out = io.BytesIO()
    Image.open(tmp_path / "page.png").rotate(90 * turns, expand=True).save(out, "PNG")
    return out.getvalue()


def read_picture(gateway, picture):
    reply = gateway.client.post("/v1/ocr", {"document": {"type": "image_url", "image_url": data_uri(picture, "image/png")}})
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0]


TEXTS = ["We measured three systems on the same machine, and each figure is", "the median of five runs; the spread was below three per cent in all."]
ROWS = [["System", "Median", "Rate", "Errors"], ["Millrace", "44.1", "5.3", "17"], ["Baseline", "98.2", "2.2", "13"], ["Other", "66.6", "7.7", "12"], ["Nothing", "54.4", "80.5", "25"]]


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_table_without_rules_is_whole_however_its_page_is_turned(shared, turns, tmp_path):
    def draw(page):
        for number, line in enumerate(TEXTS):
            page.drawString(60, 760 - 16 * number, line)
            page.drawString(60, 560 - 16 * number, line)
        for number, row in enumerate(ROWS):
            for column, cell in enumerate(row):
                page.drawString(60 + 120 * column, 700 - 18 * number, cell)

    text = read_picture(shared, turned_scan(drawn(draw), turns, tmp_path))["markdown"]
    rows = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    assert [[cell.strip() for cell in row.strip("|").split("|")] for row in rows] == ROWS, text
    assert text.index(TEXTS[0][:20]) < text.index("| System") < text.rindex(TEXTS[0][:20])


def test_a_picture_between_two_columns_is_in_its_column(shared, tmp_path):
    photo = Image.effect_noise((400, 300), 90)
    ImageDraw.Draw(photo).ellipse((80, 60, 320, 240), fill=40)
    left = [f"north {number} of the text runs on here" for number in range(30)]
    right = [f"south {number} of the text runs on here" for number in range(42)]

    def draw(page):
        for number, line in enumerate(left):
            page.drawString(60, 780 - 16 * number, line)
        page.drawImage(ImageReader(photo), 60, 110, 200, 150)
        for number, line in enumerate(right):
            page.drawString(320, 780 - 16 * number, line)

    page = read_picture(shared, turned_scan(drawn(draw), 0, tmp_path))
    text = " ".join(page["markdown"].split())
    assert len(page["images"]) == 1 and "|" not in text, text
    assert text.index("north 0 ") < text.index("north 29") < text.index("south 0 ") < text.index("south 41"), text
    assert text.index("north 29") < text.index("![img") < text.index("south 0 "), text


def ruled(page, rows, x, y, across=90, down=20):
    for number in range(len(rows) + 1):
        page.line(x, y - number * down, x + across * len(rows[0]), y - number * down)
    for number in range(len(rows[0]) + 1):
        page.line(x + number * across, y, x + number * across, y - down * len(rows))
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            page.drawString(x + column * across + 6, y - number * down - 14, cell)


PUMPS = [["Pos", "Article", "Qty", "Sum"], ["1", "Pump P-12", "4", "500.00"], ["2", "Hose 3 m", "10", "84.00"], ["3", "Clamp", "25", "23.75"]]


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_rules_and_boxes_turn_with_the_text_of_a_page(shared, angle):
    def draw(page):
        page.translate(297, 421)
        page.rotate(angle)
        page.translate(-200, -100)
        page.drawString(0, 260, "Order of pumps and hoses for the mill in Leeds")
        ruled(page, PUMPS, 0, 230)
        page.rect(0, 100, 9, 9)
        page.rect(0, 80, 9, 9)
        page.drawString(2, 101.5, "x")
        page.drawString(16, 101, "deliver at once")
        page.drawString(16, 81, "send a note before")

    markdown = read(shared, drawn(draw))
    assert cells(markdown) == PUMPS
    assert "- [x] deliver at once\n- [ ] send a note before" in markdown


@pytest.mark.parametrize(("stamp", "angle", "points"), [("COPY", 0, 26), ("PAID 12 MAY", 18, 18), ("EINGEGANGEN 14. MAI", -12, 12), ("VOID", 30, 60)])
def test_a_stamp_over_the_cells_of_a_table_is_not_in_them(shared, stamp, angle, points):
    def draw(page):
        page.drawString(72, 790, "Delivery note 7731")
        ruled(page, PUMPS, 72, 770)
        page.drawString(72, 650, "The goods remain our property until they are paid in full.")
        page.translate(266, 736)
        page.rotate(angle)
        page.setFont("Helvetica-Bold", points)
        page.drawCentredString(0, 0, stamp)

    markdown = read(shared, drawn(draw))
    assert cells(markdown) == PUMPS
    assert markdown.endswith("\n\n" + stamp)


def test_hidden_text_of_tesseract_is_not_read_twice(shared, tmp_path):
    def draw(page):
        page.setFont("Helvetica", 12)
        for line in range(6):
            page.drawString(72, 800 - 18 * line, "The river turns the wheel of the mill and the grain becomes flour.")
        ruled(page, PUMPS, 72, 620)

    source = tmp_path / "page.pdf"
    source.write_bytes(drawn(draw))
    subprocess.run(["pdftoppm", "-r", "200", "-gray", "-png", "-singlefile", source, tmp_path / "page"], check=True, timeout=60)
    subprocess.run(["tesseract", tmp_path / "page.png", tmp_path / "found", "pdf"], check=True, timeout=120, stderr=subprocess.DEVNULL)
    markdown = read(shared, (tmp_path / "found.pdf").read_bytes())
    lines = markdown.split("\n\n")
    assert lines[0] == " ".join(["The river turns the wheel of the mill and the grain becomes flour."] * 6)
    assert "Pump P-12" in markdown and "500.00" in markdown
    table = "\n".join(lines[1:]).replace("|", " ").replace(" ---", "").split()
    assert len(table) <= len(" ".join(map(" ".join, PUMPS)).split())
