"""The administrators' screens: overview, workers, dead letters, keys."""

import urllib.parse

from dashboard import SCREENSHOTS, broken_job, go, own_gateway, sign_in, violations
from documents import data_uri, tiny_pdf
from millrace import Client, Gateway, eventually
from sandboxed import reachable_folder


def test_a_key_is_shown_once_works_and_is_revoked(page, site):
    go(page, site, "keys")
    page.click("summary", "New key")
    page.type("input[name=name]", "from-the-browser")
    page.click("form button", "Create key")
    page.wait_for("dialog", "only once")
    key = page.text("dialog code")
    page.click("dialog button", "Done")
    assert Client(site.url, key).get("/v1/models").status == 200
    page.click("button[aria-label='Revoke from-the-browser']")
    page.click("dialog button", "Revoke it")
    page.wait_for("tr", "revoked")
    eventually(lambda: Client(site.url, key).get("/v1/models").status == 401, what="the key is revoked")


def test_a_key_is_limited_to_models_and_addresses_and_freed_again(page, site):
    made = site.client.post("/v1/admin/keys", {"name": "limited-here", "scopes": ["models"]}).json()
    go(page, site, "keys")
    page.wait_for("tr", "limited-here")
    page.click("button[aria-label='Change limited-here']")
    page.type("dialog input[name=models]", "mock/chat, openai/*")
    page.type("dialog input[name=ip_ranges]", "10.0.0.0/8")
    page.click("dialog button", "Change it")
    page.wait_for("tr", "openai/*")
    assert Client(site.url, made["key"]).get("/v1/models").status == 403
    page.click("button[aria-label='Change limited-here']")
    page.run("document.querySelector('dialog input[name=ip_ranges]').value = ''")
    page.click("dialog button", "Change it")
    eventually(lambda: Client(site.url, made["key"]).get("/v1/models").status == 200, what="the key is free again")


def test_the_overview_counts_what_ended_and_leads_to_it(page, site):
    broken_job(site.client)
    go(page, site, "overview")
    page.wait_for(".stat.bad", "of the last hour")
    page.wait_for("section[aria-label='OCR'] svg")
    page.click("section[aria-label='OCR'] a", "Show failed jobs")
    page.wait_for("table.jobs .chip", "failed")


def test_the_overview_draws_how_fast_jobs_end_from_now_on(page, site):
    broken_job(site.client)
    go(page, site, "overview")
    page.wait_for(".throughput-chart", "Completed per second")
    broken_job(site.client)
    label = "return document.querySelector('.throughput-chart svg').getAttribute('aria-label')"
    page.eventually(lambda: float(page.run(label).rsplit(" ", 1)[1]) > 0, what="a second in which a job ended")
    page.wait_for(".throughput-chart polyline")


def test_the_overview_is_updated_by_the_stream_without_polling(page, site):
    go(page, site, "overview")
    page.wait_for(".connection.is-live", "live")
    before = page.text(".stat.bad")
    page.requests()
    broken_job(site.client)
    page.eventually(lambda: page.text(".stat.bad") != before, what="another figure")
    assert [url for url in page.requests() if url.startswith(f"{site.url}/v1")] == []


def test_a_screen_shows_that_its_gateway_is_unreachable_and_recovers_with_it(chromium):
    with own_gateway(chromium) as gateway:
        where = urllib.parse.urlsplit(gateway.url).netloc
        for screen in ("overview", "jobs", "dead"):
            go(chromium, gateway, screen)
            chromium.wait_for(".connection.is-live", "live")
            gateway.close()
            chromium.wait_for(".connection.is-lost", "connection lost")
            gateway.command[gateway.command.index("--listen") + 1] = where
            gateway.start()
            chromium.wait_for(".connection.is-live", "live", within_s=40)


def test_workers_show_their_free_slots(page, site):
    go(page, site, "workers")
    page.wait_for("table.cards tr", "live")
    page.wait_for("meter")


# A possible response with the leases of a worker: one lease ends soon, one has ended.
LEASES = """
const real = window.fetch;
window.fetch = async (path, ...rest) => {
  const answer = await real(path, ...rest);
  if (path !== '/v1/admin/workers') return answer;
  const body = await answer.json();
  const now = Date.now();
  const lease = (job, left) => ({ job, kind: 'ocr', tenant: 'acme', attempt: 2, part: 0, over: left < 0, since: new Date(now - 61000).toISOString(),
    expires_in_seconds: left, expires_at: new Date(now + left * 1000).toISOString() });
  window.ends ??= now + 2500;
  Object.assign(body.items[0], { leases_held: 2, leases: [lease('ocr-0192f0a1-7c1e-7000-8000-000000000001', (window.ends - now) / 1000), lease('ocr-0192f0a1-7c1e-7000-8000-000000000002', -3)] });
  return new Response(JSON.stringify(body), { status: 200, headers: { 'Content-Type': 'application/json' } });
};
"""


