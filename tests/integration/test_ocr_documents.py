"""POST /v1/ocr over real documents: the accepted forms, and every class of bad documents with its code."""

import io
import json
import re
import subprocess

import bad_documents
import pytest
from documents import data_uri, tiny_pdf, tiny_pdf_of
from millrace import Gateway
from PIL import Image, ImageDraw, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("ocr") / "data").start()
    yield gateway
    gateway.close()


def ocr(gateway, document, **fields):
    return gateway.client.post("/v1/ocr", {"document": document, **fields})


def picture(kind, text="The quick brown fox 1234"):
    image = Image.new("RGB", (1000, 240), "white")
    ImageDraw.Draw(image).text((40, 90), text, fill="black", font=ImageFont.truetype(FONT, 44))
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def test_a_pdf_with_a_text_layer_is_returned_as_markdown_per_page(shared):
    uri = data_uri(tiny_pdf("Alpha beta gamma", "Delta epsilon"))
    reply = ocr(shared, {"type": "document_url", "document_url": uri})
    assert reply.status == 200, reply.body
    body = reply.json()
    assert body["model"] == "vendor-ocr-latest"
    assert [page["index"] for page in body["pages"]] == [0, 1]
    assert "Alpha beta gamma" in body["pages"][0]["markdown"]
    assert "Delta epsilon" in body["pages"][1]["markdown"]
    for page in body["pages"]:
        assert page["images"] == []
        assert set(page["dimensions"]) == {"dpi", "height", "width"}
        assert all(isinstance(value, int) for value in page["dimensions"].values())
    assert body["usage_info"] == {"pages_processed": 2, "doc_size_bytes": len(tiny_pdf("Alpha beta gamma", "Delta epsilon"))}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_picture_is_read_whatever_media_type_its_uri_has(shared, kind):
    reply = ocr(shared, {"document_url": data_uri(picture(kind), "application/octet-stream")})
    assert reply.status == 200, reply.body
    assert "quick brown fox 1234" in reply.json()["pages"][0]["markdown"]


def test_every_spelling_of_a_document_is_accepted(shared):
    uri = data_uri(picture("PNG"))
    for document in (
        {"type": "document_url", "document_url": uri},
        {"document_url": uri},
        {"type": "image_url", "image_url": uri},
        {"type": "image_url", "image_url": {"url": uri}},
        {"type": "document_url", "document_url": uri, "document_name": "fox.png"},
    ):
        reply = ocr(shared, document, model=None)
        assert reply.status == 200, (list(document), reply.body)


def test_pages_are_chosen_by_list_and_by_text_and_keep_their_numbers(shared):
    uri = data_uri(tiny_pdf(*[f"this is page number {n} here" for n in range(12)]))
    for pages, expected in (([3, 1], [1, 3]), ("0-2,11", [0, 1, 2, 11])):
        reply = ocr(shared, {"document_url": uri}, pages=pages)
        assert reply.status == 200, reply.body
        body = reply.json()
        assert sorted(page["index"] for page in body["pages"]) == expected
        for page in body["pages"]:
            assert f"this is page number {page['index']}" in page["markdown"]
        assert body["usage_info"]["pages_processed"] == len(expected)
    reply = ocr(shared, {"document_url": uri}, pages=[12])
    assert reply.status == 422, reply.body


def test_unknown_fields_are_named_and_ignored(shared):
    reply = ocr(shared, {"document_url": data_uri(tiny_pdf("x y z and more words"))}, sparkle=True)
    assert reply.status == 200, reply.body
    assert "sparkle" in reply.headers["x-millrace-dropped-params"]


def test_a_huge_page_is_rastered_smaller(shared):
    reply = ocr(shared, {"document_url": data_uri(bad_documents.huge_page())})
    assert reply.status == 200, reply.body


