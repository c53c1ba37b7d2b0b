"""The Kafka part of the screen of queues and workers, with a real broker."""

from dashboard import go, sign_in
from documents import data_uri, scan_pdf
from millrace import Gateway, Worker, eventually
from PIL import Image, ImageDraw
from sandboxed import reachable_folder

DOCUMENTS = 7


def scan(number):
    """A page that takes a while to read."""
    image = Image.new("L", (1240, 1754), 255)
    for line in range(40):
        ImageDraw.Draw(image).text((100, 60 + 40 * line), f"Line {line} of document {number} waits in Kafka until a slot is free")
    return scan_pdf([image])


def total_lag(gateway):
    slots = [slot for worker in gateway.client.get("/v1/admin/workers").json()["items"] for slot in worker["slots"]]
    return sum(part["lag"] for slot in slots for part in slot.get("partitions", []))


def test_the_screen_shows_the_lag_of_each_partition_and_when_there_is_none(chromium, kafka):
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data", "--kafka", kafka.address, role="api").start()
        worker = Worker(folder / "data", "--kafka", kafka.address, "--slots", "ocr=1").start()
        try:
            chromium.look(1280, dark=False)
            sign_in(chromium, gateway)
            go(chromium, gateway, "workers")
            jobs = [gateway.client.submit_ocr(data_uri(scan(number))).json()["id"] for number in range(DOCUMENTS)]
            eventually(lambda: total_lag(gateway) > 0, 60, "a lag")
            chromium.wait_for("th", "In Kafka")
            chromium.eventually(lambda: not chromium.text("details.lags summary").startswith("0 "), 60, "the screen shows a lag")
            chromium.click("details.lags summary", "partitions")
            chromium.wait_for("details.lags li", "partition 0")
            for job in jobs:
                assert gateway.client.wait_terminal(job, 120)["status"] == "succeeded"
            chromium.eventually(lambda: chromium.text("details.lags summary").startswith("0 in"), 60, "the screen shows no lag")
        finally:
            chromium.open("about:blank")
            chromium.console()
            gateway.close()
            worker.close()
