"""A gateway whose disk has less free than store.disk_free_min."""

import re
import subprocess
from contextlib import closing

from documents import data_uri, tiny_pdf
from millrace import BUILD, Gateway

URI = data_uri(tiny_pdf("what was read before the disk filled"))
MORE_THAN_THERE_IS = ("--store.disk-free-min", "1000000GiB")


def test_a_start_reaches_what_there_is_and_runs_what_is_queued(tmp_path):
    with closing(Gateway(tmp_path / "data").start()) as gateway:
        done = gateway.client.submit_ocr(URI).json()["id"]
        gateway.client.wait_terminal(done)
    with closing(Gateway(tmp_path / "data", role="api").start()) as gateway:
        queued = gateway.client.submit_ocr(URI).json()["id"]
    with closing(Gateway(tmp_path / "data", *MORE_THAN_THERE_IS).start()) as gateway:
        result = gateway.client.get(f"/v1/jobs/{done}/result")
        assert result.status == 200 and "before the disk filled" in result.json()["pages"][0]["markdown"]
        assert gateway.client.wait_terminal(queued)["status"] == "succeeded"
        refused = gateway.client.post("/v1/ocr", {"document": {"document_url": URI}})
        assert refused.status == 503 and int(refused.headers["retry-after"]) > 0


def test_a_tenant_is_told_the_limit_and_operators_the_figures(tmp_path):
    figures = "bytes free, store.disk_free_min is 1000000GiB"
    with closing(Gateway(tmp_path / "data").start()):
        pass
    with closing(Gateway(tmp_path / "data", *MORE_THAN_THERE_IS).start()) as gateway:
        told = gateway.client.post("/v1/ocr", {"document": {"document_url": URI}}).json()["error"]["message"]
        assert "store.disk_free_min" in told and "Try again later" in told and not re.search(r"\d", told), told
        ready = gateway.client.get("/readyz")
        disk = ready.json()["disk"]
        assert ready.status == 503 and (disk["status"], disk["detail"]) == ("full", "less than store.disk_free_min is free")
        assert "bytes free" not in ready.body.decode()
        assert figures in gateway.client.get("/v1/admin/overview").json()["health"]["disk"]["detail"]
        assert figures in gateway.log.read_text()
        checked = subprocess.run([BUILD / "millrace", "doctor", "--data", gateway.data, *MORE_THAN_THERE_IS],
                                 capture_output=True, text=True, timeout=120, check=False)
        assert checked.returncode == 1 and figures in checked.stdout, checked.stdout


def test_a_first_start_says_which_folder_and_how_much_is_free(tmp_path):
    gateway = Gateway(tmp_path / "data", *MORE_THAN_THERE_IS)
    try:
        gateway.start()
    except AssertionError:
        pass
    assert gateway.popen.wait(10) == 1
    said = gateway.tail()
    assert f"{tmp_path}/data: the disk of the data directory is nearly full: " in said and " bytes free" in said
