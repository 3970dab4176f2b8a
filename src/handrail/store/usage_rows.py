"""What runs used: stored with them, summed up for people, and read from the events of older databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from handrail.errors import StoreError
from handrail.protocol.usage import ModelUse, RunEnd, UsageMeter
from handrail.store.base import RunUsageRow, UsageKey, UsageRow
from handrail.store.rows import encodable

__all__ = ["USAGE_COLUMNS", "fill_usage", "read_usage", "store_usage", "usage_of"]

_COLUMNS: dict[UsageKey, str] = {"day": "day", "model": "model", "session": "session_id"}

USAGE_COLUMNS = "run, model, at, day, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd"

_UPSERT = f"""
INSERT INTO usage (session_id, {USAGE_COLUMNS}, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, run, model) DO UPDATE SET
    at = excluded.at, day = excluded.day, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
    cache_read_tokens = excluded.cache_read_tokens, cache_write_tokens = excluded.cache_write_tokens,
    cost_usd = excluded.cost_usd, revision = excluded.revision
"""  # noqa: S608 - our columns
_ADD_WITHOUT_REVISION = f"INSERT INTO usage (session_id, {USAGE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
"""As the table was when it was first filled."""

_SUMS = (
    "sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cost_usd), "
    "count(DISTINCT session_id || ' ' || run)"
)

_COMPLETIONS = """
SELECT runs.session_id, runs.number, events.at, sessions.model, events.body FROM runs
JOIN events ON events.session_id = runs.session_id AND events.seq = runs.completed_seq
JOIN sessions ON sessions.id = runs.session_id
ORDER BY runs.session_id, runs.number
"""


def store_usage(
    connection: sqlite3.Connection, session_id: str, rows: Iterable[RunUsageRow], revisions: Iterator[int]
) -> None:
    connection.executemany(_UPSERT, [(*_values(session_id, row), next(revisions)) for row in rows])


def _values(session_id: str, row: RunUsageRow) -> tuple[Any, ...]:
    tokens = (row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens)
    return (session_id, row.run, encodable(row.model), row.at, row.day, *tokens, row.cost_usd)


def usage_of(row: Sequence[Any]) -> RunUsageRow:
    """A row of `USAGE_COLUMNS`."""
    return RunUsageRow(
        run=row[0],
        model=row[1],
        at=row[2],
        day=row[3],
        input_tokens=row[4],
        output_tokens=row[5],
        cache_read_tokens=row[6],
        cache_write_tokens=row[7],
        cost_usd=row[8],
    )


def read_usage(connection: sqlite3.Connection, since: float, by: Sequence[UsageKey]) -> list[UsageRow]:
    columns = _key_columns(by)
    keys = ", ".join(columns)
    statement = f"SELECT {keys + ', ' if keys else ''}{_SUMS} FROM usage WHERE at >= ?"  # noqa: S608 - our columns
    if keys:
        statement += f" GROUP BY {keys} ORDER BY {keys}"
    rows = connection.execute(statement, (since,)).fetchall()
    return [_sum_of(columns, row) for row in rows if row[-1]]


def _key_columns(by: Sequence[UsageKey]) -> list[str]:
    unknown = [key for key in by if key not in _COLUMNS]
    if unknown or len(set(by)) < len(by):
        raise StoreError(f"usage is summed up by {', '.join(_COLUMNS)}, each at most once, not by {by!r}")
    return [_COLUMNS[key] for key in by]


def _sum_of(columns: Sequence[str], row: Sequence[Any]) -> UsageRow:
    fresh, written, from_cache, into_cache, cost_usd, runs = row[len(columns) :]
    return UsageRow(
        **dict(zip(columns, row, strict=False)),
        input_tokens=fresh,
        output_tokens=written,
        cache_read_tokens=from_cache,
        cache_write_tokens=into_cache,
        cost_usd=cost_usd,
        runs=runs,
    )


# ------------------------------------------------------------ from older databases


class _Ending(msgspec.Struct, kw_only=True):
    """The parts of a stored `completed` event that say what its run used."""

    usage: dict[str, Any] | None = None
    totals: dict[str, Any] | None = msgspec.field(default=None, name="modelUsage")
    cost_usd: float = 0.0
    total_cost_usd: float = 0.0


def fill_usage(connection: sqlite3.Connection) -> None:
    """Read what the runs of all sessions used from how they ended."""
    meter, metered = UsageMeter(), ""
    for session_id, run, at, model, body in connection.execute(_COMPLETIONS):
        if session_id != metered:
            meter, metered = UsageMeter(), session_id
        used = meter.read(_end_of(body, model))
        connection.executemany(_ADD_WITHOUT_REVISION, [_values(session_id, row) for row in _rows(run, at, used)])


def _end_of(body: bytes, model: str) -> RunEnd:
    try:
        ending = msgspec.json.decode(body, type=_Ending)
    except msgspec.DecodeError:  # nothing is known of it then
        ending = _Ending()
    return RunEnd(
        totals=ending.totals,
        usage=ending.usage,
        cost_usd=ending.cost_usd,
        total_cost_usd=ending.total_cost_usd,
        model=model,
    )


def _rows(run: int, at: float, used: dict[str, ModelUse]) -> Iterator[RunUsageRow]:
    day = datetime.fromtimestamp(at).date().isoformat()
    for model, use in used.items():
        yield RunUsageRow(run=run, model=model, at=at, day=day, **msgspec.structs.asdict(use))
