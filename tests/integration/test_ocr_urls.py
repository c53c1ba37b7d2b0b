"""Documents by URL: fetched with address checks; private hosts only if the operator allows them."""

from contextlib import closing

import pytest
from document_server import DocumentServer
from millrace import Gateway

REFUSED = [
    "http://example.com/a.pdf",
    "https://127.0.0.1/a.pdf",
    "https://localhost/a.pdf",
    "https://localhost./a.pdf",
    "https://2130706433/a.pdf",
    "https://0x7f000001/a.pdf",
    "https://017700000001/a.pdf",
    "https://127.1/a.pdf",
    "https://0/a.pdf",
    "https://localho%C5%BFt/a.pdf",
    "https://[::1]/a.pdf",
    "https://[::ffff:127.0.0.1]/a.pdf",
    "https://[fe80::1%25eth0]/a.pdf",
    "https://[::1%25lo]/a.pdf",
    "https://10.0.0.1/a.pdf",
    "https://172.16.0.1/a.pdf",
    "https://192.168.0.1/a.pdf",
    "https://169.254.169.254/latest/meta-data",
    "https://100.64.0.1/a.pdf",
    "https://example.com:22/a.pdf",
]
WITH_CREDENTIALS = ["https://user:pass@example.com/a.pdf", "https://user@example.com/a.pdf", "https://@example.com/a.pdf"]
NO_WEB_ADDRESS = ["file:///etc/passwd", "ftp://example.com/a.pdf", "gopher://example.com/", "/etc/passwd"]
OTHER_LETTERS = ["https://localho\u017ft/a.pdf", "https://127\u30020\u30020\u30021/a.pdf", "https://\uff11\uff12\uff17.0.0.1/a.pdf"]


@pytest.fixture(scope="module")
def web():
    server = DocumentServer()
    yield server
    server.shutdown()


@pytest.fixture(scope="module")
def opened(tmp_path_factory, web):
    gateway = Gateway(tmp_path_factory.mktemp("urls") / "data", "--fetch.allow-hosts", web.host).start()
    yield gateway
    gateway.close()


def ocr(gateway, url, **more):
    return gateway.client.post("/v1/ocr", {"document": {"type": "document_url", "document_url": url}, **more})


def names_the_field(gateway, reply, field):
    """The field is in the response, as for any 422, and in the error of the job."""
    assert reply.status == 422 and reply.json()["error"]["param"] == field, (reply.status, reply.body)
    assert reply.json()["detail"][0]["loc"] == ["body", *field.split(".")], reply.body
    job = gateway.client.job(reply.headers["x-millrace-job"])
    assert job["error"]["param"] == field, job
    *_, last = gateway.client.get(f"/v1/jobs/{job['id']}/events").json()["items"]
    assert last["type"] == "failed" and last["data"] == job["error"], last
    stored = gateway.client.get(f"/v1/jobs/{job['id']}/result")
    assert stored.json() == reply.json(), stored.body


def test_a_document_of_an_allowed_host_is_fetched_and_read(opened, web):
    reply = ocr(opened, f"http://{web.host}/a.pdf")
    assert reply.status == 200, reply.body
    assert "fetched from afar" in reply.json()["pages"][0]["markdown"]


def test_a_redirect_within_the_allowed_host_is_followed(opened, web):
    assert ocr(opened, f"http://{web.host}/to//a.pdf").status == 200


@pytest.mark.parametrize("url", REFUSED)
def test_a_non_public_address_is_refused(opened, url):
    reply = ocr(opened, url)
    assert reply.status == 422, (reply.status, reply.body)
    assert reply.json()["error"]["code"] == "fetch_refused" and reply.json()["error"]["param"] == "document.document_url"
    assert "x-millrace-job" not in reply.headers, "what is refused by its form makes no job"


@pytest.mark.parametrize("url", [REFUSED[0], REFUSED[2], "https://example.internal/a.png"])
def test_no_form_of_the_request_makes_a_job_of_a_refused_address(opened, url):
    before = opened.client.get("/v1/jobs?limit=1").json()["items"]
    for document in ({"document_url": url}, {"type": "image_url", "image_url": {"url": url}}):
        for more in ({}, {"deferred": True}):
            reply = opened.client.post("/v1/ocr", {"document": document, **more}, headers={"Idempotency-Key": "refused"})
            assert reply.status == 422 and reply.json()["error"]["code"] == "fetch_refused", reply.body
    assert opened.client.get("/v1/jobs?limit=1").json()["items"] == before


def test_without_a_worker_of_its_own_the_api_leaves_the_decision_to_the_workers(tmp_path):
    """Its settings may open hosts that this process does not know."""
    with closing(Gateway(tmp_path / "data", role="api").start()) as api:
        reply = api.client.post("/v1/ocr", {"document": {"document_url": REFUSED[0]}, "deferred": True})
        assert reply.status == 202, reply.body


def test_an_error_that_the_worker_finds_names_its_field(opened, web):
    names_the_field(opened, ocr(opened, f"http://{web.host}/to/{REFUSED[1]}"), "document.document_url")
    names_the_field(opened, ocr(opened, f"http://{web.host}/a.pdf", pages=[7]), "pages")
    names_the_field(opened, ocr(opened, f"http://{web.host}/words"), "document.document_url")


@pytest.mark.parametrize("url", NO_WEB_ADDRESS + OTHER_LETTERS)
def test_an_invalid_web_address_makes_no_job(opened, url):
    reply = ocr(opened, url)
    assert reply.status == 422 and reply.json()["detail"], (reply.status, reply.body)
    assert "x-millrace-job" not in reply.headers


@pytest.mark.parametrize("url", WITH_CREDENTIALS)
def test_an_address_with_credentials_makes_no_job_and_is_not_repeated_in_the_error(opened, url):
    reply = ocr(opened, url)
    assert reply.status == 422 and "password" in reply.json()["detail"][0]["msg"], (reply.status, reply.body)
    assert "x-millrace-job" not in reply.headers and b"pass@" not in bytes(reply.body)


@pytest.mark.parametrize("url", ["https://127.0.0.1/a.pdf", "http://127.0.0.1:1/a.pdf", "file:///etc/passwd"])
def test_a_redirect_to_what_is_refused_is_refused(opened, web, url):
    reply = ocr(opened, f"http://{web.host}/to/{url}")
    assert reply.status == 422, (reply.status, reply.body)
    assert reply.json()["error"]["code"] == "fetch_refused"


def test_a_document_that_does_not_exist_is_a_502_that_is_not_retried(opened, web):
    reply = ocr(opened, f"http://{web.host}/none.pdf")
    assert reply.status == 502, (reply.status, reply.body)
    assert reply.json()["error"]["code"] == "fetch_failed"
    assert reply.headers["x-should-retry"] == "false"


def test_a_document_above_the_limit_is_413(opened, web):
    reply = ocr(opened, f"http://{web.host}/big")
    assert reply.status == 413, (reply.status, reply.body)
    assert reply.json()["error"]["code"] == "document_too_large"
