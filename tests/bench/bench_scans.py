"""The documents of the OCR rows: noisy scans with known text, and a long PDF with a text layer."""

import io
import random

from documents import scan_pdf
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont
from scans import write

DPI = 300
PAGE = (int(8.27 * DPI), int(11.69 * DPI))
MARGIN = DPI
INK = 40
# Share of noise in a page. From about 0.2 on, Tesseract at 300 dpi takes speckles for letters. OCRmyPDF's CPU time per page
# then rises up to sixfold, and at 0.3 it loses whole pages. A ratio would then depend mainly on this number.
NOISE = 0.12
FONTS = [
    "/usr/share/fonts/truetype/liberation/LiberationSerif-Regular.ttf",
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
]
WORDS = (
    "the of and to in that was his with for had not are but from have they which one were all their there been many some "
    "water river valley harvest market season village bridge winter summer morning evening letter answer question reason "
    "measure balance account ledger payment delivery receipt contract number twelve hundred percent quarter annual report "
    "engine machine wheel copper silver timber cotton barley wheat flour stone glass paper printing binding drawing survey "
    "northern southern eastern western between against through without during before after because although however "
    "important necessary possible different several particular general special public private ancient modern careful "
    "quickly slowly together always never often sometimes perhaps certainly probably nearly almost enough rather quite "
    "committee member president secretary journey railway harbour island mountain forest garden kitchen library school"
).split()


def sentence(chance):
    words = [chance.choice(WORDS) for _ in range(chance.randint(7, 18))]
    if chance.random() < 0.3:
        words.insert(3, str(chance.randint(10, 9999)))
    if chance.random() < 0.4:
        words[4] += ","
    return " ".join(words).capitalize() + "."


def paragraphs(seed, count=5, sentences=6):
    chance = random.Random(seed)
    return [" ".join(sentence(chance) for _ in range(sentences)) for _ in range(count)]


def _noise(chance):
    """Gray noise with a mean of 128."""
    layers = [Image.frombytes("L", PAGE, chance.randbytes(PAGE[0] * PAGE[1])) for _ in range(2)]
    return ImageChops.add(*layers, scale=2)


def scan(number):
    """A page as from a worn office scanner, and its text."""
    chance = random.Random(1000 + number)
    points = (10, 11, 12)[number % 3]
    size = int(points * DPI / 72)
    page = Image.new("L", PAGE, 232)
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(FONTS[number % len(FONTS)], size)
    top, texts = MARGIN, paragraphs(number)
    for text in texts:
        top = write(draw, text, font, MARGIN, top, PAGE[0] - 2 * MARGIN, int(size * 1.3), ink=INK) + size
    assert top < PAGE[1] - MARGIN // 2, "the page is too full"
    page = page.rotate(chance.uniform(-0.5, 0.5), resample=Image.BICUBIC, fillcolor=232)
    page = page.filter(ImageFilter.GaussianBlur(0.8))
    return Image.blend(page, _noise(chance), NOISE), " ".join(texts)


def scanned_document(pages, first=0):
    """(PDF, text of each page)."""
    images, texts = zip(*(scan(number) for number in range(first, first + pages)))
    return scan_pdf(images, DPI, quality=75), list(texts)


def text_document(pages):
    """A PDF with a text layer: some 330 words on each page."""
    from reportlab.pdfgen import canvas

    out = io.BytesIO()
    sheet = canvas.Canvas(out, pagesize=(595, 842))
    for number in range(pages):
        text = sheet.beginText(60, 780)
        text.setFont("Times-Roman", 11)
        for block in paragraphs(number):
            words = block.split()
            for start in range(0, len(words), 14):
                text.textLine(" ".join(words[start : start + 14]))
            text.textLine("")
        sheet.drawText(text)
        sheet.showPage()
    sheet.save()
    return out.getvalue()


def plain(text):
    """Text without Markdown markup and with single blanks."""
    return " ".join("".join(c for c in text if c not in "#*|\\_`").split())


def edit_distance(a, b):
    """Levenshtein distance; a whole row is computed at once as the bits of a number (Myers, Hyyrö)."""
    if not a:
        return len(b)
    where = {}
    for i, c in enumerate(a):
        where[c] = where.get(c, 0) | 1 << i
    full, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    up, down, distance = full, 0, len(a)
    for c in b:
        equal = where.get(c, 0)
        zero = (((equal & up) + up) ^ up) | equal | down
        right, left = down | (full & ~(zero | up)), up & zero
        distance += bool(right & last) - bool(left & last)
        right, left = (right << 1 | 1) & full, (left << 1) & full
        up, down = left | (full & ~(zero | right)), right & zero
    return distance


def error_percent(recognized, expected):
    """Character error rate over all pages, in percent."""
    assert len(recognized) == len(expected), f"{len(recognized)} pages were read of {len(expected)}"
    wrong = sum(edit_distance(plain(s), plain(m)) for s, m in zip(recognized, expected))
    return 100 * wrong / sum(len(plain(m)) for m in expected)
