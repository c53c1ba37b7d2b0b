"""Makes tests/support and tests/upstream importable, and defines the fixtures for a gateway, a broker and a provider."""

import sys
from pathlib import Path

import pytest

for folder in ("support", "upstream"):
    sys.path.insert(0, str(Path(__file__).resolve().parent / folder))

from millrace import Gateway, Kafka  # noqa: E402
from postgres import Postgres  # noqa: E402
from upstream import Upstream  # noqa: E402


@pytest.fixture
def gateway(tmp_path):
    """An embedded gateway (`millrace serve`) on a new data directory, ready."""
    instance = Gateway(tmp_path / "data")
    instance.start()
    yield instance
    instance.close()


@pytest.fixture
def kafka(tmp_path):
    """A separate real broker that is running."""
    broker = Kafka(tmp_path / "kafka")
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def postgres():
    """A separate real PostgreSQL server that is running."""
    server = Postgres()
    server.start()
    yield server
    server.close()


@pytest.fixture
def upstream():
    """A fake model provider that sends the responses of the test."""
    with Upstream() as instance:
        yield instance
