"""Fixtures of the tests in a browser: Chromium, hubs on the real and the simulated CLI, and people who look at them.

All tests share a browser and an event loop; each has its own hub, and each visitor their own cookies.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from handrail.server.hub import HubSettings
from handrail.server.roles import Role
from handrail.testing import simulated as sim
from handrail.testing.cli_cache import PINNED_VERSION, ClaudeCLI, CLIUnavailable, claude_cli

from ..server.support import ServedHub, served_hub
from ..telegram.bridge.support import World, world
from .hub_process import HubProcess
from .hubs import OpenHub, RealHub, Talk, real_hub
from .visitor import Visitor, visiting

HERE = Path(__file__).parent
TIMEOUT = 300
FAILED = pytest.StashKey[bool]()
ON_ONE_LOOP = pytest.mark.asyncio(loop_scope="session")

AnyHub: TypeAlias = ServedHub | RealHub | HubProcess | World


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.timeout(TIMEOUT))
        if "cli" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.real_cli)
        if pytest_asyncio.is_async_test(item):
            item.add_marker(ON_ONE_LOOP, append=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    outcome = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or outcome.get_result().failed


@pytest.fixture(scope="session")
def chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    pytest.skip("there is no Chromium: install one (Debian: apt install chromium)")


@pytest.fixture(scope="session")
def cli() -> ClaudeCLI:
    """The real CLI."""
    try:
        return claude_cli(PINNED_VERSION)
    except CLIUnavailable as error:
        pytest.skip(str(error))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        # Without a sandbox, because tests may run as root or in a container.
        launched = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        await launched.close()


@pytest_asyncio.fixture(loop_scope="session")
async def hub(tmp_path: Path) -> AsyncIterator[ServedHub]:
    """A hub whose sessions run on simulated CLIs: `await hub.session(...)`."""
    async with served_hub(tmp_path) as served:
        yield served


@pytest_asyncio.fixture(loop_scope="session")
async def playground(tmp_path: Path) -> AsyncIterator[ServedHub]:
    """A hub for those who work on the page, with the playground."""
    async with served_hub(tmp_path, settings=HubSettings(development=True)) as served:
        yield served


@pytest_asyncio.fixture(loop_scope="session")
async def real(cli: ClaudeCLI, tmp_path: Path) -> AsyncIterator[OpenHub]:
    """Opens a hub on the real CLI, whose model plays a script: `await real([...])`."""
    async with AsyncExitStack() as stack:

        async def open_hub(script: Any, **options: Any) -> RealHub:
            return await stack.enter_async_context(real_hub(cli, tmp_path, script, **options))

        yield open_hub


@pytest_asyncio.fixture(loop_scope="session")
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    """Opens a hub and a bot on Telegram; what is said to it follows a script: `here = await talk(*steps)`."""
    async with AsyncExitStack() as stack:

        async def begin(*steps: sim.Step, **settings: Any) -> World:
            here = await stack.enter_async_context(world(tmp_path / "telegram", *steps, **settings))
            await stack.enter_async_context(here.bridged())
            return here

        yield begin


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Somebody opens a hub, or their chat: `ada = await visit(hub, role="viewer", phone=True)`."""
    async with AsyncExitStack() as stack:
        visitors: list[Visitor] = []

        def picture() -> Path | None:
            """Where to keep what was seen last, if the test failed."""
            return tmp_path / f"seen-{len(visitors)}.png" if request.node.stash.get(FAILED, False) else None

        async def come(hub: AnyHub, role: Role = "owner", name: str = "ada", **how: Any) -> Visitor:
            url, link = address_of(hub, role, name)
            if isinstance(hub, World):
                how = {"shows": "main#chat", **how}
            visitor = await stack.enter_async_context(visiting(browser, url, link, failed=picture, **how))
            visitors.append(visitor)
            return visitor

        yield come


def address_of(hub: AnyHub, role: Role, name: str) -> tuple[str, str]:
    """Where a hub is, or Ann's chat, and a link that lets somebody in."""
    if isinstance(hub, HubProcess):
        return hub.url, hub.link
    if isinstance(hub, World):
        return hub.telegram.url, f"{hub.telegram.playground}#{hub.chat.id}"
    served = hub.served if isinstance(hub, RealHub) else hub
    return served.url, served.hub.login_link(role=role, name=name)
