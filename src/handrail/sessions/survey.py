"""Looks at an ask where the CLI runs: what it is about, exactly, and how that looks to a person."""

from __future__ import annotations

import logging
import os
from typing import Any

import msgspec

from handrail.policy.files import Files
from handrail.protocol.asks import Ask, ask_digest
from handrail.protocol.descriptions import Description, LazyDescription

__all__ = ["Surveyor"]

logger = logging.getLogger("handrail.client")

EDITED_FILE = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
"""The tools that change one file, and the field that names it."""

LARGEST_HASHED = 64 * 1024 * 1024
HEAVY = 128 * 1024
"""From this size on, reading and comparing would keep others waiting."""

NO_FILE = "absent"
UNREADABLE = "unreadable"


class Surveyor:
    """Gives asks their digest and their description."""

    def __init__(self, files: Files, *, home: str) -> None:
        self._files = files
        self._home = home

    def survey(self, ask: Ask) -> Ask:
        """`ask` with its digest as things are now, and a description for whoever looks at it."""
        digest = ask_digest(ask, file_hash=self._file_hash(ask))
        return msgspec.structs.replace(ask, digest=digest, described=LazyDescription(lambda: self._describe(ask)))

    def survey_in_full(self, ask: Ask) -> Ask:
        """As `survey`, with the description made at once."""
        surveyed = self.survey(ask)
        _ = surveyed.description
        return surveyed

    def _describe(self, ask: Ask) -> Description | None:
        from handrail.policy.describing.describe import describe  # costs a session nothing until somebody looks

        try:
            return describe(ask, cwd=ask.cwd, home=self._home, files=self._files, plan=ask.plan)
        except Exception:  # a surface can still show the ask itself; not to ask at all would be worse
            logger.exception("an ask could not be described")
            return None

    def look_again(self, ask: Ask) -> Ask:
        """The same ask if nothing has changed, else the ask surveyed anew."""
        if _edited_path(ask) is None or ask.digest == ask_digest(ask, file_hash=self._file_hash(ask)):
            return ask
        return self.survey(ask)

    def is_heavy(self, ask: Ask) -> bool:
        """Whether a survey may take long enough for others to notice: a large edit, or an edit of a large file."""
        path = _edited_path(ask)
        if path is None:
            return False
        return _size(ask.input) > HEAVY or (self._files.exists(path) and self._files.read(path, HEAVY) is None)

    def _file_hash(self, ask: Ask) -> str | None:
        """The hash of the file that an edit would change; None for what is no edit."""
        path = _edited_path(ask)
        if path is None:
            return None
        if not self._files.exists(path):
            return NO_FILE
        import hashlib  # costs a session nothing until something is edited

        content = self._files.read(path, LARGEST_HASHED)
        return UNREADABLE if content is None else hashlib.sha256(content).hexdigest()


def _edited_path(ask: Ask) -> str | None:
    field = EDITED_FILE.get(ask.tool_name)
    named = ask.input.get(field) if field is not None else None
    return os.path.join(ask.cwd, named) if isinstance(named, str) else None


def _size(value: Any) -> int:
    """About how much text there is in a tool's input."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list) else 0
