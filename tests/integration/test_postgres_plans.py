"""What PostgreSQL reads for each statement, with a million jobs in the store."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from documents import data_uri, tiny_pdf
from millrace import Gateway, Worker
from postgres import Postgres

ENDED, QUEUED, CHATS = 900_000, 100_000, 100
ROWS_MAX = 5_000  # that a node of a plan may read without a limit of the statement, or drop
LARGE = {"jobs", "job_specs", "job_results", "job_events", "idempotency", "outbox", "quota_usage", "reservations"}
READS = [
    "/v1/jobs/{job}",
    "/v1/jobs/{job}/events",
    "/v1/jobs/{job}/result",
    "/v1/jobs/{job}/request",
    "/v1/chat/deferred-completion/{job}",
    "/v1/jobs?limit=200",
    "/v1/jobs?kind=ocr&status=queued&limit=200",
    "/v1/jobs?kind=chat&status=failed",
    "/v1/usage",
    "/v1/admin/queues",
    "/v1/admin/overview",
    "/v1/admin/dead",
    "/v1/admin/tenants",
    "/v1/admin/workers",
    "/v1/admin/hosts",
    "/v1/admin/jobs",
    "/metrics",
    "/readyz",
]
CHAT = {"model": "mock/chat", "messages": "hello", "deferred": True}
EXPLAIN = """
ALTER DATABASE {database} SET session_preload_libraries = auto_explain;
ALTER DATABASE {database} SET auto_explain.log_min_duration = 0;
ALTER DATABASE {database} SET auto_explain.log_analyze = on;
ALTER DATABASE {database} SET auto_explain.log_timing = off;
ALTER DATABASE {database} SET auto_explain.log_format = json
"""

# Copies of a job, its request, its result and its events, each with an id and a time of its own.
COPIES = """
CREATE TEMP TABLE copies AS
  SELECT n, substring(j.id FOR 6) || decode(replace(gen_random_uuid()::text, '-', ''), 'hex') AS full_id, j.id AS model_id
  FROM jobs j, generate_series(1, {count}) n WHERE j.id = '{job}';
CREATE TEMP TABLE job AS SELECT j.* FROM jobs j WHERE j.id = '{job}';
INSERT INTO job_specs (id, traceparent, bytes, blob, hash, name)
  SELECT {first} + n, traceparent, bytes, blob, hash, name FROM job_specs, copies WHERE id = (SELECT spec FROM job);
INSERT INTO job_results (id, bytes, blob, hash)
  SELECT {first} + n, bytes, blob, hash FROM job_results, copies WHERE id = (SELECT result FROM job);
INSERT INTO job_events SELECT substring(full_id FOR 16), version, at, type, data
  FROM job_events, copies WHERE job = model_id AND version = 1;
UPDATE job SET spec = NULL, idempotency = NULL;
INSERT INTO jobs ({columns})
  SELECT {values} FROM job, copies;
DROP TABLE copies, job;
"""


def copy_job(server, job, count, first):
    """Inserts `count` copies of a job, with specs and results from `first` on."""
    columns = server.query("SELECT attname FROM pg_attribute WHERE attrelid = 'jobs'::regclass AND attnum > 0 ORDER BY attnum")
    own = {
        "id": "substring(full_id FOR 16)",
        "spec": f"{first} + n",
        "result": f"CASE WHEN result IS NOT NULL THEN {first} + n END",
        "created_at": "created_at - n",
        "completed_at": "completed_at - n",
    }
    names = columns.split()
    key = "\\x" + job.split("-", 1)[1].replace("-", "")
    script = COPIES.format(
        count=count, first=first, job=key, columns=", ".join(names), values=", ".join(own.get(name, f"job.{name}") for name in names)
    )
    server.query(script)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A server with a million jobs that explains every statement, and the flags of a gateway on it."""
    data = tmp_path_factory.mktemp("plans") / "data"
    server = Postgres()
    server.start()
    flags = ["--store.url", server.url, "--mock"]
    with closing(server), closing(Gateway(data, *flags, role="api").start()) as api:
        with closing(Worker(data, *flags, kinds="chat").start()):
            ended = api.client.post("/v1/chat/completions", CHAT).json()["request_id"]
            assert api.client.wait_terminal(ended)["status"] == "succeeded"
        queued = api.client.submit_ocr(data_uri(tiny_pdf("one page"))).headers["x-millrace-job"]
        api.terminate()
        copy_job(server, ended, ENDED, 10_000_000)
        copy_job(server, queued, QUEUED, 20_000_000)
        server.query("VACUUM ANALYZE")
        for statement in EXPLAIN.format(database=server.url.rsplit("/", 1)[1]).split(";"):
            server.query(statement)
        yield server, data, flags


def nodes(plan, is_limited=False):
    """Each node, and whether the statement limits how many rows of it are used."""
    yield plan, is_limited
    for inner in plan.get("Plans", []):
        yield from nodes(inner, is_limited or plan["Node Type"] == "Limit")


def plans(log):
    """Each statement of the server's log with its plan."""
    for text in re.findall(r"plan:\n(\t\{.*?\n\t\})", log, re.DOTALL):
        explained = json.loads(text)
        yield explained["Query Text"], explained["Plan"]


def rows_read(node, is_limited):
    dropped = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return (dropped if is_limited else dropped + node["Actual Rows"]) * node["Actual Loops"]


def test_no_statement_reads_many_rows_of_a_million_jobs(scene):
    server, data, flags = scene
    with closing(Gateway(data, *flags, role="api").start()) as api, closing(Worker(data, *flags, kinds="chat,ocr").start()):
        client = api.client
        chats = [client.post("/v1/chat/completions", CHAT).json()["request_id"] for _ in range(CHATS)]
        for job in chats:
            assert client.wait_terminal(job)["status"] == "succeeded"
        for path in READS:
            assert client.get(path.format(job=chats[0])).status == 200, path
        assert client.request("DELETE", f"/v1/jobs/{chats[1]}").status in (200, 204)
        later = client.submit_ocr(data_uri(tiny_pdf("another page"))).headers["x-millrace-job"]
        assert client.post(f"/v1/jobs/{later}/cancel").status in (200, 202)
    log = Path(server.folder, "server.log").read_text()
    many = {}
    seen = set()
    for statement, plan in plans(log):
        seen.add(statement)
        for node, is_limited in nodes(plan):
            rows = rows_read(node, is_limited)
            if node.get("Relation Name") in LARGE and rows > ROWS_MAX:
                many[statement] = (node["Node Type"], node["Relation Name"], rows)
    assert len(seen) > 50, "the server explains what it does"
    assert not many, "\n".join(f"{found}: {statement}" for statement, found in many.items())
