"""How long things are kept, from the settings."""

from __future__ import annotations

from handrail.config import Storage
from handrail.store.base import Retention

__all__ = ["retention_of"]

MEGABYTE = 1_000_000


def retention_of(storage: Storage) -> Retention:
    """What the settings say, for a store."""
    return Retention(
        frames_days=_days(storage.frames_days),
        sessions_days=_days(storage.sessions_days),
        max_bytes=int(storage.max_size_mb * MEGABYTE) if storage.max_size_mb is not None else None,
    )


def _days(setting: float | str) -> float | None:
    return None if isinstance(setting, str) else setting
