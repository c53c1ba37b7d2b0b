"""Character error rate over a generated corpus: fonts × sizes × noise × rotation × tables × two columns."""

import io
import random

import pytest
from documents import data_uri, scan_pdf
from millrace import Gateway
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.pdfgen import canvas
from scans import DPI, FONTS, WORDS, paragraph, plain, read_file, sheet, text_page, write
from tables import scans_of


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("quality") / "data").start()
    yield gateway
    gateway.close()


def noisy(page, seed=7):
    page = page.rotate(0.6, resample=Image.BICUBIC, fillcolor=255).filter(ImageFilter.GaussianBlur(0.6))
    chance = random.Random(seed)
    speck = Image.frombytes("L", page.size, chance.randbytes(page.width * page.height)).point(lambda v: v // 6)
    return Image.blend(page, Image.eval(speck, lambda v: 235 - v // 2), 0.18)


def error_rate(read_text, expected):
    """Levenshtein distance divided by the length of the expected text."""
    read_text, expected = plain(read_text), plain(expected)
    previous = list(range(len(read_text) + 1))
    for i, m in enumerate(expected, 1):
        row = [i]
        for j, s in enumerate(read_text, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (m != s)))
        previous = row
    return previous[-1] / max(1, len(expected))


def read(gateway, page):
    reply = gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(scan_pdf([page], DPI))}})
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0]["markdown"]


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("points, bound", [(8, 0.03), (11, 0.015), (16, 0.015)])
def test_clean_pages(shared, font, points, bound):
    page, text = text_page(font, points)
    rate = error_rate(read(shared, page), text)
    assert rate <= bound, rate


@pytest.mark.parametrize("font", ["serif", "sans"])
@pytest.mark.parametrize("points", [40, 90, 150])
def test_large_type_is_read(shared, font, points):
    page, size = Image.new("L", (2400, 1400), 255), points * DPI // 72
    letters, draw = ImageFont.truetype(FONTS[font], size), ImageDraw.Draw(page)
    for line, text in enumerate(["Annual", "Report"]):
        draw.text((120, 60 + int(1.25 * size * line)), text, font=letters, fill=60)
    assert plain(read(shared, page)) == "annual report"


@pytest.mark.parametrize("font", FONTS)
def test_noisy_scans(shared, font):
    page, text = text_page(font, 11, seed=11)
    rate = error_rate(read(shared, noisy(page)), text)
    assert rate <= 0.02, rate


@pytest.mark.parametrize("font", FONTS)
def test_noisy_scans_of_small_print(shared, font):
    page, text = text_page(font, 8, seed=12)
    rate = error_rate(read(shared, noisy(page)), text)
    assert rate <= 0.04, rate


@pytest.mark.parametrize("font, turn", [("sans", 90), ("serif", 180), ("mono", 270)])
def test_noisy_scans_that_lie_on_their_side_or_head(shared, font, turn):
    page, text = text_page(font, 11, seed=22)
    rate = error_rate(read(shared, noisy(page).rotate(turn, expand=True)), text)
    assert rate <= 0.03, rate


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_turned_pages_are_read_upright(shared, turn):
    page, text = text_page("serif", 12, seed=21)
    rate = error_rate(read(shared, page.rotate(turn, expand=True)), text)
    assert rate <= 0.02, rate


def test_similar_lines_with_aligned_letters_are_not_taken_for_a_turned_page(shared):
    page, font = Image.new("L", (1654, 1100), 255), ImageFont.truetype(FONTS["sans"], 36)
    lines = [f"Scan 300 page 1 line {n} lorem ipsum dolor sit amet {n * 300}" for n in range(19)]
    for number, line in enumerate(lines):
        ImageDraw.Draw(page).text((120, 120 + 52 * number), line, font=font, fill=0)
    rate = error_rate(read(shared, page), " ".join(lines))
    assert rate <= 0.02, rate


def few_lines(size=(1654, 2339), mode="L", ink=0, paper=255):
    page, font = Image.new(mode, size, paper), ImageFont.truetype(FONTS["sans"], 40)
    text = "Invoice number 4711 Dear customer, the quick brown fox jumps over the lazy dog near the river bank."
    write_in = ImageDraw.Draw(page)
    for number, line in enumerate(("Invoice number 4711", "Dear customer, the quick brown fox", "jumps over the lazy dog near the river bank.")):
        write_in.text((150, 200 + 70 * number), line, font=font, fill=ink)
    return page, text


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_of_a_few_lines_is_read_upright(shared, turn):
    page, text = few_lines()
    assert error_rate(read(shared, page.rotate(turn, expand=True)), text) <= 0.02


