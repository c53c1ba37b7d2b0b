"""Pages with tables of several classes and pages without any, as PDF and as scans, and a score for what was read from them.

The truth of a table is a list of rows of texts. A cell that spans has its text where it begins and "" elsewhere.
"""

import io
import random
import subprocess
from dataclasses import dataclass, field

from PIL import Image, ImageFilter
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen import canvas

WIDTH, HEIGHT = 595, 842
FONTS = ["Helvetica", "Times-Roman", "DejaVu", "LiberationSerif"]
pdfmetrics.registerFont(TTFont("DejaVu", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"))
pdfmetrics.registerFont(TTFont("LiberationSerif", "/usr/share/fonts/truetype/liberation/LiberationSerif-Regular.ttf"))

NAMES = "Bolt Washer Hinge Screw Panel Cable Motor Wheel Paint Brush Timber Gravel Cement Copper Valve Filter Sensor Bearing".split()
WORDS = (
    "the river turns a wheel and that wheel turns stone so every sack of grain that comes down from hills becomes flour "
    "before night falls over quiet water while millers count their work in bags and hours with patience"
).split()
PLACES = ["Leeds", "Bremen", "Lyon", "Porto", "Turin", "Gdansk", "Malmo", "Ghent"]
PEOPLE = ["Anna Sharp", "Tom Weber", "Lea Moreau", "Rui Costa", "Ida Lund", "Max Vogel", "Eva Nowak", "Jan Peeters"]


@dataclass
class Page:
    kind: str
    tables: list = field(default_factory=list)
    draw: list = field(default_factory=list)  # functions that draw on a canvas

    def add(self, draw):
        self.draw.append(draw)


@dataclass
class Cell:
    text: str
    columns: int = 1
    rows: int = 1


def amount(chance, most=2000):
    return f"{chance.uniform(1, most):,.2f}"


def date(chance):
    return f"{chance.randint(1, 28):02}.{chance.randint(1, 12):02}.2024"


def phrase(chance, least, most):
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(least, most))).capitalize()


