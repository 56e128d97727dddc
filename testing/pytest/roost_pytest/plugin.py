"""The fixtures and command-line options."""

from __future__ import annotations

import os
import shlex
from typing import Iterator

import pytest

from .server import Roost, start

_OPTIONS = {
    "program": "the command of Roost; `roost` unless given",
    "seed": "a YAML or JSON file with what there is at the start of each test",
    "clock": "a clock that stands still, at a time such as 2030-01-01T00:00:00Z",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("roost", "a Roost server for tests")
    for name, text in _OPTIONS.items():
        group.addoption(f"--roost-{name}", dest=f"roost_{name}", default=None, help=text)
        parser.addini(f"roost_{name}", text, default="")


def _option(config: pytest.Config, name: str) -> str | None:
    return config.getoption(f"roost_{name}") or config.getini(f"roost_{name}") or None


@pytest.fixture(scope="session")
def roost_server(request: pytest.FixtureRequest) -> Iterator[Roost]:
    """A server for the whole test run."""
    config = request.config
    program = _option(config, "program") or os.environ.get("ROOST_PROGRAM") or "roost"
    seed = _option(config, "seed")
    server = start(
        shlex.split(program),
        seed=None if seed is None else os.path.join(config.rootpath, seed),
        clock=_option(config, "clock"),
    )
    yield server
    server.stop()


@pytest.fixture
def roost(roost_server: Roost) -> Roost:
    """The server, reset to its initial state."""
    roost_server.reset()
    return roost_server
