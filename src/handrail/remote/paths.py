"""Addresses of what a hub has."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from handrail.errors import SessionNotFound

__all__ = ["ask_path", "record_path", "session_path"]

_ID: Final = re.compile(r"[0-9A-Za-z_-]+")


def session_path(session_id: str) -> str:
    """Where a session is. Raises `SessionNotFound` for what cannot be the id of one."""
    return f"/api/sessions/{_checked(session_id)}"


def record_path(session_id: str) -> str:
    """Where the row of a session is."""
    return f"/api/records/sessions/{_checked(session_id)}"


def ask_path(session_id: str, ask_id: str) -> str:
    """Where an ask is."""
    return f"/api/asks/{_checked(session_id)}/{quote(ask_id, safe='')}"


def _checked(session_id: str) -> str:
    if not _ID.fullmatch(session_id):
        raise SessionNotFound(f"there is no session {session_id}")
    return session_id
