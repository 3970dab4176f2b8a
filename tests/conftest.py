"""What holds for all tests: watchdogs for real CLIs, how many examples a property gets, and what was left out.

A test that lacks something (node, a browser, a CLI that cannot be fetched) skips with a reason that says how to get it.
With `HANDRAIL_REQUIRE=all` such a test fails instead, so that nothing is left out unseen.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
REAL_CLI_TIMEOUT = 300
IN_MEMORY = "/dev/shm"
ROOM = 4 * 1024**3
SLOW_TO_COLLECT = {HERE / "browser": "browser", HERE / "server" / "test_schemathesis.py": "slow"}
"""Tests that all have this marker, and take seconds to be collected: Schemathesis makes up its requests then."""

# How long an example takes says nothing on a machine that does other things too.
settings.register_profile("handrail", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("handrail")


def pytest_addoption(parser: pytest.Parser) -> None:
    described = "percentage of each property's examples to try; `make check` tries some of them, `make test` all"
    parser.addoption("--examples", type=int, default=100, help=described)
    described = "keep temporary files in memory, if there is room; `make check` does, `make test` uses the disk"
    parser.addoption("--in-memory", action="store_true", help=described)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("in_memory") and can_hold_files(IN_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", IN_MEMORY)


def can_hold_files(directory: str) -> bool:
    """Whether it has room for what the tests write, and lets them start the programs among that."""
    try:
        found = os.statvfs(directory)
    except FileNotFoundError:  # Linux has it, and not everywhere
        return False
    has_room = found.f_bavail * found.f_frsize > ROOM
    return has_room and not found.f_flag & os.ST_NOEXEC and os.access(directory, os.W_OK)


@pytest.fixture(scope="session", autouse=True)
def directories_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Generator[None, None, None]:
    """Neither the policies of whoever runs the tests nor what they granted may count, or be changed."""
    directory = tmp_path_factory.mktemp("handrail")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "STATE", "RUNTIME"):
            patch.setenv(f"HANDRAIL_{name}_DIR", str(directory / name.lower()))
        yield


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    marker = SLOW_TO_COLLECT.get(collection_path)
    return True if marker and f"not {marker}" in config.getoption("markexpr") else None


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Generator[None, None, None]:
    """What is collected stays to the end: looking through it for garbage, now or between tests, is time lost."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("real_cli") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(REAL_CLI_TIMEOUT))
    if config.getoption("examples") != 100:
        try_fewer_examples(items, config.getoption("examples"))


def try_fewer_examples(items: list[pytest.Item], percentage: int) -> None:
    """Shorten every property in proportion. A profile would not reach those that name a number of their own."""

    def shortened(usual: settings) -> settings:
        return settings(usual, max_examples=max(1, usual.max_examples * percentage // 100))

    for test in {item.function for item in items if isinstance(item, pytest.Function)}:
        if usual := getattr(test, "_hypothesis_internal_use_settings", None):
            test._hypothesis_internal_use_settings = shortened(usual)
    for machine in {item.cls for item in items if isinstance(item, pytest.Function)}:
        if isinstance(usual := getattr(machine, "settings", None), settings):
            machine.settings = shortened(usual)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("HANDRAIL_REQUIRE") == "all":
        report.outcome = "failed"
        report.longrepr = f"left out although HANDRAIL_REQUIRE=all: {_reason(report.longrepr)}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(_reason(report.longrepr) for report in terminalreporter.getreports("skipped"))
    if reasons:
        terminalreporter.section("Left out")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count} test(s): {reason}")
    else:
        terminalreporter.line("Nothing was left out.")


def _reason(longrepr: Any) -> str:
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return str(text).removeprefix("Skipped: ")
