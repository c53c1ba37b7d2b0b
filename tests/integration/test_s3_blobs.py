"""A gateway whose documents and large results are in S3."""

import shutil
import subprocess

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway, Worker, eventually
from s3 import S3
from sandboxed import ended, execution_path, local, reachable_folder, start, started

PAGES = 300
SENTENCE = "leaf {} of a book that is long enough for a file of its own"
MOCK = {"MILLRACE_MOCK": "true"}
LARGE_CHAT = {"model": "mock/chat", "messages": [{"role": "user", "content": "word " * 20_000}], "deferred": True}


@pytest.fixture
def s3(tmp_path):
    server = S3(tmp_path / "s3")
    server.start()
    yield server
    server.kill()


def doctor(data, *flags):
    command = [BUILD / "millrace", "doctor", "--data", data, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout


def long_document():
    return data_uri(tiny_pdf(*[SENTENCE.format(number) for number in range(PAGES)]))


def forget_copies(gateway):
    """Removes the local copies of all objects."""
    for copy in (gateway.data / "blobs" / "cache").rglob("*-*"):
        copy.unlink()


def check_result(client, job):
    reply = client.get(f"/v1/jobs/{job}/result")
    assert reply.status == 200, reply.body
    pages = reply.json()["pages"]
    assert len(pages) == PAGES
    assert all(SENTENCE.format(number) in page["markdown"] for number, page in enumerate(pages)), pages[0]
    return reply.body


def test_a_large_document_and_its_result_are_in_the_bucket_and_outlive_the_local_folder(s3, tmp_path):
    gateway = Gateway(tmp_path / "data", *s3.flags()).start()
    try:
        document = long_document()
        job = gateway.client.submit_ocr(document).json()["id"]
        assert gateway.client.wait_terminal(job)["status"] == "succeeded"
        before = check_result(gateway.client, job)
        assert len(s3.objects()) >= 2, "the document and its result"
        gateway.terminate()
        shutil.rmtree(gateway.data / "blobs")
        gateway.restart()
        assert check_result(gateway.client, job) == before
        secret = (tmp_path / "s3" / "secret-key").read_text().strip()
        assert secret not in gateway.log.read_text()
    finally:
        print(gateway.tail())
        gateway.close()


def test_with_the_jobs_in_postgresql_another_host_reads_the_same_result(s3, postgres, tmp_path):
    flags = ["--store.url", postgres.url, "--secrets.dir", tmp_path / "secrets", *s3.flags()]
    one = Gateway(tmp_path / "one", *flags).start()
    other = None
    try:
        job = one.client.submit_ocr(long_document()).json()["id"]
        assert one.client.wait_terminal(job)["status"] == "succeeded"
        result = check_result(one.client, job)
        one.terminate()
        (tmp_path / "two").mkdir(mode=0o711)
        shutil.copy(one.data / "admin.key", tmp_path / "two" / "admin.key")
        other = Gateway(tmp_path / "two", *flags).start()
        assert check_result(other.client, job) == result
    finally:
        print(one.tail())
        one.close()
        if other:
            other.close()


def test_doctor_says_which_setting_of_the_bucket_is_wrong(s3, tmp_path):
    good = doctor(tmp_path / "data", *s3.flags())
    assert "the bucket can be listed" in good, good
    (s3.folder / "secret-key").write_text("wrong")
    assert "blobs.secret_key does not belong to blobs.access_key" in doctor(tmp_path / "data", *s3.flags())
    s3.kill()
    assert "blobs.endpoint cannot be reached" in doctor(tmp_path / "data", *s3.flags())


def test_a_deleted_job_takes_its_objects_with_it(s3, tmp_path):
    gateway = Gateway(tmp_path / "data", *s3.flags()).start()
    try:
        job = gateway.client.submit_ocr(long_document()).json()["id"]
        gateway.client.wait_terminal(job)
        assert s3.objects()
        assert gateway.client.request("DELETE", f"/v1/jobs/{job}").status in (200, 204)
        eventually(lambda: not s3.objects(), within_s=90, what="an empty bucket")
    finally:
        print(gateway.tail())
        gateway.close()


def test_without_the_server_small_jobs_go_on_and_large_ones_are_refused_until_it_is_back(s3, tmp_path):
    gateway = Gateway(tmp_path / "data", *s3.flags()).start()
    try:
        s3.kill()
        small = gateway.client.submit_ocr(data_uri(tiny_pdf("a short letter"))).json()["id"]
        assert gateway.client.wait_terminal(small)["status"] == "succeeded"
        body = {"document": {"type": "document_url", "document_url": long_document()}}
        refused = gateway.client.post("/v1/ocr", body, headers={"Prefer": "respond-async"})
        assert refused.status == 503 and int(refused.headers["retry-after"]) >= 1, refused.body
        assert "blobs.endpoint" in refused.json()["error"]["message"]
        s3.start()
        job = gateway.client.submit_ocr(long_document()).json()["id"]
        assert gateway.client.wait_terminal(job)["status"] == "succeeded"
        check_result(gateway.client, job)
    finally:
        print(gateway.tail())
        gateway.close()


def test_a_worker_with_a_folder_of_its_own_cache_ends_a_job_after_the_server_is_back(s3, tmp_path):
    gateway = Gateway(tmp_path / "data", *s3.flags(), role="api").start()
    worker = Worker(gateway.data, *s3.flags())
    try:
        job = gateway.client.submit_ocr(long_document()).json()["id"]
        shutil.rmtree(gateway.data / "blobs" / "cache")
        s3.kill()
        worker.start()
        worker.wait_for_log("s3_request_failed")
        s3.start()
        assert gateway.client.wait_terminal(job)["status"] == "succeeded"
        check_result(gateway.client, job)
    finally:
        print(worker.tail())
        worker.close()
        gateway.close()


def test_jobs_that_wait_for_the_server_leave_the_slots_to_others(s3, tmp_path):
    gateway = Gateway(tmp_path / "data", *s3.flags(), role="api").start()
    worker = Worker(gateway.data, *s3.flags(), "--slots", "ocr=1")
    try:
        large = gateway.client.submit_ocr(long_document()).json()["id"]
        shutil.rmtree(gateway.data / "blobs" / "cache")
        s3.kill()
        worker.start()
        worker.wait_for_log("s3_request_failed")
        small = gateway.client.submit_ocr(data_uri(tiny_pdf("a short letter"))).json()["id"]
        assert gateway.client.wait_terminal(small, within_s=60)["status"] == "succeeded"
        s3.start()
        assert gateway.client.wait_terminal(large)["status"] == "succeeded"
    finally:
        print(worker.tail())
        worker.close()
        gateway.close()


def test_a_deferred_chat_waits_for_its_large_request(s3, tmp_path):
    gateway = Gateway(tmp_path / "data", *s3.flags(), role="api", env=MOCK).start()
    worker = Worker(gateway.data, *s3.flags(), kinds="chat", env=MOCK)
    try:
        job = gateway.client.post("/v1/chat/completions", LARGE_CHAT).json()["id"]
        forget_copies(gateway)
        s3.kill()
        worker.start()
        worker.wait_for_log("s3_request_failed")
        s3.start()
        ended = gateway.client.wait_terminal(job)
        assert ended["status"] == "succeeded", ended
    finally:
        print(worker.tail())
        worker.close()
        gateway.close()


def test_what_cannot_be_read_now_is_refused_with_the_time_to_retry(s3, tmp_path):
    gateway = Gateway(tmp_path / "data", *s3.flags(), env=MOCK).start()
    client = gateway.client
    try:
        ocr = client.submit_ocr(long_document()).json()["id"]
        chat = client.post("/v1/chat/completions", LARGE_CHAT).json()["id"]
        for job in (ocr, chat):
            assert client.wait_terminal(job)["status"] == "succeeded"
        paths = [
            f"/v1/jobs/{ocr}/result",
            f"/v1/jobs/{ocr}/request",
            f"/v1/jobs/{chat}/request",
            f"/v1/chat/deferred-completion/{chat}",
        ]
        before = [client.get(path).body for path in paths]
        forget_copies(gateway)
        s3.kill()
        for path in paths:
            refused = client.get(path)
            assert refused.status == 503 and int(refused.headers["retry-after"]) >= 1, (path, refused.body)
            assert "blobs.endpoint" in refused.json()["error"]["message"]
        s3.start()
        assert [client.get(path).body for path in paths] == before
    finally:
        print(gateway.tail())
        gateway.close()


def test_a_job_or_result_whose_object_is_missing_is_damaged(s3, tmp_path):
    gateway = Gateway(tmp_path / "data", *s3.flags(), role="api").start()
    worker = Worker(gateway.data, *s3.flags())
    try:
        worker.start()
        done = gateway.client.submit_ocr(long_document()).json()["id"]
        assert gateway.client.wait_terminal(done)["status"] == "succeeded"
        worker.terminate()
        waiting = gateway.client.submit_ocr(long_document()).json()["id"]
        forget_copies(gateway)
        shutil.rmtree(s3.folder / "data" / "millrace" / "jobs")
        refused = gateway.client.get(f"/v1/jobs/{done}/result")
        assert refused.status == 500 and refused.json()["error"]["code"] == "stored_file_damaged", refused.body
        worker.start()
        ended = gateway.client.wait_terminal(waiting)
        assert ended["status"] == "failed" and ended["error"]["code"] == "stored_file_damaged", ended
    finally:
        print(worker.tail())
        worker.close()
        gateway.close()


def test_the_files_of_a_command_are_stored_when_the_server_is_back(s3):
    with reachable_folder() as folder:
        gateway = start(folder / "data", *s3.flags())
        client = gateway.client
        try:
            s3.kill()
            execution = started(client, ["sh", "-c", "printf text > $MILLRACE_ARTIFACTS/report"])
            gateway.wait_for_log("s3_request_failed")
            assert client.get(execution_path(execution)).json()["status"] == "running"
            s3.start()
            done = ended(client, execution)
            assert done["status"] == "succeeded" and [each["name"] for each in done["artifacts"]] == ["report"], done
            artifact = f"/v1/machines/{local(client)}/artifacts/{done['artifacts'][0]['artifact_id']}/content"
            assert client.get(artifact).body == b"text"
            forget_copies(gateway)
            s3.kill()
            refused = client.get(artifact)
            assert refused.status == 503 and int(refused.headers["retry-after"]) >= 1, refused.body
        finally:
            print(gateway.tail())
            gateway.close()
