"""Jobs in PostgreSQL: `store.url`, and `millrace store init`, `check` and `copy`."""

import subprocess

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway
from postgres import Postgres


@pytest.fixture(scope="module")
def server():
    postgres = Postgres()
    postgres.start()
    yield postgres
    postgres.close()


@pytest.fixture
def url(server, request):
    """A database of its own."""
    name = f"db_{abs(hash(request.node.name))}"
    server.query(f"CREATE DATABASE {name}")
    return server.url.rsplit("/", 1)[0] + "/" + name


def millrace(*args):
    return subprocess.run([BUILD / "millrace", *args], capture_output=True, text=True, timeout=120)


def read_document(gateway, text):
    job = gateway.client.submit_ocr(data_uri(tiny_pdf(text))).headers["x-millrace-job"]
    assert gateway.client.wait_terminal(job)["status"] == "succeeded"
    return job


def result(gateway, job):
    return gateway.client.get(f"/v1/jobs/{job}/result").json()


def test_jobs_move_to_postgresql_and_back(url, tmp_path):
    data = tmp_path / "data"
    gateway = Gateway(data).start()
    first = read_document(gateway, "before the move")
    before = result(gateway, first)
    refused = millrace("store", "copy", "--data", data, "--to", url)
    assert refused.returncode == 1 and "stop it first" in refused.stderr
    gateway.terminate()

    copied = millrace("store", "copy", "--data", data, "--to", url)
    assert copied.returncode == 0, copied.stderr
    assert "rows of" in copied.stdout and "jobs: 1 rows" in copied.stderr
    again = millrace("serve", "--data", data)
    assert again.returncode == 1 and "was copied to PostgreSQL: set store.url" in again.stderr, again.stderr

    gateway = Gateway(data, "--store.url", url).start()
    assert result(gateway, first) == before
    second = read_document(gateway, "in PostgreSQL")
    verified = millrace("audit", "verify", "--data", data, "--store.url", url)
    assert verified.returncode == 0, verified.stderr
    refused = millrace("store", "copy", "--data", data, "--store.url", url, "--to", "sqlite")
    assert refused.returncode == 1 and "stop it first" in refused.stderr
    gateway.terminate()

    back = millrace("store", "copy", "--data", data, "--store.url", url, "--to", "sqlite")
    assert back.returncode == 0, back.stderr
    gateway = Gateway(data).start()
    assert result(gateway, first) == before
    assert "in PostgreSQL" in result(gateway, second)["pages"][0]["markdown"]
    read_document(gateway, "after the way back")
    gateway.close()


    again = millrace("serve", "--data", tmp_path / "other", "--store.url", url)
    assert again.returncode == 1 and "were copied back to SQLite" in again.stderr


def test_documents_of_a_directory_are_not_left_to_an_empty_database(url, tmp_path):
    data = tmp_path / "data"
    gateway = Gateway(data).start()
    gateway.terminate()
    started = millrace("serve", "--data", data, "--store.url", url)
    assert started.returncode == 1 and "store copy --to" in started.stderr
    (data / "millrace.db").rename(data / "elsewhere.db")
    started = millrace("serve", "--data", data, "--store.url", url)
    assert started.returncode == 1 and "the database is empty, but" in started.stderr


def test_a_directory_of_another_database_is_refused(url, server, tmp_path):
    gateway = Gateway(tmp_path / "one", "--store.url", url).start()
    gateway.terminate()
    server.query("CREATE DATABASE db_other")
    other = url.rsplit("/", 1)[0] + "/db_other"
    gateway = Gateway(tmp_path / "two", "--store.url", other).start()
    gateway.terminate()
    started = millrace("serve", "--data", tmp_path / "one", "--store.url", other)
    assert started.returncode == 1 and "belongs to store" in started.stderr
    started = millrace("serve", "--data", tmp_path / "three", "--store.url", other)
    assert started.returncode == 1 and "belongs to another data directory" in started.stderr


