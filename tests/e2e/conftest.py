"""Fixtures of the end-to-end tests: the CLI versions, a world for each test, and what a version was seen to do.

`HANDRAIL_CLI_VERSIONS` names the versions, separated by commas (`latest` for the newest there is); the default is the
pinned one. With `HANDRAIL_RECORD_BEHAVIOUR=1` observations are written down instead of compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from handrail.protocol.dialling import REFUSES_SINCE
from handrail.testing.cli_cache import (
    PINNED_VERSION,
    ClaudeCLI,
    CLIUnavailable,
    cache_directory,
    claude_cli,
    latest_cli,
)

from . import behaviour
from .support import Observe, World

HERE = Path(__file__).parent
VERSIONS = os.environ.get("HANDRAIL_CLI_VERSIONS", PINNED_VERSION).split(",")
NEW_OBSERVATION = "behaviour of an unrecorded version"


REFUSAL = "refusing_cli"
DIALLING = "dialling_cli"
NEWEST = "newest_cli"
OLDER = "older_cli"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    of_others = [item for item in items if is_of_other_versions(item)]
    if of_others:
        config.hook.pytest_deselected(items=of_others)
        items[:] = [item for item in items if item not in of_others]
    for item in items:
        if "cli" in getattr(item, "fixturenames", ()) and HERE in item.path.parents:
            item.add_marker(pytest.mark.real_cli)
            item.add_marker(pytest.mark.slow)


def is_of_other_versions(item: pytest.Item) -> bool:
    """Whether a test has nothing to say of the version that it would run on."""
    names = getattr(item, "fixturenames", ())
    if not {DIALLING, REFUSAL, NEWEST, OLDER} & set(names):
        return False
    version = str(cast(pytest.Function, item).callspec.params["cli"])
    if NEWEST in names or OLDER in names:
        return is_since(behaviour.version_key(PINNED_VERSION), version) == (OLDER in names)
    return is_since(REFUSES_SINCE, version) == (DIALLING in names)


def is_since(first: tuple[int, ...], version: str) -> bool:
    return version == "latest" or behaviour.version_key(version) >= first


@pytest.fixture(scope="session", params=VERSIONS)
def cli(request: pytest.FixtureRequest) -> ClaudeCLI:
    """The real CLI, once for each version under test."""
    try:
        return latest_cli() if request.param == "latest" else claude_cli(request.param)
    except CLIUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def dialling_cli(cli: ClaudeCLI) -> ClaudeCLI:
    """A CLI that connects to servers of ours. There is no such test for one that refuses to."""
    return cli


@pytest.fixture
def refusing_cli(cli: ClaudeCLI) -> ClaudeCLI:
    """A CLI that refuses to connect to servers of ours. There is no such test for one that does."""
    return cli


@pytest.fixture
def newest_cli(cli: ClaudeCLI) -> ClaudeCLI:
    """The pinned CLI, or a newer one. A test to which the version makes no difference does not run on older ones."""
    return cli


@pytest.fixture
def older_cli(cli: ClaudeCLI) -> ClaudeCLI:
    """A CLI before the pinned one, for what another test shows of that."""
    return cli


@pytest.fixture
def world(cli: ClaudeCLI, tmp_path: Path) -> World:
    """A home and a working directory for one test; `world.live(script)` connects a client in it."""
    return World(cli, tmp_path)


@pytest.fixture
def observe(cli: ClaudeCLI, record_property: Callable[[str, object], None]) -> Observe:
    """Say what this version does: `observe("topic: behaviour", "outcome")`.

    The outcome must be the one recorded for this version. A version of which nothing is recorded is listed at the end.
    """
    recorded = behaviour.load().get(cli.version)

    def observe(name: str, outcome: str) -> None:
        if behaviour.recording():
            behaviour.record(cli.version, name, outcome, lock=cache_directory() / "locks" / "behaviour.lock")
        elif recorded is None:
            record_property(NEW_OBSERVATION, [cli.version, name, outcome])
        else:
            assert outcome == recorded.get(name), f"{name}: Claude Code {cli.version} behaves differently than recorded"

    return observe


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what an unrecorded version does otherwise than the newest recorded one."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    seen = [value for report in reports for name, value in report.user_properties if name == NEW_OBSERVATION]
    if not seen:
        return
    known = behaviour.load()
    newest = max(known, key=behaviour.version_key)
    terminalreporter.section(f"not in {behaviour.RECORDED.name}, compared with {newest}")
    changed = [(version, name, outcome) for version, name, outcome in seen if outcome != known[newest].get(name)]
    terminalreporter.write_line(f"{len(seen) - len(changed)} of {len(seen)} observations as before")
    for version, name, outcome in sorted(changed):
        terminalreporter.write_line(f"{version}  {name}: {outcome}   (was: {known[newest].get(name)})")
