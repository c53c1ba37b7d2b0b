"""Makes tests/support importable, and gives every test a gateway that it may start, kill and start again."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))

from millrace import Gateway  # noqa: E402


@pytest.fixture
def gateway(tmp_path):
    """An embedded gateway (`millrace serve`) on a fresh data directory, ready."""
    instance = Gateway(tmp_path / "data")
    instance.start()
    yield instance
    instance.close()