def sheets(pages, compressed=1):
    from reportlab.pdfgen import canvas

    out = io.BytesIO()
    sheet = canvas.Canvas(out, pageCompression=compressed)
    for page in range(pages):
        sheet.drawString(72, 780, f"this is sheet number {page} of a good document")
        sheet.showPage()
    sheet.save()
    return out.getvalue()


def made_by(folder, *command):
    """The PDF that a program makes from good.pdf; OUT is replaced by the output file."""
    (folder / "good.pdf").write_bytes(sheets(3))
    (folder / "more.pdf").write_bytes(sheets(2, compressed=0))
    subprocess.run([str(folder / "out.pdf") if argument == "OUT" else argument for argument in command], cwd=folder, check=True)
    return (folder / "out.pdf").read_bytes()


def updated(_folder):
    """An incremental update at the end of the file removes two of three pages, as an editor saves it."""
    whole = tiny_pdf("stays here", "goes away", "goes away too")
    old_table = int(whole.rsplit(b"startxref", 1)[1].split()[0])
    number, kids = re.search(rb"(\d+) 0 obj\n<< /Type /Pages /Count 3 /Kids \[(\d+ 0 R)", whole).groups()
    node = b"%s 0 obj\n<< /Type /Pages /Count 1 /Kids [%s] >>\nendobj\n" % (number, kids)
    table = b"xref\n%s 1\n%010d 00000 n \n" % (number, len(whole))
    size, root = re.search(rb"/Size (\d+)", whole).group(1), re.search(rb"/Root (\d+ 0 R)", whole).group(1)
    trailer = b"trailer\n<< /Size %s /Root %s /Prev %d >>\nstartxref\n%d\n%%%%EOF\n" % (size, root, old_table, len(whole + node))
    return whole + node + table + trailer


GOOD = {
    "reportlab": (lambda folder: sheets(3), 3),
    "pdfunite": (lambda folder: made_by(folder, "pdfunite", "good.pdf", "more.pdf", "OUT"), 5),
    "pdftocairo": (lambda folder: made_by(folder, "pdftocairo", "-pdf", "good.pdf", "OUT"), 3),
    "object streams": (lambda folder: made_by(folder, "qpdf", "--object-streams=generate", "good.pdf", "OUT"), 3),
    "linearized": (lambda folder: made_by(folder, "qpdf", "--linearize", "good.pdf", "OUT"), 3),
    "pages taken out": (lambda folder: made_by(folder, "qpdf", "good.pdf", "--pages", ".", "1-2", "--", "OUT"), 2),
    "empty password": (lambda folder: made_by(folder, "qpdf", "--encrypt", "", "owner", "256", "--", "good.pdf", "OUT"), 3),
    "an update takes pages away": (updated, 1),
}


@pytest.mark.parametrize("name", GOOD)
def test_all_of_a_good_document_is_read_whichever_program_made_it(shared, name, tmp_path):
    make, pages = GOOD[name]
    reply = ocr(shared, {"document_url": data_uri(make(tmp_path))})
    assert reply.status == 200, (reply.status, reply.body)
    assert len(reply.json()["pages"]) == pages
    assert all(page["markdown"] for page in reply.json()["pages"])


@pytest.mark.parametrize("name", bad_documents.REFUSED)
def test_a_bad_document_is_refused_with_its_own_code(shared, name):
    make, code = bad_documents.REFUSED[name]
    reply = ocr(shared, {"document_url": data_uri(make())})
    assert reply.status == 422, (reply.status, reply.body)
    body = reply.json()
    assert body["error"]["code"] == code, body
    assert body["error"]["message"]
    assert reply.headers["x-should-retry"] == "false"


def test_a_page_that_takes_too_long_fails_alone_with_its_reason(tmp_path):
    gateway = Gateway(tmp_path / "data", "--ocr.page-timeout", "2s").start()
    try:
        reply = ocr(gateway, {"document_url": data_uri(bad_documents.slow_page_between_two())})
        assert reply.status == 200, reply.body
        first, slow, last = reply.json()["pages"]
        assert "first page is a good one" in first["markdown"] and "last page is a good one" in last["markdown"]
        assert slow["error"]["code"] == "page_timeout" and "ocr.page_timeout" in slow["error"]["message"]
        assert slow["markdown"] == "" and slow["images"] == [] and slow["dimensions"] is None
        assert reply.json()["usage_info"]["pages_processed"] == 2
    finally:
        gateway.close()


