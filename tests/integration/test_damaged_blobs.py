"""A file of the store that is damaged on the disk: the damage is reported, and its content is never used or returned."""

from documents import data_uri, tiny_pdf
from millrace import Gateway, Worker, eventually

PAGES = 300


def blob_of(gateway, begins):
    """The only stored file that begins with these bytes."""
    found = [path for path in (gateway.data / "blobs").rglob("*-*") if path.is_file() and path.read_bytes().startswith(begins)]
    assert len(found) == 1, found
    return found[0]


def long_document():
    return data_uri(tiny_pdf(*[f"this is leaf {n} of a book that is long enough for a file of its own" for n in range(PAGES)]))


def logged(process, blob):
    return [line for line in process.log.read_text().splitlines() if "store_blob_damaged" in line and blob.name in line]


def test_a_damaged_result_is_refused_with_its_code_and_named_in_the_log(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        job = gateway.client.submit_ocr(long_document()).json()["id"]
        assert gateway.client.wait_terminal(job)["status"] == "succeeded"
        path = f"/v1/jobs/{job}/result"
        good = gateway.client.get(path)
        assert good.status == 200 and len(good.json()["pages"]) == PAGES
        blob = blob_of(gateway, b'{"pages"')
        whole = blob.read_bytes()
        flipped = whole.replace(b"leaf 7 of", b"leaf 3 of", 1)
        for damaged in (flipped, whole[:-1]):
            blob.write_bytes(damaged)
            refused = gateway.client.get(path)
            assert refused.status == 500 and refused.json()["error"]["code"] == "stored_file_damaged", refused.body
            assert refused.headers["x-should-retry"] == "false" and blob.name not in refused.body.decode()
        eventually(lambda: len(logged(gateway, blob)) == 2, what="one log line for each refusal")
        blob.write_bytes(whole)
        assert gateway.client.get(path).body == good.body, "the file can be read again after it is restored from a backup"
    finally:
        gateway.close()


def test_a_job_whose_document_has_lost_bytes_on_the_disk_fails_at_once(tmp_path):
    gateway = Gateway(tmp_path / "data", role="api").start()
    worker = Worker(gateway.data)
    try:
        job = gateway.client.submit_ocr(long_document()).json()["id"]
        blob = blob_of(gateway, b"%PDF")
        blob.write_bytes(blob.read_bytes()[:-1])
        worker.start()
        ended = gateway.client.wait_terminal(job)
        assert ended["status"] == "failed" and ended["error"]["code"] == "stored_file_damaged", ended
        assert ended["attempt"] == 1, "another attempt would find the same damage"
        eventually(lambda: logged(worker, blob), what="the log line of the worker")
    finally:
        worker.close()
        gateway.close()
