"""A new gateway without jobs: each screen explains its purpose, and what to try."""

import pytest
from dashboard import SCREENSHOTS, go, sign_in, violations
from millrace import Gateway
from sandboxed import reachable_folder

EMPTY_STATES = {
    "overview": "millrace ocr",
    "jobs": "millrace ocr",
    "batches": "requests.jsonl",
    "drop": "base64 -w0",
    "playground": "OPENAI_API_KEY",
    "dead": "/v1/ocr",
    "keys": "New key",
}


@pytest.fixture(scope="module")
def new_site():
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data")
        try:
            yield gateway.start()
        finally:
            gateway.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_empty_screens_show_a_command_to_try(chromium, new_site, dark):
    chromium.console()
    chromium.look(1280, dark)
    sign_in(chromium, new_site)
    for screen, text in EMPTY_STATES.items():
        go(chromium, new_site, screen)
        chromium.wait_for("main", text)
        chromium.screenshot(SCREENSHOTS / f"empty-{screen}-1280-{'dark' if dark else 'light'}.png")
        assert violations(chromium) == "", screen
    assert chromium.console() == []


def test_where_no_model_chats_the_screen_shows_how_to_set_a_key_a_server_or_the_mock(chromium, new_site):
    sign_in(chromium, new_site)
    go(chromium, new_site, "playground")
    for text in ("OPENAI_API_KEY=… millrace serve", "base_url: http://127.0.0.1:11434/v1", "millrace serve --mock true"):
        chromium.wait_for(".empty .code", text)
