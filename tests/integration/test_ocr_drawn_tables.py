"""POST /v1/ocr with ruled tables, scanned and in text layers: cells are returned as cells."""

import io
import random

import pytest
from documents import data_uri
from millrace import Gateway
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.pdfgen import canvas
from scans import FONTS
from tables import HEIGHT, WIDTH, scans_of, table_page, tables_in

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
DPI = 200
NAMES = "Bolt Washer Hinge Screw Panel Cable Motor Wheel Paint Brush North South East West Total Hours Rate".split()
HEADS = "Item Qty Price 2019 2020 Sum Days".split()
RIGHT_CELLS = 0.95


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("tables") / "data").start()
    yield gateway
    gateway.close()


class Sheet:
    """A page with coordinates in points."""

    def __init__(self, dpi=DPI):
        self.scale = dpi / 72
        self.image = Image.new("L", (int(595 * self.scale), int(842 * self.scale)), 255)
        self.draw = ImageDraw.Draw(self.image)

    def font(self, points=10):
        return ImageFont.truetype(FONT, int(points * self.scale))

    def text(self, x, y, text, points=10):
        self.draw.text((x * self.scale, y * self.scale), text, font=self.font(points), fill=0)

    def line(self, x0, y0, x1, y1, width=2):
        self.draw.line([x * self.scale for x in (x0, y0, x1, y1)], fill=0, width=width)

    def frame(self, x0, y0, x1, y1):
        self.draw.rectangle([x * self.scale for x in (x0, y0, x1, y1)], outline=0, width=2)

    def width(self, text, points):
        return self.font(points).getlength(text) / self.scale


def read(gateway, image):
    out = io.BytesIO()
    image.save(out, "PNG")
    reply = gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(out.getvalue(), "image/png")}})
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0]


def rows_of(markdown):
    lines = [line for line in markdown.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.strip()[1:-1].split(" | ")] for line in lines]


def figures(chance):
    return chance.choice([str(chance.randint(2, 9)), str(chance.randint(10, 999)), f"{chance.random() * 100:.2f}"])


def some_table(chance):
    columns, rows = chance.randint(2, 7), chance.randint(3, 9)
    head = [chance.choice(NAMES)] + [chance.choice(HEADS) for _ in range(columns - 1)]
    return [head] + [[chance.choice(NAMES)] + [figures(chance) for _ in head[1:]] for _ in range(rows - 1)]


def ruled(chance, cells):
    """A ruled table with the narrow spacing of word processors, or wider; alone on the page, or with text."""
    sheet = Sheet(chance.choice([150, 200, 300]))
    points, padding = chance.choice([8, 9, 10, 11]), chance.choice([2, 3, 4])
    wide, pitch, line = chance.choice([0, 20]), points * chance.choice([1.35, 1.6, 2]), chance.choice([1, 2, 3])
    widths = [max(sheet.width(row[n], points) for row in cells) + 2 * padding + wide for n in range(len(cells[0]))]
    top = 60
    for _ in range(chance.randint(0, 3)):
        sheet.text(60, top, "Dear customer, thank you for your order. Please find what we sent", points)
        top += points * 1.5
    for number in range(len(cells) + 1):
        sheet.line(60, top + 8 + number * pitch, 60 + sum(widths), top + 8 + number * pitch, line)
    for number in range(len(widths) + 1):
        left = 60 + sum(widths[:number])
        sheet.line(left, top + 8, left, top + 8 + len(cells) * pitch, line)
    for down, row in enumerate(cells):
        for across, cell in enumerate(row):
            left = 60 + sum(widths[:across]) + padding
            sheet.text(left, top + 8 + down * pitch + (pitch - points) / 2 - 1, cell, points)
    return sheet.image.filter(ImageFilter.GaussianBlur(0.6))


def test_the_cells_of_clean_tables_are_read_into_their_places(shared):
    chance = random.Random(11)
    good = total = 0
    for _ in range(16):
        cells = some_table(chance)
        found = rows_of(read(shared, ruled(chance, cells))["markdown"])
        assert len(found) == len(cells), (cells, found)
        total += sum(map(len, cells))
        good += sum(a == b for row, other in zip(cells, found, strict=True) for a, b in zip(row, other, strict=False))
    assert good / total >= RIGHT_CELLS, f"{good} of {total}"


