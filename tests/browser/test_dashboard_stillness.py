"""Nothing on a screen moves while its content changes; measured in a wide and in a narrow window."""

import itertools

import bad_documents
import pytest
from dashboard import broken_job, go, paused
from documents import data_uri, scan_pdf, tiny_pdf
from millrace import Client, eventually
from PIL import Image, ImageDraw
from sandboxed import skip_without_commands
from stillness import Stillness

DOCUMENTS = 12
SCANS = 5


@pytest.fixture(params=[1280, 360])
def look(page, request):
    page.look(request.param, dark=False)
    return page


def changes(page, css, within_s=30):
    """Returns a function that waits until the text of `css` has changed."""
    before = page.text(css)
    return lambda: page.eventually(lambda: page.text(css) != before, within_s, f"the text of {css} changes from {before!r}")


def scan(number):
    """A page that takes a while to read."""
    image = Image.new("L", (1240, 1754), 255)
    for line in range(40):
        ImageDraw.Draw(image).text((100, 60 + 40 * line), f"Line {line} of document {number} waits until a slot is free")
    return scan_pdf([image])


def fail_with(client, document):
    job = client.submit_ocr(data_uri(document)).json()["id"]
    assert client.wait_terminal(job)["status"] == "failed"


def dead(site, code):
    return next(group["jobs"] for group in site.client.get("/v1/admin/dead").json()["items"] if group["code"] == code)


def test_the_overview_stays_where_it_is(look, site):
    broken_job(site.client)
    go(look, site, "overview")
    look.wait_for(".connection.is-live", "live")
    look.wait_for("section[aria-label='OCR'] a", "Show failed jobs")
    still = Stillness(look)
    other, failed = changes(look, ".stat"), changes(look, ".stat.bad")
    with paused(site, "ocr"):
        jobs = [site.client.submit_ocr(data_uri(tiny_pdf(f"Sack {number}"))).json()["id"] for number in range(DOCUMENTS)]
        other()
    for job in jobs:
        site.client.wait_terminal(job)
    broken_job(site.client)
    failed()
    still.holds()


def test_an_element_with_the_focus_keeps_it_and_is_updated(page, site):
    broken_job(site.client)
    go(page, site, "overview")
    page.wait_for(".connection.is-live", "live")
    page.wait_for("section[aria-label='OCR'] a", "Show failed jobs")
    page.run("window.held = document.querySelector(\"section[aria-label='OCR'] header a\"); held.focus()")
    other = changes(page, ".stat.bad")
    broken_job(site.client)
    other()
    assert page.run("return document.activeElement === held")


def test_an_element_with_the_focus_keeps_it_when_what_is_above_disappears(page, site):
    broken_job(site.client)
    fail_with(site.client, bad_documents.encrypted())
    go(page, site, "dead")
    page.eventually(lambda: page.run("return document.querySelectorAll('.dead-letter-group').length") > 1)
    page.run("""
      window.held = document.querySelector('.dead-letter-group:nth-child(2) a');
      held.focus();
      const ask = window.fetch;
      window.fetch = async (path, how) => path !== '/v1/admin/dead' ? ask(path, how)
        : new Response(JSON.stringify({ items: (await (await ask(path, how)).json()).items.filter((g) => `${g.kind} ${g.code}` === held.closest('section').dataset.key) }));
    """)
    broken_job(site.client)
    page.eventually(lambda: page.run("return document.querySelectorAll('.dead-letter-group').length") == 1)
    assert page.run("return document.activeElement === held")


def test_elements_whose_order_stays_are_not_moved(page):
    page.run("""return Promise.all([import('/dashboard/update_in_place.js'), import('/dashboard/dom.js')]).then(([{ updateInPlace }, { h }]) => {
      const list = (keys) => [...keys].map((key) => h('p', { data: { key } }, key));
      window.turn = (from, to) => {
        const container = h('div', {});
        updateInPlace(container, list(from));
        const before = new Map([...container.children].map((e) => [e.dataset.key, e]));
        const observer = new MutationObserver(() => {});
        observer.observe(container, { childList: true });
        updateInPlace(container, list(to));
        const touched = observer.takeRecords().flatMap(({ addedNodes, removedNodes }) => [...addedNodes, ...removedNodes]);
        return { shown: container.textContent, same: [...container.children].every((e) => (before.get(e.dataset.key) ?? e) === e), touched: [...new Set(touched.map((e) => e.textContent))].join('') };
      };
    })""")
    for before, after, touched in [("abc", "bc", "a"), ("abc", "ac", "b"), ("abcd", "xbd", "acx"), ("abc", "bca", "a"), ("abc", "cab", "c"), ("abc", "axbc", "x"), ("", "ab", "ab")]:
        assert page.run("return turn(arguments[0], arguments[1])", before, after) == {"shown": after, "same": True, "touched": touched}, (before, after)
    for after in map("".join, itertools.permutations("abcd")):
        turned = page.run("return turn('abcd', arguments[0])", after)
        assert turned["shown"] == after and turned["same"], after


