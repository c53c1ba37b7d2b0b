"""Documents that tests submit. `tiny_pdf` needs no library; the others use reportlab and Pillow."""

import base64
import io


def data_uri(document, media="application/pdf"):
    return f"data:{media};base64,{base64.b64encode(document).decode()}"


def tiny_pdf(*pages, padding=0):
    """A PDF with one line of text per page, about 600 bytes per page, plus `padding` bytes that belong to no page."""
    objects = {1: b"<< /Type /Catalog /Pages 2 0 R >>", 3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
    kids = []
    for number, text in enumerate(pages):
        page, content = 4 + 2 * number, 5 + 2 * number
        kids.append(f"{page} 0 R")
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        stream = f"BT /F1 14 Tf 72 720 Td ({escaped}) Tj ET".encode("latin-1")
        objects[page] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> >>"
        ).encode()
        objects[content] = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream)
    objects[2] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>".encode()
    if padding:
        objects[max(objects) + 1] = b"<< /Length %d >>\nstream\n%s\nendstream" % (padding, b"x" * padding)
    return assemble_pdf(objects)


def tiny_pdf_of(size, *pages):
    """The same, with a size of exactly `size` bytes."""
    padding = size - len(tiny_pdf(*pages))
    while (over := len(document := tiny_pdf(*pages, padding=padding)) - size) != 0:
        padding -= over
    return document


def misread_pdf(lines, meaning, visible=True, hidden=()):
    """A page of lines of Helvetica. Those that begin with `~` are drawn alike, but in a font whose ToUnicode map gives
    `meaning(code)` for each code, so that readers of text layers find no language. They are invisible
    if `visible` is false, or for those that are `hidden`."""
    pairs = "\n".join(f"<{code:02x}> <{meaning(code):04x}>" for code in range(33, 127))
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /M def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange\n94 beginbfchar\n{pairs}\nendbfchar endcmap end end"
    ).encode()
    stream = b""
    for number, line in enumerate(lines):
        font, text = ("F2", line[1:]) if line.startswith("~") else ("F1", line)
        mode = 3 if line in hidden or (font == "F2" and not visible) else 0
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        stream += f"BT {mode} Tr /{font} 12 Tf 72 {720 - 16 * number} Td ({escaped}) Tj ET\n".encode("cp1252")
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding "
    return assemble_pdf(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
            4: b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
            5: font + b">>",
            6: font + b"/ToUnicode 7 0 R >>",
            7: b"<< /Length %d >>\nstream\n%s\nendstream" % (len(cmap), cmap),
        }
    )


def assemble_pdf(objects, trailer=b""):
    """Builds a PDF file from numbered objects; object 1 is the catalog."""
    out = bytearray(b"%PDF-1.4\n")
    offsets = {}
    for number in sorted(objects):
        offsets[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (max(objects) + 1)
    for number in range(1, max(objects) + 1):
        out += b"%010d 00000 n \n" % offsets.get(number, 0)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (max(objects) + 1, trailer, start)
    return bytes(out)


def scan_pdf(images, dpi=200, quality=60):
    """A PDF whose pages contain only an image, as a scanner makes them."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    out = io.BytesIO()
    sheet = canvas.Canvas(out)
    for image in images:
        width, height = image.width * 72 / dpi, image.height * 72 / dpi
        sheet.setPageSize((width, height))
        jpeg = io.BytesIO()
        image.convert("L").save(jpeg, "JPEG", quality=quality)
        jpeg.seek(0)
        sheet.drawImage(ImageReader(jpeg), 0, 0, width, height)
        sheet.showPage()
    sheet.save()
    return out.getvalue()


def line_scan(text):
    """A PNG image of one line of text."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 40)
    image = Image.new("L", (40 * len(text), 160), 255)
    ImageDraw.Draw(image).text((60, 50), text, 0, font)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def full_scans(pages):
    """A PDF of page images full of text; each page takes about a second to read."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 26)
    images = []
    for page in range(pages):
        image = Image.new("L", (1654, 2339), 255)
        draw = ImageDraw.Draw(image)
        for line in range(55):
            draw.text((120, 100 + 40 * line), f"page {page} line {line}: what a worker began another one may finish", 0, font)
        images.append(image)
    return scan_pdf(images)
