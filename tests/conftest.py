"""What holds for all tests: watchdogs for real CLIs, and plain words about what was left out.

A test that lacks something (node, a browser, a CLI that cannot be fetched) skips with a reason that says how to get it.
With `HANDRAIL_REQUIRE=all` such a test fails instead, so that nothing is left out unseen.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

REAL_CLI_TIMEOUT = 300

# How long an example takes says nothing on a machine that does other things too.
settings.register_profile("handrail", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("handrail")


@pytest.fixture(scope="session", autouse=True)
def directories_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Generator[None, None, None]:
    """Neither the policies of whoever runs the tests nor what they granted may count, or be changed."""
    directory = tmp_path_factory.mktemp("handrail")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "STATE", "RUNTIME"):
            patch.setenv(f"HANDRAIL_{name}_DIR", str(directory / name.lower()))
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("real_cli") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(REAL_CLI_TIMEOUT))


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
