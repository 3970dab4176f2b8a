"""Find the `claude` executable, and say what its version cannot do."""

from __future__ import annotations

import glob
import importlib.util
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from handrail.errors import CLINotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CLILocation", "find_cli", "parse_version", "version_warnings"]

Version = tuple[int, int, int]

_HOME_PLACES = (
    ".local/bin/claude",
    ".claude/local/claude",
    ".claude/local/node_modules/.bin/claude",
    ".claude/bin/claude",
    ".npm-global/bin/claude",
    ".bun/bin/claude",
    ".volta/bin/claude",
    ".yarn/bin/claude",
    ".local/share/pnpm/claude",
    "Library/pnpm/claude",
    ".local/share/mise/shims/claude",
    ".asdf/shims/claude",
    "node_modules/.bin/claude",
    ".nvm/versions/node/*/bin/claude",
    ".local/share/fnm/node-versions/*/installation/bin/claude",
)
_SYSTEM_PLACES = (
    "/usr/local/bin/claude",
    "/opt/homebrew/bin/claude",
    "/home/linuxbrew/.linuxbrew/bin/claude",
    "/usr/bin/claude",
)
_SCRIPT_SUFFIXES = (".js", ".mjs", ".cjs")

_HOW_TO_INSTALL = (
    "Install it with `npm install -g @anthropic-ai/claude-code`, or with `pip install claude-agent-sdk`, "
    "which carries it; or, if you have it, say where: `Options(cli_path=...)` in Python, "
    "`--cli PATH` on the command line."
)


class CLILocation(NamedTuple):
    """How to start the CLI: the first words of its command line, and where they come from."""

    argv: tuple[str, ...]
    source: str
    """`cli_path`, `PATH`, `known place` or `claude-agent-sdk`."""


def find_cli(cli_path: str | os.PathLike[str] | None = None, *, env: Mapping[str, str] | None = None) -> CLILocation:
    """Find the CLI: where it is said to be, on PATH, where installers put it, or inside claude-agent-sdk.

    `env` is where PATH and HOME come from: the environment the CLI will run in. Raises `CLINotFound`.
    """
    env = os.environ if env is None else env
    if cli_path is not None:
        return CLILocation(_explicit(os.fspath(cli_path), env), "cli_path")
    if found := _which("claude", env):
        return CLILocation(_command(found, env), "PATH")
    for place in _known_places(_home(env)):
        if _is_program(place):
            return CLILocation(_command(place, env), "known place")
    if (bundled := _bundled_cli()) is not None:
        return CLILocation((bundled,), "claude-agent-sdk")
    raise CLINotFound(
        "there is no `claude` on PATH, where its installers put it, or in an installed claude-agent-sdk. "
        + _HOW_TO_INSTALL
    )


def _explicit(cli_path: str, env: Mapping[str, str]) -> tuple[str, ...]:
    path = _expand_home(cli_path, env)
    if not os.path.dirname(path):
        path = _which(path, env) or path
    if not os.path.exists(path):
        raise CLINotFound(f"there is no {cli_path!r}, which was given as the path of the CLI. {_HOW_TO_INSTALL}")
    if os.path.isdir(path):
        raise CLINotFound(f"{cli_path!r}, given as the path of the CLI, is a directory: name the program inside it")
    if path.endswith(_SCRIPT_SUFFIXES):
        return _with_node(path, env)
    if not os.access(path, os.X_OK):
        raise CLINotFound(
            f"{cli_path!r}, given as the path of the CLI, may not be executed: make it executable with `chmod +x`"
        )
    return (path,)


def _with_node(script: str, env: Mapping[str, str]) -> tuple[str, ...]:
    node = _which("node", env)
    if node is None:
        raise CLINotFound(
            f"{script!r} is a script for Node.js, and there is no `node` on PATH: install Node.js, "
            "or use a CLI that runs by itself"
        )
    return (node, script)


def _command(path: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """npm links `claude` to a script that needs `node`, which often lies beside it but not on PATH."""
    if not os.path.realpath(path).endswith(_SCRIPT_SUFFIXES) or _which("node", env):
        return (path,)
    beside = os.path.join(os.path.dirname(path), "node")
    return (beside, path) if _is_program(beside) else (path,)


def _known_places(home: str) -> Iterator[str]:
    for place in _HOME_PLACES:
        yield from sorted(glob.glob(os.path.join(glob.escape(home), place)), key=_by_version, reverse=True)
    yield from _SYSTEM_PLACES


def _by_version(path: str) -> list[int]:
    """Newest Node.js first where several are installed."""
    return [int(number) for number in re.findall(r"\d+", path)]


def _bundled_cli() -> str | None:
    try:
        spec = importlib.util.find_spec("claude_agent_sdk")
    except (ImportError, ValueError):
        return None
    for directory in (spec and spec.submodule_search_locations) or ():
        path = os.path.join(directory, "_bundled", "claude")
        if _is_program(path):
            return path
    return None


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _which(name: str, env: Mapping[str, str]) -> str | None:
    import shutil  # slow to import, and not needed by those who only ask about versions

    return shutil.which(name, path=env.get("PATH", os.defpath))


def _home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def _expand_home(path: str, env: Mapping[str, str]) -> str:
    return os.path.join(_home(env), path[2:]) if path.startswith("~/") else path


_SINCE: tuple[tuple[Version, str], ...] = (
    ((2, 1, 52), "control requests it does not know are never answered, so they fail only at their deadline"),
    ((2, 1, 52), "cancelling a control request, or sending a message type it does not know, ends it"),
    ((2, 1, 62), "notes and previews given with the answer to a question do not reach the model"),
    ((2, 1, 100), "`end_session` is not known: end its input instead"),
    ((2, 1, 120), "an edited plan is ignored: the original plan is carried out"),
    ((2, 1, 120), "elicitations of MCP servers are not passed on"),
    ((2, 1, 120), "a PreToolUse hook cannot defer a tool call"),
    ((2, 1, 120), "retries of failed API calls are not reported"),
    ((2, 1, 197), "tools of background agents that need permission are denied without being asked for"),
    ((2, 1, 197), "a PreToolUse hook that is never answered lets the tool go on to the permission request"),
    ((2, 1, 197), "an answer to a question in free form (`response`) does not reach the model"),
    (
        (2, 1, 250),
        "it does not report which message a turn consumes, so that is inferred from the order of results",
    ),
)
"""From which version on something works, and what is to be said about older ones.

Each version is the oldest on which it was seen to work, so one in between may be better than we say.
"""


def version_warnings(version: str) -> list[str]:
    """What will not work with this version of the CLI: one sentence each, none if it can do everything.

    Takes what the CLI prints (`2.1.325 (Claude Code)`) or reports.
    """
    parsed = parse_version(version)
    if parsed is None:
        return [f"the version of the CLI cannot be read from {version!r}, so it is not known what it cannot do"]
    return [
        f"Claude Code {'.'.join(map(str, parsed))} is older than {'.'.join(map(str, since))}: {consequence}"
        for since, consequence in _SINCE
        if parsed < since
    ]


def parse_version(text: str) -> Version | None:
    """The first `x.y.z` in a text."""
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))
