"""The pages of a document as one text: `millrace ocr --page-marks`, and running heads and feet."""

import io
import json

import pytest
from commands import cli
from documents import data_uri, tiny_pdf
from millrace import Gateway

PAGES = 4


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    ready = Gateway(tmp_path_factory.mktemp("marks") / "data").start()
    yield ready
    ready.close()


def report():
    """Four pages with a head, a foot that counts them, and a total of their own as the last line of the text."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen import canvas

    out = io.BytesIO()
    sheet = canvas.Canvas(out, pagesize=A4)
    for page in range(1, PAGES + 1):
        sheet.setFont("Helvetica", 9)
        sheet.drawString(72, 800, "Millwork Limited, annual report")
        sheet.drawString(72, 40, f"Printed in Leeds, page {page} of {PAGES}")
        sheet.setFont("Helvetica", 11)
        for line in range(12):
            sheet.drawString(72, 720 - 15 * line, f"Sentence {line} of chapter {chr(64 + page)} says what the mill did in that year.")
        sheet.showPage()
    sheet.save()
    return out.getvalue()


@pytest.fixture
def document(tmp_path):
    (tmp_path / "report.pdf").write_bytes(report())
    return tmp_path / "report.pdf"


def test_each_page_but_the_first_has_a_mark(gateway, document):
    done = cli(gateway, "ocr", document, "--page-marks")
    assert done.returncode == 0, done.stderr
    parts = done.stdout.split("<!-- page ")
    assert [part.split(" -->")[0] for part in parts[1:]] == ["2", "3", "4"]
    for number, part in enumerate(parts):
        assert f"chapter {chr(65 + number)} says" in part and part.count("Sentence 0") == 1, part
    assert "<!--" not in cli(gateway, "ocr", document).stdout


def test_running_heads_and_feet_are_in_the_pages_of_the_api_alone(gateway, document):
    text = cli(gateway, "ocr", document).stdout
    assert "annual report" not in text and "Leeds" not in text and text.count("Sentence 11") == PAGES
    reply = gateway.client.post("/v1/ocr", {"document": {"document_url": data_uri(document.read_bytes())}})
    for number, page in enumerate(reply.json()["pages"]):
        assert "annual report" in page["markdown"] and f"page {number + 1} of {PAGES}" in page["markdown"], page["markdown"]


def test_marks_count_the_pages_of_the_document(gateway, tmp_path):
    (tmp_path / "a.pdf").write_bytes(tiny_pdf("one is here", "", "three is here", "four is here"))
    row = cli(gateway, "ocr", tmp_path / "a.pdf", "--page-marks", "--pages", "1-3", "--json")
    assert json.loads(row.stdout)["markdown"] == "<!-- page 2 -->\n\n<!-- page 3 -->\n\nthree is here\n\n<!-- page 4 -->\n\nfour is here\n"


def jobs(gateway):
    return [row["id"] for row in gateway.client.get("/v1/jobs?limit=200").json()["items"]]


def resume_entry(out):
    (row,) = json.loads((out / ".millrace-ocr.json").read_text())["inputs"].values()
    return row["forms"][".md"]


def of_earlier_version(out):
    """The folder as a version left it that kept running lines and knew no layout."""
    file = out / ".millrace-ocr.json"
    content = json.loads(file.read_text())
    (row,) = content["inputs"].values()
    assert row["forms"][".md"].pop("layout_version") > 0
    row["forms"][".md"].pop("layout", None)
    file.write_text(json.dumps(content))
    (out / "report.md").write_text("of an earlier version")


@pytest.fixture
def folder(gateway, document):
    out = document.parent / "out"
    assert cli(gateway, "ocr", document, "-o", out).returncode == 0
    return out


def test_a_run_with_marks_writes_a_folder_again_without_a_job(gateway, document, folder):
    before = jobs(gateway)
    assert "<!--" not in (folder / "report.md").read_text()
    done = cli(gateway, "ocr", document, "-o", folder, "--page-marks")
    assert done.returncode == 0 and "<!-- page 4 -->" in (folder / "report.md").read_text(), done.stderr
    assert jobs(gateway) == before


def test_a_run_with_marks_reads_a_folder_again_if_the_result_is_gone(gateway, document, folder):
    assert gateway.client.request("DELETE", f"/v1/jobs/{resume_entry(folder)['job']}").status < 300
    done = cli(gateway, "ocr", document, "-o", folder, "--page-marks")
    assert done.returncode == 0 and "<!-- page 4 -->" in (folder / "report.md").read_text(), done.stderr


def test_an_output_that_cannot_be_written_again_is_not_read_again(gateway, document, folder):
    before = jobs(gateway)
    (folder / "report.md").rename(folder / "kept")
    (folder / "report.md").mkdir()
    assert cli(gateway, "ocr", document, "-o", folder, "--page-marks").returncode == 1
    (folder / "report.md").rmdir()
    (folder / "kept").rename(folder / "report.md")
    assert cli(gateway, "ocr", document, "-o", folder, "--page-marks").returncode == 0
    assert "<!-- page 4 -->" in (folder / "report.md").read_text() and jobs(gateway) == before


@pytest.mark.parametrize("has_result", [True, False])
def test_what_an_earlier_version_has_read_is_not_submitted_again(gateway, document, folder, has_result):
    text = (folder / "report.md").read_text()
    of_earlier_version(folder)
    if not has_result:
        assert gateway.client.request("DELETE", f"/v1/jobs/{resume_entry(folder)['job']}").status < 300
    before = jobs(gateway)
    for _ in range(2):
        done = cli(gateway, "ocr", document, "-o", folder)
        assert done.returncode == 0, done.stderr
        assert (folder / "report.md").read_text() == (text if has_result else "of an earlier version")
    assert jobs(gateway) == before
