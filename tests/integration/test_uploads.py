"""/v1/uploads: files that arrive in parts."""

import concurrent.futures
import hashlib
import http.client
import os
import threading
import uuid
from contextlib import contextmanager

import pytest
from millrace import Client, Gateway, eventually
from recordings import form
from s3 import S3
from store_faults import StoreFaults

MIB = 1 << 20


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("uploads") / "data").start()
    yield gateway
    gateway.close()


@contextmanager
def running(*arguments, **more):
    gateway = Gateway(*arguments, **more).start()
    try:
        yield gateway
    finally:
        gateway.close()


def fresh_key():
    return {"Idempotency-Key": uuid.uuid4().hex}


def begin(client, size, headers=None, **more):
    body = {"purpose": "batch", "filename": "requests.jsonl", "bytes": size, "mime_type": "application/jsonl", **more}
    return client.post("/v1/uploads", body, headers=headers)


def begun(client, size, **more):
    reply = begin(client, size, **more)
    assert reply.status == 200, reply.body
    return reply.json()["id"]


def send_part(client, upload, content, headers=None, field="data"):
    body, content_type = form(content, "part", field_of_file=field)
    return client.post(f"/v1/uploads/{upload}/parts", body, headers={"Content-Type": content_type, **(headers or {})})


def part(client, upload, content):
    reply = send_part(client, upload, content)
    assert reply.status == 200, reply.body
    return reply.json()["id"]


def complete(client, upload, parts, headers=None, **more):
    return client.post(f"/v1/uploads/{upload}/complete", {"part_ids": parts, **more}, headers=headers)


def cancel(client, upload, headers=None):
    return client.post(f"/v1/uploads/{upload}/cancel", headers=headers)



def used(client):
    return client.get("/v1/usage").json()["stored_bytes"]


def blobs(gateway):
    return [each for each in (gateway.data / "blobs").rglob("*") if each.is_file()]


def message(reply, status):
    assert reply.status == status, reply.body
    return reply.json()["error"]["message"]


def new_client(gateway, **more):
    made = gateway.client.post("/v1/admin/keys", {"name": "uploads", "scopes": ["files:read", "files:write"], **more})
    return Client(gateway.url, made.json()["key"])


def test_parts_become_a_file(shared):
    client = shared.client
    upload = begin(client, 10, expires_after={"anchor": "created_at", "seconds": 7200}).json()
    assert upload["id"].startswith("upload_") and upload["object"] == "upload" and upload["status"] == "pending" and upload["file"] is None
    assert (upload["bytes"], upload["filename"], upload["purpose"]) == (10, "requests.jsonl", "batch")
    assert upload["expires_at"] - upload["created_at"] == 3600
    first = send_part(client, upload["id"], b"hello").json()
    assert first["id"].startswith("part_") and first["object"] == "upload.part" and first["upload_id"] == upload["id"]
    second = part(client, upload["id"], b"world")
    done = complete(client, upload["id"], [first["id"], second], md5=hashlib.md5(b"helloworld").hexdigest()).json()
    assert done["status"] == "completed" and {**done, "status": "pending", "file": None} == upload
    file = done["file"]
    assert client.get(f"/v1/files/{file['id']}").json() == file and file["sha256"] == hashlib.sha256(b"helloworld").hexdigest()
    assert file["filename"] == "requests.jsonl" and file["purpose"] == "batch" and file["expires_at"] - file["created_at"] == 7200
    assert client.get(f"/v1/files/{file['id']}/content").body == b"helloworld"


def test_the_order_of_the_ids_is_that_of_the_file_and_an_md5_finds_a_wrong_one(shared):
    client = shared.client
    upload, md5 = begun(client, 10), hashlib.md5(b"helloworld").hexdigest()
    world, hello = part(client, upload, b"world"), part(client, upload, b"hello")
    refused = complete(client, upload, [world, hello], md5=md5)
    assert md5 in message(refused, 400) and refused.json()["error"]["param"] == "md5"
    file = complete(client, upload, [hello, world], md5=md5.upper()).json()["file"]
    assert client.get(f"/v1/files/{file['id']}/content").body == b"helloworld"


