"""ocr.languages: the languages of scanned text."""

import io
import subprocess

from documents import data_uri
from millrace import BUILD, Gateway
from PIL import Image, ImageDraw, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"
LINES = ["Größe und Maße der Öfen", "Über die Straße grüßt Jürgen süße Gäste,", "während Ärzte höhere Gebühren zählen."]


def scan():
    page = Image.new("L", (1240, 600), 255)
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(FONT, 36)
    for number, line in enumerate(LINES):
        draw.text((120, 120 + 60 * number), line, font=font, fill=0)
    out = io.BytesIO()
    page.save(out, "PNG")
    return data_uri(out.getvalue(), "image/png")


def read(data, *arguments):
    gateway = Gateway(data, *arguments).start()
    try:
        reply = gateway.client.post("/v1/ocr", {"document": {"image_url": scan()}})
    finally:
        gateway.close()
    assert reply.status == 200, reply.body
    return " ".join(reply.json()["pages"][0]["markdown"].split())


def millrace(*arguments):
    command = [BUILD / "millrace", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_scans_are_read_in_the_languages_of_the_gateway(tmp_path):
    assert "Größe" not in read(tmp_path / "english")
    assert " ".join(LINES) in read(tmp_path / "german", "--ocr.languages", "deu,eng")


def test_a_start_without_the_data_of_a_language_names_its_package(tmp_path):
    refused = millrace("serve", "--data", tmp_path / "data", "--listen", "127.0.0.1:0", "--ocr.languages", "eng,chi_xyz")
    assert refused.returncode != 0
    assert "ocr.languages: the recogniser's data for the language chi_xyz is not installed" in refused.stderr
    assert "apt-get install tesseract-ocr-chi-xyz" in refused.stderr


def test_doctor_looks_for_the_data_of_every_language(tmp_path):
    good = millrace("doctor", "--data", tmp_path, "--ocr.languages", "deu+eng")
    assert "scanned text in deu+eng" in good.stdout, good.stdout + good.stderr
    bad = millrace("doctor", "--data", tmp_path, "--ocr.languages", "xyz")
    assert bad.returncode != 0
    assert "tesseract-ocr-xyz" in bad.stdout
