"""What "always allow" could mean for a call about which the CLI suggests nothing: it does not where a hook had it ask.

The suggestions have the CLI's own form, so that an answer can carry them back. Each covers the call at hand and next to
nothing else: a rule for exactly this command, this host, this directory.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

__all__ = ["suggest_always"]

LONGEST_COMMAND = 500
EDITORS = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
BARE = frozenset({"WebSearch"})
SESSION, PROJECT = "session", "localSettings"

Suggestion = dict[str, Any]


def suggest_always(tool: str, given: Mapping[str, Any], *, cwd: str) -> tuple[Suggestion, ...]:
    """What could be allowed from now on, so that this call is not asked about again; nothing if that is not plain."""
    return tuple(_suggestions(tool, given, cwd))


def _suggestions(tool: str, given: Mapping[str, Any], cwd: str) -> Iterator[Suggestion]:
    if tool == "Bash":
        yield from _for_command(given.get("command"))
    elif tool in EDITORS:
        yield from _for_edit(given.get(EDITORS[tool]), cwd)
    elif tool == "Read":
        yield from _for_read(given.get("file_path"), cwd)
    elif tool == "WebFetch":
        yield from _for_address(given.get("url"))
    elif tool.startswith("mcp__") or tool in BARE:
        yield _allow(tool, None, PROJECT)


def _for_command(command: object) -> Iterator[Suggestion]:
    # A star or a trailing `:` would make a wider rule of it; a parenthesis or a line break, one that is hard to read.
    if not isinstance(command, str) or not 0 < len(command.strip()) <= LONGEST_COMMAND:
        return
    if any(character in command for character in "*()\n\r\\") or not command.isprintable():
        return
    for destination in (SESSION, PROJECT):
        yield _allow("Bash", command.strip(), destination)


def _for_edit(path: object, cwd: str) -> Iterator[Suggestion]:
    if not isinstance(path, str) or not path:
        return
    absolute = posixpath.normpath(posixpath.join(cwd, path))
    if absolute.startswith(cwd.rstrip("/") + "/"):
        yield {"type": "setMode", "mode": "acceptEdits", "destination": SESSION}
    else:
        yield from _for_directory("Edit", absolute)


def _for_read(path: object, cwd: str) -> Iterator[Suggestion]:
    if isinstance(path, str) and path:
        yield from _for_directory("Read", posixpath.normpath(posixpath.join(cwd, path)))


def _for_directory(tool: str, absolute: str) -> Iterator[Suggestion]:
    directory = posixpath.dirname(absolute)
    if directory.strip("/") and not any(character in directory for character in "*?[]!\\()\n"):
        yield _allow(tool, f"/{directory}/**", SESSION)


def _for_address(url: object) -> Iterator[Suggestion]:
    try:
        host = urlsplit(url).hostname if isinstance(url, str) else None
    except ValueError:
        return
    if host and all(label.isascii() and label.replace("-", "").isalnum() for label in host.split(".")):
        yield _allow("WebFetch", f"domain:{host}", PROJECT)


def _allow(tool: str, content: str | None, destination: str) -> Suggestion:
    rule = {"toolName": tool} if content is None else {"toolName": tool, "ruleContent": content}
    return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": destination}