def test_a_missing_part_an_unknown_one_and_one_that_is_named_twice_are_refused(shared):
    client = shared.client
    upload, other = begun(client, 10), begun(client, 10)
    hello, world, foreign = part(client, upload, b"hello"), part(client, upload, b"world"), part(client, other, b"world")
    assert "5 bytes" in message(complete(client, upload, [hello]), 400)
    for unknown in (foreign, f"part_{uuid.uuid4()}"):
        assert unknown in message(complete(client, upload, [hello, unknown]), 400)
    assert "once" in message(complete(client, upload, [hello, hello]), 422)
    for wrong in ([], ["part_1"], "part_1", None):
        assert complete(client, upload, wrong).status == 422
    assert complete(client, upload, [hello, world], md5="abc").status == 422
    assert complete(client, upload, [hello, world]).status == 200


@pytest.mark.parametrize(
    ("change", "status", "word"),
    [
        ({"bytes": 0}, 422, "bytes"),
        ({"bytes": 513 * MIB}, 422, "536870912"),
        ({"purpose": "two words"}, 422, "purpose"),
        ({"filename": ""}, 422, "filename"),
        ({"mime_type": None}, 422, "mime_type"),
        ({"expires_after": {"anchor": "now", "seconds": 3600}}, 422, "created_at"),
        ({"expires_after": {"anchor": "created_at", "seconds": 5}}, 422, "3600"),
    ],
)
def test_a_wrong_request_is_refused_with_its_reason(shared, change, status, word):
    assert word in message(begin(shared.client, **{"size": 5, **({"size": change["bytes"]} if "bytes" in change else change)}), status)


def test_a_wrong_form_of_a_part_is_refused(shared):
    client, upload = shared.client, begun(shared.client, 10)
    wrong = send_part(client, upload, b"hello", field="file")
    assert "data" in message(wrong, 422)
    assert "empty" in message(send_part(client, upload, b""), 400)
    assert client.post(f"/v1/uploads/{upload}/parts", {"data": "x"}).status == 415
    assert client.post(f"/v1/uploads/{upload}/parts").status in (415, 422)
    for path in ("upload_1", f"upload_{uuid.uuid4()}"):
        assert send_part(client, path, b"x").status == 404
        assert complete(client, path, [f"part_{uuid.uuid4()}"]).status == 404
        assert cancel(client, path).status == 404


def test_a_part_that_is_too_large_is_refused_while_it_arrives(shared):
    upload = begun(shared.client, 100 * MIB)
    refused = send_part(shared.client, upload, bytes(64 * MIB + 1))
    assert "64MiB" in message(refused, 413)
    assert send_part(shared.client, upload, bytes(64 * MIB)).status == 200
    assert cancel(shared.client, upload).status == 200


def test_parts_with_more_than_twice_the_bytes_of_the_file_are_refused(shared):
    upload = begun(shared.client, 5)
    ids = [part(shared.client, upload, b"hello") for _ in range(2)]
    assert "5 bytes" in message(send_part(shared.client, upload, b"x"), 400)
    assert complete(shared.client, upload, ids[1:]).status == 200


def test_a_cancelled_upload_leaves_nothing(tmp_path):
    with running(tmp_path / "data") as gateway:
        client = gateway.client
        upload = begun(client, 100_000)
        parts = [part(client, upload, os.urandom(50_000)) for _ in range(2)]
        assert used(client) == 100_000
        cancelled = cancel(client, upload).json()
        assert cancelled["status"] == "cancelled" and cancelled["id"] == upload
        assert used(client) == 0
        eventually(lambda: not blobs(gateway), what="its parts are deleted")
        for refused in (send_part(client, upload, b"x"), complete(client, upload, parts), cancel(client, upload)):
            assert "cancelled" in message(refused, 409)


def test_an_upload_expires_after_an_hour(tmp_path):
    faults = StoreFaults(tmp_path / "data")
    with running(tmp_path / "data", env=faults.env()) as gateway:
        client = gateway.client
        upload = begun(client, 5)
        hello = part(client, upload, b"hello")
        faults.move_clock(3601)
        for refused in (send_part(client, upload, b"x"), complete(client, upload, [hello]), cancel(client, upload)):
            assert "expired" in message(refused, 409)


def test_a_repeated_key_gets_the_first_reply(shared):
    client = shared.client
    keys = [fresh_key() for _ in range(4)]
    first, again = (begin(client, 5, headers=keys[0]) for _ in range(2))
    assert first.json() == again.json() and again.headers["idempotent-replayed"] == "true"
    upload = first.json()["id"]
    parts = [send_part(client, upload, b"hello", headers=keys[1]).json()["id"] for _ in range(2)]
    assert parts[0] == parts[1]
    assert send_part(client, upload, b"other", headers=keys[1]).status == 409
    done = [complete(client, upload, parts[:1], headers=keys[2]) for _ in range(2)]
    assert done[0].json() == done[1].json() and done[1].headers["idempotent-replayed"] == "true"
    assert done[0].json()["file"]["id"] in message(complete(client, upload, parts[:1]), 409)
    other = begun(client, 5)
    assert [cancel(client, other, headers=keys[3]).status for _ in range(2)] == [200, 200]


