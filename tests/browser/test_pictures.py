"""The pictures of the README: the dashboard of a busy gateway, and the command line in a terminal. They are written to the
screenshots of the build; `scripts/pictures` copies them to docs/pictures."""

import html
import os
import re
from pathlib import Path

from dashboard import sign_in
from documents import data_uri, tiny_pdf
from millrace import BUILD
from terminal import Terminal

PICTURES = Path(BUILD).parent / "screenshots" / "pictures"
BYTES_MOST = 200 * 1024
COLUMNS = 128
LINE_LEAST = 10
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>terminal</title><style>
body {{ margin: 0; padding: 28px; background: #0d161c; }}
.window {{ border-radius: 12px; overflow: hidden; box-shadow: 0 8px 40px rgb(0 0 0 / 60%); background: #070e12; border: 1px solid #263740; }}
.bar {{ display: flex; gap: 8px; padding: 11px 14px; background: #121e25; }}
.bar i {{ width: 12px; height: 12px; border-radius: 50%; background: #3b4f5a; }}
pre {{ margin: 0; padding: 18px 20px 22px; font: 14px/1.55 ui-monospace, "DejaVu Sans Mono", monospace; color: #d5e4ec; white-space: pre-wrap; }}
b {{ color: #63cbea; font-weight: 600; }}
</style><div class="window"><div class="bar"><i></i><i></i><i></i></div><pre>{text}</pre></div></html>"""


def letter(number):
    return tiny_pdf(f"Delivery note {number}", f"{number % 40 + 3} sacks of flour, stone-ground", "Signed by the miller")


def some_jobs(client, count):
    """Submits jobs of several kinds; most of them succeed."""
    made = []
    for number in range(count):
        document = letter(number) if number % 9 else b"%PDF-1.4\nnothing more"
        made.append(client.submit_ocr(data_uri(document)).json()["id"])
        chat = {"model": "mock/chat", "messages": f"Which stone grinds sack {number}?", "deferred": True}
        made.append(client.post("/v1/chat/completions", chat).json()["request_id"])
    return made


def backlog(client, count):
    for number in range(count):
        client.submit_ocr(data_uri(letter(number)))


def line_length(chromium):
    """The number of values in the chart of completed jobs."""
    return chromium.run("return document.querySelector('.throughput-chart polyline')?.points.length ?? 0")


def small(picture):
    assert picture.stat().st_size <= BYTES_MOST, f"{picture} has {picture.stat().st_size} bytes"


def test_the_dashboard_of_a_gateway_at_work(chromium, site):
    for job in some_jobs(site.client, 40):
        site.client.wait_terminal(job)
    chromium.look(1280, dark=False)
    sign_in(chromium, site)
    backlog(site.client, 300)
    for dark in (False, True):
        chromium.look(1280, dark)
        chromium.open(f"{site.url}/#/overview")
        chromium.wait_for(".connection.is-live", "live")
        chromium.wait_for("section[aria-label='OCR'] svg rect")
        chromium.eventually(lambda: line_length(chromium) >= LINE_LEAST, within_s=60, what="the chart has enough values")
        picture = PICTURES / f"dashboard-{'dark' if dark else 'light'}.png"
        chromium.screenshot(picture)
        small(picture)
    assert site.client.post("/v1/admin/jobs/cancel", {"filter": {"kind": "ocr"}}).status == 200, "the next test needs an idle gateway"


def overwrite(lines, row, column, text):
    line = lines[row].ljust(column)
    lines[row] = line[:column] + text + line[column + len(text) :]
    return column + len(text)


def last_lines(shown):
    """The final text of a terminal: progress lines are overwritten, and colours are removed."""
    lines, row, column = [""], 0, 0
    for escape, letter_, mark, text in re.findall(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)", shown):
        if text:
            column = overwrite(lines, row, column, text)
        elif mark == "\r":
            column = 0
        elif mark == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif letter_ == "A":
            row = max(0, row - int(escape or 1))
        elif letter_ == "K":
            lines[row] = "" if escape == "2" else lines[row][:column]
        elif letter_ == "J":
            lines[row:] = [lines[row][:column]]
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def session(folder, env, *commands):
    text = ""
    for command in commands:
        terminal = Terminal(["/bin/sh", "-c", f"cd {folder}; stty cols {COLUMNS}; exec {command}"], env)
        try:
            shown, code = terminal.end()
        finally:
            terminal.close()
        assert code == 0, shown
        text += f"<b>$ {html.escape(command)}</b>\n{html.escape(last_lines(shown))}\n\n"
    return text.rstrip()


def test_the_command_line_at_work(chromium, site, tmp_path):
    work = tmp_path / "work"
    (work / "scans").mkdir(parents=True)
    for number in range(12):
        (work / "scans" / f"note-{number:02}.pdf").write_bytes(letter(number))
    env = {**os.environ, "MILLRACE_URL": site.url, "MILLRACE_API_KEY": site.client.key, "TERM": "xterm-256color",
           "PATH": f"{BUILD}:{os.environ['PATH']}"}
    text = session(work, env, "millrace ocr scans/ -o text", "head -n 5 text/note-03.md",
                   "millrace chat -m mock/chat 'Why is the mill race fast?'", "millrace jobs ls --limit 4")
    page = tmp_path / "terminal.html"
    page.write_text(PAGE.format(text=text))
    chromium.look(1200, dark=True)
    chromium.open(page.as_uri())
    height = chromium.run("return document.documentElement.offsetHeight")
    chromium.cdp("Emulation.setDeviceMetricsOverride", width=1200, height=min(int(height), 1000), deviceScaleFactor=1, mobile=False)
    picture = PICTURES / "command-line.png"
    chromium.screenshot(picture)
    small(picture)
