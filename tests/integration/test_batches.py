"""/v1/batches and /v1/batch/jobs: many requests in one file."""

import json

import pytest
from batches import chat, end, lines_of, output, start
from millrace import Gateway, eventually
from stored_files import upload


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("batches") / "data", "--mock").start()
    yield gateway
    gateway.close()


def test_each_line_of_chat_has_one_completion(shared):
    batch = start(shared.client, lines_of([chat(f"word {i}") for i in range(50)]), metadata={"run": "a"})
    assert (batch["status"], batch["object"], batch["metadata"]) == ("validating", "batch", {"run": "a"})
    done = end(shared.client, batch)
    assert done["status"] == "completed" and done["request_counts"] == {"total": 50, "completed": 50, "failed": 0}
    replies = output(shared.client, done)
    assert set(replies) == {f"line-{i}" for i in range(50)}
    for i in range(50):
        response = replies[f"line-{i}"]["response"]
        assert response["status_code"] == 200 and f"word {i}" in response["body"]["choices"][0]["message"]["content"]
    assert done["error_file_id"] is None and done["usage"]["total_tokens"] > 0


def codes(client, batch):
    return [(error["code"], error["line"], error["param"]) for error in client.get(f"/v1/batches/{batch['id']}").json()["errors"]["data"]]


def fails(client, content, endpoint="/v1/chat/completions"):
    batch = start(client, content, endpoint)
    done = end(client, batch)
    assert done["status"] == "failed" and done["failed_at"] and done["output_file_id"] is done["error_file_id"] is None
    return codes(client, done)


def line(custom_id="a", method="POST", url="/v1/chat/completions", body=None, **more):
    return json.dumps({"custom_id": custom_id, "method": method, "url": url, "body": body or chat("x"), **more}).encode() + b"\n"


def test_every_bad_line_is_named(shared):
    content = (
        line("a") + b"no json\n" + line("b", url="/v1/embeddings") + line("a") + line("c", method="GET") + b'{"custom_id": "d"}\n'
        + b"[]\n" + line("", body=chat("x")) + line("e", body=chat("x", stream=True)) + b'{"custom_id": "f", "method": "POST", '
        b'"url": "/v1/chat/completions", "body": []}\n' + line("g" * 513) + b"\xff\xfe\n"
    )
    assert fails(shared.client, content) == [
        ("invalid_json", 2, None),
        ("mismatched_url", 3, "url"),
        ("duplicate_custom_id", 4, "custom_id"),
        ("invalid_value", 5, "method"),
        ("missing_required_parameter", 6, "method"),
        ("invalid_json", 7, None),
        ("missing_required_parameter", 8, "custom_id"),
        ("unsupported_parameter", 9, "body.stream"),
        ("missing_required_parameter", 10, "body"),
        ("invalid_value", 11, "custom_id"),
        ("invalid_json", 12, None),
    ]


def test_an_input_without_requests_fails(shared):
    assert fails(shared.client, b"\r\n\n  \n") == [("empty_file", None, None)]
    assert fails(shared.client, b"\x00\x01\x02")[0][0] == "invalid_json"


def test_a_byte_order_mark_crlf_and_a_missing_last_line_feed_do_no_harm(shared):
    content = b"\xef\xbb\xbf" + line("a").replace(b"\n", b"\r\n") + b"\r\n" + line("b").rstrip(b"\n")
    done = end(shared.client, start(shared.client, content))
    assert done["status"] == "completed" and set(output(shared.client, done)) == {"a", "b"}


def test_a_line_of_a_megabyte_is_a_request_like_others(shared):
    text = "long " * 210_000
    done = end(shared.client, start(shared.client, line("a", body=chat(text)) + line("b")))
    replies = output(shared.client, done)
    assert set(replies) == {"a", "b"}, done
    assert replies["a"]["response"]["body"]["choices"][0]["message"]["content"].strip() == text.strip()


def test_at_most_100_errors_are_listed(shared):
    assert len(fails(shared.client, b"x\n" * 500)) == 100