def pictured_pdf(pages):
    """Pages with a few lines of text and a picture of noise, which cannot be compressed."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas

    out = io.BytesIO()
    sheet = canvas.Canvas(out)
    for page in range(pages):
        for line in range(6):
            sheet.drawString(72, 780 - 16 * line, f"page {page}, line {line}: words above a picture that is large")
        sheet.drawImage(ImageReader(Image.effect_noise((900, 900), 90)), 100, 250, 320, 320)
        sheet.showPage()
    sheet.save()
    return out.getvalue()


def test_a_reply_above_ocr_reply_max_is_refused_by_that_name_and_fits_without_its_pictures(tmp_path):
    gateway = Gateway(tmp_path / "data", "--ocr.reply-max", "1MiB").start()
    try:
        document = {"document_url": data_uri(pictured_pdf(4))}
        refused = ocr(gateway, document, include_image_base64=True)
        assert refused.status == 413, (refused.status, refused.body[:300])
        assert refused.json()["error"]["code"] == "document_too_large"
        assert "ocr.reply_max (1MiB)" in refused.json()["error"]["message"]
        assert refused.headers["x-should-retry"] == "false"
        assert ocr(gateway, document).status == 200
        assert ocr(gateway, document, pages=[1], include_image_base64=True).status == 200
    finally:
        gateway.close()


def test_the_gateway_still_works_after_all_bad_documents(shared):
    assert shared.client.get("/readyz").status == 200
    assert ocr(shared, {"document_url": data_uri(tiny_pdf("still here and well"))}).status == 200


def test_a_document_of_fifty_megabytes_is_read_and_one_byte_more_is_413(shared):
    limit = 50 << 20
    reply = ocr(shared, {"document_url": data_uri(tiny_pdf_of(limit, "A big document with a text layer"))})
    assert reply.status == 200, (reply.status, reply.body[:300])
    assert reply.json()["usage_info"]["doc_size_bytes"] == limit
    assert "A big document with a text layer" in reply.json()["pages"][0]["markdown"]
    reply = ocr(shared, {"document_url": data_uri(tiny_pdf_of(limit + 1, "A big document with a text layer"))})
    assert reply.status == 413 and reply.json()["error"]["code"] == "document_too_large", (reply.status, reply.body[:300])


@pytest.mark.parametrize(
    "body, status",
    [
        (b"{", 400),
        (b"[]", 400),
        (b"{}", 422),
        (json.dumps({"document": {}}).encode(), 422),
        (json.dumps({"document": {"document_url": 3}}).encode(), 422),
        (json.dumps({"document": {"document_url": "data:application/pdf;base64,@@@"}}).encode(), 422),
        (json.dumps({"document": {"document_url": "data:application/pdf,plain"}}).encode(), 422),
        (json.dumps({"document": {"document_url": "not a url"}}).encode(), 422),
        (json.dumps({"document": {"type": "file", "file_id": "abc"}}).encode(), 422),
        (json.dumps({"model": "nobody/nothing", "document": {"document_url": "https://example.com/a"}}).encode(), 404),
        (b'{"document": {"document_url": "https://e.com/"}, "document": {}}', 400),
    ],
)
def test_the_error_of_a_malformed_request_names_the_place(shared, body, status):
    reply = shared.client.post("/v1/ocr", body)
    assert reply.status == status, reply.body
    error = reply.json()
    assert set(error["error"]) == {"message", "type", "param", "code"}
    if status == 422:
        assert error["detail"] and all(isinstance(part, str) for part in error["detail"][0]["loc"])