NOTE = """| Goods that were delivered in November |  |  |  |
| --- | --- | --- | --- |
| Item | Description | Qty | Price |
| Chair, oak | With four legs and a back, painted in green | 12 | 49.00 |
| Table, oak | Round, for six persons | 2 | 250.00 |
| Total | 1,088.00 euros, to be paid at once |  |  |"""


PLANS = [
    ["Model", "Users", "Space", "Price"],
    ["Basic", "25", "10 GB", "9.00"],
    ["Medium", "20", "50 GB", "29.00"],
    ["Large", "100", "250 GB", "99.00"],
    ["Huge", "500", "900 GB", "399.00"],
]
COLUMNS = (65, 190, 270, 345)


def delivery_note():
    sheet = Sheet()
    sheet.text(60, 50, "Delivery note", 18)
    sheet.frame(60, 100, 500, 300)
    for y in (125, 150, 215, 275):
        sheet.line(60, y, 500, y)
    sheet.line(200, 125, 200, 300)
    for x in (350, 430):
        sheet.line(x, 125, x, 275)
    sheet.text(65, 105, "Goods that were delivered in November")
    for x, y, texts in (
        (65, 131, ["Item"]),
        (205, 131, ["Description"]),
        (355, 131, ["Qty"]),
        (435, 131, ["Price"]),
        (65, 155, ["Chair, oak"]),
        (205, 155, ["With four legs and", "a back, painted", "in green"]),
        (355, 155, ["12"]),
        (435, 155, ["49.00"]),
        (65, 220, ["Table, oak"]),
        (205, 220, ["Round, for six", "persons"]),
        (355, 220, ["2"]),
        (435, 220, ["250.00"]),
        (65, 280, ["Total"]),
        (205, 280, ["1,088.00 euros, to be paid at once"]),
    ):
        for number, text in enumerate(texts):
            sheet.text(x, y + 15 * number, text)
    sheet.text(60, 330, "We thank you for your order and hope to see you again soon.")
    return sheet.image


def worn(image):
    turned = image.rotate(0.8, fillcolor=255, resample=Image.BICUBIC).filter(ImageFilter.GaussianBlur(0.7))
    noise = Image.frombytes("L", image.size, random.Random(5).randbytes(image.width * image.height))
    out = io.BytesIO()
    Image.blend(turned, noise, 0.12).save(out, "JPEG", quality=45)
    return Image.open(out)


@pytest.mark.parametrize("scanned", [lambda image: image, worn, lambda image: image.rotate(90, expand=True)], ids=["clean", "worn", "lying"])
def test_cells_of_several_lines_and_over_several_columns_are_complete(shared, scanned):
    markdown = read(shared, scanned(delivery_note()))["markdown"]
    assert NOTE in markdown
    assert markdown.startswith("# Delivery note") and markdown.endswith("again soon.")


@pytest.mark.parametrize("fill", [0, 40, 90])
@pytest.mark.parametrize("framed", [True, False])
def test_bright_letters_in_a_filled_head_are_read(shared, fill, framed):
    sheet = Sheet()
    sheet.text(60, 60, "These are the plans that we have for you at this time of the year.")
    sheet.draw.rectangle([x * sheet.scale for x in (60, 100, 420, 124)], fill=fill)
    head, *rows = PLANS
    for number, row in enumerate(rows):
        if framed:
            sheet.frame(60, 124 + number * 24, 420, 148 + number * 24)
        for x, text in zip(COLUMNS, row, strict=True):
            sheet.text(x, 129 + number * 24, text)
    for x, text in zip(COLUMNS, head, strict=True):
        sheet.draw.text((x * sheet.scale, 105 * sheet.scale), text, font=sheet.font(), fill=255)
    for x in (180, 260, 340) if framed else ():
        sheet.line(x, 124, x, 124 + len(rows) * 24)
    assert rows_of(read(shared, sheet.image)["markdown"]) == PLANS