def test_a_lease_is_counted_down_and_marked_once_it_is_over(page, site):
    go(page, site, "overview")
    page.run(LEASES)
    page.click("#nav a", "Workers")
    page.click(".leases summary", "2 leases")
    page.wait_for(".leases summary .chip", "1 expired")
    page.wait_for(".leases li", "attempt 2")
    page.wait_for(".leases li", "part 1")
    page.wait_for(".leases li", "for 1 min")
    page.wait_for(".leases li:nth-child(2) .is-expired", "expired 3 s ago")
    page.wait_for(".leases li:nth-child(1) .is-expired", "expired")
    page.wait_for(".leases summary .chip", "2 expired")
    page.wait_for(".leases a[href='#/jobs/ocr-0192f0a1-7c1e-7000-8000-000000000001']")
    for width in (1280, 360):
        page.look(width, dark=False)
        page.screenshot(SCREENSHOTS / f"workers-leases-{width}-light.png")
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        assert violations(page) == ""


def test_models_show_their_abilities_as_text(page, site):
    go(page, site, "models")
    for model, abilities in [("mock/chat", "chat"), ("mock/embedding", "embeddings"), ("mock/image", "images"), ("millrace/ocr", "OCR"),
                         ("millrace/sphinx-en", "transcription"), ("millrace/flite", "speech")]:
        page.wait_for(f"tr[data-key='{model}'] .tags", abilities)


def test_the_health_card_explains_its_components(page, site):
    go(page, site, "overview")
    page.wait_for(".health dd", "The database that stores all jobs.")
    page.wait_for(".health dd", "How idle workers are notified of new jobs")


def test_a_queue_is_paused_accepts_jobs_and_is_resumed(page, site):
    go(page, site, "workers")
    page.click("[data-action='queue ocr']", "Pause")
    page.wait_for("table.cards tr .chip", "paused")
    job = site.client.submit_ocr(data_uri(tiny_pdf("Later"))).json()["id"]
    page.wait_for("[data-action='queue ocr']", "Resume")
    assert site.client.get(f"/v1/jobs/{job}").json()["status"] == "queued"
    page.click("[data-action='queue ocr']", "Resume")
    page.wait_for("[data-action='queue ocr']", "Pause")
    assert site.client.wait_terminal(job)["status"] == "succeeded"


def test_a_worker_is_drained_after_a_confirmation(chromium):
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data")
        try:
            gateway.start()
            chromium.look(1280, dark=False)
            sign_in(chromium, gateway)
            go(chromium, gateway, "workers")
            chromium.click("[data-action^='worker ']", "Drain")
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
    page.wait_for(".toast", "created")
    assert failed in {job.get("retry_of") for job in site.client.get("/v1/jobs?kind=ocr&limit=200").json()["items"]}


# A possible response with one more group: the jobs of a worker that was lost.
LOST = """
const real = window.fetch;
window.fetch = async (path, ...rest) => {
  const answer = await real(path, ...rest);
  if (path !== '/v1/admin/dead') return answer;
  const body = await answer.json();
  body.items.push({ ...body.items[0], code: 'worker_lost', type: 'server_error' });
  return new Response(JSON.stringify(body), { status: 200, headers: { 'Content-Type': 'application/json' } });
};
"""


def test_a_retry_is_offered_first_only_where_it_can_help(page, site):
    broken_job(site.client)
    go(page, site, "overview")
    page.run(LOST)
    page.click("#nav a", "Dead letters")
    page.wait_for("section[aria-label='OCR: worker_lost'] button.primary", "Retry")
    page.wait_for("section[aria-label='OCR: document_damaged'] button:not(.primary)", "Retry")
    page.wait_for("section[aria-label='OCR: document_damaged']", "likely to fail again")
    assert "likely to fail again" not in page.text("section[aria-label='OCR: worker_lost']")


def test_an_administrator_changes_a_limit_and_sees_it(page, site):
    go(page, site, "usage")
    page.wait_for("table", "Running jobs")
    page.click("summary", "Change a limit")
    page.type("input[name=limit]", "123457")
    page.click("form button", "Set limit")
    page.wait_for("tr[data-key='running_jobs']", "123,457")
    page.wait_for("tr[data-key='running_jobs']", "administrator")
    site.client.request("PUT", "/v1/admin/tenants/default", {"limits": {}})


def test_an_administrator_changes_a_budget_and_the_limits_stay(page, site):
    site.client.request("PUT", "/v1/admin/tenants/default", {"limits": {"running_jobs": 123458}})
    go(page, site, "usage")
    page.wait_for("table", "Running jobs")
    page.click("summary", "Change a budget")
    page.type("input[name=usd]", "12.5")
    page.click("form button", "Set budget")
    page.wait_for("tr[data-key='budget']", "$12.50")
    page.wait_for("tr[data-key='running_jobs']", "123,458")
    site.client.request("PUT", "/v1/admin/tenants/default", {"limits": {}})