def test_of_two_completions_at_once_one_makes_the_file(shared):
    client = shared.client
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for same_key in (False, True):
            upload = begun(client, 40 * MIB)
            parts = [part(client, upload, os.urandom(20 * MIB)) for _ in range(2)]
            key = fresh_key() if same_key else {}
            before = client.get("/v1/files").json()["total"]
            replies = list(pool.map(lambda _: complete(client, upload, parts, headers=key), range(4)))
            good = [reply for reply in replies if reply.status == 200]
            assert len(good) == (4 if same_key else 1), [(reply.status, reply.body) for reply in replies]
            assert len({reply.body for reply in good}) == 1
            file = good[0].json()["file"]["id"]
            assert all(file in message(reply, 409) for reply in replies if reply.status != 200)
            assert client.get("/v1/files").json()["total"] == before + 1


def test_a_part_that_arrives_while_its_upload_is_completed_is_refused_or_left_out(shared):
    client = shared.client
    before = used(client)
    upload = begun(client, 40 * MIB)
    parts = [part(client, upload, os.urandom(20 * MIB)) for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = pool.submit(complete, client, upload, parts)
        late = [pool.submit(send_part, client, upload, b"late") for _ in range(3)]
        assert done.result().status == 200, done.result().body
        assert {each.result().status for each in late} <= {200, 409}
    assert used(client) == before + 40 * MIB
    assert client.request("DELETE", f"/v1/files/{done.result().json()['file']['id']}").status == 200


def unfinished_part(gateway, upload, content):
    """A connection with all but the last bytes of a part, and these bytes."""
    body, content_type = form(content, "part", field_of_file="data")
    connection = http.client.HTTPConnection("127.0.0.1", int(gateway.url.rsplit(":", 1)[1]), timeout=60)
    connection.putrequest("POST", f"/v1/uploads/{upload}/parts")
    for name, value in {"Authorization": f"Bearer {gateway.client.key}", "Content-Type": content_type, "Content-Length": len(body)}.items():
        connection.putheader(name, str(value))
    connection.endheaders(body[:-100])
    return connection, body[-100:]


def test_a_part_whose_upload_is_cancelled_while_it_arrives_leaves_nothing(tmp_path):
    with running(tmp_path / "data") as gateway:
        upload = begun(gateway.client, 2 * MIB)
        connection, rest = unfinished_part(gateway, upload, os.urandom(MIB))
        eventually(lambda: blobs(gateway), what="the part arrives")
        assert cancel(gateway.client, upload).status == 200
        connection.send(rest)
        reply = connection.getresponse()
        assert reply.status == 409 and b"cancelled" in reply.read()
        connection.close()
        eventually(lambda: not blobs(gateway), what="its bytes are removed")
        assert used(gateway.client) == 0


def test_a_part_that_breaks_off_leaves_nothing(tmp_path):
    with running(tmp_path / "data") as gateway:
        upload = begun(gateway.client, 2 * MIB)
        connection, _ = unfinished_part(gateway, upload, os.urandom(MIB))
        eventually(lambda: blobs(gateway), what="the part arrives")
        connection.close()
        eventually(lambda: not blobs(gateway), what="its bytes are removed")
        assert used(gateway.client) == 0


def test_a_tenant_reaches_only_its_own_uploads(shared):
    upload = begun(shared.client, 5)
    hello = part(shared.client, upload, b"hello")
    other = new_client(shared, tenant="other")
    assert send_part(other, upload, b"x").status == 404
    assert complete(other, upload, [hello]).status == 404
    assert cancel(other, upload).status == 404
    own = begun(other, 5)
    assert hello in message(complete(other, own, [hello]), 400)
    reader = new_client(shared, scopes=["files:read"])
    assert begin(reader, 5).status == 403 and send_part(reader, upload, b"x").status == 403
    assert complete(reader, upload, [hello]).status == 403 and cancel(reader, upload).status == 403
    assert complete(shared.client, upload, [hello]).status == 200


def test_parts_count_against_the_quota_of_the_key_that_began_the_upload(shared):
    small = new_client(shared, limits={"stored_bytes": 15})
    upload = begun(small, 10)
    parts = [part(shared.client, upload, b"hello") for _ in range(2)]
    assert "stored_bytes" in message(send_part(shared.client, upload, b"hello!"), 409)
    extra = part(small, upload, b"extra")
    file = complete(shared.client, upload, parts).json()["file"]["id"]
    assert extra not in parts, "its bytes are free again"
    assert part(small, begun(small, 5), b"again")
    assert "stored_bytes" in message(send_part(small, begun(small, 5), b"a"), 409)
    assert small.request("DELETE", f"/v1/files/{file}").status == 200
    assert part(small, begun(small, 10), b"0123456789")


def test_pending_uploads_of_a_tenant_are_bounded(shared):
    other = new_client(shared, tenant="many")
    uploads = [begun(other, 5) for _ in range(100)]
    assert "100" in message(begin(other, 5), 409)
    assert cancel(other, uploads[0]).status == 200
    assert begin(other, 5).status == 200


def test_unknown_fields_are_ignored_and_named(shared):
    reply = begin(shared.client, 5, colour="red")
    assert reply.headers["x-millrace-dropped-params"] == "colour"
    body, content_type = form(b"hello", "part", field_of_file="data", shape="round")
    reply = shared.client.post(f"/v1/uploads/{reply.json()['id']}/parts", body, headers={"Content-Type": content_type})
    assert reply.status == 200 and reply.headers["x-millrace-dropped-params"] == "shape"


def peak(gateway):
    lines = open(f"/proc/{gateway.popen.pid}/status", encoding="utf-8").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def test_a_large_file_needs_no_memory(tmp_path):
    with running(tmp_path / "data") as gateway:
        client, piece, hashed = gateway.client, os.urandom(MIB), hashlib.sha256()
        upload = begun(client, 320 * MIB)
        parts = []
        for number in range(10):
            content = bytes([number]) + piece[1:] + piece * 31
            hashed.update(content)
            parts.append(part(client, upload, content))
        before = peak(gateway)
        file = complete(client, upload, parts).json()["file"]
        assert file["sha256"] == hashed.hexdigest() and file["bytes"] == 320 * MIB
        assert peak(gateway) - before < 16 * 1024, (before, peak(gateway))
        assert peak(gateway) < 250 * 1024
        assert used(client) == 320 * MIB
        eventually(lambda: sum(each.stat().st_size for each in blobs(gateway)) == 320 * MIB, what="the parts are deleted")


def test_kill_9_while_an_upload_is_completed_loses_nothing(tmp_path):
    with running(tmp_path / "data") as gateway:
        content = os.urandom(MIB) * 60
        upload = begun(gateway.client, 4 * len(content))
        parts = [part(gateway.client, upload, content) for _ in range(4)]
        known = len(blobs(gateway))

        def try_it():
            with pytest.raises((OSError, http.client.HTTPException)):
                complete(Client(gateway.url, gateway.client.key), upload, parts)

        killed = threading.Thread(target=try_it)
        killed.start()
        eventually(lambda: len(blobs(gateway)) > known, what="the parts are being joined")
        gateway.kill()
        killed.join()
        gateway.start()
        done = complete(gateway.client, upload, parts)
        assert done.status == 200, done.body
        assert done.json()["file"]["sha256"] == hashlib.sha256(content * 4).hexdigest()
        assert used(gateway.client) == 4 * len(content)


def test_parts_of_s3_are_joined_after_their_local_copies_are_gone(tmp_path):
    s3 = S3(tmp_path / "s3")
    s3.start()
    try:
        with running(tmp_path / "data", *s3.flags()) as gateway:
            client, contents = gateway.client, [os.urandom(3 * MIB) for _ in range(3)]
            upload = begun(client, 9 * MIB)
            parts = [part(client, upload, content) for content in contents]
            assert len(s3.objects()) >= 3
            for copy in (gateway.data / "blobs" / "cache").rglob("*-*"):
                copy.unlink()
            done = complete(client, upload, parts, md5=hashlib.md5(b"".join(contents)).hexdigest())
            assert done.status == 200, done.body
            assert client.get(f"/v1/files/{done.json()['file']['id']}/content").body == b"".join(contents)
            other = begun(client, 3 * MIB)
            part(client, other, contents[0])
            assert cancel(client, other).status == 200
            assert used(client) == 9 * MIB
    finally:
        s3.kill()
