"""Which session is meant: an id or the start of one, the CLI's id, a pasted command, or `@` for the latest one here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from handrail.errors import SessionNotFound

if TYPE_CHECKING:
    from handrail.cli.managing import AnyManager
    from handrail.sessions.session import Session

__all__ = ["LATEST", "find_session", "reference_in"]

LATEST = frozenset({"@", "last"})
"""What stands for the latest session of this directory."""

_RESUMES = re.compile(r"(?:^|\s)(?:--resume|-r)(?:\s+|=)['\"]?(?P<id>[^`'\"\s]+)")
_COMMANDS = ("attach", "resume", "show", "fork", "send", "export", "stop", "interrupt")
_OWN_COMMAND = re.compile(rf"(?:^|\s)handrail\s+(?:{'|'.join(_COMMANDS)})\s+['\"]?(?P<id>[^`'\"\s]+)")


def reference_in(text: str) -> str:
    """The reference in what was typed or pasted: of `claude --resume ID`, the id."""
    pasted = text.strip().strip("`").strip()
    found = _RESUMES.search(pasted) or _OWN_COMMAND.search(pasted)
    return found["id"] if found else pasted


async def find_session(manager: AnyManager, text: str, *, cwd: str) -> Session:
    """The session that `text` means. Raises `SessionNotFound` or `AmbiguousSession`."""
    reference = reference_in(text)
    if not reference:
        raise SessionNotFound("say which session: an id from handrail ls, or @ for the latest one of this directory")
    if reference not in LATEST:
        return await manager.get(reference)
    latest = await manager.latest(cwd)
    if latest is None:
        raise SessionNotFound(f"there is no session of {cwd} yet: handrail ls shows those of other directories")
    return latest
