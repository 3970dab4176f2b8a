"""What Claude Code's own transcript proves of the calls whose end the journal never heard of."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from handrail.sessions.adoption import transcript_of
from handrail.sessions.transcripts import parse_line

__all__ = ["ends_of"]

LATEST: Final = 16 * 1024 * 1024
"""How many bytes are read: what was going on when the process ended is at the end."""
NOTHING: Final[Mapping[str, Any]] = {}


def ends_of(calls: Collection[str], cli_session_id: str | None, *, environ: Mapping[str, str]) -> dict[str, bool]:
    """Which of these calls were certainly let happen, and whether they ended well.

    Of a call that is not named nothing is known. One that the CLI gave up because nobody answered any more has an end
    as well, but was not let happen. `environ` is the environment of the session.
    """
    home = environ.get("HOME") or os.path.expanduser("~")
    path = transcript_of(home, cli_session_id, environ=environ) if calls and cli_session_id else None
    return dict(_ends(path, calls)) if path is not None else {}


def _ends(path: str, calls: Collection[str]) -> Iterator[tuple[str, bool]]:
    for raw in _last_lines(path):
        if b'"tool_result"' not in raw:
            continue
        line = parse_line(raw) or NOTHING
        message = _mapping(line.get("message"))
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            call, failed = _mapping(block).get("tool_use_id"), _mapping(block).get("is_error") is True
            if isinstance(call, str) and call in calls and (not failed or _was_permitted(line)):
                yield call, not failed


def _was_permitted(line: Mapping[str, Any]) -> bool:
    """Whether the CLI notes that a call was allowed, as the latest versions do: then its failure is its own."""
    return _mapping(line.get("permissionDecision")).get("decision") == "accept"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else NOTHING


def _last_lines(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - LATEST))
            yield from file
    except OSError:  # whoever cannot be heard proves nothing
        return
