"""Where the journal is kept: the contract of a store, and the engines that fulfil it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.store.migrations import SCHEMA_VERSION
    from handrail.store.place import store_path
    from handrail.store.restoring import restore
    from handrail.store.sqlite import SqliteStore

__all__ = ["SCHEMA_VERSION", "SqliteStore", "restore", "store_path"]

_HOMES = {"SCHEMA_VERSION": "migrations", "SqliteStore": "sqlite", "restore": "restoring", "store_path": "place"}


def __getattr__(name: str) -> Any:
    """SQLite is loaded when it is first used: whoever needs only the contract does not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
