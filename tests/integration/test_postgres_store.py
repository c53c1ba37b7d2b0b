"""Jobs in PostgreSQL: `store.url`, and `millrace store init`, `check` and `copy`."""

import subprocess

import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway, admin_key, eventually
from postgres import Postgres
from s3 import S3


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


def start(url, data, *flags):
    gateway = Gateway(data, "--store.url", url, "--mock", *flags)
    return gateway.start()


def database_of(url):
    return url.rsplit("/", 1)[1]


def chat(gateway):
    return gateway.client.post("/v1/chat/completions", {"model": "mock/chat", "messages": "hello", "deferred": True})


def test_a_process_ends_when_another_store_appears_at_its_url(url, server, tmp_path):
    gateway, name = start(url, tmp_path / "data"), database_of(url)
    try:
        server.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        eventually(lambda: renamed(server, name), what="the database is renamed between two connections")
        server.query(f"CREATE DATABASE {name}")
        assert millrace("store", "init", "--data", tmp_path / "other", "--store.url", url).returncode == 0
        gateway.popen.wait(30)
        assert "store_changed" in gateway.tail(), gateway.tail()
    finally:
        gateway.close()
        server.query(f"DROP DATABASE IF EXISTS {name}_kept")


def renamed(server, name):
    terminate = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    try:
        server.query(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false; {terminate}")
        server.query(f"ALTER DATABASE {name} RENAME TO {name}_kept")
        server.query(f"ALTER DATABASE {name}_kept ALLOW_CONNECTIONS true")
        return True
    except subprocess.CalledProcessError:
        return False


def test_a_process_ends_when_its_jobs_were_moved_while_it_was_cut_off(url, server, tmp_path):
    gateway = start(url, tmp_path / "data")
    try:
        server.query("INSERT INTO meta VALUES ('moved_to_sqlite', '1')", url)
        gateway.popen.wait(30)
        assert "store_changed" in gateway.tail(), gateway.tail()
    finally:
        gateway.close()


def test_a_server_that_stops_syncing_gets_no_more_jobs(url, server, tmp_path):
    gateway = start(url, tmp_path / "data")
    try:
        assert chat(gateway).status == 200
        server.query("ALTER SYSTEM SET full_page_writes = off")
        server.query("SELECT pg_reload_conf()")
        eventually(lambda: chat(gateway).status == 503, what="jobs are refused")
        assert gateway.client.get("/readyz").status == 503
        server.query("ALTER SYSTEM RESET full_page_writes")
        server.query("SELECT pg_reload_conf()")
        eventually(lambda: chat(gateway).status == 200, what="jobs are accepted again")
    finally:
        gateway.close()
        server.query("ALTER SYSTEM RESET full_page_writes")
        server.query("SELECT pg_reload_conf()")


def test_a_role_that_lost_its_rights_is_an_outage(url, server, tmp_path):
    name = database_of(url)
    server.query(f"CREATE ROLE weak LOGIN; ALTER DATABASE {name} OWNER TO weak")
    server.query("ALTER SCHEMA public OWNER TO weak", url)
    gateway = start(url.replace("millrace@", "weak@"), tmp_path / "data")
    try:
        assert chat(gateway).status == 200
        server.query("REVOKE INSERT ON jobs FROM weak", url)
        refused = chat(gateway)
        assert refused.status == 503 and "retry-after" in refused.headers, refused.body
        assert gateway.client.get("/readyz").status == 503
        server.query("GRANT INSERT ON jobs TO weak", url)
        eventually(lambda: chat(gateway).status == 200, what="jobs are accepted again")
    finally:
        gateway.close()


def test_a_database_that_lacks_characters_is_refused(server, tmp_path):
    server.query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    url = f"{server.url.rsplit('/', 1)[0]}/latin"
    started = millrace("serve", "--data", tmp_path / "data", "--store.url", url)
    assert started.returncode == 1 and "UTF8" in started.stderr, started.stderr


def test_two_stores_do_not_share_a_bucket(url, server, tmp_path):
    s3 = S3(tmp_path / "s3")
    try:
        s3.start()
        first = start(url, tmp_path / "one", *s3.flags())
        first.terminate()
        copy = f"{database_of(url)}_copy"
        server.query(f"CREATE DATABASE {copy} TEMPLATE {database_of(url)}")
        copied = ["--data", tmp_path / "two", "--store.url", f"{url}_copy", *s3.flags(), "--secrets.dir", tmp_path / "one"]
        refused = millrace("serve", *copied, "--listen", "127.0.0.1:0", "--host.name", "two")
        assert refused.returncode == 1 and "take-bucket" in refused.stderr and "blobs.url" in refused.stderr, refused.stderr
        alone = millrace("serve", "--data", tmp_path / "three", "--listen", "127.0.0.1:0", *s3.flags())
        assert alone.returncode == 1 and "belong to another store" in alone.stderr, alone.stderr
        assert millrace("store", "take-bucket", *copied).returncode == 0
        second = Gateway(*copied[1:], "--host.name", "two")
        second.key = admin_key(tmp_path / "one")
        second.start().terminate()
        again = millrace("serve", "--data", tmp_path / "one", "--store.url", url, *s3.flags())
        assert again.returncode == 1 and "belong to another store" in again.stderr, again.stderr
    finally:
        s3.kill()
