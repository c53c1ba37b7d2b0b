"""/v1/files: uploads, lists, downloads, signed URLs, quotas and deletion."""

import base64
import hashlib
import http.client
import json
import os
import time
import uuid

import openai_replies
import pytest
from documents import tiny_pdf
from millrace import Client, Gateway, eventually
from model_gateway import model_gateway
from recordings import clip
from store_faults import StoreFaults
from stored_files import LINES, form, upload
from upstream import Upstream

MIB = 1 << 20


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("files") / "data").start()
    yield gateway
    gateway.close()


def test_a_file_comes_back_as_it_was_sent(shared):
    before = time.time()
    file = upload(shared.client, purpose="batch").json()
    assert file["id"].startswith("file-") and file["object"] == "file"
    assert (file["bytes"], file["filename"], file["purpose"]) == (len(LINES), "requests.jsonl", "batch")
    assert file["sha256"] == hashlib.sha256(LINES).hexdigest() and before - 1 <= file["created_at"] <= time.time()
    assert shared.client.get(f"/v1/files/{file['id']}").json() == file
    content = shared.client.get(f"/v1/files/{file['id']}/content")
    assert content.body == LINES and content.headers["etag"] == f'"{file["sha256"]}"'
    assert 'filename="requests.jsonl"' in content.headers["content-disposition"]


def test_a_download_may_be_resumed_and_revalidated(shared):
    path = f"/v1/files/{upload(shared.client).json()['id']}/content"
    etag = shared.client.get(path).headers["etag"]
    part = shared.client.get(path, headers={"Range": "bytes=10-29", "If-Range": etag})
    assert part.status == 206 and part.body == LINES[10:30]
    assert part.headers["content-range"] == f"bytes 10-29/{len(LINES)}"
    assert shared.client.get(path, headers={"If-None-Match": etag}).status == 304
    assert shared.client.get(path, headers={"Range": f"bytes={len(LINES)}-"}).status == 416