@pytest.mark.parametrize("orientation, shown_by", [(3, Image.ROTATE_180), (5, Image.TRANSPOSE), (6, Image.ROTATE_90), (2, Image.FLIP_LEFT_RIGHT)])
def test_the_orientation_of_a_photograph_is_applied(shared, orientation, shown_by):
    page, text = few_lines()
    exif = Image.Exif()
    exif[0x112] = orientation
    assert error_rate(read_file(shared, page.transpose(shown_by), "jpeg", exif=exif), text) <= 0.02


@pytest.mark.parametrize("angle", [6, -8, 12])
def test_a_skewed_page_is_read_line_by_line(shared, angle):
    page, text = text_page("serif", 12, seed=51)
    assert error_rate(read(shared, page.rotate(angle, resample=Image.BICUBIC, expand=True, fillcolor=255)), text) <= 0.03


def test_an_image_as_long_as_many_pages_loses_nothing(shared):
    page, font, lines = Image.new("L", (1000, 16000), 255), ImageFont.truetype(FONTS["sans"], 30), []
    for number in range(110):
        lines.append(f"Line {number} says that {WORDS[number % len(WORDS)]} is a word")
        ImageDraw.Draw(page).text((80, 150 + 143 * number), lines[-1], font=font, fill=0)
    assert error_rate(read_file(shared, page, "png"), " ".join(lines)) <= 0.03


def test_the_first_frame_of_an_animated_picture_is_read(shared):
    page, text = few_lines(size=(1400, 600), mode="RGB", ink=(0, 0, 0), paper=(255, 255, 255))
    second = Image.new("RGB", page.size, (255, 255, 255))
    read_text = read_file(shared, page, "webp", save_all=True, append_images=[second], duration=100, lossless=True)
    assert error_rate(read_text, text) <= 0.02


@pytest.mark.parametrize("ink", [0, 255])
def test_letters_on_a_transparent_background_are_read_in_any_colour(shared, ink):
    page, text = few_lines(mode="RGBA", ink=(ink, ink, ink, 255), paper=(0, 0, 0, 0))
    assert error_rate(read_file(shared, page, "png"), text) <= 0.02


def test_a_picture_one_pixel_high_is_an_empty_page(shared):
    assert read_file(shared, Image.new("L", (30000, 1), 255), "png").strip() == ""


@pytest.mark.parametrize("part", [0.5, 0.75])
def test_a_scan_within_margins_is_read_together_with_the_text_of_its_page(shared, part):
    read_text = read_placed(shared, part, ["Scanned by ACME Mail Room 2026-11-23"])
    assert "quick brown fox" in read_text and "Mail Room" in read_text, read_text


def test_a_scan_on_a_page_with_much_other_text_is_read(shared):
    read_text = read_placed(shared, 1, ["This notice of ten words stands below every scanned page"] * 7)
    assert "quick brown fox" in read_text and read_text.count("notice of ten words") == 7, read_text


@pytest.mark.parametrize(("count", "size"), [(16, 28), (30, 34)])
def test_small_shapes_that_are_no_letters_are_not_read_as_text(shared, count, size):
    dice, page = random.Random(count), Image.new("L", (1654, 2339), 255)
    draw = ImageDraw.Draw(page)
    for number in range(count):
        x, y = dice.randint(100, 1500), dice.randint(100, 2200)
        if number % 2:
            draw.ellipse((x, y, x + size, y + size), outline=0, width=3)
        else:
            draw.line([(x, y), (x + size, y + size), (x, y + size)], fill=0, width=3)
    assert len(read(shared, page).split()) <= 3


def read_drawn(gateway, draw):
    from reportlab.pdfgen import canvas

    out = io.BytesIO()
    pdf = canvas.Canvas(out, pagesize=(595, 842))
    draw(pdf)
    pdf.save()
    reply = gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(out.getvalue())}})
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0]


def place(pdf, picture, left, bottom, across, up):
    from reportlab.lib.utils import ImageReader

    pdf.drawImage(ImageReader(picture), left, bottom, across, up)


def test_a_page_of_outlines_is_read_together_with_its_page_number(shared):
    page, _ = few_lines()
    page = page.resize((827, 1170))

    def draw(pdf):
        for y in range(page.height):
            row = [page.getpixel((x, y)) < 128 for x in range(page.width)] + [False]
            starts = [x for x in range(page.width) if row[x] and not (x and row[x - 1])]
            for x in starts:
                pdf.rect(x * 0.72, 842 - (y + 1) * 0.72, row.index(False, x) * 0.72 - x * 0.72, 0.74, stroke=0, fill=1)
        pdf.drawString(290, 30, "7")

    read_text = read_drawn(shared, draw)["markdown"]
    assert "quick brown fox" in read_text, read_text


