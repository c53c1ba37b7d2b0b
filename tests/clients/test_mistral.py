"""The published OCR client; only its server URL is changed."""

import json

from documents import data_uri, tiny_pdf
from venv_programs import run_with

PROGRAM = """
import json, sys
from mistralai import Mistral
url, key, uri = sys.argv[1:4]
with Mistral(api_key=key, server_url=url) as client:
    reply = client.ocr.process(model="mistral-ocr-latest",
                               document={"type": "document_url", "document_url": uri},
                               include_image_base64=True, pages=[0, 1])
    print(json.dumps({"pages": [[p.index, p.markdown, p.dimensions.dpi] for p in reply.pages],
                      "model": reply.model, "processed": reply.usage_info.pages_processed}))
    try:
        client.ocr.process(model="mistral-ocr-latest", document={"type": "document_url", "document_url": "data:application/pdf;base64,AAAA"})
    except Exception as error:
        print(json.dumps({"status": error.status_code}))
"""


def test_the_ocr_client_reads_a_response_and_an_error(gateway):
    uri = data_uri(tiny_pdf("first leaf of the book", "second leaf of the book"))
    lines = run_with(["mistralai<2"], PROGRAM, gateway.url, gateway.client.key, uri).splitlines()
    reply = json.loads(lines[0])
    assert [page[0] for page in reply["pages"]] == [0, 1]
    assert "second leaf of the book" in reply["pages"][1][1]
    assert reply["model"] == "mistral-ocr-latest" and reply["processed"] == 2
    assert json.loads(lines[1]) == {"status": 422}


FILES = """
import json, sys, urllib.request
from mistralai import Mistral
url, key = sys.argv[1:3]
with Mistral(api_key=key, server_url=url) as client:
    sent = client.files.upload(file={"file_name": "scan.pdf", "content": b"%PDF-1.4"}, purpose="ocr")
    listed = client.files.list(page=0, page_size=10, purpose="ocr")
    signed = client.files.get_signed_url(file_id=sent.id, expiry=1)
    with urllib.request.urlopen(signed.url) as reply:
        by_url = reply.read().decode()
    print(json.dumps({"name": sent.filename, "bytes": sent.size_bytes, "purpose": sent.purpose, "source": sent.source,
                      "listed": [file.id == sent.id for file in listed.data], "total": listed.total, "by_url": by_url,
                      "content": client.files.download(file_id=sent.id).read().decode(),
                      "mimetype": client.files.retrieve(file_id=sent.id).mimetype,
                      "deleted": client.files.delete(file_id=sent.id).deleted}))
"""


def test_the_client_of_files_uploads_lists_signs_and_deletes(gateway):
    out = json.loads(run_with(["mistralai<2"], FILES, gateway.url, gateway.client.key).splitlines()[-1])
    assert (out["name"], out["bytes"], out["purpose"], out["source"]) == ("scan.pdf", 8, "ocr", "upload")
    assert out["listed"] == [True] and out["total"] == 1 and out["deleted"] is True
    assert out["content"] == out["by_url"] == "%PDF-1.4"
