"""The lists of jobs, and one of them."""

from dashboard import broken_job, go
from millrace import Client


def test_jobs_are_filtered_and_what_failed_is_retried_together(page, site):
    failed = {broken_job(site.client), broken_job(site.client)}
    go(page, site, "jobs?status=failed&kind=ocr")
    for job in failed:
        page.wait_for(f"tr[data-id='{job}']")
        page.click(f"tr[data-id='{job}'] input")
    page.wait_for(".chosen", "2 jobs chosen")
    page.click(".chosen button", "Retry 2")
    page.wait_for(".toast", "2 new jobs made")
    remade = site.client.get("/v1/jobs?kind=ocr").json()["items"]
    assert failed <= {job.get("retry_of") for job in remade}
    page.type("#search", "no such id")
    page.wait_for("h2", "No job passes")
    page.click("button", "Clear the filters")
    page.wait_for("table.jobs tr[data-id]")


def test_an_administrator_sees_all_tenants_and_retries_all_that_failed(page, site):
    key = site.client.post("/v1/admin/keys", {"name": "elsewhere", "tenant": "elsewhere"}).json()["key"]
    stranger = Client(site.url, key)
    broken_job(stranger)
    go(page, site, "jobs?status=failed")
    assert "elsewhere" not in page.text("table.jobs")
    page.click("label.check", "Of all tenants")
    page.wait_for("table.jobs td", "elsewhere")
    page.type("input[aria-label=Tenant]", "nowhere")
    page.wait_for("h2", "No job passes")
    page.type("input[aria-label=Tenant]", "elsewhere", clear=True)
    page.wait_for("table.jobs td", "elsewhere")
    page.click("button", "Retry all that match")
    page.click("dialog button", "Do it")
    page.wait_for(".toast", "made")
    assert any("retry_of" in job for job in stranger.get("/v1/jobs").json()["items"])


def test_new_jobs_come_into_the_list_by_themselves_and_nothing_jumps_under_a_reader(page, site):
    first = broken_job(site.client)
    go(page, site, "jobs")
    page.wait_for(f"tr[data-id='{first}']")
    second = broken_job(site.client)
    page.wait_for(f"tr[data-id='{second}']")
    page.click(f"tr[data-id='{first}'] input")
    third = broken_job(site.client)
    page.wait_for(".news", "1 new job")
    assert page.run("return document.querySelector(`tr[data-id='${arguments[0]}']`)", third) is None
    page.click(".news")
    page.wait_for(f"tr[data-id='{third}']")
    assert page.run("return document.querySelector(`tr[data-id='${arguments[0]}'] input`).checked", first)


def test_a_failed_job_says_why_and_what_to_do(page, site):
    go(page, site, f"jobs/{broken_job(site.client)}")
    page.wait_for(".notice.bad", "document_damaged")
    page.wait_for(".notice.bad", "qpdf")
    page.click(".heading button", "Retry")
    page.wait_for(".facts", "Retry of")


def test_a_deferred_chat_shows_its_answer(page, site):
    made = site.client.post("/v1/chat/completions", {"model": "mock/chat", "messages": "Answer me later", "deferred": True})
    go(page, site, f"jobs/{made.json()['request_id']}")
    page.wait_for(".bubble.assistant", "Answer me later")