def test_a_scan_in_strips_is_read_together_with_its_stamp(shared):
    page, _ = few_lines()

    def draw(pdf):
        high = page.height // 16
        for n in range(16):
            place(pdf, page.crop((0, n * high, page.width, (n + 1) * high)), 0, 842 - (n + 1) * 842 / 16, 595, 842 / 16)
        pdf.drawString(450, 20, "ABC000123")

    read_text = read_drawn(shared, draw)["markdown"]
    assert "quick brown fox" in read_text and "ABC000123" in read_text, read_text


def prose(pdf, top, lines):
    for number in range(lines):
        pdf.drawString(72, top - 14 * number, "The mill turns a stone and every sack of grain becomes flour by night.")


@pytest.mark.parametrize("background", [235, 255])
def test_a_chart_next_to_text_stays_a_picture_and_its_labels_are_no_lines(shared, background):
    chart, font = Image.new("L", (1000, 600), background), ImageFont.truetype(FONTS["sans"], 26)
    draw_in = ImageDraw.Draw(chart)
    for number, name in enumerate(("January", "February", "March", "April", "May", "June")):
        draw_in.rectangle((80 + 150 * number, 200 - 20 * number, 180 + 150 * number, 540), fill=70 + 10 * number)
        draw_in.text((80 + 150 * number, 556), name, font=font, fill=0)
        draw_in.text((6, 540 - 100 * number), str(100 * number), font=font, fill=0)
    draw_in.text((300, 20), "Sacks of flour in each month", font=font, fill=0)

    def draw(pdf):
        prose(pdf, 780, 12)
        place(pdf, chart, 90, 200, 400, 240)

    page = read_drawn(shared, draw)
    assert page["images"], page["markdown"]
    assert "February" not in page["markdown"]


def test_a_photo_on_the_page_of_a_sideways_scan_stays_a_picture(shared):
    scan, font = Image.new("L", (1500, 900), 255), ImageFont.truetype(FONTS["sans"], 40)
    text = paragraph(77, 60)
    write(ImageDraw.Draw(scan), text, font, 60, 60, 1380, 60)
    photo = Image.effect_noise((300, 200), 80).convert("RGB")

    def draw(pdf):
        prose(pdf, 800, 4)
        place(pdf, scan.rotate(90, expand=True), 60, 220, 280, 467)
        place(pdf, photo, 370, 300, 180, 120)

    page = read_drawn(shared, draw)
    assert " ".join(text.split()[:5]) in page["markdown"]
    assert len(page["images"]) == 1, page


def read_placed(gateway, part, footer):
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    out = io.BytesIO()
    pdf = canvas.Canvas(out, pagesize=(595, 842))
    page, _ = few_lines()
    pdf.drawImage(ImageReader(page), 595 * (1 - part) / 2, 842 * (1 - part) / 2, 595 * part, 842 * part)
    pdf.setFont("Helvetica", 6)
    for number, line in enumerate(footer):
        pdf.drawString(40, 50 - 7 * number, line)
    pdf.save()
    reply = gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(out.getvalue())}})
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0]["markdown"]


RECEIPT = """CITY MARKET
12 HIGH STREET
MILK 2L                     1.85
BREAD WHOLEMEAL             1.40
EGGS FREE RANGE X12         3.20
APPLES 0.742KG @ 2.10       1.56
COFFEE GROUND 250G          4.75
BUTTER UNSALTED             2.15
TOTAL                 GBP  14.91
CASH                       20.00
CHANGE                      5.09""".splitlines()


