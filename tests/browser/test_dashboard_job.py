"""The screen of one job: what it shows for each kind, what must not move, and the commands that repeat the job."""

import base64
import json
import os
import subprocess
import uuid

import pytest
from dashboard import broken_job, go, local_machine, own_gateway, paused, sign_in, violations
from documents import data_uri, scan_pdf, tiny_pdf
from millrace import Gateway
from recordings import as_mp3, clip, speech, submit
from sandboxed import create, skip_without_commands
from still import Still
from upstream import json_reply

SQUARE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")
WIDTHS = [1280, 360]


def scan(pages):
    """Pages that take a while to read: pictures of text."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 40)
    images = [Image.new("L", (1654, 2339), 255) for _ in range(pages)]
    for number, image in enumerate(images):
        for line in range(12):
            ImageDraw.Draw(image).text((150, 150 + 80 * line), f"Sheet {number + 1}, line {line + 1}: flour of the mill", font=font, fill=0)
    return scan_pdf(images)


def new_chat(site, **more):
    body = {"model": "mock/chat", "messages": "A list:\n\n- one\n- two", "deferred": True, **more}
    return site.client.post("/v1/chat/completions", body).json()["request_id"]


MADE = {
    "ocr": lambda site: site.client.submit_ocr(data_uri(scan(3))).json()["id"],
    "stt": lambda site: submit(site, clip(4), response_format="text"),
    "chat": new_chat,
}
SHOWN = {"ocr": (".document-page[data-page='2']", "flour"), "stt": (".transcript li", "0:0"), "chat": (".bubble.assistant", "one")}
PLACES = ["h1", ".status-bar", ".status-bar progress", ".main-column > .card", ".main-column h2"]


def places(width):
    """With one column, the other cards are below the result, out of view."""
    return PLACES + ([".side-column > .card", ".side-column .description-list > div", ".side-column .code"] if width > 1000 else [])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["ocr", "stt", "chat"])
def test_nothing_moves_while_a_job_waits_runs_and_ends(page, site, kind, width):
    page.look(width, dark=False)
    with paused(site, kind):
        job = MADE[kind](site)
        go(page, site, f"jobs/{job}")
        page.wait_for(".notice.warn", "paused")
        page.wait_for(".connection.is-live")
        still = Still(page, places(width), apart=".pages, .conversation, .transcript")
    if kind == "ocr":
        page.wait_for(".status-bar", "of 3 pages")
        page.eventually(lambda: page.run("return getComputedStyle(document.querySelector('.status-bar progress')).visibility") == "visible")
    page.wait_for("h1 .chip", "succeeded", within_s=120)
    page.wait_for(*SHOWN[kind])
    page.wait_for(".status-bar", "Done")
    still.check()


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_moves_when_a_job_fails_and_the_reason_is_shown(page, site, width):
    page.look(width, dark=False)
    with paused(site, "ocr"):
        job = site.client.submit_ocr(data_uri(b"%PDF-1.4\nnothing more")).json()["id"]
        go(page, site, f"jobs/{job}")
        page.wait_for(".notice.warn", "paused")
        page.wait_for(".connection.is-live")
        still = Still(page, places(width))
    page.wait_for("h1 .chip", "failed", within_s=60)
    page.wait_for(".main-column .notice.bad", "document_damaged")
    assert page.text(".status-bar p.problem"), "the reason is also shown at the top"
    page.wait_for(".header-bar button", "Retry")
    still.check()


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_moves_while_a_command_writes_and_ends(page, site, width):
    skip_without_commands(site)
    page.look(width, dark=False)
    gate = f"gate-{uuid.uuid4()}"
    wait = f"mkfifo {gate}; echo begun; read x < {gate}; seq 200; echo flour > $MILLRACE_ARTIFACTS/sacks.txt; exit 3"
    job = create(site.client, ["sh", "-c", wait], cwd="/workspace").json()["execution_id"]
    go(page, site, f"jobs/{job}")
    page.wait_for(".terminal", "begun", within_s=60)
    page.wait_for(".description-list code", "mkfifo")
    still = Still(page, [*places(width), ".terminal", ".main-column .description-list > div"], apart=".terminal")
    create(site.client, ["sh", "-c", f"echo on > {gate}"], cwd="/workspace")
    page.wait_for("h1 .chip", "failed", within_s=60)
    page.wait_for(".main-column .description-list", "exit 3")
    page.wait_for(".files button", "sacks.txt")
    still.check()
    assert "200" in page.text(".terminal")
    at_end = "const e = document.querySelector('.terminal'); return e.scrollHeight - e.scrollTop - e.clientHeight < 5"
    assert page.run(at_end), "the end of the output is visible"


def test_a_command_without_output_is_shown_as_such(page, site):
    skip_without_commands(site)
    gate = f"gate-{uuid.uuid4()}"
    job = create(site.client, ["sh", "-c", f"mkfifo {gate}; touch {gate}.there; read x < {gate}"], cwd="/workspace").json()["execution_id"]
    go(page, site, f"jobs/{job}")
    page.wait_for("h1 .chip", "running", within_s=60)
    page.wait_for(".terminal", "No output yet.")
    page.wait_for(".main-column .description-list code", "mkfifo")
    still = Still(page, [*places(1280), ".terminal", ".main-column .description-list > div"])
    create(site.client, ["sh", "-c", f"until [ -e {gate}.there ]; do :; done; echo on > {gate}"], cwd="/workspace")
    page.wait_for("h1 .chip", "succeeded", within_s=60)
    page.wait_for(".terminal", "No output.")
    page.wait_for(".main-column .description-list", "exit 0")
    still.check()


def test_a_failed_command_without_output_has_a_small_terminal(page, site):
    skip_without_commands(site)
    heights = {}
    for line in ("exit 3", "echo flour; exit 3"):
        job = create(site.client, ["sh", "-c", line]).json()["execution_id"]
        site.client.wait_terminal(job)
        go(page, site, f"jobs/{job}")
        page.wait_for(".terminal", "flour" if "flour" in line else "No output.")
        page.wait_for(".main-column .notice.bad", "command_failed")
        heights[line] = page.run("return document.querySelector('.terminal').offsetHeight")
    assert heights["exit 3"] < 60 < heights["echo flour; exit 3"], heights


@pytest.mark.parametrize("job", ["ocr-0192f0a1-7c1e-7000-8000-000000000005", "no id at all"])
def test_a_job_that_does_not_exist_is_reported_as_unknown(page, site, job):
    page.open(f"{site.url}/#/jobs/{job}")
    page.wait_for("h1", "No such job")
    page.wait_for(".heading", job)
    page.wait_for(".empty", "kept for a week")
    assert violations(page) == ""
    page.console()  # the browser reports each 404 on the console


def test_merging_the_parts_of_a_document_is_no_second_attempt(chromium):
    with own_gateway(chromium, env={"MILLRACE_OCR_RANGE_PAGES": "1"}) as gateway:
        job = gateway.client.submit_ocr(data_uri(tiny_pdf("One", "Two", "Three"))).json()["id"]
        assert gateway.client.wait_terminal(job)["attempt"] == 1
        go(chromium, gateway, f"jobs/{job}")
        chromium.wait_for(".timeline .chip", "succeeded")
        assert "attempt" not in chromium.text(".timeline")
        assert "Attempts\n1" in chromium.text(".side-column .description-list")


def test_an_attempt_that_repeats_another_is_shown_as_a_repetition(page):
    texts = page.run("""return import('/dashboard/job.js').then(({ eventText }) => {
      const running = (attempt) => ({ type: 'running', data: { attempt } });
      return [eventText(running(1), 0), eventText(running(2), 0), eventText(running(2), 1), eventText(running(3), 1)];
    })""")
    assert texts == ["", "attempt 2", "", "attempt 2"]


def test_pages_that_are_not_read_yet_have_a_placeholder(page, site):
    go(page, site, f"jobs/{MADE['ocr'](site)}")
    page.wait_for("h1 .chip", "succeeded", within_s=60)
    page.run("""return import('/dashboard/result_ocr.js').then(({ PageList }) => {
      window.list = new PageList(() => 'a');
      document.querySelector('#main').replaceChildren(list.element);
      list.setExpected([0, 1, 2]);
    })""")
    still = Still(page, [".document-page"])
    page.run("list.addPages([{ index: 2, markdown: 'The last came first', images: [] }])")
    page.wait_for(".toolbar", "1 of 3 pages")
    assert page.run("return [...document.querySelectorAll('.document-page')].map((e) => e.dataset.page)") == ["0", "1", "2"]
    page.run("list.addPages([{ index: 0, markdown: 'The first', images: [] }]); list.markEnded()")
    page.wait_for(".document-page[data-page='1']", "Not read")
    still.check()


def test_a_transcript_shows_times_whatever_response_format_the_job_has(page, site):
    job = submit(site, clip(4), response_format="text")
    assert site.client.wait_terminal(job, within_s=120)["status"] == "succeeded"
    path = f"/v1/jobs/{job}/result"
    requested = site.client.get(path)
    assert requested.headers["content-type"].startswith("text/plain")
    go(page, site, f"jobs/{job}")
    page.wait_for(".transcript li", "0:0")
    page.wait_for(".transcription .description-list", "0:03.3")
    page.click(".transcription button", "Download .srt")
    found = page.eventually(lambda: next(iter(page.folder.glob(f"{job}*.srt")), None))
    assert "-->" in found.read_text()
    assert site.client.get(path).body == requested.body


def test_a_long_recording_shows_what_has_been_transcribed_so_far(page, site):
    job = submit(site, as_mp3(speech(150)), response_format="json")
    go(page, site, f"jobs/{job}")
    page.wait_for(".status-bar", "parts", within_s=60)
    assert page.run("return document.querySelector('.status-bar progress').max") > 1
    page.wait_for(".transcript li", "0:0", within_s=120)
    assert not page.run("return document.querySelector('.transcription button').disabled"), "the text so far can be copied"
    first = page.text(".transcript li")
    page.wait_for("h1 .chip", "succeeded", within_s=240)
    page.wait_for(".transcription .description-list", "2:30")
    shown = page.run("return [...document.querySelectorAll('.transcript li')].map((e) => e.lastChild.textContent)")
    segments = site.client.get(f"/v1/jobs/{job}/result?format=verbose_json").json()["segments"]
    assert shown == [segment["text"].strip() for segment in segments]
    assert page.text(".transcript li") == first, "the first segment is unchanged"


def test_a_piece_that_could_not_be_fetched_is_requested_again_and_the_result_corrects_what_is_shown(page):
    page.run("""return Promise.all([import('/dashboard/result_stt.js'), import('/dashboard/api.js')]).then(([{ PartialTranscript, TranscriptView }]) => {
      const segment = (text) => ({ start: 0, end: 1, text: ` ${text}` });
      window.segments = ['one', 'two', 'three', 'four'].map(segment);
      window.requested = [];
      const real = window.fetch;  // the screen's other requests are passed on
      window.fetch = async (path, how) => {
        if (!path.includes('stt-1')) return real(path, how);
        requested.push(new URLSearchParams(path.split('?')[1]).get('pages'));
        if (requested.length === 1) return new Response('{}', { status: 503 });
        const [first, last] = (requested.at(-1) ?? `0-${segments.length - 1}`).split('-').map(Number);
        return new Response(JSON.stringify({ text: segments.map((each) => each.text.trim()).join(' '), language: 'english', duration: 4, segments: segments.slice(first, last + 1) }));
      };
      window.view = new TranscriptView(() => 'talk');
      window.partialTranscript = new PartialTranscript('stt-1', view, new AbortController().signal);
      document.querySelector('#main').replaceChildren(view.element);
    })""")
    transcript = "return [...document.querySelectorAll('.transcript li')].map((e) => e.lastChild.textContent)"
    page.run("partialTranscript.onEvent({ type: 'piece', data: { index: 0 } }); return partialTranscript.loading")
    assert page.run(transcript) == []
    page.run("partialTranscript.onEvent({ type: 'piece', data: { index: 1 } }); return partialTranscript.loading")
    assert page.run(transcript) == ["one", "two"]
    page.run("window.first = document.querySelector('.transcript li'); return partialTranscript.complete()")
    assert page.run(transcript) == ["one", "two", "three", "four"]
    assert page.run("return document.querySelector('.transcript li') === first"), "the first segment is kept"
    page.run("segments[1].text = 'too'; return partialTranscript.complete()")
    assert page.run(transcript) == ["one", "too", "three", "four"]
    assert page.run("return requested") == ["0-0", "0-1", None, None]


def test_a_transcript_without_times_is_reported_as_such(chromium, tmp_path, upstream):
    config = tmp_path / "millrace.yaml"
    config.write_text(f"models:\n- {{name: team/plain, model: gpt-4o-transcribe, provider: openai, base_url: '{upstream.url}/v1', api_key: env:THE_KEY}}\n")
    upstream.reply(json_reply({"text": "Good day.", "usage": {"type": "tokens", "total_tokens": 9}}))
    gateway = Gateway(tmp_path / "data", "--config", config, env={"THE_KEY": "k"}).start()
    try:
        job = submit(gateway, clip(4), model="team/plain")
        gateway.client.wait_terminal(job)
        chromium.look(1280, dark=False)
        sign_in(chromium, gateway)
        go(chromium, gateway, f"jobs/{job}")
        chromium.wait_for(".transcription", "returned no timestamps")
        chromium.wait_for(".transcription .plain-text", "Good day.")
    finally:
        chromium.open("about:blank")
        gateway.close()


def repeated(page, site, folder):
    """Runs the copied command that repeats the job in that folder; returns its output."""
    page.wait_for(".side-column .code", "$MILLRACE_API_KEY")
    command = page.run("return document.querySelector(\".side-column .code pre[aria-label='Run it again'] code\").textContent")
    env = {**os.environ, "MILLRACE_API_KEY": site.client.key}
    done = subprocess.run(["bash", "-c", command], env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=True)
    return command, json.loads(done.stdout)


def newest(site, kind, but):
    (job,) = [job for job in site.client.get(f"/v1/jobs?kind={kind}&limit=1").json()["items"] if job["id"] != but]
    return site.client.get(f"/v1/jobs/{job['id']}/request").json()


@pytest.mark.parametrize("name", ["it's a bill; $(no) .png", "-n.png", ""])
def test_the_command_that_repeats_a_picture_uses_its_name_and_its_type(page, site, tmp_path, name):
    job = site.client.submit_ocr(data_uri(SQUARE, "image/png"), **({"document_name": name} if name else {})).json()["id"]
    site.client.wait_terminal(job)
    (tmp_path / (name or "scan.png")).write_bytes(SQUARE)
    go(page, site, f"jobs/{job}")
    page.wait_for(".side-column p", name or "your file instead of scan.png")
    command, reply = repeated(page, site, tmp_path)
    assert "data:image/png;base64," in command and "pdf" not in command
    assert len(reply["pages"]) == 1
    again = newest(site, "ocr", job)
    assert again["file"] == {"media_type": "image/png", **({"name": name} if name else {})}


@pytest.mark.parametrize("name", ["\n/etc/passwd", "/etc/\x1b/passwd", "..\u2028\\passwd"])
@pytest.mark.parametrize(("kind", "body"), [
    ("ocr", {"path": "/v1/ocr", "content_type": "application/json", "body": {"document": {}}, "left_out": ["document.document_url"]}),
    ("stt", {"path": "/v1/audio/transcriptions", "content_type": "multipart/form-data", "body": {}, "left_out": ["file"]})])
def test_a_command_names_no_file_of_another_folder(page, name, kind, body):
    script = "return import('/dashboard/original_request.js').then(({ repeatCommand }) => repeatCommand(arguments[0]))"
    command = page.run(script, {**body, "kind": kind, "file": {"name": name}})
    assert "passwd" in command and not any(part in command for part in ("etc", "/passwd", "\\passwd", "..")), command


@pytest.mark.parametrize("name", ['the "talk"; one, two.mp3', "../talk.mp3", ""])
def test_the_command_that_repeats_a_recording_uses_its_name_and_its_type(page, site, tmp_path, name):
    job = submit(site, as_mp3(clip(4)), name=name.replace('"', "%22"), response_format="json", language="en")
    site.client.wait_terminal(job, within_s=120)
    kept = site.client.get(f"/v1/jobs/{job}/request").json()["file"]
    assert kept["media_type"] == "audio/mpeg"
    here = kept.get("name", "talk.mp3").split("/")[-1]
    (tmp_path / here).write_bytes(as_mp3(clip(4)))
    go(page, site, f"jobs/{job}")
    page.wait_for(".side-column p", here)
    command, reply = repeated(page, site, tmp_path)
    assert "audio/mpeg" in command and reply["language"] == "english"
    again = newest(site, "stt", job)
    assert again["file"]["media_type"] == "audio/mpeg" and again["body"]["language"] == "en"


@pytest.mark.parametrize("width", [3840, *WIDTHS])
def test_commands_are_shown_in_their_own_lines(page, site, width):
    page.look(width, dark=False)
    go(page, site, f"jobs/{broken_job(site.client)}")
    page.wait_for(".side-column .code", "/retry")
    lines = page.run("return [...document.querySelectorAll('.code code')].map((e) => [new Set([...e.getClientRects()].map((r) => r.top)).size, e.textContent.split('\\n').length])")
    assert len(lines) >= 4 and all(shown == written for shown, written in lines), lines
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    assert page.run("return [...document.querySelectorAll('.code')].every((e) => e.querySelector('pre').getBoundingClientRect().right <= e.querySelector('button').getBoundingClientRect().left)")


def test_a_cancelled_job_shows_that_in_place_of_its_result(page, site):
    with paused(site, "chat"):
        job = new_chat(site)
        site.client.post(f"/v1/jobs/{job}/cancel", {})
    go(page, site, f"jobs/{job}")
    page.wait_for(".main-column .notice", "Cancelled")
    page.wait_for(".status-bar", "Cancelled")
    page.wait_for(".header-bar button", "Retry")


def test_the_focus_of_a_button_that_disappears_moves_to_the_heading(page, site):
    with paused(site, "chat"):
        go(page, site, f"jobs/{new_chat(site)}")
        page.click(".header-bar button", "Cancel")
        page.wait_for(".header-bar button", "Retry")
        page.wait_for("h1 .chip", "cancelled")
        assert page.run("return document.activeElement.tagName") == "H1"


def test_screen_readers_announce_the_status_of_a_job_and_not_its_progress(page, site):
    with paused(site, "ocr"):
        go(page, site, f"jobs/{MADE['ocr'](site)}")
        page.wait_for(".status-bar p[role=status][aria-live=polite]", "paused")
    page.wait_for(".status-bar p[role=status][aria-live=off]", "of 3 pages", within_s=60)
    page.wait_for(".status-bar p[role=status][aria-live=polite]", "Done", within_s=60)


def test_a_chats_cost_and_tokens_are_shown_and_a_machine_is_one_click_away(page, site):
    job = new_chat(site)
    site.client.wait_terminal(job)
    go(page, site, f"jobs/{job}")
    page.wait_for(".side-column .description-list", "in, ")
    page.wait_for(".side-column .description-list", "Cost")
    skip_without_commands(site)
    command = create(site.client, ["true"]).json()["execution_id"]
    go(page, site, f"jobs/{command}")
    page.click(".main-column .description-list a", "dm-")
    page.wait_for("h1", local_machine(site)["name"])