class Sheet:
    """One page with a font of its own; `y` is the position of the next line, from the top."""

    def __init__(self, kind, chance):
        self.page, self.chance = Page(kind), chance
        self.font, self.size = chance.choice(FONTS), chance.choice([8, 9, 10, 11])
        self.lead = self.size * 1.2
        self.y = 60

    def width(self, text):
        return pdfmetrics.stringWidth(text, self.font, self.size)

    def wrap(self, text, width):
        lines = [""]
        for word in text.split():
            longer = f"{lines[-1]} {word}".strip()
            if lines[-1] and self.width(longer) > width:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    def text(self, x, y, text, align="left"):
        x -= {"left": 0, "right": self.width(text), "centre": self.width(text) / 2}[align]
        font, size = self.font, self.size

        def draw(to):
            to.setFont(font, size)
            to.drawString(x, HEIGHT - y, text)

        self.page.add(draw)

    def rule(self, x0, y0, x1, y1, width=0.7, dashes=()):
        def draw(to):
            to.setLineWidth(width)
            to.setDash(*dashes)
            to.line(x0, HEIGHT - y0, x1, HEIGHT - y1)

        self.page.add(draw)

    def paragraph(self, words=60, x=60, width=475):
        for line in self.wrap(phrase(self.chance, words, words + 20) + ".", width):
            self.text(x, self.y, line)
            self.y += self.lead
        self.y += self.lead

    def heading(self, text):
        size, self.size = self.size, self.size * 1.5
        self.text(60, self.y, text)
        self.size = size
        self.y += 2.2 * self.lead

    def table(self, rows, widths, aligns, style, x=60, padding=4, between=None, late=None):
        """Draws rows of texts or Cells below each other. `style`: ruled, dashed (below each row), booktabs or plain."""
        # `late`: a column whose texts stand at the bottom of their cells
        between = {"ruled": 6, "dashed": 6, "booktabs": 5, "plain": 5}[style] if between is None else between
        rows = [[cell if isinstance(cell, Cell) or cell is None else Cell(cell) for cell in row] for row in rows]
        lefts = [x + sum(widths[:n]) for n in range(len(widths) + 1)]
        lines = {}
        heights = []
        for r, row in enumerate(rows):
            for c, cell in enumerate(row):
                if cell is not None:
                    lines[r, c] = self.wrap(cell.text, lefts[c + cell.columns] - lefts[c] - 2 * padding)
            heights.append(max([1, *(len(lines[r, c]) for c, cell in enumerate(row) if cell and cell.rows == 1)]) * self.lead + between)
        tops = [self.y + sum(heights[:n]) for n in range(len(rows) + 1)]
        for (r, c), texts in lines.items():
            cell = rows[r][c]
            left, right = lefts[c] + padding, lefts[c + cell.columns] - padding
            align = "centre" if cell.columns > 1 and style != "plain" else aligns[c]
            at = {"left": left, "right": right, "centre": (left + right) / 2}[align]
            top = tops[r] + between / 2
            if c == late:
                top = tops[r + 1] - between / 2 - len(texts) * self.lead
            if cell.rows > 1:
                top = (tops[r] + tops[r + cell.rows] - len(texts) * self.lead) / 2
            for n, line in enumerate(texts):
                self.text(at, top + self.size + n * self.lead, line, align)
            if style == "ruled":
                for x0, y0, x1, y1 in self.sides(lefts[c], tops[r], lefts[c + cell.columns], tops[r + cell.rows]):
                    self.rule(x0, y0, x1, y1)
        if style == "dashed":
            for top in tops:
                self.rule(lefts[0], top, lefts[-1], top, 0.8, (2.2, 2.2))
        if style == "booktabs":
            head = 1 + any(cell and cell.columns > 1 for cell in rows[0])
            for r, width in ((0, 1), (head, 0.5), (len(rows), 1)):
                self.rule(lefts[0], tops[r], lefts[-1], tops[r], width)
            for c, cell in enumerate(rows[0]):
                if cell and cell.columns > 1:
                    self.rule(lefts[c] + padding, tops[1], lefts[c + cell.columns] - padding, tops[1], 0.5)
        self.y = tops[-1] + 2 * self.lead
        self.page.tables.append([[cell.text if cell else "" for cell in row] for row in rows])

    @staticmethod
    def sides(x0, y0, x1, y1):
        return (x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1)


def figures(chance):
    return chance.choice([str(chance.randint(2, 990)), amount(chance), f"{chance.uniform(1, 99):.1f}%"])


def plain_rows(chance, columns, count):
    head = ["Item", *chance.sample(["Quantity", "Price", "2019", "2020", "Share", "Change", "Hours"], columns - 1)]
    kinds = [chance.choice([lambda: str(chance.randint(2, 990)), lambda: amount(chance), lambda: f"{chance.uniform(1, 99):.1f}%"]) for _ in head[1:]]
    return [head] + [[f"{chance.choice(NAMES)} {chance.choice('ABCDEF')}{n + 1}", *(kind() for kind in kinds)] for n in range(count)]


def simple_table(sheet, style):
    chance, columns = sheet.chance, sheet.chance.randint(3, 6)
    widths = [120] + [chance.randint(58, 75) for _ in range(columns - 1)]
    sheet.table(plain_rows(chance, columns, chance.randint(4, 12)), widths, ["left"] + ["right"] * (columns - 1), style)


def multiline_table(sheet, style):
    chance = sheet.chance
    rows = [["Term", "Meaning", "Example"]]
    for n in range(chance.randint(4, 7)):
        rows.append([f"{chance.choice(NAMES)} {n + 1}", phrase(chance, 8, 22), phrase(chance, 3, 12)])
    sheet.table(rows, [85, 220, 165], ["left"] * 3, style, between=chance.choice([6, 8]) if style == "booktabs" else None)


