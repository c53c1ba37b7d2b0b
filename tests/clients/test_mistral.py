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
