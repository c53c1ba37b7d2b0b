"""`millrace store copy` with the content of blobs in S3, and copies that were interrupted."""

import hashlib
import os
import re
import select
import shutil
import subprocess
import time

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway, eventually
from postgres import Postgres
from s3 import S3

ALL_PAGES = 300
MANY = 300


@pytest.fixture(scope="module")
def server():
    postgres = Postgres()
    postgres.start()
    yield postgres
    postgres.close()


@pytest.fixture
def url(server, request):
    """A database of its own."""
    name = "db_" + hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    server.query(f"CREATE DATABASE {name}")
    return server.url.rsplit("/", 1)[0] + "/" + name


@pytest.fixture
def s3(tmp_path):
    bucket = S3(tmp_path / "s3")
    bucket.start()
    yield bucket
    bucket.kill()


def command(data, *flags):
    return [BUILD / "millrace", "store", "copy", "--data", data, *flags]


def copy(data, *flags):
    return subprocess.run(command(data, *flags), capture_output=True, text=True, timeout=300, check=False)


def copied(data, *flags):
    done = copy(data, *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def counts(output):
    """Blobs that were checked, copied, there already and missing."""
    (line,) = re.findall(r"(\d+) blobs with .*: (\d+) copied, (\d+) were there already, (\d+) missing", output)
    return tuple(map(int, line))


def sql(url, text):
    ran = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", url, "-c", text], capture_output=True, text=True, timeout=60, check=True)
    return ran.stdout.strip()


def long_document():
    sentence = "leaf {} of a book that is long enough for a file of its own"
    return data_uri(tiny_pdf(*[sentence.format(number) for number in range(ALL_PAGES)]))


def result(gateway, job):
    reply = gateway.client.get(f"/v1/jobs/{job}/result")
    assert reply.status == 200, reply.body
    return reply.json()


@pytest.fixture
def read(tmp_path):
    """A stopped data directory with a document and its result, which are blobs: the directory, the job, the result."""
    gateway = Gateway(tmp_path / "data").start()
    job = gateway.client.submit_ocr(long_document()).json()["id"]
    assert gateway.client.wait_terminal(job)["status"] == "succeeded"
    pages = result(gateway, job)
    gateway.terminate()
    return gateway.data, job, pages


@pytest.fixture
def queued(tmp_path):
    """A stopped data directory with MANY queued documents, each one a blob."""
    gateway = Gateway(tmp_path / "data", role="api").start()
    for number in range(MANY):
        gateway.client.submit_ocr(data_uri(tiny_pdf(f"document {number}", padding=40_000)))
    gateway.terminate()
    return gateway.data


class Held:
    """Locks a table against what the copy does with it, so that the copy waits there."""

    def __init__(self, url, table, mode):
        self.psql = subprocess.Popen(["psql", "-XqAt", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.psql.stdin.write(f"BEGIN; LOCK TABLE {table} IN {mode} MODE; SELECT 'held';\n")
        self.psql.stdin.flush()
        assert self.psql.stdout.readline().strip() == "held"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.psql.communicate("ROLLBACK;\n", timeout=30)


def killed_after(text, data, *flags):
    """Runs the copy, and kills it with kill -9 when it has written `text` to stderr."""
    running = subprocess.Popen(command(data, *flags), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    written, end = b"", time.monotonic() + 120
    while text.encode() not in written:
        ready, _, _ = select.select([running.stderr], [], [], max(0, end - time.monotonic()))
        piece = os.read(running.stderr.fileno(), 4096) if ready else b""
        assert piece, f"{text!r} is not in {written.decode()}"
        written += piece
    assert running.poll() is None, "it waits for the lock"
    running.kill()
    assert running.wait(30) == -9
    running.stderr.close()


def wait_until_alone(url):
    """The server notices late that a client was killed."""
    alone = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'millrace'"
    eventually(lambda: sql(url, alone) == "0", what="the end of the killed session")


def test_the_content_of_blobs_moves_into_the_bucket_and_back(read, s3, url):
    data, job, pages = read
    forth = copied(data, "--to", url, *s3.flags())
    assert counts(forth) == (2, 2, 0, 0) and len(s3.objects()) == 2
    shutil.rmtree(data / "blobs")
    gateway = Gateway(data, "--store.url", url, *s3.flags()).start()
    assert result(gateway, job) == pages
    gateway.terminate()

    back = copied(data, "--to", "sqlite", "--store.url", url, *s3.flags())
    assert counts(back) == (2, 2, 0, 0) and len(s3.objects()) == 2
    s3.kill()
    gateway = Gateway(data).start()
    assert result(gateway, job) == pages
    gateway.close()


def test_without_a_bucket_the_content_stays_where_it_is(read, url):
    data, job, pages = read
    assert "stays where it was" in copied(data, "--to", url)
    gateway = Gateway(data, "--store.url", url).start()
    assert result(gateway, job) == pages
    gateway.close()


def test_what_is_in_the_bucket_already_is_checked_and_not_sent_again(s3, url, tmp_path):
    gateway = Gateway(tmp_path / "data", *s3.flags()).start()
    job = gateway.client.submit_ocr(long_document()).json()["id"]
    assert gateway.client.wait_terminal(job)["status"] == "succeeded"
    gateway.terminate()
    assert counts(copied(gateway.data, "--to", url, *s3.flags())) == (2, 0, 2, 0)


def test_a_copy_that_is_killed_among_its_blobs_goes_on(queued, s3, url):
    running = subprocess.Popen(command(queued, "--to", url, *s3.flags()), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    eventually(lambda: len(s3.objects()) >= MANY // 10, 120, "the first objects")
    running.kill()
    assert running.wait(30) == -9, "it was over before"
    running.stdout.close()
    before = len(s3.objects())
    assert before < MANY
    assert (queued / "millrace.db").exists()
    wait_until_alone(url)
    all_of_them, sent, there, missing = counts(copied(queued, "--to", url, *s3.flags()))
    assert (all_of_them, missing) == (MANY, 0) and sent + there == MANY
    assert there >= before - 8, "objects whose upload was cut off are sent again, at most one a thread"
    assert len(s3.objects()) == MANY and sql(url, "SELECT count(*) FROM jobs WHERE parent_id IS NULL") == str(MANY)


def test_an_object_with_another_content_is_replaced(read, s3, url):
    data, job, pages = read
    assert subprocess.run([BUILD / "millrace", "store", "init", "--data", data.parent / "other", "--store.url", url], check=False).returncode == 0
    with Held(url, "workers", "SHARE"):
        killed_after(" jobs: ", data, "--to", url, *s3.flags())
    bucket = s3.folder / "data" / "millrace" / "jobs"
    damaged, _ = (bucket / key for key in sorted(s3.objects()))
    damaged.write_bytes(b"x" * damaged.stat().st_size)
    wait_until_alone(url)
    assert counts(copied(data, "--to", url, *s3.flags())) == (2, 1, 1, 0)
    shutil.rmtree(data / "blobs")
    gateway = Gateway(data, "--store.url", url, *s3.flags()).start()
    assert result(gateway, job) == pages
    gateway.close()


def test_a_blob_that_is_damaged_or_missing_stops_the_move_until_the_user_says_so(read, s3, url):
    data, *_ = read
    first, second = sorted(path for path in (data / "blobs").glob("??/*"))
    first.write_bytes(b"x" * first.stat().st_size)
    second.unlink()
    refused = copy(data, "--to", url, *s3.flags())
    assert refused.returncode == 1 and "--skip-damaged" in refused.stderr
    assert f"{first.name}: its content has changed" in refused.stderr and f"{second.name}: it is missing" in refused.stderr
    assert (data / "millrace.db").exists() and sql(url, "SELECT count(*) FROM jobs") == "0"
    assert counts(copied(data, "--to", url, "--skip-damaged", *s3.flags())) == (0, 0, 0, 2)


def test_without_the_bucket_nothing_moves(read, s3, url):
    data, *_ = read
    s3.kill()
    refused = copy(data, "--to", url, *s3.flags())
    assert refused.returncode == 1 and "blobs.endpoint" in refused.stderr and "run the command again" in refused.stderr
    assert (data / "millrace.db").exists() and sql(url, "SELECT count(*) FROM jobs") == "0"


def test_a_copy_that_is_killed_among_its_rows_leaves_none_and_is_repeated(read, url):
    data, job, pages = read
    assert subprocess.run([BUILD / "millrace", "store", "init", "--data", data.parent / "other", "--store.url", url], check=False).returncode == 0
    with Held(url, "workers", "SHARE"):
        killed_after(" jobs: ", data, "--to", url)
        wait_until_alone(url)
    assert sql(url, "SELECT count(*) FROM jobs") == "0" and (data / "millrace.db").exists()
    assert "were copied and compared" in copied(data, "--to", url)
    gateway = Gateway(data, "--store.url", url).start()
    assert result(gateway, job) == pages
    gateway.close()


def test_a_copy_that_is_killed_after_its_commit_is_compared_and_finished(read, url):
    data, job, pages = read
    first = copied(data, "--to", url)
    (data / "millrace.db.moved").rename(data / "millrace.db")  # as a process killed between COMMIT and rename leaves it
    assert copied(data, "--to", url) == first
    assert not (data / "millrace.db").exists()
    gateway = Gateway(data, "--store.url", url).start()
    assert result(gateway, job) == pages
    gateway.terminate()
    (data / "millrace.db.moved").rename(data / "millrace.db")
    refused = copy(data, "--to", url)
    assert refused.returncode == 1 and "has rows already" in refused.stderr, "the gateway has changed them"


def test_the_way_back_is_repeated_after_a_kill(read, url):
    data, job, pages = read
    copied(data, "--to", url)
    back = ("--to", "sqlite", "--store.url", url)
    with Held(url, "workers", "ACCESS EXCLUSIVE"):
        killed_after(" jobs: ", data, *back)
    assert not (data / "millrace.db").exists() and list(data.glob("copy-*"))
    wait_until_alone(url)
    first = copied(data, *back)
    assert not list(data.glob("copy-*")), "the draft of the killed copy is gone"
    sql(url, "DELETE FROM meta WHERE name = 'moved_to_sqlite'")  # as a process killed between rename and COMMIT leaves it
    assert copied(data, *back) == first
    refused = subprocess.run([BUILD / "millrace", "serve", "--data", data.parent / "new", "--store.url", url], capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 1 and "were copied back to SQLite" in refused.stderr
    gateway = Gateway(data).start()
    assert result(gateway, job) == pages
    gateway.close()