def invoice(sheet):
    chance = sheet.chance
    sheet.heading("Invoice")
    top = sheet.y
    for x, title in ((60, "Billing address"), (330, "Shipping address")):
        person, place = chance.choice(PEOPLE), chance.choice(PLACES)
        for n, line in enumerate([title, person, f"{chance.randint(1, 99)} Mill Road", f"{chance.randint(10000, 99999)} {place}", f"Phone: {chance.randint(10**8, 10**9)}"]):
            sheet.text(x, top + n * sheet.lead, line)
    sheet.y = top + 7 * sheet.lead
    rows, total = [["Pos", "Description", "Qty", "Price", "Total"]], 0
    for n in range(chance.randint(3, 7)):
        quantity, price = chance.randint(1, 12), chance.randint(100, 90000) / 100
        total += quantity * price
        rows.append([str(n + 1), phrase(chance, 3, 22), str(quantity), f"{price:,.2f}", f"{quantity * price:,.2f}"])
    rows.append(["", "Total", "", "", f"{total:,.2f}"])
    style = chance.choice(["plain", "booktabs"])
    sheet.table(rows, [35, 215, 45, 80, 90], ["left", "left", "right", "right", "right"], style, between=chance.choice([4, 6]))
    sheet.paragraph(20)


def statement(sheet):
    chance = sheet.chance
    sheet.heading("Account statement")
    rows, balance = [["Date", "Description", "Debit", "Credit", "Balance"]], 1000.0
    for _ in range(chance.randint(6, 14)):
        change = chance.randint(-40000, 60000) / 100
        balance += change
        texts = [f"{abs(change):,.2f}", ""] if change < 0 else ["", f"{change:,.2f}"]
        rows.append([date(chance), phrase(chance, 2, 11), *texts, f"{balance:,.2f}"])
    sheet.table(rows, [75, 190, 70, 70, 75], ["left", "left", "right", "right", "right"], "plain", between=chance.choice([2, 4, 6]))


def close_statement(sheet):
    """The description has one to three lines and begins close to the date."""
    chance = sheet.chance
    sheet.heading("Account statement")
    rows = [["Date", "Description", "Amount", "Balance"]]
    for _ in range(chance.randint(6, 12)):
        rows.append([date(chance), phrase(chance, 2, 14), amount(chance), amount(chance, 9000)])
    gap = chance.uniform(1.0, 1.6) * sheet.size
    sheet.table(rows, [sheet.width("00.00.0000") + gap, 190, 90, 90], ["left", "left", "right", "right"], "plain", between=chance.choice([4, 6]))


def late_amounts(sheet):
    """The amount stands beside the last line of an entry."""
    chance = sheet.chance
    sheet.heading("Account statement")
    rows = [["Date", "Value", "Entry", "Amount"]]
    for _ in range(chance.randint(5, 9)):
        rows.append([date(chance), date(chance), phrase(chance, 12, 22), amount(chance, 9000)])
    sheet.table(rows, [85, 85, 190, 90], ["left", "left", "left", "right"], "plain", between=chance.choice([4, 6]), late=3)


def spanning_heads(sheet):
    chance = sheet.chance
    style = chance.choice(["booktabs", "ruled"])
    heads = [["Group", Cell("Before", 2), None, Cell("After", 2), None], ["", "Mean", "SD", "Mean", "SD"]]
    rows = [[f"{chance.choice(NAMES)} {n + 1}", *(f"{chance.uniform(1, 99):.2f}" for _ in range(4))] for n in range(chance.randint(4, 9))]
    sheet.table(heads + rows, [110, 70, 60, 70, 60], ["left"] + ["right"] * 4, style)