def test_a_password_is_not_shown(tmp_path):
    for wrong in ("postgresql://me:hid%den@127.0.0.1/db", "postgresql://me:hidden@127.0.0.1:1/db"):
        started = millrace("serve", "--data", tmp_path / "data", "--store.url", wrong)
        assert started.returncode == 1 and "store.url" in started.stderr
        assert "hid" not in started.stderr.replace("hidden files", ""), started.stderr


def test_a_database_with_jobs_is_no_target_of_a_copy(url, tmp_path):
    for name in ("one", "two"):
        gateway = Gateway(tmp_path / name).start()
        gateway.terminate()
    assert millrace("store", "copy", "--data", tmp_path / "one", "--to", url).returncode == 0
    refused = millrace("store", "copy", "--data", tmp_path / "two", "--to", url)
    assert refused.returncode == 1 and "has rows already" in refused.stderr
    assert (tmp_path / "two" / "millrace.db").exists()


def test_init_and_check_say_what_the_database_has(url, server, tmp_path):
    command = ["--data", tmp_path, "--store.url", url]
    empty = millrace("store", "check", *command)
    assert empty.returncode == 1 and "schema 0" in empty.stdout
    assert millrace("store", "init", *command).returncode == 0
    checked = millrace("store", "check", *command)
    assert checked.returncode == 0 and "no synchronous standby" in checked.stdout
    with open("/dev/full", "w", encoding="utf-8") as full:
        for name in ("init", "check"):
            lost = subprocess.run([BUILD / "millrace", "store", name, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            assert lost.returncode == 1 and "standard output" in lost.stderr, (name, lost.stderr)
    doctor = millrace("doctor", *command)
    assert "PostgreSQL 15" in doctor.stdout and "no synchronous standby" in doctor.stdout


def test_doctor_asks_for_what_it_may_not_see(url, server, tmp_path):
    assert millrace("store", "init", "--data", tmp_path, "--store.url", url).returncode == 0
    name = url.rsplit("/", 1)[1]
    server.query(f"CREATE ROLE plain LOGIN; ALTER DATABASE {name} OWNER TO plain")
    server.query("GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain", url)
    doctor = millrace("doctor", "--data", tmp_path, "--store.url", url.replace("millrace@", "plain@"))
    assert "GRANT pg_monitor" in doctor.stdout, doctor.stdout
    server.query("GRANT pg_monitor TO plain")
    doctor = millrace("doctor", "--data", tmp_path, "--store.url", url.replace("millrace@", "plain@"))
    assert "PostgreSQL 15" in doctor.stdout and "GRANT pg_monitor" not in doctor.stdout, doctor.stdout


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("postgresql://millrace@127.0.0.1:1/millrace", "Connection refused"),
        ("mysql://host/db", "must begin with postgresql://"),
    ],
)
def test_a_wrong_url_is_named_at_the_start(wrong, words, tmp_path):
    started = millrace("serve", "--data", tmp_path / "data", "--store.url", wrong)
    assert started.returncode != 0
    assert "store.url" in started.stderr and words in started.stderr, started.stderr


def test_a_server_that_could_lose_jobs_is_refused(url, server, tmp_path):
    name = url.rsplit("/", 1)[1]
    server.query(f"ALTER DATABASE {name} SET synchronous_commit = off")
    started = millrace("serve", "--data", tmp_path / "data", "--store.url", url)
    assert started.returncode == 1 and "synchronous_commit is off" in started.stderr


def test_tables_of_another_program_are_not_touched(url, tmp_path):
    subprocess.run(["psql", "-Xq", url, "-c", "CREATE TABLE theirs (x int)"], check=True, timeout=60)
    started = millrace("serve", "--data", tmp_path / "data", "--store.url", url)
    assert started.returncode == 1 and "table of another program (theirs)" in started.stderr
