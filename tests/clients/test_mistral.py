"""The published OCR client; only its server URL is changed."""

import json

import pytest
from documents import data_uri, tiny_pdf
from millrace import Gateway
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


# As docs/batch.md shows it.
BATCHES = """
import json, sys, time
from mistralai import Mistral
url, key = sys.argv[1:3]
with Mistral(api_key=key, server_url=url) as client:
    def ended(job):
        while job.status in ("QUEUED", "RUNNING"):
            time.sleep(0.2)
            job = client.batch.jobs.get(job_id=job.id)
        return job
    def replies(job):
        text = client.files.download(file_id=job.output_file).read().decode()
        return {line["custom_id"]: line["response"]["body"] for line in map(json.loads, text.splitlines())}
    lines = [{"custom_id": str(i), "body": {"messages": [{"role": "user", "content": f"word {i}"}]}} for i in range(10)]
    content = "\\n".join(json.dumps(line) for line in lines).encode()
    sent = client.files.upload(file={"file_name": "requests.jsonl", "content": content}, purpose="batch")
    by_file = ended(client.batch.jobs.create(input_files=[sent.id], model="mock/chat", endpoint="/v1/chat/completions",
                                             metadata={"run": "a"}, timeout_hours=1))
    inline = ended(client.batch.jobs.create(requests=lines, model="mock/chat", endpoint="/v1/chat/completions"))
    listed = client.batch.jobs.list(page=0, page_size=10)
    print(json.dumps({"status": [by_file.status, inline.status], "model": by_file.model, "metadata": by_file.metadata,
                      "counts": [by_file.total_requests, by_file.succeeded_requests, by_file.failed_requests],
                      "text": [replies(job)["3"]["choices"][0]["message"]["content"] for job in (by_file, inline)],
                      "listed": [job.id == made.id for job, made in zip(listed.data, (inline, by_file))], "total": listed.total}))
"""


@pytest.fixture
def mocked(tmp_path):
    instance = Gateway(tmp_path / "data", "--mock").start()
    yield instance
    instance.close()


def test_the_client_of_batches_sends_a_file_and_inline_requests(mocked):
    out = json.loads(run_with(["mistralai<2"], BATCHES, mocked.url, mocked.client.key).splitlines()[-1])
    assert out["status"] == ["SUCCESS", "SUCCESS"] and out["counts"] == [10, 10, 0] and out["text"] == ["word 3", "word 3"]
    assert out["model"] == "mock/chat" and out["metadata"] == {"run": "a"} and out["listed"] == [True, True] and out["total"] == 2
