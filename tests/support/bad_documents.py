"""Documents that must be refused, each with the expected error code (contract: jobs, error codes)."""

import io
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

from documents import assemble_pdf, tiny_pdf


def _one_page(content, resources=b"", media_box=b"[0 0 612 792]", extra=None, trailer=b""):
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox " + media_box + b" /Contents 4 0 R /Resources << " + resources + b" >> >>",
        4: content,
    }
    objects.update(extra or {})
    return assemble_pdf(objects, trailer)


def _stream(data, dictionary=b""):
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), dictionary, data)


def encrypted():
    with tempfile.TemporaryDirectory() as folder:
        plain, locked = Path(folder) / "plain.pdf", Path(folder) / "locked.pdf"
        plain.write_bytes(tiny_pdf("secret"))
        subprocess.run(["qpdf", "--encrypt", "user", "owner", "256", "--", plain, locked], check=True)
        return locked.read_bytes()


def encrypted_for_certificate():
    trailer = (
        b"/Encrypt << /Filter /Adobe.PubSec /SubFilter /adbe.pkcs7.s5 /V 4 /R 65539 /Length 128 /StmF /DefaultCryptFilter "
        b"/StrF /DefaultCryptFilter /CF << /DefaultCryptFilter << /CFM /AESV2 /Recipients [<3082>] /Length 16 >> >> >> "
        b"/ID [<00> <00>]"
    )
    return _one_page(_stream(b"BT ET"), trailer=trailer)


def truncated():
    whole = tiny_pdf(*["text on a page that is cut"] * 4)
    return whole[: len(whole) // 5]


def content_bomb():
    """Compressed twice with deflate: a few kilobytes that expand to a gigabyte of page content."""
    packer = zlib.compressobj(9)
    inner = b"".join(packer.compress(b"0 0 m 1 1 l S\n" * 75_000) for _ in range(1000)) + packer.flush()
    return _one_page(_stream(zlib.compress(inner, 9), b"/Filter [/FlateDecode /FlateDecode]"))


def _form_levels(first):
    """Each form draws the next one ten times, twelve levels deep; numbered from `first`."""
    levels, objects = 12, {}
    for level in range(levels):
        number = first + level
        body = b"/F Do " * 10 if level < levels - 1 else b"0 0 1 1 re f"
        resources = b"/Resources << /XObject << /F %d 0 R >> >>" % (number + 1) if level < levels - 1 else b""
        objects[number] = _stream(body, b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] " + resources)
    return objects


def nested_forms():
    return _one_page(_stream(b"/F Do"), b"/XObject << /F 10 0 R >>", extra=_form_levels(10))


def slow_page_between_two():
    """Three pages; the one in the middle is the form bomb."""
    objects = _form_levels(20)
    font = b"/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
    pages = [
        (b"BT /F1 14 Tf 72 720 Td (The first page is a good one) Tj ET", font),
        (b"/F Do", b"/XObject << /F 20 0 R >>"),
        (b"BT /F1 14 Tf 72 720 Td (The last page is a good one) Tj ET", font),
    ]
    for index, (content, resources) in enumerate(pages):
        page = 3 + 2 * index
        objects[page] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << %s >> >>" % (page + 1, resources)
        )
        objects[page + 1] = _stream(content)
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[2] = b"<< /Type /Pages /Count 3 /Kids [3 0 R 5 0 R 7 0 R] >>"
    return assemble_pdf(objects)


def page_count_too_high():
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Count 900 /Kids [3 0 R] >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>",
    }
    return assemble_pdf(objects)


def page_count_too_low():
    """Three pages with a count of one: a reader that trusts the count would lose two pages silently."""
    return tiny_pdf("one", "two", "three").replace(b"/Count 3", b"/Count 1")


def page_count_too_low_in_object_streams():
    """The same, but the count is in a compressed object stream."""
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = Path(folder) / "plain.pdf", Path(folder) / "packed.pdf"
        plain.write_bytes(page_count_too_low())
        subprocess.run(["qpdf", "--object-streams=generate", plain, packed], check=True)
        assert b"/Count" not in packed.read_bytes()
        return packed.read_bytes()


def too_many_pages():
    return tiny_pdf(*["x"] * 1001)


def huge_image_header():
    """A PNG whose header has the size 30,000 × 30,000."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 30_000, 30_000, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 3751)) + chunk(b"IEND", b"")


def damaged_png():
    from PIL import Image

    out = io.BytesIO()
    Image.effect_noise((400, 300), 60).save(out, "PNG")
    return out.getvalue()[:700]


def huge_page():
    """A valid page of 5 × 5 metres: rendered at a lower resolution, not refused."""
    return _one_page(
        _stream(b"BT /F1 900 Tf 500 7000 Td (HUGE PAGE) Tj ET"),
        b"/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>",
        b"[0 0 14400 14400]",
    )


def deep_page_tree():
    """A page below 100,000 nodes of the tree."""
    levels = 100_000
    objects = {1: b"<< /Type /Catalog /Pages 2 0 R >>"}
    for node in range(2, levels + 2):
        parent = b"/Parent %d 0 R " % (node - 1) if node > 2 else b""
        objects[node] = b"<< /Type /Pages /Count 1 %s/Kids [%d 0 R] >>" % (parent, node + 1)
    objects[levels + 2] = b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] >>" % (levels + 1)
    return assemble_pdf(objects)


REFUSED = {
    "empty": (lambda: b"", "document_empty"),
    "text": (lambda: b"Dear reader, this is not a document.\n" * 20, "document_unsupported"),
    "html": (lambda: b"<!doctype html><title>404</title>", "document_unsupported"),
    "zip": (lambda: b"PK\x03\x04" + b"\0" * 200, "document_unsupported"),
    "gif": (lambda: b"GIF89a" + b"\0" * 200, "document_unsupported"),
    "encrypted": (encrypted, "document_encrypted"),
    "encrypted for a certificate": (encrypted_for_certificate, "document_encrypted"),
    "truncated": (truncated, "document_damaged"),
    "header only": (lambda: b"%PDF-1.7\n", "document_damaged"),
    "content bomb": (content_bomb, "document_bomb"),
    "deep page tree": (deep_page_tree, "document_bomb"),
    "nested forms": (nested_forms, "document_bomb"),
    "page count too high": (page_count_too_high, "document_page_count"),
    "page count too low": (page_count_too_low, "document_page_count"),
    "page count too low in object streams": (page_count_too_low_in_object_streams, "document_page_count"),
    "too many pages": (too_many_pages, "document_too_many_pages"),
    "huge image header": (huge_image_header, "image_too_large"),
    "damaged png": (damaged_png, "document_damaged"),
    "jpeg of two bytes": (lambda: b"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "document_damaged"),
}
