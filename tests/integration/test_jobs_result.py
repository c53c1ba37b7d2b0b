"""`millrace jobs result`: the result of a job on the command line."""

import json
import os
import subprocess

import bad_documents
import pytest
import recordings
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway, eventually

PAGES = 120


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("results") / "data").start()
    yield gateway
    gateway.close()


@pytest.fixture(scope="module")
def asleep(tmp_path_factory):
    """An api without workers: submitted jobs stay queued."""
    gateway = Gateway(tmp_path_factory.mktemp("asleep") / "data", role="api").start()
    yield gateway
    gateway.close()


def result(gateway, *arguments):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    env = {**kept, "MILLRACE_URL": gateway.url, "MILLRACE_API_KEY": gateway.client.key}
    command = [str(BUILD / "millrace"), "jobs", "result", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)


def read(gateway, *pages):
    job = gateway.client.submit_ocr(data_uri(tiny_pdf(*pages))).json()["id"]
    assert gateway.client.wait_terminal(job)["status"] == "succeeded"
    return job


def test_the_result_of_a_document_is_printed_as_the_api_returns_it(shared):
    job = read(shared, "the result itself")
    printed = result(shared, job)
    assert printed.returncode == 0 and printed.stderr == ""
    assert printed.stdout == shared.client.get(f"/v1/jobs/{job}/result").body.decode() + "\n"


def test_pages_of_a_document_are_printed_alone(shared):
    job = read(shared, "leaf 0", "leaf 1", "leaf 2")
    printed = result(shared, job, "--pages", "1-2")
    assert [page["index"] for page in json.loads(printed.stdout)["pages"]] == [1, 2]


def test_a_transcript_is_printed_in_the_requested_format(shared):
    job = recordings.submit(shared, recordings.clip())
    assert shared.client.wait_terminal(job)["status"] == "succeeded"
    assert "text" in json.loads(result(shared, job).stdout)
    printed = result(shared, job, "--format", "srt")
    assert printed.returncode == 0 and printed.stdout.startswith("1\n00:00:00,")
    assert result(shared, job, "--format", "tea").returncode == 2


def test_a_result_that_goes_to_a_file_leaves_standard_output_empty(shared, tmp_path):
    job, file = read(shared, "into a file"), tmp_path / "result.json"
    written = result(shared, job, "-o", file)
    assert written.returncode == 0 and written.stdout == written.stderr == ""
    assert file.read_bytes() == shared.client.get(f"/v1/jobs/{job}/result").body
    output = json.loads(result(shared, job, "-o", file, "--json").stdout)
    assert output == {"path": str(file), "bytes": file.stat().st_size}
    refused = result(shared, job, "-o", tmp_path / "nowhere" / "result.json")
    assert refused.returncode == 1 and f"cannot write {tmp_path}/nowhere/result.json" in refused.stderr


def test_the_result_of_an_unfinished_job_is_exit_code_16_and_writes_nothing(asleep, tmp_path):
    job, file = asleep.client.submit_ocr(data_uri(tiny_pdf("not yet"))).json()["id"], tmp_path / "result.json"
    for arguments in ([job], [job, "-o", file]):
        pending = result(asleep, *arguments)
        assert pending.returncode == 16 and pending.stdout == "" and not file.exists()
        assert pending.stderr.startswith("millrace: not yet (queued: no worker "), pending.stderr
        assert f" jobs tail {job} --url {asleep.url}` waits for it; --partial shows" in pending.stderr


def test_a_failed_job_and_an_unknown_one_have_the_exit_codes_of_their_errors(shared):
    job = shared.client.submit_ocr(data_uri(bad_documents.encrypted())).json()["id"]
    assert shared.client.wait_terminal(job)["status"] == "failed"
    failed = result(shared, job)
    assert failed.returncode == 13 and "document_encrypted" in failed.stderr and failed.stdout == ""
    assert result(shared, "ocr-01900000-0000-7000-8000-000000000000").returncode == 11


def test_the_finished_pages_of_a_running_document_are_printed_on_request(tmp_path):
    args = ("--ocr.range-pages", "1", "--slots", "ocr=1")
    gateway = Gateway(tmp_path / "data", *args).start()
    try:
        uri = data_uri(tiny_pdf(*[f"this is leaf {n}" for n in range(PAGES)]))
        job = gateway.client.submit_ocr(uri).json()["id"]
        eventually(lambda: gateway.client.job(job).get("progress", {}).get("done", 0) > 0, what="a page is read")
        assert gateway.client.post("/v1/admin/queues/ocr/pause").status == 200
        pending = result(gateway, job)
        assert pending.returncode == 16 and f"/{PAGES})" in pending.stderr, pending.stderr
        pages = json.loads(result(gateway, job, "--partial").stdout)["pages"]
        assert 0 < len(pages) < PAGES
        assert all(f"this is leaf {page['index']}" in page["markdown"] for page in pages)
    finally:
        gateway.close()


def test_the_command_is_documented_in_the_help(shared):
    def output(*arguments):
        ran = subprocess.run([str(BUILD / "millrace"), *arguments], capture_output=True, text=True, timeout=60, check=True)
        return ran.stdout

    assert "--partial" in output("jobs", "result", "--help") and "the exit code is 16" in output("jobs", "result", "--help")
    assert " result " in output("jobs", "--help")
    assert "result" in output("completion", "fish")
