"""A gateway whose disk has less free space than store.disk_free_min."""

import json
import re
import subprocess
from contextlib import closing

from commands import cli
from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway

URI = data_uri(tiny_pdf("what was read before the disk filled"))
MORE_THAN_THERE_IS = ("--store.disk-free-min", "1000000GiB")


def pages_of(gateway, job_id):
    result = gateway.client.get(f"/v1/jobs/{job_id}/result")
    assert result.status == 200, result.body
    return [page["markdown"] for page in result.json()["pages"]]


def test_a_start_on_a_nearly_full_disk_serves_results_and_runs_queued_jobs(tmp_path):
    # A worker writes files for a small document whose pages it splits into children, and for a result above 32 KiB.
    shared_out = [f"page {n} of a small document" for n in range(12)]
    large = [f"page {n} of a long document whose result is large after all its pages are read" for n in range(300)]
    with closing(Gateway(tmp_path / "data").start()) as gateway:
        done = gateway.client.submit_ocr(URI).json()["id"]
        gateway.client.wait_terminal(done)
    with closing(Gateway(tmp_path / "data", role="api").start()) as gateway:
        queued = [gateway.client.submit_ocr(data_uri(tiny_pdf(*pages))).json()["id"] for pages in (shared_out, large)]
    with closing(Gateway(tmp_path / "data", *MORE_THAN_THERE_IS).start()) as gateway:
        assert pages_of(gateway, done) == ["what was read before the disk filled"]
        assert [gateway.client.wait_terminal(job)["status"] for job in queued] == ["succeeded", "succeeded"]
        assert [pages_of(gateway, job) for job in queued] == [shared_out, large]
        assert len(gateway.client.get(f"/v1/jobs/{queued[1]}/result").body) > 32 * 1024
        refused = gateway.client.post("/v1/ocr", {"document": {"document_url": URI}})
        assert refused.status == 503 and int(refused.headers["retry-after"]) > 0


def test_a_tenant_sees_the_limit_and_operators_see_the_figures(tmp_path):
    figures = "bytes free; store.disk_free_min is 1000000GiB"
    with closing(Gateway(tmp_path / "data").start()):
        pass
    with closing(Gateway(tmp_path / "data", *MORE_THAN_THERE_IS).start()) as gateway:
        message = gateway.client.post("/v1/ocr", {"document": {"document_url": URI}}).json()["error"]["message"]
        assert "store.disk_free_min" in message and "Try again later" in message and not re.search(r"\d", message), message
        ready = gateway.client.get("/readyz")
        disk = ready.json()["disk"]
        assert ready.status == 503 and (disk["status"], disk["detail"]) == ("full", "less than store.disk_free_min is free")
        assert "bytes free" not in ready.body.decode()
        assert figures in gateway.client.get("/v1/admin/overview").json()["health"]["disk"]["detail"]
        gateway.wait_for_log(figures)
        checked = subprocess.run([BUILD / "millrace", "doctor", "--data", gateway.data, *MORE_THAN_THERE_IS],
                                 capture_output=True, text=True, timeout=120, check=False)
        assert checked.returncode == 1 and figures in checked.stdout, checked.stdout


def test_a_first_start_reports_the_folder_and_its_free_space(tmp_path):
    gateway = Gateway(tmp_path / "data", *MORE_THAN_THERE_IS)
    try:
        gateway.start()
    except AssertionError:
        pass
    assert gateway.popen.wait(10) == 1
    printed = gateway.tail()
    assert f"{tmp_path}/data: the disk of the data directory is nearly full: " in printed and " bytes free" in printed


def test_the_status_of_a_machine_says_that_its_hosts_disk_is_nearly_full(tmp_path):
    with closing(Gateway(tmp_path / "data", role="api").start()) as gateway:
        assert cli(gateway, "machines", "create", "--name", "box").returncode == 0
        assert "disk_problem" not in cli(gateway, "machines", "show", "box").stdout
    with closing(Gateway(tmp_path / "data", *MORE_THAN_THERE_IS, role="api").start()) as gateway:
        shown = cli(gateway, "machines", "show", "box", "--json").stdout
        assert "host is nearly full" in json.loads(shown)["status"]["disk_problem"]
        assert "host is nearly full" in cli(gateway, "machines", "show", "box").stdout