def test_a_scanned_table_within_a_page_of_text_is_one(shared):
    from reportlab.lib.utils import ImageReader

    out = io.BytesIO()
    pdf = canvas.Canvas(out, pagesize=(595, 842))
    note = delivery_note().crop((0, 0, int(595 * DPI / 72), int(380 * DPI / 72)))
    pdf.drawImage(ImageReader(note), 40, 240, 515, 329)
    pdf.setFont("Helvetica", 9)
    for number in range(4):
        pdf.drawString(60, 790 - 12 * number, "The note that came with the delivery is put in here as it was scanned in our office.")
    pdf.save()
    reply = shared.client.post("/v1/ocr", {"document": {"document_url": data_uri(out.getvalue())}})
    assert reply.status == 200 and NOTE in reply.json()["pages"][0]["markdown"], reply.body


def test_single_letters_in_cells_are_kept(shared):
    sheet = Sheet()
    cells = [["Team", "Mon", "Tue", "Wed", "Thu", "Fri"], ["North", "3", "4", "5", "6", "7"], ["South", "8", "2", "9", "4", "3"]]
    for down, row in enumerate(cells):
        sheet.frame(60, 100 + down * 40, 420, 140 + down * 40)
        for across, cell in enumerate(row):
            sheet.line(60 + across * 60, 100 + down * 40, 60 + across * 60, 140 + down * 40)
            sheet.text(64 + across * 60, 104 + down * 40, cell)
    assert rows_of(read(shared, sheet.image)["markdown"]) == cells


def test_squared_paper_is_no_table(shared):
    sheet = Sheet()
    for number in range(58):
        sheet.line(14, 14 + number * 14.17, 581, 14 + number * 14.17, 1)
        sheet.line(14 + min(number, 40) * 14.17, 14, 14 + min(number, 40) * 14.17, 822, 1)
    for number, text in enumerate(["We will meet again next week and talk about", "the garden and the roof of the old house"] * 3):
        sheet.text(70, 100 + number * 28.3, text, 12)
    markdown = read(shared, sheet.image)["markdown"]
    assert "| --- |" not in markdown and "next week" in markdown and "house" in markdown, markdown


def test_text_in_a_frame_stays_text(shared):
    sheet = Sheet()
    sheet.frame(30, 30, 565, 812)
    sheet.frame(60, 120, 530, 200)
    lines = ["The water will be turned off on Monday from nine to twelve.", "Please keep enough of it ready for that time, and do not use"]
    for number, line in enumerate(lines):
        sheet.text(70, 130 + 18 * number, line)
    sheet.text(60, 230, "With kind regards, the management of the house.")
    markdown = read(shared, sheet.image)["markdown"]
    assert all(line in markdown for line in lines) and "|" not in markdown


def test_the_grid_of_a_chart_is_a_figure(shared):
    sheet = Sheet()
    for y in range(120, 321, 40):
        sheet.line(80, y, 480, y, 1)
    for x in range(80, 481, 50):
        sheet.line(x, 120, x, 320, 1)
    for number, y in enumerate((300, 180, 260, 140, 220, 300, 160, 240)):
        sheet.line(80 + 50 * number, y, 130 + 50 * number, 440 - y, 5)
    sheet.text(60, 380, "The chart shows that sales have gone up and down all through the year.")
    page = read(shared, sheet.image)
    assert "|" not in page["markdown"] and len(page["images"]) == 1, page
    assert page["markdown"].endswith("all through the year.")


def ruled_pdf(kind="ruled lines", within=lambda pdf, draw: draw(pdf)):
    """A page of tests/support/tables.py with a text layer, and its table."""
    page = table_page(kind, 1)
    out = io.BytesIO()
    pdf = canvas.Canvas(out, pagesize=(WIDTH, HEIGHT))
    within(pdf, lambda to: [draw(to) for draw in page.draw])
    pdf.save()
    return out.getvalue(), page.tables


def in_a_form(pdf, draw):
    pdf.beginForm("sheet", 0, 0, WIDTH, HEIGHT)
    draw(pdf)
    pdf.endForm()
    pdf.doForm("sheet")


def in_other_units(pdf, draw):
    pdf.scale(0.1, 0.1)
    pdf.scale(10, 10)
    draw(pdf)


