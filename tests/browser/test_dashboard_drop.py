"""The drop box: dropped files become text while the user watches."""

from pathlib import Path

import pytest
from dashboard import go, paused, violations
from documents import tiny_pdf
from millrace import eventually
from still import Still

SPEECH = Path("/usr/share/pocketsphinx/test/data/cards/001.wav")  # "ten of clubs"


def test_a_dropped_document_becomes_pages_that_can_be_read_and_downloaded(page, site, tmp_path):
    file = tmp_path / "invoice.pdf"
    file.write_bytes(tiny_pdf("Invoice number 4711 of the mill", "The second page names the total"))
    go(page, site, "drop")
    page.choose_file("#files", file)
    page.wait_for(".upload-item .chip", "succeeded", within_s=60)
    page.wait_for(".document-page", "Invoice number 4711")
    page.wait_for(".document-page", "The second page")
    page.wait_for(".document-page[data-page='0'] .picture img", within_s=60)
    page.wait_for(".document-page[data-page='1'] .picture img", within_s=60)
    page.click(".upload-item button", "Show the markdown")
    page.wait_for(".document-page pre.raw", "Invoice")
    page.click(".upload-item button", "Download .md")
    folder = page.folder
    text = eventually(lambda: next((f.read_text() for f in folder.glob("invoice*.md")), None), what="the download")
    assert "4711" in text and "second page" in text
    page.click(".upload-item a", "Open the job")
    page.wait_for("h1 .chip", "succeeded")
    page.wait_for(".document-page", "Invoice number 4711")
    page.wait_for(".document-page .picture img", within_s=60)
    page.eventually(lambda: page.run("return document.querySelector('.picture img')?.naturalHeight") == 1000)
    page.wait_for(".timeline li", "2 pages")
    page.wait_for(".code", "/result")


def test_a_dropped_recording_becomes_a_transcript_with_times(page, site):
    go(page, site, "drop")
    page.wait_for(".drop-zone", "recordings")
    page.choose_file("#files", SPEECH)
    page.wait_for(".upload-item .chip", "succeeded", within_s=120)
    assert "ten of" in page.text(".upload-item .transcript").lower()
    page.wait_for(".upload-item audio")
    assert violations(page) == ""
    page.click(".upload-item a", "Open the job")
    page.wait_for("h1", "Transcription")
    page.wait_for(".transcript li", "0:0")


def test_the_error_of_a_failed_document_is_shown_in_place_of_its_text(page, site, tmp_path):
    file = tmp_path / "broken.pdf"
    file.write_bytes(b"%PDF-1.4\nnothing more")
    go(page, site, "drop")
    for width in (1280, 360):
        page.look(width, dark=False)
        page.choose_file("#files", file)
        page.wait_for(".upload-item .notice.bad", "qpdf", within_s=60)
        sizes = page.run("const e = document.querySelector('.upload-item .pane'); return [e.children.length, e.clientHeight, e.firstChild.offsetHeight, e.scrollHeight]")
        assert sizes[0] == 1 and sizes[1] == sizes[2] == sizes[3] < 150, sizes
        page.choose_file("#files", file)
        page.eventually(lambda: page.run("return document.querySelectorAll('.upload-item .notice.bad').length") == 2, within_s=60)
        above, below = page.run("return [...document.querySelectorAll('.upload-item .pane')].map((e) => e.clientHeight - e.firstChild.offsetHeight)")
        assert (above, below) == (0, 0)
        page.click(".heading button", "Clear finished files")
        page.eventually(lambda: page.run("return document.querySelectorAll('.upload-item').length") == 0)


def test_a_file_of_an_unknown_type_is_refused_with_the_accepted_types(page, site, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("text")
    go(page, site, "drop")
    page.choose_file("#files", file)
    page.wait_for(".toast.bad", "neither a document")


def test_dropping_a_file_into_a_paused_queue_shows_that_it_is_paused(page, site, tmp_path):
    with paused(site, "ocr"):
        file = tmp_path / "later.pdf"
        file.write_bytes(tiny_pdf("Later"))
        go(page, site, "drop")
        page.choose_file("#files", file)
        page.wait_for(".upload-item .notice.warn", "paused")
        page.click(".upload-item a", "Open the job")
        page.wait_for(".notice.warn", "paused")
    page.wait_for("h1 .chip", "succeeded", within_s=60)
    page.wait_for(".document-page", "Later")
    page.eventually(lambda: not page.run("return document.querySelector('.notice.warn')"))


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_moves_while_files_wait_are_read_and_end(page, site, tmp_path, width):
    page.look(width, dark=False)
    page.cdp("Emulation.setDeviceMetricsOverride", width=width, height=2600, deviceScaleFactor=1, mobile=width < 500)
    good, bad, talk = tmp_path / "a-rather-long-name-of-a-document-that-was-scanned.pdf", tmp_path / "broken.pdf", tmp_path / "talk.wav"
    good.write_bytes(tiny_pdf("The first page", "The second page", "The third page"))
    bad.write_bytes(b"%PDF-1.4\nnothing more")
    talk.write_bytes(SPEECH.read_bytes())
    with paused(site, "ocr", "stt"):
        go(page, site, "drop")
        page.wait_for("summary", "The same from a script")
        before = Still(page, ["h1", ".drop-zone", ".heading button"])
        page.choose_file("#files", good, bad, talk)
        page.eventually(lambda: page.run("return document.querySelectorAll('.upload-item .notice.warn').length") == len((good, bad, talk)))
        assert before.now() == before.tops
        still = Still(page, ["h1", ".drop-zone", ".upload-item", ".upload-item .pane", ".upload-item progress", "summary"], apart=".pane")
    page.eventually(lambda: page.run("return [...document.querySelectorAll('.upload-item .chip')].map((e) => e.textContent).sort().join()")
                    == "failed,succeeded,succeeded", within_s=120)
    page.wait_for(".document-page", "The third page")
    page.wait_for(".transcript li", "0:0")
    page.wait_for(".upload-item .notice.bad", "qpdf")
    still.check()
    page.click(".heading button", "Clear finished files")
    page.eventually(lambda: page.run("return document.querySelectorAll('.upload-item').length") == 0)
