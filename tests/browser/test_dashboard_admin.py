"""The screens of administrators: overview, workers, dead letters, keys."""

from dashboard import broken_job, go, sign_in
from documents import data_uri, tiny_pdf
from millrace import Client, Gateway, eventually
from sandboxed import reachable_folder


def test_a_key_is_shown_once_works_and_is_revoked(page, site):
    go(page, site, "keys")
    page.click("summary", "New key")
    page.type("input[name=name]", "from-the-browser")
    page.click("form button", "Make the key")
    page.wait_for("dialog", "never again")
    key = page.text("dialog code")
    page.click("dialog button", "I have it")
    assert Client(site.url, key).get("/v1/models").status == 200
    page.click("button[aria-label='Revoke from-the-browser']")
    page.click("dialog button", "Revoke it")
    page.wait_for("tr", "revoked")
    eventually(lambda: Client(site.url, key).get("/v1/models").status == 401, what="the end of the key")


def test_the_overview_counts_what_ended_and_leads_to_it(page, site):
    broken_job(site.client)
    go(page, site, "overview")
    page.wait_for(".figure.bad", "of the last hour")
    page.wait_for("section[aria-label='OCR'] svg")
    page.click("section[aria-label='OCR'] a", "See what failed")
    page.wait_for("table.jobs .chip", "failed")


def test_the_overview_draws_how_fast_jobs_end_from_now_on(page, site):
    broken_job(site.client)
    go(page, site, "overview")
    page.wait_for(".pulse", "Jobs that end a second")
    broken_job(site.client)
    words = "return document.querySelector('.pulse svg').getAttribute('aria-label')"
    page.eventually(lambda: float(page.run(words).rsplit(" ", 1)[1]) > 0, what="a second in which a job ended")
    page.wait_for(".pulse polyline")


def test_the_overview_lives_by_the_stream_and_asks_for_nothing(page, site):
    go(page, site, "overview")
    page.wait_for(".link.is-live", "live")
    before = page.text(".figure.bad")
    page.requests()
    broken_job(site.client)
    page.eventually(lambda: page.text(".figure.bad") != before, what="another figure")
    assert [url for url in page.requests() if url.startswith(f"{site.url}/v1")] == []


def test_the_screens_ask_now_and_then_once_the_stream_has_ended(chromium, site):
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data", "--drain.timeout", "1s", env={"MILLRACE_MOCK": "true"})
        try:
            gateway.start()
            chromium.look(1280, dark=False)
            sign_in(chromium, gateway)
            go(chromium, gateway, "overview")
            chromium.wait_for(".link.is-live", "live")
            gateway.close()
            chromium.wait_for(".link:not(.is-live)", "every few seconds")
        finally:
            gateway.close()
            chromium.open("about:blank")
            chromium.console()


def test_workers_say_what_they_have_free(page, site):
    go(page, site, "workers")
    page.wait_for("table.cards tr", "live")
    page.wait_for("meter")


def test_a_queue_is_paused_takes_jobs_in_and_is_resumed(page, site):
    go(page, site, "workers")
    page.click("[data-act='queue ocr']", "Pause")
    page.wait_for("table.cards tr .chip", "paused")
    job = site.client.submit_ocr(data_uri(tiny_pdf("Later"))).json()["id"]
    page.wait_for("[data-act='queue ocr']", "Resume")
    assert site.client.get(f"/v1/jobs/{job}").json()["status"] == "queued"
    page.click("[data-act='queue ocr']", "Resume")
    page.wait_for("[data-act='queue ocr']", "Pause")
    assert site.client.wait_terminal(job)["status"] == "succeeded"


def test_a_worker_is_drained_after_a_question(chromium):
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data")
        try:
            gateway.start()
            chromium.look(1280, dark=False)
            sign_in(chromium, gateway)
            go(chromium, gateway, "workers")
            chromium.click("[data-act^='worker ']", "Drain")
            chromium.click("dialog button", "Drain it")
            chromium.wait_for("table.cards .chip", "drained", within_s=30)
            assert chromium.console() == []
        finally:
            gateway.close()
            chromium.open("about:blank")
            chromium.console()


def test_dead_letters_are_grouped_by_reason_inspected_and_retried_together(page, site):
    failed = broken_job(site.client)
    go(page, site, "dead")
    page.wait_for("section[aria-label='OCR: document_damaged']", "qpdf")
    page.click("section[aria-label='OCR: document_damaged'] a", "Inspect")
    page.wait_for(f"tr[data-id='{failed}']")
    go(page, site, "dead")
    page.click("section[aria-label='OCR: document_damaged'] button", "Retry")
    page.click("dialog button", "Retry them")
    page.wait_for(".toast", "made")
    assert failed in {job.get("retry_of") for job in site.client.get("/v1/jobs?kind=ocr&limit=200").json()["items"]}
