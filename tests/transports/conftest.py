"""Runs the asynchronous tests of this directory on every event loop that Handrail supports."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from handrail.transports.exit_watch import watch_exit_by_pidfd, watch_exit_by_thread
from handrail.transports.stdio import StdioTransport

from .support import ENVIRONMENT, python

HERE = Path(__file__).parent
OTHER_WAYS = {"uvloop", "thread"}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    factories: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    if importlib.util.find_spec("uvloop") is not None:
        import uvloop

        factories["uvloop"] = uvloop.new_event_loop
    return factories


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make check` runs each test once, the way most people will use it; `make test` runs all variants."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and HERE in item.path.parents and OTHER_WAYS & set(callspec.id.split("-")):
            item.add_marker(pytest.mark.slow)


class WatchedByPidfd(StdioTransport):
    watch_exit = staticmethod(watch_exit_by_pidfd)


class WatchedByThread(StdioTransport):
    watch_exit = staticmethod(watch_exit_by_thread)


@pytest.fixture(params=[WatchedByPidfd, WatchedByThread], ids=["pidfd", "thread"])
def transport_class(request: pytest.FixtureRequest) -> type[StdioTransport]:
    """The transport, once for each way to notice an exit."""
    return request.param


MakeTransport = Callable[..., StdioTransport]


@pytest.fixture
async def run(transport_class: type[StdioTransport]) -> AsyncIterator[MakeTransport]:
    """Make transports for Python programs given as text; they are closed at the end of the test."""
    made: list[StdioTransport] = []

    def make(program: str, *arguments: str, **options: object) -> StdioTransport:
        settings: dict[str, object] = {"env": ENVIRONMENT, "eof_grace": 10.0, "term_grace": 10.0, **options}
        made.append(transport_class(python(program, *arguments), **settings))
        return made[-1]

    yield make
    for transport in made:
        await transport.close()
