"""Is Claude Code there, can it do what Handrail needs, and is it logged in? Secrets are never read."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from handrail.cli.checkup.finding import Finding, attention, broken, good
from handrail.cli.checkup.surroundings import Surroundings
from handrail.errors import CLINotFound
from handrail.transports.discovery import CLILocation, find_cli, parse_version, version_warnings

__all__ = ["ClaudeState", "Installed", "check_cli", "check_login", "claude_state", "installed_claude"]

INSTALL = "npm install -g @anthropic-ai/claude-code"
UPDATE = "claude update"
SECONDS = 15.0
BILL_THE_KEY = "handrail config set claude.use_api_billing true"
SCRIPTS = (".js", ".mjs", ".cjs")
KEY = "ANTHROPIC_API_KEY"


def check_cli(around: Surroundings) -> Iterator[Finding]:
    """Which Claude Code is found, and what its version cannot do."""
    try:
        found = _find(around)
    except CLINotFound as error:
        yield broken("claude", str(error), _other_path(around))
        return
    answer = around.ask_claude(found.argv, "--version", seconds=SECONDS)
    where = f"{found.argv[-1]} ({_source(found, around)})"
    if answer.code != 0:
        yield broken("claude", f"{where} does not run: {_first_line(answer.output) or answer.code}", INSTALL)
        return
    yield from _version(answer.output, where)
    yield _node(found)


def _find(around: Surroundings) -> CLILocation:
    return find_cli(around.cli or around.config.claude.cli_path, env=around.environment_of_claude)


def _other_path(around: Surroundings) -> str:
    if around.cli is not None:
        return "name the program: --cli PATH"
    return "handrail config unset claude.cli_path" if around.config.claude.cli_path else INSTALL


def _source(found: CLILocation, around: Surroundings) -> str:
    given = "from --cli" if around.cli is not None else "from claude.cli_path"
    return {"cli_path": given, "PATH": "from PATH", "claude-agent-sdk": "from claude-agent-sdk"}.get(
        found.source, "where its installer puts it"
    )


def _version(said: str, where: str) -> Iterator[Finding]:
    version = parse_version(said)
    if version is None:
        yield broken("claude", f"{where} is not Claude Code: it calls itself {_first_line(said)!r}", INSTALL)
        return
    number = ".".join(map(str, version))
    warnings = version_warnings(number)
    yield good("claude", f"Claude Code {number}, {where}; {_tested(number)}")
    if not warnings:
        yield good("claude", "this version can do everything that Handrail uses")
    for warning in warnings:
        yield attention("claude", warning, UPDATE)


def _tested(number: str) -> str:
    from handrail.testing.cli_cache import MATRIX_VERSIONS, PINNED_VERSION  # the whole test kit comes with it

    tested = sorted({*MATRIX_VERSIONS, PINNED_VERSION}, key=lambda version: parse_version(version) or ())
    mine = parse_version(number) or ()
    if number in tested:
        return "Handrail is tested with this version"
    if mine > (parse_version(tested[-1]) or ()):
        return f"newer than {tested[-1]}, the newest that Handrail is tested with"
    if mine < (parse_version(tested[0]) or ()):
        return f"older than {tested[0]}, the oldest that Handrail is tested with"
    return f"between versions that Handrail is tested with ({', '.join(tested)})"


def _node(found: CLILocation) -> Finding:
    if len(found.argv) > 1:
        return good("claude", f"it runs with Node.js: {found.argv[0]}")
    if os.path.realpath(found.argv[0]).endswith(SCRIPTS):
        return good("claude", "it runs with the Node.js on PATH")
    return good("claude", "it needs no Node.js")


# ---------------------------------------------------------------- the login


def check_login(around: Surroundings) -> Iterator[Finding]:
    """Whether Claude Code would say that it is logged in; and what becomes of a key in the environment."""
    try:
        found = _find(around)
    except CLINotFound:
        yield attention("login", "without Claude Code it cannot be told whether it is logged in")
        return
    status = _status(around.ask_claude(found.argv, "auth", "status", "--json", seconds=SECONDS).output)
    yield _from_status(status, around) if status is not None else _from_files(around)
    yield from _key(around)


def _status(output: str) -> dict[str, Any] | None:
    """What `claude auth status --json` says. Versions without it (before 2.1.52) say something else."""
    try:
        status = json.loads(output)
    except ValueError:
        return None
    return status if isinstance(status, dict) and isinstance(status.get("loggedIn"), bool) else None


def _from_status(status: dict[str, Any], around: Surroundings) -> Finding:
    if status["loggedIn"]:
        # Not the account's address: what a doctor prints gets pasted into bug reports.
        said = [status.get(name) for name in ("authMethod", "subscriptionType", "apiProvider")]
        return good("login", f"logged in ({', '.join(word for word in said if isinstance(word, str))})")
    return broken("login", "Claude Code is not logged in", _how_to_log_in("claude auth login", around))


def _from_files(around: Surroundings) -> Finding:
    """Only whether the file is there: it is never opened."""
    directory = around.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(around.home, ".claude")
    if os.path.exists(os.path.join(directory, ".credentials.json")):
        return good("login", f"a login is stored in {directory}")
    if _key_reaches_claude(around):
        return good("login", f"{KEY} is what it logs in with")
    if sys.platform == "darwin":
        return attention("login", "the login is in the keychain, where it cannot be seen", "claude, then /status")
    return broken("login", f"no login is stored in {directory}", _how_to_log_in("claude, then /login", around))


def _how_to_log_in(command: str, around: Surroundings) -> str:
    return f"{command}; or, to bill {KEY}: {BILL_THE_KEY}" if around.environ.get(KEY) else command


def _key(around: Surroundings) -> Iterator[Finding]:
    if _key_reaches_claude(around):
        yield attention(
            "login", f"{KEY} is passed on: the key is billed", "handrail config set claude.use_api_billing false"
        )
    elif around.environ.get(KEY):
        yield good("login", f"{KEY} is set, and kept from Claude Code: the key is not billed")


def _key_reaches_claude(around: Surroundings) -> bool:
    return bool(around.environment_of_claude.get(KEY))


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:200]


# ---------------------------------------------------------------- in a few words, for programs


class Installed(NamedTuple):
    """A Claude Code that answers."""

    argv: tuple[str, ...]
    version: tuple[int, int, int]

    @property
    def number(self) -> str:
        """Its version as it is written."""
        return ".".join(map(str, self.version))


def installed_claude(around: Surroundings) -> Installed | None:
    """The Claude Code of these surroundings, if there is one that says its version."""
    try:
        found = _find(around)
    except CLINotFound:
        return None
    said = around.ask_claude(found.argv, "--version", seconds=SECONDS)
    version = parse_version(said.output) if said.code == 0 else None
    return None if version is None else Installed(found.argv, version)


class ClaudeState(msgspec.Struct, frozen=True):
    """Whether sessions can be started; `logged_in` is None where that cannot be told."""

    found: bool
    version: str | None = None
    logged_in: bool | None = None


def claude_state(around: Surroundings) -> ClaudeState:
    """Which Claude Code there is, and whether it is logged in."""
    found = installed_claude(around)
    if found is None:
        return ClaudeState(found=False)
    return ClaudeState(True, found.number, _is_logged_in(found.argv, around))


def _is_logged_in(argv: Sequence[str], around: Surroundings) -> bool | None:
    status = _status(around.ask_claude(argv, "auth", "status", "--json", seconds=SECONDS).output)
    if status is not None:
        return bool(status["loggedIn"])
    finding = _from_files(around)
    return None if finding.status == "attention" else finding.status == "good"
