"""The engine's jail for an ordinary user, on kernels with more or fewer features."""

import io
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import kernel_without
import pytest
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway
from PIL import Image, ImageDraw, ImageFont

NOBODY = 65534
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"


@pytest.fixture
def folder():
    """A folder that an ordinary user may use, whichever user runs the tests."""
    path = Path(tempfile.mkdtemp(prefix="millrace-jail-"))
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    yield path
    shutil.rmtree(path)


def ordinary(missing=""):
    """The prefix of a command that an ordinary user runs on a kernel without `missing`."""
    words = []
    if os.geteuid() == 0:
        words += ["/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--"]
    return words + (kernel_without.prefix(missing) if missing else [])


def gateway_of(folder, missing, *args):
    gateway = Gateway(folder / "data", *args)
    gateway.command = [*ordinary(missing), *gateway.command]
    return gateway


def doctor(folder, missing, *args):
    command = [*ordinary(missing), BUILD / "millrace", "doctor", "--data", folder / "doctor", *args]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, check=False)


def picture():
    image = Image.new("L", (900, 160), 255)
    ImageDraw.Draw(image).text((30, 50), "a picture of these words", fill=0, font=ImageFont.truetype(FONT, 44))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def reads(gateway):
    for uri, words in ((data_uri(tiny_pdf("a text layer with words")), "a text layer"), (data_uri(picture()), "these words")):
        reply = gateway.client.post("/v1/ocr", {"document": {"document_url": uri}})
        assert reply.status == 200, (reply.status, reply.body, gateway.tail())
        assert words in reply.json()["pages"][0]["markdown"]


def engines_of(gateway):
    """The status files of the gateway's engine processes."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        if fields["Name"] == "millrace-engine" and descends(int(fields["PPid"]), gateway.popen.pid):
            found.append(fields)
    return found


def descends(pid, ancestor):
    while pid > 1 and pid != ancestor:
        stat = Path(f"/proc/{pid}/stat").read_text()
        pid = int(stat.rsplit(")", 1)[1].split()[1])
    return pid == ancestor


@pytest.mark.parametrize(
    "missing, args, expected",
    [
        ("", (), None),
        ("namespaces", (), "jail_landlock_used"),
        ("namespaces,landlock", ("--ocr.unjailed", "true"), "jail_reduced"),
    ],
)
def test_an_ordinary_user_reads_documents_in_the_best_jail_there_is(folder, missing, args, expected):
    gateway = gateway_of(folder, missing, *args).start()
    try:
        reads(gateway)
        engines = engines_of(gateway)
        assert engines
        for engine in engines:
            assert engine["Seccomp"].strip() == "2" and engine["NoNewPrivs"].strip() == "1"
        log = gateway.log.read_text()
        for event in ("jail_landlock_used", "jail_reduced"):
            assert (event in log) == (event == expected), log
        if expected:
            line = next(line for line in log.splitlines() if expected in line)
            assert '"warn"' in line and '"advice"' in line, line
        form = {None: "bubblewrap", "jail_landlock_used": "landlock", "jail_reduced": "reduced"}[expected]
        assert f'engine="ocr",form="{form}"}} 1' in gateway.client.get("/metrics").body.decode()
    finally:
        gateway.terminate()


def test_without_file_protection_an_ordinary_user_gets_no_engine_unless_the_setting_allows_it(folder):
    gateway = gateway_of(folder, "namespaces,landlock")
    try:
        with pytest.raises(AssertionError):
            gateway.start()
        assert gateway.popen.wait(10) == 1
        assert "ocr.unjailed=true" in gateway.tail()
    finally:
        gateway.close()


@pytest.mark.parametrize(
    "missing, args, code, expected",
    [
        ("", ("--verbose",), 0, "bubblewrap"),
        ("namespaces", (), 0, "Landlock and seccomp"),
        ("namespaces,landlock", (), 1, "ocr.unjailed=true"),
        ("namespaces,landlock", ("--ocr.unjailed", "true"), 0, "seccomp and limits alone"),
    ],
)
def test_doctor_names_the_jail(folder, missing, args, code, expected):
    result = doctor(folder, missing, *args)
    assert result.returncode == code, result.stdout + result.stderr
    assert expected in result.stdout
