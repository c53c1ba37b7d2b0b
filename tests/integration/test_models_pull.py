"""`millrace models pull` against a server on this machine, with a catalogue of the operator's."""

import hashlib
import http.server
import json
import os
import re
import resource
import signal
import subprocess
import threading
import time

import pytest
from millrace import BUILD, eventually

MILLRACE = BUILD / "millrace"
FILES = {
    "tiny-encoder.int8.onnx": os.urandom(3 << 20),
    "tiny-decoder.int8.onnx": os.urandom(700_000),
    "tiny-tokens.txt": b"YQ== 0\nYg== 1\n",
}
ENCODER = "tiny-encoder.int8.onnx"


class FileServer(http.server.ThreadingHTTPServer):
    """Serves FILES. `cut`: the bytes of a body after which the connection ends, one for each request, then none."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.files, self.ranges, self.requests, self.cut = dict(FILES), True, [], []
        self.status, self.redirect, self.hold = 200, None, None
        self.shift, self.busy = 0, []
        self.arrived = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            server, name = self.server, self.path.rsplit("/", 1)[-1]
            wanted = self.headers.get("Range")
            server.requests.append((name, wanted))
            server.arrived.set()
            if server.redirect and self.path.startswith("/models/"):
                self.send_response(302)
                self.send_header("Location", server.redirect + name)
                self.end_headers()
                return
            if server.busy:
                status, seconds = server.busy.pop(0)
                self.send_response(status)
                self.send_header("Retry-After", seconds)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if server.status != 200 or name not in server.files:
                body = b"an error page " * 100
                self.send_response(server.status if server.status != 200 else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            self.send_file(server.files[name], wanted)

        def send_file(self, body, wanted):
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and self.server.ranges else 0
            start += self.server.shift if start else 0
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            end = self.server.cut.pop(0) if self.server.cut else len(body) - start
            try:
                self.wfile.write(body[start : start + end])
                self.wfile.flush()
                if self.server.hold and end < len(body) - start:
                    self.server.hold.wait(60)
            except ConnectionError:
                pass
            self.close_connection = True

        def log_message(self, *args):
            pass


@pytest.fixture
def server():
    with FileServer() as files:
        yield files
        if files.hold:
            files.hold.set()
        files.shutdown()


def row(server, **changes):
    files = [
        {"name": name, "url": f"{server.url}/models/{name}", "size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        for name, body in FILES.items()
    ]
    return {"name": "whisper-small-test", "family": "whisper", "languages": ["de", "en"], "licence": "MIT", "files": files, **changes}


@pytest.fixture
def catalogue(server, tmp_path):
    path = tmp_path / "catalogue.yaml"
    path.write_text(json.dumps({"models": [row(server)]}))
    return path


def command(catalogue, folder, name="whisper-small-test"):
    return [MILLRACE, "models", "pull", name, "--catalogue", str(catalogue), "--to", str(folder)]


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("MILLRACE_")}


def pull(catalogue, folder, **options):
    return subprocess.run(
        command(catalogue, folder), capture_output=True, text=True, timeout=120, check=False, env=environment(), **options
    )


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def asked(server, name=ENCODER):
    return [wanted for file, wanted in server.requests if file == name]


def test_the_files_arrive_and_the_rows_for_the_configuration_are_printed(server, catalogue, tmp_path):
    folder = tmp_path / "it's here"
    done = pull(catalogue, folder)
    assert done.returncode == 0, done.stderr
    assert content(folder) == FILES
    assert "licence MIT" in done.stderr
    assert done.stdout == (
        "stt:\n  models:\n  - name: 'whisper-small-test'\n    family: whisper\n"
        f"    path: '{str(folder).replace(chr(39), chr(39) * 2)}'\n    languages: [de, en]\n"
    )
    config = tmp_path / "millrace.yaml"
    config.write_text(done.stdout)
    check = subprocess.run(
        [MILLRACE, "config", "check", "--config", str(config), "--data", str(tmp_path / "data")],
        capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    assert check.returncode == 0 and f"whisper {folder} de en" in check.stdout, check.stdout + check.stderr
    before = len(server.requests)
    assert pull(catalogue, folder).returncode == 0
    assert len(server.requests) == before, "complete files are not downloaded again"


def test_a_model_goes_to_the_data_directory_by_default(server, catalogue, tmp_path):
    data = tmp_path / "data"
    done = subprocess.run(
        [MILLRACE, "models", "pull", "whisper-small-test", "--catalogue", str(catalogue), "--data", str(data)],
        capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert content(data / "models" / "whisper-small-test") == FILES
    assert (data.stat().st_mode & 0o777) == 0o711


def test_a_broken_connection_is_continued_in_the_same_run(server, catalogue, tmp_path):
    server.cut = [1 << 20, 1 << 20]
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "m") == FILES
    assert asked(server) == [None, f"bytes={1 << 20}-", f"bytes={2 << 20}-"]


def test_a_server_without_ranges_sends_the_file_anew(server, catalogue, tmp_path):
    server.ranges, server.cut = False, [1 << 20]
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "m") == FILES


def test_a_killed_run_is_continued_by_the_next(server, catalogue, tmp_path):
    server.cut, server.hold = [1 << 20], threading.Event()
    part = tmp_path / "m" / (ENCODER + ".part")
    with subprocess.Popen(command(catalogue, tmp_path / "m"), stderr=subprocess.DEVNULL, env=environment()) as run:
        eventually(lambda: part.exists() and part.stat().st_size == 1 << 20)
        run.kill()
    assert list(content(tmp_path / "m")) == [part.name]
    server.hold.set()
    assert pull(catalogue, tmp_path / "m").returncode == 0
    assert content(tmp_path / "m") == FILES
    assert asked(server) == [None, f"bytes={1 << 20}-"]


def test_an_interrupted_run_keeps_what_has_arrived(server, catalogue, tmp_path):
    server.cut, server.hold = [1 << 20], threading.Event()
    part = tmp_path / "m" / (ENCODER + ".part")
    with subprocess.Popen(command(catalogue, tmp_path / "m"), stderr=subprocess.DEVNULL, env=environment()) as run:
        eventually(lambda: part.exists() and part.stat().st_size == 1 << 20)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130
    assert part.stat().st_size == 1 << 20


def test_a_part_of_another_file_is_replaced(server, catalogue, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / (ENCODER + ".part")).write_bytes(b"x" * 1000)
    (tmp_path / "m" / "tiny-tokens.txt").write_bytes(b"x" * len(FILES["tiny-tokens.txt"]))
    (tmp_path / "m" / "tiny-decoder.int8.onnx.part").write_bytes(b"x" * 1_000_000)
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "m") == FILES
    assert asked(server) == ["bytes=1000-", None]


@pytest.mark.parametrize("change", ["digest", "shorter", "longer"])
def test_another_file_than_the_listed_one_is_refused(server, catalogue, tmp_path, change):
    body = FILES[ENCODER]
    server.files[ENCODER] = {"digest": b"x" + body[1:], "shorter": body[:-1], "longer": body + b"x"}[change]
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 1, done.stderr
    said = {"digest": "its SHA-256 is not", "shorter": f"it has {len(body) - 1} bytes", "longer": f"it has {len(body) + 1} bytes"}[change]
    assert said in done.stderr and "is not the listed file" in done.stderr, done.stderr
    assert content(tmp_path / "m") == {}
    assert done.stdout == ""


@pytest.mark.parametrize("ranges", [True, False])
def test_a_reply_of_another_length_leaves_what_has_arrived(server, catalogue, tmp_path, ranges):
    body, part = FILES[ENCODER], tmp_path / "m" / f"{ENCODER}.part"
    part.parent.mkdir()
    part.write_bytes(body[:100_000])
    server.ranges, server.files[ENCODER] = ranges, body[: 200_000]
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 1 and "what had arrived before is kept" in done.stderr, done.stderr
    assert part.read_bytes() == body[:100_000]
    server.ranges, server.files[ENCODER] = True, body
    assert pull(catalogue, tmp_path / "m").returncode == 0
    assert content(tmp_path / "m") == FILES


def test_another_range_than_the_requested_one_is_not_taken(server, catalogue, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / f"{ENCODER}.part").write_bytes(FILES[ENCODER][:100_000])
    server.shift = 1
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "m") == FILES
    assert asked(server) == ["bytes=100000-", None]


def test_the_next_try_is_when_the_server_allows_it(server, catalogue, tmp_path):
    server.busy = [(429, "2")]
    began = time.monotonic()
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began >= 2


@pytest.mark.parametrize("status, tries", [(404, 1), (503, 3)])
def test_a_server_that_refuses_is_named(server, catalogue, tmp_path, status, tries):
    server.status = status
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 15, done.stderr
    assert f"{server.url}/models/{ENCODER}: the server answered {status}" in done.stderr
    assert len(server.requests) == tries


def test_redirects_lead_to_the_file(server, catalogue, tmp_path):
    server.redirect = "/elsewhere/"
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "m") == FILES


@pytest.mark.parametrize("place", ["http://192.0.2.1/", "ftp://127.0.0.1/", "http://user@127.0.0.1/"])
def test_redirects_stay_on_https_or_this_machine(server, catalogue, tmp_path, place):
    server.redirect = place
    done = pull(catalogue, tmp_path / "m")
    assert done.returncode == 15
    assert "which is not https" in done.stderr, done.stderr


def test_one_run_at_a_time_writes_a_folder(server, catalogue, tmp_path):
    server.cut, server.hold = [1 << 20], threading.Event()
    with subprocess.Popen(command(catalogue, tmp_path / "m"), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment()) as run:
        assert server.arrived.wait(30)
        second = pull(catalogue, tmp_path / "m")
        assert second.returncode == 1
        assert f"another `models pull` writes to {tmp_path / 'm'}" in second.stderr, second.stderr
        server.hold.set()
        assert run.wait(60) == 0
    assert content(tmp_path / "m") == FILES


def test_a_full_disk_is_named(catalogue, tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = pull(catalogue, tmp_path / "m", preexec_fn=limit, restore_signals=False)
    assert done.returncode == 1
    assert f"cannot write {tmp_path / 'm' / ENCODER}: File too large" in done.stderr, done.stderr


def test_a_model_without_space_is_not_begun(server, tmp_path):
    path = tmp_path / "huge.yaml"
    files = [{"name": f"{part}.bin", "url": f"{server.url}/{part}", "size": 16 << 30, "sha256": "0" * 64} for part in range(32)]
    path.write_text(json.dumps({"models": [row(server, files=files)]}))
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    if free > 512 << 30:
        pytest.skip("this disk has space for it")
    done = pull(path, tmp_path / "m")
    assert done.returncode == 1
    assert "free; the model needs 512GiB more" in done.stderr, done.stderr
    assert server.requests == []


def test_only_listed_names_are_downloaded(server, catalogue, tmp_path):
    for name, hint in (("whisper-smal-test", "did you mean whisper-small-test?"), ("../x", "lists them"), ("https://a.example/x", "lists them")):
        done = subprocess.run(command(catalogue, tmp_path / "m", name), capture_output=True, text=True, check=False, env=environment())
        assert done.returncode == 11
        assert "the catalogue has no model" in done.stderr and hint in done.stderr, done.stderr
    assert server.requests == [] and not (tmp_path / "m").exists()


def test_mistakes_of_a_catalogue_name_their_lines(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        "models:\n- name: a/b\n  family: wisper\n  languages: [German]\n  licence: MIT\n  files:\n"
        "  - {name: ../x, url: 'http://a.example/x', size: 0, sha256: ABC}\n"
    )
    done = subprocess.run([MILLRACE, "models", "catalogue", "--catalogue", str(path)], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 2
    for part in (":2: models.name:", ":3: models.family: \"wisper\"", "did you mean whisper?", ":4: models.languages:", ":7: models.files.name:",
                 "models.files.url: must begin with https://", "models.files.size:", "models.files.sha256:"):  # fmt: skip
        assert part in done.stderr, (part, done.stderr)


def test_the_built_in_catalogue_is_listed():
    done = subprocess.run([MILLRACE, "models", "catalogue"], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert re.search(r"whisper +153MiB +MIT +en zh de es ru ko and \d+ more", lines["whisper-base"]), done.stdout