def row_spans(sheet):
    chance = sheet.chance
    rows = [["Region", "Plant", "Units", "Cost"]]
    for _ in range(chance.randint(2, 4)):
        count = chance.randint(2, 3)
        for n in range(count):
            first = Cell(chance.choice(PLACES), 1, count) if n == 0 else None
            rows.append([first, f"{chance.choice(NAMES)} {n + 1}", str(chance.randint(2, 990)), amount(chance)])
    sheet.table(rows, [90, 110, 70, 80], ["left", "left", "right", "right"], "ruled")


def side_by_side(sheet):
    chance, top = sheet.chance, sheet.y
    style = chance.choice(["ruled", "booktabs", "plain"])
    ends = []
    for x in (60, 330):
        sheet.y = top
        sheet.table(plain_rows(chance, 3, chance.randint(4, 8)), [95, 62, 62], ["left", "right", "right"], style, x=x)
        ends.append(sheet.y)
    sheet.y = max(ends)


def empty_cells(sheet):
    chance = sheet.chance
    rows = plain_rows(chance, 5, chance.randint(5, 10))
    for row in rows[1:]:
        for column in range(1, 5):
            if chance.random() < 0.3:
                row[column] = ""
        if not any(row[1:]):
            row[1] = "7"
    sheet.table(rows, [120, 75, 75, 75, 75], ["left"] + ["right"] * 4, chance.choice(["ruled", "booktabs"]))


CLASSES = {
    "ruled": lambda sheet: simple_table(sheet, "ruled"),
    "ruled lines": lambda sheet: multiline_table(sheet, "ruled"),
    "booktabs": lambda sheet: simple_table(sheet, "booktabs"),
    "booktabs lines": lambda sheet: multiline_table(sheet, "booktabs"),
    "dashed": lambda sheet: simple_table(sheet, "dashed"),
    "plain": lambda sheet: simple_table(sheet, "plain"),
    "invoice": invoice,
    "statement": statement,
    "close statement": close_statement,
    "late amounts": late_amounts,
    "spanning heads": spanning_heads,
    "row spans": row_spans,
    "side by side": side_by_side,
    "empty cells": empty_cells,
}


def table_page(kind, seed):
    chance = random.Random(f"{kind} {seed}")
    sheet = Sheet(kind, chance)
    if kind not in ("invoice", "statement", "close statement", "late amounts"):
        for _ in range(chance.randint(0, 2)):
            sheet.paragraph()
    CLASSES[kind](sheet)
    if sheet.y < 600:
        sheet.paragraph()
    return sheet.page


def report(sheet):
    for n in range(sheet.chance.randint(2, 4)):
        sheet.heading(f"{n + 1} {phrase(sheet.chance, 2, 4)}")
        sheet.paragraph()
        sheet.paragraph(40)


def letter(sheet):
    chance = sheet.chance
    for line in [chance.choice(PEOPLE), f"{chance.randint(1, 99)} Mill Road", chance.choice(PLACES)]:
        sheet.text(60, sheet.y, line)
        sheet.text(400, sheet.y, chance.choice(["Phone: 0421 55 19", "Mail: office@mill.example", f"Date: {date(chance)}"]))
        sheet.y += sheet.lead
    sheet.y += 3 * sheet.lead
    for words in (40, 60, 30):
        sheet.paragraph(words)
    top = sheet.y
    for x in (60, 320):
        for n, line in enumerate([chance.choice(PEOPLE), chance.choice(["Director", "Head of sales"]), chance.choice(PLACES)]):
            sheet.text(x, top + n * sheet.lead, line)


def form(sheet):
    chance = sheet.chance
    sheet.heading("Application")
    for label in chance.sample(["Name", "First name", "Street", "Town", "Telephone", "Date of birth", "Profession", "Signature"], 6):
        sheet.text(60, sheet.y, label + ":")
        sheet.rule(170, sheet.y + 2, 420, sheet.y + 2)
        if chance.random() < 0.6:
            sheet.text(175, sheet.y, chance.choice(PEOPLE + PLACES))
        sheet.y += 2 * sheet.lead
    sheet.paragraph(30)