def test_a_large_file_is_stored_as_it_arrives(shared, tmp_path):
    content = os.urandom(MIB) * 60
    file = upload(shared.client, content, "large.bin").json()
    assert file["sha256"] == hashlib.sha256(content).hexdigest()
    peak = next(line for line in open(f"/proc/{shared.popen.pid}/status", encoding="utf-8") if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 250 * 1024, peak
    assert shared.client.get(f"/v1/files/{file['id']}/content").body == content


def test_lists_have_openai_and_mistral_pages(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        client = gateway.client
        ids = [upload(client, b"x", f"{n}.txt", purpose="ocr" if n % 2 else "batch").json()["id"] for n in range(7)]
        assert [file["id"] for file in client.get("/v1/files").json()["data"]] == ids[::-1]
        seen, after = [], ""
        while True:
            page = client.get(f"/v1/files?limit=3&order=asc{after}").json()
            seen += [file["id"] for file in page["data"]]
            assert page["first_id"] == page["data"][0]["id"] and page["last_id"] == page["data"][-1]["id"]
            if not page["has_more"]:
                break
            after = f"&after={page['last_id']}"
        assert seen == ids
        ocr = client.get("/v1/files?purpose=ocr&page_size=2&page=1").json()
        assert [file["filename"] for file in ocr["data"]] == ["1.txt"] and ocr["total"] == 3
        assert client.get("/v1/files?purpose=none").json() == {"object": "list", "data": [], "has_more": False, "total": 0}
    finally:
        gateway.close()


def test_a_deleted_file_is_gone_and_its_bytes_no_longer_count(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        client = gateway.client
        file = upload(client).json()
        assert client.get("/v1/usage").json()["stored_bytes"] == len(LINES)
        assert client.request("DELETE", f"/v1/files/{file['id']}").json() == {"id": file["id"], "object": "file", "deleted": True}
        for path in ("", "/content", "/url"):
            assert client.get(f"/v1/files/{file['id']}{path}").status == 404
        assert client.request("DELETE", f"/v1/files/{file['id']}").status == 404
        assert client.get("/v1/usage").json()["stored_bytes"] == 0
        eventually(lambda: not [each for each in (gateway.data / "blobs").rglob("*") if each.is_file()], what="its blob is deleted")
    finally:
        gateway.close()


def test_a_signed_url_needs_no_key_and_only_the_right_signature(shared):
    file = upload(shared.client).json()
    url = shared.client.get(f"/v1/files/{file['id']}/url?expiry=1").json()["url"]
    path = url.removeprefix(shared.url)
    assert path != url
    open_client = Client(shared.url, "none")
    assert open_client.get(path, headers={"Authorization": ""}).body == LINES
    assert open_client.get(path[:-1] + ("0" if path[-1] != "0" else "1")).status == 404
    other = upload(shared.client).json()["id"].removeprefix("file-")
    assert open_client.get(path.replace(file["id"].removeprefix("file-"), other)).status == 404
    assert shared.client.request("DELETE", f"/v1/files/{file['id']}").status == 200
    assert open_client.get(path).status == 404


def test_a_repeated_key_uploads_once(shared):
    key = {"Idempotency-Key": uuid.uuid4().hex}
    first, again = upload(shared.client, headers=key), upload(shared.client, headers=key)
    assert again.json() == first.json() and again.headers["idempotent-replayed"] == "true"
    other = upload(shared.client, b"another", headers=key)
    assert other.status == 409, other.body


def test_a_tenant_sees_only_its_own_files(shared):
    file = upload(shared.client).json()
    made = shared.client.post("/v1/admin/keys", {"name": "other", "tenant": "other", "scopes": ["files:read", "files:write"]}).json()
    other = Client(shared.url, made["key"])
    assert other.get("/v1/files").json()["data"] == []
    for method, path in (("GET", ""), ("GET", "/content"), ("GET", "/url"), ("DELETE", "")):
        assert other.request(method, f"/v1/files/{file['id']}{path}").status == 404
    reader = shared.client.post("/v1/admin/keys", {"name": "reader", "scopes": ["files:read"]}).json()["key"]
    assert upload(Client(shared.url, reader)).status == 403
    writer = shared.client.post("/v1/admin/keys", {"name": "writer", "scopes": ["files:write"]}).json()["key"]
    assert Client(shared.url, writer).get(f"/v1/files/{file['id']}/content").status == 403


def test_the_quota_of_stored_bytes_holds(shared):
    limits = {"stored_bytes": 150_000}
    key = shared.client.post("/v1/admin/keys", {"name": "small", "scopes": ["files:read", "files:write"], "limits": limits}).json()["key"]
    small = Client(shared.url, key)
    first = upload(small)
    assert first.status == 200, first.body
    refused = upload(small)
    assert refused.status == 409 and "stored_bytes" in refused.json()["error"]["message"], refused.body
    assert small.request("DELETE", f"/v1/files/{first.json()['id']}").status == 200
    assert upload(small).status == 200


@pytest.mark.parametrize(
    ("parts", "status", "words"),
    [
        ([("purpose", b"batch", None)], 422, "file"),
        ([("file", b"", "empty.jsonl")], 400, "empty"),
        ([("file", b"x", "a"), ("file", b"y", "b")], 422, "more than one file"),
        ([("file", b"x", "a"), ("purpose", b"two words", None)], 422, "purpose"),
        ([("file", b"x", "a"), ("expires_after[seconds]", b"10", None)], 422, "3600"),
        ([("file", b"x", "a"), ("expires_after[anchor]", b"created_at", None)], 422, "expires_after"),
        ([("file", b"x", "a"), ("expires_after[anchor]", b"now", None)], 422, "created_at"),
    ],
)
def test_a_wrong_form_is_refused_with_its_reason(shared, parts, status, words):
    body, content_type = form(parts)
    reply = shared.client.post("/v1/files", body, headers={"Content-Type": content_type})
    assert reply.status == status and words in reply.json()["error"]["message"], reply.body


def test_a_body_that_is_no_form_is_refused(shared):
    assert shared.client.post("/v1/files", {"file": "x"}).status in (400, 415, 422)
    assert shared.client.get("/v1/files/file-1").status == 404
    assert shared.client.get(f"/v1/files/file-{uuid.uuid4()}").status == 404
    assert shared.client.get("/v1/files?after=x").status == 422


def ocr_of(client, file, **headers):
    return client.post("/v1/ocr", {"model": "millrace/ocr", "document": {"type": "file", "file_id": file}}, headers=headers)


def test_a_document_is_read_by_its_file_id_and_outlives_the_file(shared):
    file = upload(shared.client, tiny_pdf("a page of the file"), "paper.pdf", purpose="ocr").json()["id"]
    key = {"Idempotency-Key": uuid.uuid4().hex}
    reply = ocr_of(shared.client, file, **key)
    assert reply.status == 200 and "a page of the file" in reply.json()["pages"][0]["markdown"], reply.body
    job = reply.headers["x-millrace-job"]
    assert shared.client.job(job)["name"] == "paper.pdf"
    assert shared.client.request("DELETE", f"/v1/files/{file}").status == 200
    assert ocr_of(shared.client, file, **key).headers["x-millrace-job"] == job
    assert ocr_of(shared.client, file).status == 404
    again = shared.client.post(f"/v1/jobs/{job}/retry")
    assert again.status == 409, "it has succeeded"


def test_a_recording_is_transcribed_by_its_file_id(shared):
    file = upload(shared.client, clip(), "talk.wav").json()["id"]
    body, content_type = form([("file_id", file.encode(), None), ("model", b"millrace/sphinx-en", None), ("deferred", b"true", None)])
    reply = shared.client.post("/v1/audio/transcriptions", body, headers={"Content-Type": content_type})
    assert reply.status == 202, reply.body
    job = shared.client.wait_terminal(reply.headers["x-millrace-job"])
    assert job["status"] == "succeeded" and job["name"] == "talk.wav"


@pytest.mark.parametrize("deferred", [False, True])
def test_a_chat_sends_the_content_of_the_files_that_it_names(tmp_path, deferred):
    with Upstream() as upstream:
        upstream.reply_always(openai_replies.completion("read"))
        gateway = model_gateway(tmp_path, [("up/chat", "openai", "gpt-4o", f"{upstream.url}/v1")])
        try:
            paper = tiny_pdf("for a model")
            file = upload(gateway.client, paper, "paper.pdf").json()["id"]
            parts = [{"type": "text", "text": "read"}, {"type": "file", "file": {"file_id": file}}, {"type": "input_file", "file_id": file}]
            chat = {"model": "up/chat", "messages": [{"role": "user", "content": parts}], "deferred": deferred}
            reply = gateway.client.post("/v1/chat/completions", chat)
            assert reply.status == 200, reply.body
            if deferred:
                assert gateway.client.wait_terminal(reply.json()["request_id"])["status"] == "succeeded"
            (sent,) = [request.json["messages"][0]["content"] for request in upstream.requests]
            for part in sent[1:]:
                assert part["file"]["filename"] == "paper.pdf" and "file_id" not in part["file"]
                assert part["file"]["file_data"] == "data:application/pdf;base64," + base64.b64encode(paper).decode()
            parts[1]["file"]["file_id"] = f"file-{uuid.uuid4()}"
            missing = gateway.client.post("/v1/chat/completions", chat)
            assert missing.status == 404 and missing.json()["error"]["param"] == "messages.0.content.1.file.file_id", missing.body
            parts[1]["file"]["file_id"] = upload(gateway.client, os.urandom(30 * MIB), "large.bin").json()["id"]
            parts[2]["file_id"] = parts[1]["file"]["file_id"]
            assert gateway.client.post("/v1/chat/completions", chat).status == 413
        finally:
            gateway.close()


def test_a_repeated_deferred_chat_finds_its_job_when_the_file_is_gone(tmp_path):
    gateway = Gateway(tmp_path / "data", "--mock").start()
    try:
        file = upload(gateway.client, tiny_pdf("once"), "paper.pdf").json()["id"]
        parts = [{"type": "text", "text": "read"}, {"type": "file", "file": {"file_id": file}}]
        chat = {"model": "mock/chat", "messages": [{"role": "user", "content": parts}], "deferred": True}
        key = {"Idempotency-Key": uuid.uuid4().hex}
        first = gateway.client.post("/v1/chat/completions", chat, headers=key).json()["request_id"]
        assert gateway.client.request("DELETE", f"/v1/files/{file}").status == 200
        assert gateway.client.post("/v1/chat/completions", chat, headers=key).json()["request_id"] == first
        assert gateway.client.post("/v1/chat/completions", chat).status == 404
    finally:
        gateway.close()


@pytest.mark.parametrize("name", [b'filename="caf\xe9.txt"', b"filename*=UTF-8''a%1B%00b.txt"])
def test_a_name_that_cannot_be_shown_is_repaired(shared, name):
    body, content_type = form([("file", b"x", "NAME")])
    body = body.replace(b'filename="NAME"', name)
    reply = shared.client.post("/v1/files", body, headers={"Content-Type": content_type})
    assert reply.status == 200, reply.body
    kept = reply.json()["filename"]
    assert kept.isprintable() and kept.endswith(".txt"), kept
    assert shared.client.get("/v1/files").json()["data"][0]["filename"] == kept


def test_a_file_of_a_provider_keeps_its_id(tmp_path):
    with Upstream() as upstream:
        upstream.reply_always(openai_replies.completion("read"))
        gateway = model_gateway(tmp_path, [("up/chat", "openai", "gpt-4o", f"{upstream.url}/v1")])
        try:
            parts = [{"type": "file", "file": {"file_id": "file-abc123"}}]
            chat = {"model": "up/chat", "messages": [{"role": "user", "content": parts}]}
            assert gateway.client.post("/v1/chat/completions", chat).status == 200
            assert upstream.requests[0].json["messages"][0]["content"][0]["file"] == {"file_id": "file-abc123"}
        finally:
            gateway.close()


def test_a_file_that_does_not_fit_its_use_is_refused(shared):
    text = upload(shared.client, b"plain text", "a.txt").json()["id"]
    assert ocr_of(shared.client, text).json()["error"]["code"] == "document_unsupported"
    for wrong in ("file-1", "a"):
        refused = ocr_of(shared.client, wrong)
        assert refused.status == 422 and refused.json()["error"]["param"] == "document.file_id", refused.body
    both = {"document": {"type": "file", "file_id": text, "document_url": "https://example.com/a.pdf"}}
    assert shared.client.post("/v1/ocr", both).status == 422
    body, content_type = form([("file_id", text.encode(), None), ("model", b"millrace/sphinx-en", None)])
    refused = shared.client.post("/v1/audio/transcriptions", body, headers={"Content-Type": content_type})
    assert refused.json()["error"]["code"] == "audio_unsupported", refused.body
    key = shared.client.post("/v1/admin/keys", {"name": "ocr", "scopes": ["ocr"]}).json()["key"]
    assert ocr_of(Client(shared.url, key), text).status == 403


def test_an_upload_that_breaks_off_leaves_nothing(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        body, content_type = form([("file", b"x" * MIB, "a")])
        connection = http.client.HTTPConnection("127.0.0.1", int(gateway.url.rsplit(":", 1)[1]), timeout=30)
        connection.putrequest("POST", "/v1/files")
        for name, value in {"Authorization": f"Bearer {gateway.client.key}", "Content-Type": content_type, "Content-Length": len(body)}.items():
            connection.putheader(name, str(value))
        connection.endheaders(body[: len(body) // 2])
        eventually(lambda: [each for each in (gateway.data / "blobs").rglob("*") if each.is_file()], what="the file arrives")
        connection.close()
        eventually(lambda: not [each for each in (gateway.data / "blobs").rglob("*") if each.is_file()], what="its bytes are removed")
        assert gateway.client.get("/v1/files").json()["data"] == []
    finally:
        gateway.close()


def test_files_survive_kill_9(tmp_path):
    gateway = Gateway(tmp_path / "data").start()
    try:
        ids = [upload(gateway.client, json.dumps(n).encode() * 20_000).json()["id"] for n in range(3)]
        gateway.kill()
        gateway.start()
        for n, file in enumerate(ids):
            assert gateway.client.get(f"/v1/files/{file}/content").body == json.dumps(n).encode() * 20_000
    finally:
        gateway.close()


def test_a_file_expires_by_itself(tmp_path):
    faults = StoreFaults(tmp_path / "data")
    gateway = Gateway(tmp_path / "data", env=faults.env()).start()
    try:
        fields = {"expires_after[anchor]": "created_at", "expires_after[seconds]": 3600}
        file = upload(gateway.client, **fields).json()
        assert file["expires_at"] - file["created_at"] == 3600
        faults.move_clock(3 * 3600)
        eventually(lambda: gateway.client.get(f"/v1/files/{file['id']}").status == 404, what="the file has expired")
        assert gateway.client.get("/v1/files").json()["data"] == []
    finally:
        gateway.close()