def test_requests_that_fail_are_in_the_error_file(shared):
    bodies = [chat("good"), {"model": "mock/chat"}, {"model": "nope", "messages": "hi"}, chat("good", temperature="hot")]
    done = end(shared.client, start(shared.client, lines_of(bodies)))
    assert done["status"] == "completed" and done["request_counts"] == {"total": 4, "completed": 1, "failed": 3}
    assert set(output(shared.client, done)) == {"line-0"}
    errors = output(shared.client, done, "error_file_id")
    assert {key: value["response"]["status_code"] for key, value in errors.items()} == {"line-1": 422, "line-2": 404, "line-3": 422}
    assert errors["line-2"]["response"]["body"]["error"]["code"] == "model_not_found"


def test_refused_batches_say_why(shared):
    client = shared.client
    file = upload(client, line(), purpose="batch").json()

    def refused(status, param, **body):
        reply = client.post("/v1/batches", {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h", **body})
        assert reply.status == status, reply.body
        assert reply.json()["error"]["param"] == param, reply.body
        return reply.json()["error"]["message"]

    assert "/v1/chat/completions, " in refused(422, "endpoint", endpoint="/v1/nothing")
    refused(422, "endpoint", endpoint="/v1/files")
    refused(422, "completion_window", completion_window="8d")
    refused(422, "completion_window", completion_window="soon")
    refused(422, "input_file_id", input_file_id="batch_x")
    refused(422, "metadata.max_cost_usd", metadata={"max_cost_usd": "much"})
    refused(422, "output_expires_after.seconds", output_expires_after={"anchor": "created_at", "seconds": 5})
    gone = "file-01932b6c-8a00-7000-8000-000000000001"
    assert client.post("/v1/batches", {"input_file_id": gone, "endpoint": "/v1/chat/completions", "completion_window": "24h"}).status == 404
    assert client.get("/v1/batches/batch_01932b6c-8a00-7000-8000-000000000001").status == 404
    assert client.get("/v1/batches/x").status == 404


def test_a_repeated_creation_is_one_batch(shared):
    client = shared.client
    file = upload(client, line(), purpose="batch").json()
    body = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    first = client.post("/v1/batches", body, headers={"Idempotency-Key": "one-batch"})
    again = client.post("/v1/batches", body, headers={"Idempotency-Key": "one-batch"})
    assert first.json()["id"] == again.json()["id"] and again.headers["idempotent-replayed"] == "true"
    end(client, first.json())


def test_lists_page_from_the_newest(shared):
    client = shared.client
    made = [start(client, line()) for _ in range(3)]
    page = client.get("/v1/batches?limit=2").json()
    assert [batch["id"] for batch in page["data"]] == [made[2]["id"], made[1]["id"]] and page["has_more"]
    rest = client.get(f"/v1/batches?limit=2&after={page['last_id']}").json()
    assert rest["data"][0]["id"] == made[0]["id"]
    mistral = client.get("/v1/batch/jobs?page=0&page_size=2").json()
    assert [job["id"] for job in mistral["data"]] == [made[2]["id"], made[1]["id"]] and mistral["total"] >= 3
    for batch in made:
        end(client, batch)


def test_mistrals_shape_takes_requests_inline(shared):
    requests = [{"custom_id": str(i), "body": {"messages": [{"role": "user", "content": f"word {i}"}]}} for i in range(5)]
    job = shared.client.post(
        "/v1/batch/jobs", {"requests": requests, "endpoint": "/v1/chat/completions", "model": "mock/chat", "timeout_hours": 1}
    ).json()
    assert (job["object"], job["status"], job["input_files"]) == ("batch", "QUEUED", [])

    def over():
        now = shared.client.get(f"/v1/batch/jobs/{job['id']}").json()
        return now if now["status"] == "SUCCESS" else None

    done = eventually(over, 60)
    assert (done["total_requests"], done["succeeded_requests"], done["failed_requests"]) == (5, 5, 0)
    replies = output(shared.client, done, "output_file")
    assert {key: value["response"]["body"]["choices"][0]["message"]["content"] for key, value in replies.items()} == {
        str(i): f"word {i}" for i in range(5)
    }

