"""Resume tokens: the CLI's own ids of sessions, as they stand in texts. They are opaque: nothing is read into them."""

from __future__ import annotations

import re

__all__ = ["RESUME_LINE", "find_resume_token", "resume_line"]

RESUME_LINE = re.compile(r"(?im)^[^\S\n]*`?claude\s+(?:--resume|-r)\s+(?P<token>[^`\s]+)`?[^\S\n]*$")
"""A line of a text that says how to resume a session. Around it no line ends are looked at: in a text of many empty
lines, each of them would be looked at from each of the others."""


def resume_line(token: str) -> str:
    """The command that resumes the session, as it is shown to people."""
    return f"claude --resume {token}"


def find_resume_token(text: str) -> str | None:
    """The token of the last resume line in `text`."""
    token = None
    for match in RESUME_LINE.finditer(text):
        token = match.group("token")
    return token
