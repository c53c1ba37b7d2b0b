"""The jobs API over real OCR jobs."""

import threading
import uuid

import pytest
import recordings
import route_table
from documents import data_uri, full_scans, tiny_pdf
from millrace import TERMINAL, Client, Gateway, eventually

URI = data_uri(tiny_pdf("a separate job"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("jobs") / "data").start()
    yield gateway
    gateway.close()


@pytest.fixture(scope="module")
def asleep(tmp_path_factory):
    """An api without workers: submitted jobs stay queued."""
    gateway = Gateway(tmp_path_factory.mktemp("asleep") / "data", role="api").start()
    yield gateway
    gateway.close()


@pytest.fixture(scope="module")
def mocked(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("mocked") / "data", "--mock", "true", role="api").start()
    yield gateway
    gateway.close()


def submit(gateway, **kwargs):
    return gateway.client.submit_ocr(URI, **kwargs).json()["id"]


def test_an_asynchronous_request_gets_202_with_the_job_and_its_location(shared):
    reply = shared.client.submit_ocr(URI)
    job = reply.json()
    assert reply.status == 202
    assert job["id"].startswith("ocr-") and job["kind"] == "ocr"
    assert reply.headers["location"].endswith(f"/v1/jobs/{job['id']}")
    assert reply.headers["x-millrace-job"] == job["id"]
    deferred = shared.client.post("/v1/ocr", {"document": {"document_url": URI}, "deferred": True})
    assert deferred.status == 202


def test_a_wait_for_a_job_returns_when_the_job_is_done(shared):
    job = shared.client.job(submit(shared), wait_s=30)
    assert job["status"] == "succeeded"
    assert job["progress"] == {"done": 1, "total": 1}
    assert job["started_at"] and job["completed_at"] and job["expires_at"]
    result = shared.client.get(f"/v1/jobs/{job['id']}/result")
    assert result.status == 200 and "a separate job" in result.json()["pages"][0]["markdown"]


def test_a_pending_result_is_202_without_a_body(asleep):
    job = submit(asleep)
    reply = asleep.client.get(f"/v1/jobs/{job}/result")
    assert reply.status == 202 and reply.body == b"" and "content-type" not in reply.headers


def test_a_queued_job_is_cancelled_at_once_and_can_be_retried_as_a_new_job(asleep):
    job = submit(asleep)
    assert asleep.client.post(f"/v1/jobs/{job}/retry").status == 409
    cancelled = asleep.client.post(f"/v1/jobs/{job}/cancel")
    assert cancelled.status == 200 and cancelled.json()["status"] == "cancelled"
    assert asleep.client.post(f"/v1/jobs/{job}/cancel").json()["status"] == "cancelled"
    assert asleep.client.get(f"/v1/jobs/{job}/result").status == 409
    again = asleep.client.post(f"/v1/jobs/{job}/retry")
    assert again.status == 202, again.body
    assert again.json()["retry_of"] == job and again.json()["id"] != job
    old = asleep.client.job(job)
    assert old["status"] == "cancelled" and old["retried_by"] == again.json()["id"]


def test_a_retry_with_a_key_makes_one_job(asleep):
    job = submit(asleep)
    asleep.client.post(f"/v1/jobs/{job}/cancel")

    def retry(body=None, key="once"):
        return asleep.client.post(f"/v1/jobs/{job}/retry", body, headers={"Idempotency-Key": key})

    first, *repeats = [retry() for _ in range(3)]
    assert first.status == 202 and "idempotent-replayed" not in first.headers
    assert {each.json()["id"] for each in repeats} == {first.json()["id"]}
    assert all(each.headers["idempotent-replayed"] == "true" for each in repeats)
    assert retry({"other": "body"}).status == 409
    assert retry(key="").status == 400
    asleep.client.post(f"/v1/jobs/{first.json()['id']}/cancel")
    assert retry().json()["status"] == "cancelled", "a repeat gets the state of the first retry, whatever became of it"
    assert retry(key="again").json()["id"] != first.json()["id"]


def test_each_call_that_changes_something_honours_its_key_or_says_that_it_does_not(asleep):
    """A repeat of the repeatable ones changes nothing more."""
    repeatable = {"/v1/jobs/{job_id}/cancel", "/v1/admin/queues/{kind}/pause", "/v1/admin/queues/{kind}/resume", "/v1/admin/workers/{worker}/drain"}
    direct = {"/v1/embeddings", "/v1/images/generations", "/v1/audio/speech"}
    for each in route_table.operations(asleep.client):
        if each.method != "GET" and not each.takes_key and each.path not in repeatable | direct:
            refused = each.call(asleep.client, each.path_with(dict.fromkeys(each.parameters, "x")), {"Idempotency-Key": "walk"})
            assert refused.status == 400 and refused.json()["error"]["param"] == "Idempotency-Key", f"{each.name}: {refused.body}"


def test_a_direct_call_of_another_vendors_api_names_the_key_that_it_ignores(mocked):
    key = {"Idempotency-Key": "walk"}
    messages = {"model": "mock/chat", "messages": [{"role": "user", "content": "hello"}]}
    for path, body in [("/v1/chat/completions", messages), ("/v1/chat/completions", {**messages, "stream": True}),
                       ("/v1/embeddings", {"model": "mock/embedding", "input": "a"}),
                       ("/v1/images/generations", {"model": "mock/image", "prompt": "a"})]:
        reply = mocked.client.post(path, body, headers=key)
        assert reply.status == 200 and "Idempotency-Key" in reply.headers["x-millrace-dropped-params"].split(", "), reply.body
    deferred = mocked.client.post("/v1/chat/completions", {**messages, "deferred": True}, headers=key)
    assert deferred.status == 200 and "x-millrace-dropped-params" not in deferred.headers


@pytest.mark.parametrize("path, near", [("/v1/jobs?statuss=failed", "status"), ("/v1/jobs?limit=1&metadat.a=b", None), ("/v1/machines?foo", None),
                                        ("/v1/admin/jobs?tenantt=x", "tenant"), ("/v1/usage?perod=day", "period"), ("/v1/jobs?", None)])
def test_an_unknown_query_parameter_of_our_own_routes_is_a_422_that_names_the_nearest(asleep, path, near):
    reply = asleep.client.get(path)
    if path.endswith("?"):
        assert reply.status == 200
        return
    text = reply.body.decode()
    assert reply.status == 422 and "There is no such parameter" in text, text
    assert (f"did you mean `{near}`?" in text) == (near is not None), text


def test_no_route_of_ours_takes_an_unknown_query_parameter_without_a_word(asleep):
    for each in route_table.operations(asleep.client):
        if not each.is_ours:
            continue
        reply = each.call(asleep.client, each.path_with(dict.fromkeys(each.parameters, "x")) + "?unheard_of=1")
        assert reply.status == 422 and b"unheard_of" in reply.body, f"{each.name}: {reply.status} {reply.body}"


@pytest.mark.parametrize("query, status, named", [
    ("status=failed&status=succeeded", 422, "status"), ("limit=5&limit=5", 422, "limit"), ("metadata.a=1&metadata.a=2", 422, "metadata.a"),
    ("a&a", 422, "more than once"), ("=1", 422, "has no name before its `=`"), ("a", 422, "There is no such parameter"),
    ("search=%zz", 400, "'search=%zz' has a `%` without two hexadecimal digits"), ("search=100%", 400, "send `%25`"),
    ("&".join(f"p{i}=1" for i in range(1000)), 400, "more than 100 parameters"),
    ("&".join(f"p{i}=1" for i in range(100)) + "&", 422, "There is no such parameter")])
def test_a_query_that_can_be_read_in_two_ways_is_refused_with_its_reason(asleep, query, status, named):
    for path in ("/v1/jobs", "/v1/admin/jobs", "/v1/machines"):
        reply = asleep.client.get(f"{path}?{query}")
        assert reply.status == status and named in reply.body.decode(), (path, reply.status, reply.body)


def test_no_route_of_ours_takes_the_last_of_two_values_without_a_word(asleep):
    for each in route_table.operations(asleep.client):
        for name in each.query if each.is_ours else ():
            reply = each.call(asleep.client, each.path_with(dict.fromkeys(each.parameters, "x")) + f"?{name}=1&{name}=2")
            assert reply.status == 422 and f"{name}: The parameter is sent more than once" in reply.body.decode(), f"{each.name}: {reply.body}"


def test_routes_that_other_clients_call_name_the_parameters_that_they_ignore(mocked):
    chat = {"model": "mock/chat", "messages": "hello"}
    reply = mocked.client.post("/v1/chat/completions?api-version=2024-10-21&strict=false&x%0Ay=1", {**chat, "color": "red"})
    assert reply.status == 200 and reply.headers["x-millrace-dropped-params"] == "color, api-version, x%0Ay", reply.headers
    assert mocked.client.get("/v1/models?api-version=1").headers["x-millrace-dropped-params"] == "api-version"
    assert mocked.client.get("/v1/models?api-version=1&api-version=2&a=%zz").headers["x-millrace-dropped-params"] == "api-version, a"
    twice = mocked.client.post("/v1/chat/completions?strict=true&strict=false", {**chat, "color": "red"})
    assert twice.status == 200 and twice.headers["x-millrace-dropped-params"] == "color, strict", "the last value counts"
    direct = mocked.client.post("/v1/chat/completions", {**chat, "metadata": {"batch": "b7"}})
    assert direct.headers["x-millrace-dropped-params"] == "metadata", "a direct chat is no job that could keep it"
    assert mocked.client.get("/health?verbose").status == 200


def test_jobs_are_filtered_by_their_metadata(mocked):
    def submit_chat(**metadata):
        chat = {"model": "mock/chat", "messages": "hello", "deferred": True, **({"metadata": metadata} if metadata else {})}
        return mocked.client.post("/v1/chat/completions", chat).json()["id"]

    def found(query):
        reply = mocked.client.get(f"/v1/jobs?{query}")
        assert reply.status == 200, reply.body
        return [job["id"] for job in reply.json()["items"]]

    first, second, _ = submit_chat(batch="b7", owner="me"), submit_chat(batch="b7", owner="Müller & Co."), submit_chat(batch="b8")
    plain = submit_chat()
    document = mocked.client.submit_ocr(URI, metadata={"batch": "b7"}).json()
    form, content_type = recordings.form(recordings.clip(1), model="millrace/sphinx-en", deferred="true", metadata='{"batch": "b7"}')
    recording = mocked.client.request("POST", "/v1/audio/transcriptions", form, {"Content-Type": content_type}).json()
    assert document["metadata"] == recording["metadata"] == {"batch": "b7"}, (document, recording)
    assert found("metadata.batch=b7") == [recording["id"], document["id"], second, first]
    assert found("metadata.batch=b7&metadata.owner=me") == [first]
    assert found("metadata.owner=M%C3%BCller+%26+Co.&kind=chat") == [second]
    assert found("metadata.batch=b9") == found("metadata.batch=") == found("metadata.b7=batch") == []
    assert "metadata" not in mocked.client.job(plain)
    for wrong in ("metadata=b7", "metadata.batch=b7&ids=" + first, "&".join(f"metadata.k{i}=v" for i in range(17)), "metadata." + "k" * 65 + "=v"):
        assert mocked.client.get(f"/v1/jobs?{wrong}").status == 422, wrong
    other = Client(mocked.url, mocked.client.post("/v1/admin/keys", {"name": "o", "tenant": "other"}).json()["key"])
    assert other.get("/v1/jobs?metadata.batch=b7").json()["items"] == []
    states = Client(mocked.url, mocked.client.post("/v1/admin/keys", {"name": "s", "scopes": ["jobs:read"]}).json()["key"])
    assert states.get("/v1/jobs?metadata.batch=b7").json()["items"] == [], "contents need the scope of the kind"
    assert not any("metadata" in job for job in states.get("/v1/jobs").json()["items"])
    for body in ({"model": "mock/chat", "messages": "x", "deferred": True, "metadata": {"a": 1}}, {"document": {"document_url": URI}, "metadata": "b7"}):
        assert mocked.client.post("/v1/ocr" if "document" in body else "/v1/chat/completions", body).status == 422
    mocked.client.post(f"/v1/jobs/{document['id']}/cancel")
    again = mocked.client.post(f"/v1/jobs/{document['id']}/retry").json()
    assert again["metadata"] == {"batch": "b7"}, "a retry has what the old job had"
    asked = mocked.client.get(f"/v1/jobs/{document['id']}/request").json()
    assert asked["body"]["metadata"] == {"batch": "b7"}, asked
    cancelled = mocked.client.post("/v1/admin/jobs/cancel", {"filter": {"metadata": {"batch": "b8"}}}).json()
    assert cancelled == {"matched": 1, "changed": 1}


def test_a_deleted_job_is_gone_with_everything_that_it_held(shared):
    def files():
        return {path for path in (shared.data / "blobs").rglob("*") if path.is_file()}

    document = data_uri(tiny_pdf(*[f"page {page}" + " many words of it" * 100 for page in range(30)]))
    before = files()
    job = shared.client.submit_ocr(document).json()["id"]
    shared.client.wait_terminal(job)
    assert files() > before, "the document is too large for a row"
    deleted = shared.client.request("DELETE", f"/v1/jobs/{job}")
    assert deleted.status == 200 and deleted.json()["id"] == job and deleted.json()["status"] == "succeeded", deleted.body
    assert not files() - before
    for below in ("", "/result", "/events", "/request", "/pages/0/picture"):
        assert shared.client.get(f"/v1/jobs/{job}{below}").status == 404, below
    assert shared.client.request("DELETE", f"/v1/jobs/{job}").status == 404
    assert job not in {each["id"] for each in shared.client.get("/v1/jobs?limit=200").json()["items"]}


def test_a_repeat_of_a_submission_whose_job_was_deleted_is_a_404_that_names_the_job(mocked):
    chat = {"model": "mock/chat", "messages": [{"role": "user", "content": "hello"}], "deferred": True}
    document = {"document": {"document_url": URI}}
    for path, body in (("/v1/chat/completions", chat), ("/v1/chat/completions", chat | {"delay": "1h"}),
                       ("/v1/ocr", document), ("/v1/ocr", document | {"delay": "1h"})):
        headers = {"Idempotency-Key": uuid.uuid4().hex, "Prefer": "respond-async"}
        job = mocked.client.post(path, body, headers=headers).json()["id"]
        assert mocked.client.post(path, body, headers=headers).json()["id"] == job
        assert mocked.client.request("DELETE", f"/v1/jobs/{job}").status == 200
        again = mocked.client.post(path, body, headers=headers)
        assert again.status == 404 and job in again.json()["error"]["message"], (path, again.body)
        assert "new key" in again.json()["error"]["message"] and again.json()["error"]["code"] == "result_expired"


def test_a_job_that_is_deleted_while_it_runs_is_cancelled_first(shared):
    scans = data_uri(full_scans(6))
    jobs = [shared.client.submit_ocr(scans).json()["id"] for _ in range(2)]
    eventually(lambda: shared.client.job(jobs[0])["status"] == "running", what="it runs")
    for job in jobs:
        assert shared.client.request("DELETE", f"/v1/jobs/{job}").status == 200
    for job in jobs:
        eventually(lambda job=job: shared.client.get(f"/v1/jobs/{job}").status == 404, 60, "it is deleted")


def test_deletion_needs_the_scopes_and_stays_in_the_tenant(shared):
    job = shared.client.submit_ocr(URI).json()["id"]
    shared.client.wait_terminal(job)

    def status(**key):
        made = shared.client.post("/v1/admin/keys", {"name": "d", **key}).json()["key"]
        eventually(lambda: Client(shared.url, made).get("/v1/usage").status == 200)
        return Client(shared.url, made).request("DELETE", f"/v1/jobs/{job}").status

    assert status(tenant="other") == 404
    assert status(scopes=["jobs:write"]) == 403 and status(scopes=["jobs:read", "ocr"]) == 403
    key = {"Idempotency-Key": "once"}
    first, again = [shared.client.request("DELETE", f"/v1/jobs/{job}", headers=key) for _ in range(2)]
    assert (first.status, again.status) == (200, 200) and again.headers["idempotent-replayed"] == "true" and again.body == first.body


def test_the_list_is_newest_first_in_pages_and_has_filters(asleep):
    jobs = [submit(asleep) for _ in range(5)]
    asleep.client.post(f"/v1/jobs/{jobs[0]}/cancel")
    seen, cursor = [], ""
    while True:
        page = asleep.client.get(f"/v1/jobs?limit=2&cursor={cursor}").json()
        assert page["items"] and len(page["items"]) <= 2
        seen += [job["id"] for job in page["items"]]
        cursor = page.get("next_cursor")
        if not cursor:
            break
    assert seen == sorted(seen, reverse=True) and set(jobs) <= set(seen)
    only = asleep.client.get("/v1/jobs?status=cancelled&limit=200").json()["items"]
    assert jobs[0] in [job["id"] for job in only] and all(job["status"] == "cancelled" for job in only)
    both = asleep.client.get(f"/v1/jobs?ids={jobs[1]},{jobs[2]}").json()["items"]
    assert {job["id"] for job in both} == {jobs[1], jobs[2]}
    found = asleep.client.get(f"/v1/jobs?q={jobs[3][-8:]}").json()["items"]
    assert [job["id"] for job in found] == [jobs[3]]
    assert asleep.client.get("/v1/jobs?kind=ocr&limit=1").json()["items"]
    assert asleep.client.get("/v1/jobs?ids=").json() == {"items": []}
    for wrong in ("limit=0", "limit=201", "limit=x", "cursor=@@", "status=lost", "kind=tea", "created_after=yesterday"):
        assert asleep.client.get(f"/v1/jobs?{wrong}").status == 422, wrong


def test_a_document_and_a_recording_give_their_names_to_their_jobs(asleep):
    name = 'märz "1" \u001b[2J.pdf'
    by_request = asleep.client.submit_ocr(URI, document_name=name).json()
    inside = {"document": {"document_url": URI, "document_name": "inner.pdf"}}
    by_document = asleep.client.post("/v1/ocr", inside, headers={"Prefer": "respond-async"}).json()
    large = asleep.client.submit_ocr(data_uri(tiny_pdf(*["a document of many pages"] * 200)), document_name="large.pdf").json()
    recording = recordings.transcribe(asleep, recordings.silence(1), headers={"Prefer": "respond-async"}).json()
    names = {by_request["id"]: name, by_document["id"]: "inner.pdf", large["id"]: "large.pdf", recording["id"]: "speech.wav"}
    assert [job["name"] for job in (by_request, by_document, large, recording)] == list(names.values()), "the 202 has the names"
    for path in ("/v1/jobs?limit=200", "/v1/admin/jobs?limit=200", f"/v1/jobs?ids={','.join(names)}"):
        listed = {job["id"]: job.get("name") for job in asleep.client.get(path).json()["items"]}
        assert names.items() <= listed.items(), path
    assert {job: asleep.client.job(job)["name"] for job in names} == names
    assert "name" not in asleep.client.job(submit(asleep))
    assert asleep.client.post(f"/v1/jobs/{large['id']}/cancel").json()["name"] == "large.pdf"
    assert asleep.client.post(f"/v1/jobs/{large['id']}/retry").json()["name"] == "large.pdf"


def test_a_long_name_of_a_document_or_recording_is_cut(asleep):
    name = "日本語の請求書" * 20
    cut = "日本語の請求書" * 12 + "日"  # 255 bytes
    document = asleep.client.submit_ocr(URI, document_name=name).json()
    inside = {"document": {"document_url": URI, "document_name": name}}
    other = asleep.client.post("/v1/ocr", inside, headers={"Prefer": "respond-async"}).json()
    assert [document["name"], other["name"]] == [cut, cut]


def test_a_job_of_another_tenant_is_404(asleep):
    job = submit(asleep)
    import subprocess

    from millrace import BUILD

    made = subprocess.run(
        [BUILD / "millrace", "keys", "create", "--name", "other", "--tenant", "other", "--data", asleep.data],
        capture_output=True, text=True, check=True,
    )
    other = Client(asleep.url, made.stdout.strip())
    assert other.get("/v1/jobs").json()["items"] == []
    for method, path in (("GET", ""), ("GET", "/result"), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/retry")):
        assert other.request(method, f"/v1/jobs/{job}{path}").status == 404, path


def test_the_same_key_and_body_are_one_job_and_another_body_is_a_409(asleep):
    key = f"k-{uuid.uuid4()}"
    first = asleep.client.submit_ocr(URI, key=key)
    second = asleep.client.submit_ocr(URI, key=key)
    assert first.headers["x-millrace-job"] == second.headers["x-millrace-job"]
    other = asleep.client.post(
        "/v1/ocr", {"document": {"document_url": URI}, "pages": [0]}, headers={"Idempotency-Key": key, "Prefer": "respond-async"}
    )
    assert other.status == 409 and other.json()["error"]["code"] == "idempotency_key_reused"
    assert other.headers["x-should-retry"] == "false"


def test_a_repeated_idempotency_key_returns_the_finished_result(shared):
    key = f"k-{uuid.uuid4()}"
    body = {"document": {"document_url": URI}}
    first = shared.client.post("/v1/ocr", body, headers={"Idempotency-Key": key})
    second = shared.client.post("/v1/ocr", body, headers={"Idempotency-Key": key})
    assert first.status == second.status == 200
    assert first.body == second.body and second.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers


def test_many_requests_with_one_key_at_once_are_one_job(shared):
    key = f"k-{uuid.uuid4()}"
    replies = []

    def submit_all():
        replies.append(shared.client.post("/v1/ocr", {"document": {"document_url": URI}}, headers={"Idempotency-Key": key}))

    threads = [threading.Thread(target=submit_all) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [reply.status for reply in replies] == [200] * 8
    assert len({reply.headers["x-millrace-job"] for reply in replies}) == 1
    assert sum("idempotent-replayed" not in reply.headers for reply in replies) == 1


def test_the_history_is_gap_free_as_pages_and_as_a_stream(shared):
    job = submit(shared)
    stream = shared.client.get(f"/v1/jobs/{job}/events", headers={"Accept": "text/event-stream"})
    assert stream.status == 200 and stream.headers["content-type"].startswith("text/event-stream")
    blocks = [block for block in stream.body.decode().split("\n\n") if block.startswith("id:")]
    versions = [int(block.split("\n")[0][3:]) for block in blocks]
    assert versions == list(range(1, len(versions) + 1))
    assert "event: succeeded" in blocks[-1]
    page = shared.client.get(f"/v1/jobs/{job}/events").json()["items"]
    assert [event["version"] for event in page] == versions
    assert page[0]["type"] == "queued" and page[-1]["type"] == "succeeded"
    resumed = shared.client.get(
        f"/v1/jobs/{job}/events", headers={"Accept": "text/event-stream", "Last-Event-ID": str(versions[-2])}
    )
    assert resumed.body.decode().count("id:") == 1
    past = shared.client.get(
        f"/v1/jobs/{job}/events", headers={"Accept": "text/event-stream", "Last-Event-ID": str(versions[-1])}
    )
    assert past.status == 204


def test_a_head_request_for_a_stream_returns_at_once(asleep):
    job = submit(asleep)
    reply = asleep.client.request("HEAD", f"/v1/jobs/{job}/events", headers={"Accept": "text/event-stream"}, timeout=10)
    assert reply.status == 200 and reply.headers["content-type"] == "text/event-stream" and reply.body == b""


def test_limits_of_a_key_return_429_with_retry_after(tmp_path):
    args = ("--limits.requests-per-minute", "4", "--limits.concurrent-jobs", "1")
    gateway = Gateway(tmp_path / "data", *args, role="api").start()
    try:
        assert gateway.client.submit_ocr(URI).status == 202
        body = {"document": {"document_url": URI}, "deferred": True}
        second = gateway.client.post("/v1/ocr", body)
        assert second.status == 429 and second.json()["error"]["param"] == "running_jobs"
        assert gateway.client.get("/v1/jobs").headers["x-ratelimit-remaining-requests"] == "1"
        assert gateway.client.get("/v1/jobs").status == 200
        fifth = gateway.client.get("/v1/jobs")
        assert fifth.status == 429 and fifth.json()["error"]["param"] == "requests_per_minute"
        assert 0 < int(fifth.headers["retry-after-ms"]) <= 15_000 and int(fifth.headers["retry-after"]) <= 15
        assert fifth.headers["x-ratelimit-limit-requests"] == "4"
        assert fifth.headers["x-ratelimit-reset-requests"].endswith("s")
        assert gateway.client.get("/livez").status == 200
    finally:
        gateway.close()


def test_pages_of_a_long_document_can_be_read_while_it_runs(shared):
    job = shared.client.submit_ocr(data_uri(full_scans(10))).json()["id"]

    def some_pages():
        reply = shared.client.get(f"/v1/jobs/{job}/result?partial=true")
        assert reply.status == 200, reply.body
        return reply.json()["pages"]

    pages = eventually(some_pages, 60, "the first pages are available")
    assert shared.client.job(job)["status"] not in TERMINAL and len(pages) < 10
    assert all(f"page {page['index']} line" in page["markdown"] for page in pages)
    cancelled = shared.client.post(f"/v1/jobs/{job}/cancel")
    assert cancelled.status == 200 and cancelled.json()["status"] == "cancelled", cancelled.body


def test_all_or_some_pages_of_a_document_that_was_read_in_parts_can_be_requested(shared):
    uri = data_uri(tiny_pdf(*[f"this is leaf {n} of the book" for n in range(40)]))
    job = shared.client.submit_ocr(uri).json()["id"]
    done = shared.client.wait_terminal(job)
    assert done["status"] == "succeeded" and done["progress"] == {"done": 40, "total": 40}
    pages = shared.client.get(f"/v1/jobs/{job}/result").json()["pages"]
    assert [page["index"] for page in pages] == list(range(40))
    assert all(f"this is leaf {page['index']} of the book" in page["markdown"] for page in pages)
    some = shared.client.get(f"/v1/jobs/{job}/result?pages=3-5,39").json()["pages"]
    assert [page["index"] for page in some] == [3, 4, 5, 39]
    assert job in [item["id"] for item in shared.client.get("/v1/jobs?limit=200").json()["items"]]


def test_a_document_that_is_read_in_parts_shows_one_attempt(tmp_path):
    gateway = Gateway(tmp_path / "data", "--ocr.range-pages", "1").start()
    try:
        job = gateway.client.submit_ocr(data_uri(tiny_pdf("One", "Two", "Three"))).json()["id"]
        assert gateway.client.wait_terminal(job)["attempt"] == 1
        history = gateway.client.get(f"/v1/jobs/{job}/events").json()["items"]
        assert "waiting" in [event["type"] for event in history], "it was read in parts"
        listed = gateway.client.get("/v1/jobs").json()["items"]
        assert [item["attempt"] for item in listed] == [1]
    finally:
        gateway.close()