def receipt(font_file, whole_page, points=10):
    size = round(points * DPI / 72)
    font, pitch = ImageFont.truetype(font_file, size), int(size * 1.25)
    page = sheet() if whole_page else Image.new("L", (int(font.getlength(RECEIPT[-1])) + DPI, len(RECEIPT) * pitch + DPI), 255)
    for number, line in enumerate(RECEIPT):
        ImageDraw.Draw(page).text((DPI // 2, DPI // 2 + number * pitch), line, font=font, fill=0)
    return page


@pytest.mark.parametrize("whole_page", [True, False])
@pytest.mark.parametrize("font_file", [FONTS["mono"], "/usr/share/fonts/truetype/liberation/LiberationMono-Regular.ttf"])
def test_a_receipt_keeps_its_column_of_prices(shared, font_file, whole_page):
    read_text = read_file(shared, receipt(font_file, whole_page), "png")
    words, read_ones = " ".join(RECEIPT).split(), read_text.replace("|", " ").replace("\\", "").split()
    lost = [word for word in words if word not in read_ones]
    assert len(lost) <= 0.05 * len(words), (lost, read_text)


@pytest.mark.parametrize("noise", [False, True])
def test_two_columns_are_read_one_after_the_other(shared, noise):
    page, text = text_page("serif", 11, seed=31, columns=2, count=200)
    rate = error_rate(read(shared, noisy(page) if noise else page), text)
    assert rate <= 0.03, rate


def test_a_table_is_returned_as_a_markdown_table(shared):
    page = sheet()
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(FONTS["sans"], int(11 * DPI / 72))
    rows = [("Item", "Count", "Price"), ("Flour", "12", "3.50"), ("Barley", "7", "2.25"), ("Oats", "31", "1.10"), ("Rye", "5", "4.80")]
    top = write(draw, paragraph(41, 40), font, 180, 180, 1250, 42) + 60
    for row in rows:
        for column, cell in enumerate(row):
            draw.text((200 + column * 420, top), cell, font=font, fill=0)
        top += 48
    markdown = read(shared, page)
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [list(row) for row in rows] == [row for row in cells if not set("".join(row)) <= set("-: ")], markdown


def test_a_blank_page_is_empty_and_no_error(shared):
    reply = shared.client.post("/v1/ocr", {"document": {"document_url": data_uri(scan_pdf([sheet()], DPI))}})
    assert reply.status == 200 and reply.json()["pages"][0]["markdown"].strip() == ""


def test_pictures_are_returned_with_their_boxes_and_on_request_with_their_bytes(shared):
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    photo = Image.effect_noise((300, 200), 80)
    out = io.BytesIO()
    pdf = canvas.Canvas(out, pagesize=(595, 842))
    pdf.drawString(72, 780, "A page with a text layer and one picture in the middle of it.")
    pdf.drawImage(ImageReader(photo.convert("RGB")), 100, 300, 300, 200)
    pdf.save()
    uri = data_uri(out.getvalue())
    for included in (False, True):
        body = {"document": {"document_url": uri}, "include_image_base64": included}
        page = shared.client.post("/v1/ocr", body).json()["pages"][0]
        (image,) = page["images"]
        assert image["id"] and image["bottom_right_x"] > image["top_left_x"] >= 0
        assert ("image_base64" in image) == included
        assert f"]({image['id']})" in page["markdown"]


@pytest.mark.parametrize("spoil", [lambda page: page, noisy])
def test_signs_that_english_lacks_are_known_by_their_shape(shared, spoil):
    page, font = sheet(), ImageFont.truetype(FONTS["sans"], 32)
    lines = ["Length 12.5 mm ± 0.1 mm for all of the samples", "The count is ≤ 5 and the weight is ≥ 40 kg here", "Resistors of 4.7 kΩ and 10 kΩ are in the box"]
    lines += ["A sum is 2 + 3 and the price < 9 or > 200 pounds", "Group O and class Q are in the second column"]
    lines += ["Vitamin B12 is 250 µg/L and the platelets 10⁹/L"]
    for number, line in enumerate(lines):
        ImageDraw.Draw(page).text((160, 160 + 60 * number), line, font=font, fill=0)
    text = read(shared, spoil(page)).replace("≤5", "≤ 5").replace("≥40", "≥ 40").replace("kΩ", " kΩ").replace("  ", " ")
    for part in ["mm ± 0.1", "≤ 5", "≥ 40", "4.7 kΩ", "10 kΩ", "2 + 3", "< 9", "> 200", "Group O", "class Q", "10⁹/L"]:
        assert part in text.replace("\\", ""), (part, text)


def test_a_last_line_without_tall_letters_stays_in_its_paragraph(shared):
    lines = ["TERMS AND CONDITIONS", "", "THE BUYER ACKNOWLEDGES THAT THE GOODS ARE SOLD AS SEEN AND", "THAT NO WARRANTY IS GIVEN BY THE SELLER"]
    lines += ["", "Delivery takes place within 14 days. Risk passes to the buyer when the goods", "leave the warehouse of the seller.", ""]
    lines += ["ORDER NO. 2024-0417 / CUSTOMER 88123", "", "Payment is due within 30 days of the date of invoice. Interest of 8 % on late", "payments."]
    out, y = io.BytesIO(), 760
    page = canvas.Canvas(out, pagesize=(595, 842))
    page.setFont("DejaVu", 10.5)
    for line in lines:
        page.drawString(60, y, line)
        y -= 13 if line else 10
    page.save()
    text = read(shared, scans_of(out.getvalue())[0])
    assert text.strip().endswith("Interest of 8 % on late payments.") and "#" not in text, text
