"""Pages of prose as a scanner makes them, and a comparison with the text that was read."""

import io
import random

from documents import data_uri
from PIL import Image, ImageDraw, ImageFont

WORDS = (
    "the river turns a wheel and the wheel turns stone so every sack of grain that comes down from hills becomes flour "
    "before night falls over quiet water while millers count their work in bags and hours with patience"
).split()
FONTS = {
    "sans": "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "serif": "/usr/share/fonts/truetype/liberation/LiberationSerif-Regular.ttf",
    "mono": "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
}
DPI = 200


def sheet():
    return Image.new("L", (int(8.27 * DPI), int(11.69 * DPI)), 255)


def paragraph(seed, count):
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) for _ in range(count)).capitalize() + "."


def write(draw, text, font, left, top, width, pitch, ink=0):
    """Draws text in lines of at most `width` pixels; returns the position of the next line."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if draw.textlength(longer, font=font) > width:
            draw.text((left, top), line, font=font, fill=ink)
            top, line = top + pitch, word
        else:
            line = longer
    draw.text((left, top), line, font=font, fill=ink)
    return top + pitch


def text_page(font_name, points, seed=1, columns=1, count=140):
    page, size = sheet(), int(points * DPI / 72)
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(FONTS[font_name], size)
    texts = [paragraph(seed + n, count // columns) for n in range(columns)]
    gap, margin = int(0.4 * DPI), int(0.9 * DPI)
    width = (page.width - 2 * margin - gap * (columns - 1)) // columns
    for number, text in enumerate(texts):
        write(draw, text, font, margin + number * (width + gap), margin, width, int(size * 1.35))
    return page, " ".join(texts)


def read_file(gateway, picture, kind, **how):
    out = io.BytesIO()
    picture.save(out, format=kind, **how)
    body = {"document": {"type": "image_url", "image_url": data_uri(out.getvalue(), f"image/{kind}")}}
    reply = gateway.client.post("/v1/ocr", body)
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0]["markdown"]


def plain(text):
    keep = "".join(c if c.isalnum() else " " for c in text.lower())
    return " ".join(keep.split())


def recall(recognized, expected):
    left, found = plain(recognized).split(), 0
    for word in plain(expected).split():
        if word in left:
            left.remove(word)
            found += 1
    return found / len(plain(expected).split())
