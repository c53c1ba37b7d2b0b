"""A gateway and a real browser for the tests of a file; `page` is a signed-in page."""

import pytest
from browser import Browser
from dashboard import signed_in
from millrace import Gateway
from sandboxed import reachable_folder


@pytest.fixture(scope="module")
def site():
    with reachable_folder() as folder:
        gateway = Gateway(folder / "data", env={"MILLRACE_MOCK": "true"}).start()
        yield gateway
        gateway.close()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    instance = Browser(tmp_path_factory.mktemp("chromium"))
    try:
        yield instance.start()
    finally:
        instance.close()


@pytest.fixture
def page(chromium, site):
    """A signed-in page at the first screen. Afterwards, the console must be empty and no other host may have been contacted."""
    chromium.console(), chromium.requests()
    chromium.look(1280, dark=False)
    signed_in(chromium, site)
    yield chromium
    foreign = [url for url in chromium.requests() if not url.startswith((site.url, "data:", "blob:", "about:", "chrome:"))]
    assert foreign == []
    assert chromium.console() == []