@pytest.mark.parametrize("within", [lambda pdf, draw: draw(pdf), in_a_form, in_other_units], ids=["plain", "form", "scaled"])
@pytest.mark.parametrize("kind", ["ruled lines", "row spans"])
def test_a_ruled_table_of_a_text_layer_is_read_cell_by_cell(shared, kind, within):
    document, expected = ruled_pdf(kind, within)
    reply = shared.client.post("/v1/ocr", {"document": {"document_url": data_uri(document)}})
    assert reply.status == 200, reply.body
    assert tables_in(reply.json()["pages"][0]["markdown"]) == expected


def test_a_text_layer_and_its_scan_have_the_same_table(shared):
    document, expected = ruled_pdf()
    assert tables_in(read(shared, scans_of(document)[0])["markdown"]) == expected


BILL = [
    ["Pos", "Description", "Qty", "Unit price", "Amount"],
    ["1", "Bearing, sealed", "4", "12.50", "50.00"],
    ["2", "Drive belt A38", "2", "9.80", "19.60"],
    ["3", "Grease, 400 g", "1", "7.25", "7.25"],
    ["4", "Service hour", "3", "85.00", "255.00"],
]


def bill():
    image = Image.new("L", (1654, 2339), 255)
    draw, font = ImageDraw.Draw(image), ImageFont.truetype(FONTS["serif"], 29)
    draw.text((160, 240), "Mill Street 4, 12345 Milltown, for the attention of Anna Sharp", font=font, fill=0)
    for down, row in enumerate(BILL):
        left, top = 160, 340 + 50 * down
        for column, (text, width) in enumerate(zip(row, [90, 560, 120, 220, 220], strict=True)):
            draw.rectangle((left, top, left + width, top + 50), outline=0, width=2)
            draw.text((left + 12 if column == 1 else left + width - 12 - draw.textlength(text, font=font), top + 9), text, font=font, fill=0)
            left += width
    return image


@pytest.mark.parametrize("turn", [None, Image.ROTATE_90, Image.ROTATE_180, Image.ROTATE_270], ids=["0", "90", "180", "270"])
def test_no_word_crosses_a_cell(shared, turn):
    image = bill() if turn is None else bill().transpose(turn)
    assert rows_of(read(shared, image)["markdown"])[1:] == BILL[1:]


def test_heads_that_run_upwards_are_read(shared):
    sheet, days = Sheet(), ["Monday", "Tuesday", "Wednesday"]
    for x in (60, 200, 240, 280, 320):
        sheet.line(x, 100, x, 260)
    for y in (100, 200, 220, 240, 260):
        sheet.line(60, y, 320, y)
    sheet.text(66, 150, "Name")
    for place, day in enumerate(days):
        label = Image.new("L", (int(90 * sheet.scale), int(16 * sheet.scale)), 255)
        ImageDraw.Draw(label).text((4, 4), day, font=sheet.font(), fill=0)
        sheet.image.paste(label.rotate(90, expand=True), (int((210 + 40 * place) * sheet.scale), int(105 * sheet.scale)))
    for row, name in enumerate(["Anna Sharp", "Tom Weber", "Lea Moreau"]):
        sheet.text(66, 204 + 20 * row, name)
        for place in range(3):
            sheet.text(216 + 40 * place, 204 + 20 * row, str(4 + row + place))
    rows = rows_of(read(shared, sheet.image)["markdown"])
    assert rows[0] == ["Name", *days] and rows[1] == ["Anna Sharp", "4", "5", "6"], rows


def test_a_row_of_boxes_with_labels_above_their_values_is_a_table(shared):
    sheet, boxes = Sheet(), [("Shipment", "4711-88"), ("Date", "17.04.2024"), ("Class", "I"), ("Pieces", "1"), ("Weight", "12.5 kg")]
    sheet.text(60, 70, "This waybill is issued for the goods described below", 11)
    for place, (label, value) in enumerate(boxes):
        sheet.frame(60 + 90 * place, 100, 150 + 90 * place, 134)
        sheet.text(65 + 90 * place, 103, label, 8)
        sheet.text(65 + 90 * place, 116, value, 11)
    sheet.text(60, 150, "The goods were received in good order and condition", 11)
    rows = rows_of(read(shared, sheet.image)["markdown"].replace("<br>", " "))
    assert rows == [[f"{label} {value}" for label, value in boxes]], rows
