"""No error tells a client about the host: not for invalid requests, nor for documents that cannot be read."""

import re
from contextlib import closing

import pytest
import recordings
import route_table
from documents import data_uri, tiny_pdf
from sandboxed import create, ended, fresh_key, reachable_folder, start


def things(client):
    """Values for the parameters of paths: of things that exist, as far as requests without an error do no harm."""
    machine = client.post("/v1/machines", {"name": "errors"}, headers=fresh_key()).json()["machine_id"]
    execution = create(client, ["true"], machine=machine).json()
    ended(client, execution)
    job = client.submit_ocr(data_uri(tiny_pdf("x"))).json()["id"]
    client.wait_terminal(job)
    key = client.post("/v1/admin/keys", {"name": "errors", "scopes": ["ocr"]}).json()["id"]
    none = "01932b6c-8a00-7000-8000-000000000001"
    return {"machine_id": machine, "execution_id": execution["execution_id"], "artifact_id": none, "session_id": none, "image_id": none, "file_id": f"file-{none}", "batch_id": f"batch_{none}", "upload_id": f"upload_{none}", "webhook_id": f"we-{none}", "delivery_id": f"msg_{none}", "signed_id": none, "job_id": job,
            "request_id": job, "key_id": key, "tenant": "errors", "worker": "none", "kind": "none", "model": "none", "page": "9", "file": "none", "path": "none"}


def invalid_bodies(operation):
    """Also the documented example with a wrong type or a wrong value in each member."""
    if operation.method == "GET":
        return [None]
    wrong = [{**(operation.body or {}), name: value} for name in operation.body or {} for value in ([{}], "../../etc")]
    return ["{", "[]", '{"a":"\\u0000"}', '{"model":"../../x"}', *wrong]


@pytest.fixture(scope="module")
def errors():
    """The refusals of each operation, with ids that exist, that never existed and that are invalid."""
    with reachable_folder() as folder, closing(start(folder / "data", "--mock", "true")) as gateway:
        client, real, replies = gateway.client, things(gateway.client), []
        missing = {name: re.sub(r"[0-9a-f]{4}-[0-9a-f]{12}$", "8000-000000000001", value) for name, value in real.items()}
        for operation in route_table.operations(client):
            if operation.path in ("/v1/admin/events", "/metrics", "/openapi.json", "/docs", "/"):
                continue
            for values in (real, missing, dict.fromkeys(real, "../../etc")):
                if values is real and operation.method != "GET" and not operation.body:
                    continue  # it would have an effect
                replies += [operation.call(client, operation.path_with(values), fresh_key(), body) for body in invalid_bodies(operation)]
        replies += [client.post("/v1/ocr", {"document": {"document_url": data_uri(content)}}) for content in (b"%PDF-1.7\n", b"\x89PNG\r\n\x1a\n")]
        replies.append(recordings.transcribe(gateway, b"RIFF"))
    return [each for each in replies if each.status >= 400]


def test_the_errors_are_of_all_kinds(errors):
    assert len([each for each in errors if each.status == 422]) > 100
    assert {400, 404, 422} <= {each.status for each in errors}


@pytest.mark.parametrize("text", ["read /", "No such file or directory", "/var/lib", "/tmp/", "/home/", "/work/", ".cpp", "sqlite", "SELECT ", "std::", "terminate", "errno"])
def test_no_error_names_a_path_or_an_internal_part_of_the_host(errors, text):
    for reply in errors:
        assert text.lower() not in reply.body.decode(errors="replace").lower(), reply.body
