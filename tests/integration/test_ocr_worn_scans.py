"""POST /v1/ocr with worn scans: dithered, with specks, with a shadow."""

import random

import pytest
from millrace import Gateway
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont, ImageOps
from scans import DPI, FONTS, paragraph, read_file, recall, sheet, text_page, write


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("worn") / "data").start()
    yield gateway
    gateway.close()


def grayish(page, paper):
    """As from a scanner: paper is not quite white and ink is not quite black."""
    return page.filter(ImageFilter.GaussianBlur(0.8)).point(lambda v: 45 + (paper - 45) * v // 255)


def diffused(page):
    return page.convert("1")  # Floyd–Steinberg dithering


def ordered(page):
    """Dithered with an 8 × 8 Bayer matrix."""
    square = Image.new("L", (8, 8))
    for x in range(8):
        for y in range(8):
            rank = sum(((x ^ y) >> bit & 1) << (5 - 2 * bit) | (y >> bit & 1) << (4 - 2 * bit) for bit in range(3))
            square.putpixel((x, y), 4 * rank + 2)
    wall = Image.new("L", page.size)
    for x in range(0, page.width, 8):
        wall.paste(square, (x, 0))
    row = wall.crop((0, 0, page.width, 8))
    for y in range(0, page.height, 8):
        wall.paste(row, (0, y))
    return ImageChops.subtract(page, wall).point(lambda v: 255 if v else 0).convert("1", dither=0)


def speckled(page, percent, seed=9):
    """Salt and pepper: this percentage of pixels has the other colour."""
    chance = Image.frombytes("L", page.size, random.Random(seed).randbytes(page.width * page.height))
    return ImageChops.difference(page, chance.point(lambda v: 255 if v < 2.56 * percent else 0)).convert("1", dither=0)


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("paper", [225, 190])
@pytest.mark.parametrize("dither, bound", [(diffused, 0.97), (ordered, 0.88)])
def test_a_gray_scan_dithered_to_black_and_white_is_read(shared, font, paper, dither, bound):
    page, text = text_page(font, 11, seed=61)
    found = recall(read_file(shared, dither(grayish(page, paper)), "png"), text)
    assert found >= bound, found


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("percent, bound", [(1, 0.98), (3, 0.97), (6, 0.93), (10, 0.88)])
def test_a_scan_with_salt_and_pepper_is_read(shared, font, percent, bound):
    page, text = text_page(font, 11, seed=62)
    found = recall(read_file(shared, speckled(page, percent), "png"), text)
    assert found >= bound, found


def shaded(page, light, side):
    """A shadow with a soft edge over everything left of or below the middle."""
    width, height = page.size
    shadow = Image.new("L", page.size, 255)
    box = (0, 0, width // 2, height) if side == "left" else (0, height // 4, width, height)
    shadow.paste(round(255 * light), box)
    return ImageChops.multiply(grayish(page, 245), shadow.filter(ImageFilter.GaussianBlur(15)))


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("light", [0.4, 0.6])
@pytest.mark.parametrize("side", ["left", "below"])
def test_a_page_with_a_shadow_over_it_is_read(shared, font, light, side):
    page, text = text_page(font, 11, seed=64, count=250)
    found = recall(read_file(shared, shaded(page, light, side), "png"), text)
    assert found >= 0.97, found


def test_text_next_to_a_dithered_photograph_is_read(shared):
    page, text = text_page("serif", 11, seed=63)
    page.paste(Image.linear_gradient("L").resize((1000, 700)), (300, 1400))
    found = recall(read_file(shared, diffused(page), "png"), text)
    assert found >= 0.98, found


@pytest.mark.parametrize("ink", [200, 165, 140])
def test_pale_text_beside_dark_text_is_read(shared, ink):
    page, top = sheet(), int(0.9 * DPI)
    font = ImageFont.truetype(FONTS["sans"], int(11 * DPI / 72))
    texts = [paragraph(80, 40), paragraph(81, 40)]
    for text, dark in zip(texts, [0, ink], strict=True):
        top = write(ImageDraw.Draw(page), text, font, top, top, int(6.4 * DPI), 44, ink=dark) + 40
    found = recall(read_file(shared, page, "png"), " ".join(texts))
    assert found >= 0.97, found


def test_a_page_of_pale_text_is_read(shared):
    page, text = text_page("serif", 11, seed=82)
    found = recall(read_file(shared, page.point(lambda v: 180 + v * 75 // 255), "png"), text)
    assert found >= 0.97, found


def test_white_text_on_a_light_band_is_read(shared):
    page, text = text_page("sans", 11, seed=83)
    draw = ImageDraw.Draw(page)
    draw.rectangle((180, 100, 1400, 150), fill=175)
    draw.text((200, 108), "Special offer until the end of March", font=ImageFont.truetype(FONTS["sans"], 30), fill=255)
    assert "Special offer until the end of March" in read_file(shared, page, "png")


def test_pale_text_that_shines_through_from_the_back_is_left_out(shared):
    page, text = text_page("sans", 11, seed=84)
    back = ImageOps.mirror(text_page("sans", 11, seed=85)[0]).point(lambda v: 205 + v * 50 // 255)
    read = read_file(shared, ImageChops.darker(page, ImageChops.offset(back, 0, 1000)), "png")
    assert recall(read, text) >= 0.97 and len(read) < 1.03 * len(text), read
