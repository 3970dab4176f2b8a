"""What `handrail config list` prints."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.commands.table import Column, Table
from handrail.cli.showing.style import QUIET, exact
from handrail.config.keys import KEYS, Key
from handrail.config.reading import Settings, value_of
from handrail.config.values import shown

__all__ = ["settings_page"]

COLUMNS = (Column("setting"), Column("value", flexible=True), Column("from", optional=1))


def settings_page(settings: Settings, path: str) -> RenderableType:
    """Every setting; those that somebody set stand out."""
    rows = [_row(key, settings) for key in KEYS.values()]
    return Group(exact(path, QUIET), Table(COLUMNS, rows))


def _row(key: Key, settings: Settings) -> Sequence[Text]:
    origin = settings.origins.get(key.name, "default")
    style = QUIET if origin == "default" else ""
    where = key.variable or "" if origin == "environment" else origin
    value = shown(value_of(settings.config, key), key) or "not set"
    return (exact(key.name, style), exact(value, style), exact(where, QUIET))