def test_a_button_acts_once_and_then_has_the_state_that_its_screen_sets(page):
    page.run("""return Promise.all(['update_in_place', 'dom', 'toast'].map((name) => import(`/dashboard/${name}.js`))).then(([{ updateInPlace }, { button }, { runAction }]) => {
      const container = document.querySelector('#main');
      const sleep = (disabled) => button('Sleep', (event) => runAction(event.currentTarget, async () => {
        acts += 1;
        updateInPlace(container, sleep(true));
        await new Promise((done) => (window.end = done));
      }), { disabled });
      window.acts = 0;
      updateInPlace(container, sleep(false));
    })""")
    press = "const b = document.querySelector('#main button'); b.click(); b.dispatchEvent(new MouseEvent('click'))"
    state = "const b = document.querySelector('#main button'); return [acts, b.disabled, b.ariaBusy, b.ariaDisabled]"
    page.run(press)
    assert page.run(state) == [1, True, "true", "true"]
    page.run_async("end(); setTimeout(arguments[0])")
    assert page.run(state) == [1, True, None, None]


def test_a_move_without_a_change_of_the_screen_is_detected_too(page, site):
    go(page, site, "models")
    page.wait_for("table.fixed-columns td")
    still = Stillness(page)
    page.run("document.querySelector('#main h1').title = 'a change'")
    page.eventually(lambda: page.run("return stillness.looks()") > 0)
    still.holds()
    page.run("document.getElementById('main').parentElement.style.paddingTop = '90px'")
    with pytest.raises(AssertionError, match="H1"):
        still.holds()


def test_the_last_bar_is_the_minute_that_is_not_over(page, site):
    go(page, site, "overview")
    bar = "section[aria-label='OCR'] svg rect"

    def lighter():
        broken_job(site.client)
        return page.run("return document.querySelector(arguments[0])?.textContent", f"{bar}.bad.unfinished")

    assert page.eventually(lighter).endswith("the current minute")
    assert page.run("return document.querySelectorAll(arguments[0]).length", f"{bar}.current-bar") == 1
    assert page.text("section[aria-label='OCR'] .axis-labels").endswith("this minute")


def test_queues_workers_and_their_leases_stay_where_they_are(look, site):
    go(look, site, "workers")
    look.click(".leases summary", "lease")
    look.wait_for(".leases li.is-empty")
    still = Stillness(look)
    waiting = changes(look, "table.fixed-columns td.number")
    with paused(site, "ocr"):
        jobs = [site.client.submit_ocr(data_uri(scan(number))).json()["id"] for number in range(SCANS)]
        waiting()
    look.wait_for(".leases li a[href^='#/jobs/ocr-']", within_s=60)
    look.wait_for(".leases li", "left")
    for job in jobs:
        assert site.client.wait_terminal(job)["status"] == "succeeded"
    look.wait_for(".leases summary", "No leases")
    assert look.run("return document.querySelector('.leases').open")
    still.holds()


def test_machines_stay_where_they_are(look, site, request):
    skip_without_commands(site)
    name = f"still-{look.run('return innerWidth')}"
    path = f"/v1/machines/{site.client.post('/v1/machines', {'name': name}, headers={'Idempotency-Key': name}).json()['machine_id']}"
    request.addfinalizer(lambda: site.client.request("DELETE", path, headers={"Idempotency-Key": f"{name}-gone"}))
    eventually(lambda: site.client.get(path).json()["phase"] == "running", 60, "the machine runs")
    go(look, site, "machines")
    look.wait_for(f"section[aria-label='{name}'] .chip", "running")
    still = Stillness(look)
    for verb, phase in [("sleep", "sleeping"), ("wake", "running")]:
        site.client.post(f"{path}/{verb}", {}, headers={"Idempotency-Key": f"{name}-{verb}"})
        look.wait_for(f"section[aria-label='{name}'] .chip", phase, within_s=60)
    still.holds()


def test_dead_letters_stay_where_they_are(look, site):
    broken_job(site.client)
    go(look, site, "dead")
    look.wait_for("section.dead-letter-group button", "Retry")
    still = Stillness(look)
    other = changes(look, "section.dead-letter-group header")
    broken_job(site.client)
    other()
    fail_with(site.client, bad_documents.encrypted())
    look.wait_for("section[aria-label='OCR: document_encrypted']")
    most = dead(site, "document_damaged") + 1  # the other group would be first now
    for _ in range(most - dead(site, "document_encrypted")):
        fail_with(site.client, bad_documents.encrypted())
    look.wait_for("section[aria-label='OCR: document_encrypted'] header", f"{most} jobs")
    still.holds()


def test_keys_stay_where_they_are(look, site):
    made = [site.client.post("/v1/admin/keys", {"name": f"still-{number}", "scopes": ["models"]}).json() for number in range(3)]
    go(look, site, "keys")
    row = f"tr[data-key='{made[1]['id']}']"
    look.wait_for(row, "live")
    still = Stillness(look)
    used = changes(look, row)
    assert Client(site.url, made[1]["key"]).get("/v1/models").status == 200
    used()
    site.client.request("DELETE", f"/v1/admin/keys/{made[1]['id']}")
    look.wait_for(row, "revoked")
    still.holds()


def test_models_stay_where_they_are(look, site):
    model, path, body = {
        1280: ("mock/chat", "chat/completions", {"messages": "How long?"}),
        360: ("mock/embedding", "embeddings", {"input": "How long?"}),
    }[look.run("return innerWidth")]
    go(look, site, "models")
    look.wait_for(f"tr[data-key='{model}']", "–")
    still = Stillness(look)
    latency = changes(look, f"tr[data-key='{model}'] [data-label=Latency]")
    assert site.client.post(f"/v1/{path}", {"model": model, **body}).status == 200
    latency()
    still.holds()