def paper(sheet):
    chance = sheet.chance
    sheet.heading(phrase(chance, 5, 7))
    for x in (60, 240, 420):
        for n, line in enumerate([chance.choice(PEOPLE), "University of " + chance.choice(PLACES)]):
            sheet.text(x, sheet.y + n * sheet.lead, line)
    sheet.y += 4 * sheet.lead
    top = sheet.y
    for x in (60, 308):
        sheet.y = top
        for _ in range(chance.randint(3, 5)):
            sheet.paragraph(50, x, 228)


def listing(sheet):
    for n in range(sheet.chance.randint(6, 12)):
        sheet.text(60, sheet.y, sheet.chance.choice(["-", "•"]) if sheet.chance.random() < 0.5 else f"{n + 1}.")
        sheet.text(80, sheet.y, phrase(sheet.chance, 4, 9))
        sheet.y += sheet.lead
    sheet.paragraph()


PLAIN_PAGES = {"report": report, "letter": letter, "form": form, "paper": paper, "listing": listing}


def page_without_table(seed):
    kind = list(PLAIN_PAGES)[seed % len(PLAIN_PAGES)]
    sheet = Sheet(kind, random.Random(f"{kind} {seed}"))
    PLAIN_PAGES[kind](sheet)
    return sheet.page


def pdf_of(pages):
    out = io.BytesIO()
    to = canvas.Canvas(out, pagesize=(WIDTH, HEIGHT), invariant=1)
    for page in pages:
        for draw in page.draw:
            draw(to)
        to.showPage()
    to.save()
    return out.getvalue()


def scans_of(pdf, dpi=200, noisy=False, seed=1):
    """The pages as pictures; `noisy` ones are tilted, blurred and grainy."""
    out = subprocess.run(["pdftoppm", "-r", str(dpi), "-gray"], input=pdf, stdout=subprocess.PIPE, check=True).stdout
    images, at = [], 0
    while at < len(out):
        width, height = map(int, out[at:].split(b"\n", 3)[1].split())
        begin = at + len(b"\n".join(out[at:].split(b"\n", 3)[:3])) + 1
        images.append(Image.frombytes("L", (width, height), out[begin : begin + width * height]))
        at = begin + width * height
    return [worn(image, seed + n) for n, image in enumerate(images)] if noisy else images


def worn(image, seed):
    chance = random.Random(seed)
    image = image.rotate(chance.uniform(-0.5, 0.5), resample=Image.BICUBIC, fillcolor=255).filter(ImageFilter.GaussianBlur(0.7))
    grain = Image.frombytes("L", image.size, chance.randbytes(image.width * image.height))
    image = Image.blend(image, grain, 0.12)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=55)
    return Image.open(io.BytesIO(out.getvalue()))


def tables_in(markdown):
    """The tables of a markdown text, as rows of texts."""
    tables, rows = [], []
    for line in [*markdown.splitlines(), ""]:
        if not line.startswith("|"):
            if rows:
                tables.append(rows)
            rows = []
        elif set(line) - set("|- "):
            cells = line.strip()[1:-1].replace("\\|", "\0").split("|")
            rows.append([" ".join(cell.replace("<br>", " ").replace("\0", "|").replace("\\", "").split()) for cell in cells])
    return tables


def facts(table):
    return {(r, c, text) for r, row in enumerate(table) for c, text in enumerate(row) if text}


class Score:
    """F1 over (row, column, text) of all tables. Each table is compared with the best of those that were read."""

    def __init__(self):
        self.right = self.expected = self.found = 0

    def add(self, expected, found):
        found = [facts(table) for table in found]
        self.found += sum(map(len, found))
        for table in map(facts, expected):
            best = max(found, key=lambda other: len(table & other), default=set())
            self.expected += len(table)
            self.right += len(table & best)
            if best in found:
                found.remove(best)

    @property
    def f1(self):
        return 2 * self.right / (self.expected + self.found) if self.expected + self.found else 1.0
