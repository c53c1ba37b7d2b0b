"""ocr.languages: the languages of scanned text."""

import io
import subprocess

import pytest
from documents import data_uri
from millrace import BUILD, Gateway
from PIL import Image, ImageDraw, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf"
LINES = ["Größe und Maße der Öfen", "Über die Straße grüßt Jürgen süße Gäste,", "während Ärzte höhere Gebühren zählen."]


def picture(lines):
    page = Image.new("L", (1654, 240 + 60 * len(lines)), 255)
    draw, font = ImageDraw.Draw(page), ImageFont.truetype(FONT, 36)
    for number, line in enumerate(lines):
        draw.text((120, 120 + 60 * number), line, font=font, fill=0)
    out = io.BytesIO()
    page.save(out, "PNG")
    return out.getvalue()


def scan():
    return data_uri(picture(LINES), "image/png")


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


RUSSIAN = ["Мельница стоит у реки, и колесо её медленно вертится,", "когда вода стоит низко, но весной она работает день и ночь.", "Зерно со всех деревень мелют здесь, и мука идёт в город."] * 3
GREEK = ["Ο μύλος βρίσκεται δίπλα στο ποτάμι και ο τροχός του γυρίζει", "αργά όταν τα νερά είναι χαμηλά, αλλά την άνοιξη δουλεύει μέρα", "και νύχτα, και το αλεύρι πηγαίνει με το κάρο στην πόλη."] * 3
GERMAN = ["Die Mühle steht am Fluss, und das Rad dreht sich langsam,", "wenn das Wasser niedrig ist; im Frühjahr läuft sie Tag und Nacht,", "und die Säcke für die Bäckerei werden über die Brücke getragen."] * 2
ENGLISH = ["The mill stands by the river, and the wheel turns slowly when", "the water is low; in spring it runs by day and by night, and", "the sacks for the bakery have to be carried over the bridge."] * 2


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("english") / "data").start()
    yield gateway
    gateway.close()


def warnings_of(gateway, lines):
    reply = gateway.client.post("/v1/ocr", {"document": {"image_url": data_uri(picture(lines), "image/png")}})
    assert reply.status == 200, reply.body
    return reply.json()["pages"][0].get("warnings", [])


@pytest.mark.parametrize(("lines", "looks", "code"), [(RUSSIAN, "Cyrillic", "rus"), (GREEK, "Greek", "ell")])
def test_a_page_in_another_script_names_it_and_its_package(english, lines, looks, code):
    (warning,) = warnings_of(english, lines)
    assert warning["code"] == "other_language"
    assert f"looks {looks}" in warning["message"] and f"install tesseract-ocr-{code}" in warning["message"]
    assert f"set ocr.languages to eng,{code}" in warning["message"]


def test_a_page_in_another_language_of_the_same_script_names_it(english):
    (warning,) = warnings_of(english, GERMAN)
    assert warning["code"] == "other_language"
    assert warning["message"] == "the page looks German: set ocr.languages to eng,deu"


def test_pages_in_the_languages_of_the_gateway_have_no_warning(english, tmp_path):
    assert warnings_of(english, ENGLISH) == []
    assert warnings_of(english, ["12,50", "Anna Sharp 4711-X", "BX-2304"]) == []
    german = Gateway(tmp_path / "data", "--ocr.languages", "deu,eng").start()
    try:
        assert warnings_of(german, GERMAN) == [] and warnings_of(german, ENGLISH) == []
    finally:
        german.close()


def test_the_command_marks_a_document_in_another_script(english, tmp_path):
    (tmp_path / "page.png").write_bytes(picture(RUSSIAN))
    done = millrace("ocr", tmp_path / "page.png", "-o", tmp_path / "out", "--url", english.url, "--key", english.client.key)
    assert done.returncode == 0, done.stderr
    assert "! " in done.stderr and "page 1: the page looks Cyrillic" in done.stderr and "✓" not in done.stderr
