"""Upkeep: pruning, backups, checking, and figures for people."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from functools import partial
from typing import Any

from handrail.errors import StoreError, StoreUnavailable
from handrail.store.access_rows import forget_replies, forget_tokens
from handrail.store.artefacts import content_of
from handrail.store.base import Pruned, Retention
from handrail.store.changes import Change, forget_gone
from handrail.store.copies_in import remember_pruned
from handrail.store.copying import copy_database
from handrail.store.deleting import begin_deletion, pending_deletions, remove_some
from handrail.store.engine import Engine
from handrail.store.faults import Damaged, explained, full, store_error
from handrail.store.migrations import version_of

__all__ = ["backup", "catch_up", "check", "delete_session", "prune", "statistics"]

REPLIES_DAYS = 1
DEAD_TOKENS_DAYS = 90
_DAY = 86_400.0
_SLICE = 200
_VACUUM_PAGES = 1_000
_MOMENT_MS = 50
_ATTEMPTS = 20
_PAUSE = 0.05
_TABLES = ("sessions", "runs", "events", "asks", "messages", "artefacts", "starts", "usage", "tokens", "audit", "hosts")


async def backup(engine: Engine, path: str) -> None:
    """Copy everything as it is now into a new file, beside those who read and write."""
    await asyncio.to_thread(_backup, engine, path)


def _backup(engine: Engine, path: str) -> None:
    target = os.path.abspath(path)
    with explained(engine.path):
        source = engine.connect_reader()
    with closing(source):
        try:
            copy_database(source, target)
        except FileExistsError as error:
            raise StoreError(f"{target} exists already, and a backup replaces nothing: choose another name") from error
        except OSError as error:
            raise StoreUnavailable(f"the backup cannot be written to {target}: {error.strerror}") from error
        except sqlite3.Error as error:
            is_full = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL
            raise (full(target) if is_full else store_error(error, engine.path)) from error


async def delete_session(engine: Engine, session_id: str) -> None:
    """Remove a session and everything of it."""
    await engine.run(Change(session_id, partial(begin_deletion, session_id=session_id)))
    await _finish_deletion(engine, session_id)


async def _prune_session(engine: Engine, session_id: str) -> None:
    """A copy is not to come back at once from the host that has the session."""
    await engine.run(Change(session_id, partial(_begin_pruning, session_id=session_id)))
    await _finish_deletion(engine, session_id)


def _begin_pruning(connection: sqlite3.Connection, session_id: str) -> None:
    remember_pruned(connection, session_id)
    begin_deletion(connection, session_id)


async def _finish_deletion(engine: Engine, session_id: str) -> None:
    while await engine.write(partial(remove_some, session_id=session_id, index=engine.index)):
        pass


async def catch_up(engine: Engine) -> bool:
    """Index what is not indexed yet, in slices; returns whether there is an index."""
    while await engine.read(engine.index.is_behind):
        await engine.write(engine.index.catch_up)
    return engine.index.available


# ------------------------------------------------------------ pruning


async def prune(engine: Engine, retention: Retention, now: float) -> Pruned:
    """Remove what is too old, then what is too much, and give the space back."""
    bytes_before, artefacts_before = _bytes_on_disk(engine.path), await _count(engine, "artefacts")
    for session_id in await engine.read(pending_deletions):
        await _finish_deletion(engine, session_id)
    frames = sessions = 0
    if retention.frames_days is not None:
        frames += await _prune_frames(engine, now - retention.frames_days * _DAY)
    if retention.sessions_days is not None:
        sessions += await _prune_sessions(engine, now - retention.sessions_days * _DAY)
    if retention.max_bytes is not None:
        frames += await _shrink_frames(engine, retention.max_bytes)
        sessions += await _shrink_sessions(engine, retention.max_bytes)
    await engine.write(partial(_forget_what_is_past, now=now))
    await catch_up(engine)
    await _give_space_back(engine)
    return Pruned(
        frames=frames,
        sessions=sessions,
        artefacts=artefacts_before - await _count(engine, "artefacts"),
        bytes_before=bytes_before,
        bytes_after=_bytes_on_disk(engine.path),
    )


def _forget_what_is_past(connection: sqlite3.Connection, now: float) -> None:
    """What nobody asks for any more, whatever else is kept."""
    forget_replies(connection, before=now - REPLIES_DAYS * _DAY, unfinished_before=None)
    forget_tokens(connection, before=now - DEAD_TOKENS_DAYS * _DAY)
    forget_gone(connection, before=now - _DAY)


async def _prune_frames(engine: Engine, before: float) -> int:
    """Session by session: inside one, the oldest come first, so no more than those that go are looked at."""
    removed = 0
    for session_id in await engine.read(_sessions_with_frames):
        while count := await engine.write(partial(_remove_old_blocks, session_id=session_id, before=before)):
            removed += count
    return removed


def _sessions_with_frames(connection: sqlite3.Connection) -> list[str]:
    return [session_id for (session_id,) in connection.execute("SELECT DISTINCT session_id FROM frames")]


def _remove_old_blocks(connection: sqlite3.Connection, session_id: str, before: float) -> int:
    rows = connection.execute(
        "SELECT first, at FROM frames WHERE session_id = ? ORDER BY first LIMIT ?", (session_id, _SLICE)
    ).fetchall()
    old = [(session_id, first) for first, at in rows if at < before]
    return _remove_blocks(connection, old)


def _remove_blocks(connection: sqlite3.Connection, blocks: list[tuple[str, int]]) -> int:
    """Returns how many frames were in them."""
    removed = 0
    for block in blocks:
        row = connection.execute("SELECT count FROM frames WHERE session_id = ? AND first = ?", block).fetchone()
        removed += row[0] if row else 0
        connection.execute("DELETE FROM frames WHERE session_id = ? AND first = ?", block)
    return removed


async def _prune_sessions(engine: Engine, before: float) -> int:
    old = [session_id for session_id, updated_at in await engine.read(_archived) if updated_at < before]
    for session_id in old:
        await _prune_session(engine, session_id)
    return len(old)


def _archived(connection: sqlite3.Connection) -> list[tuple[str, float]]:
    """Archived sessions that nobody holds, oldest first."""
    return connection.execute(
        "SELECT id, updated_at FROM sessions WHERE archived = 1 AND owner IS NULL ORDER BY updated_at, id"
    ).fetchall()


async def _shrink_frames(engine: Engine, most: int) -> int:
    removed = 0
    if await engine.read(_bytes_used) > most:
        blocks = await engine.read(_blocks_by_age)
        while blocks and await engine.read(_bytes_used) > most:
            oldest, blocks = blocks[:_SLICE], blocks[_SLICE:]
            removed += await engine.write(partial(_remove_blocks, blocks=oldest))
    return removed


def _blocks_by_age(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    return connection.execute("SELECT session_id, first FROM frames ORDER BY at, session_id, first").fetchall()


async def _shrink_sessions(engine: Engine, most: int) -> int:
    removed = 0
    for session_id, _ in await engine.read(_archived):
        if await engine.read(_bytes_used) <= most:
            break
        await _prune_session(engine, session_id)
        removed += 1
    return removed


def _bytes_used(connection: sqlite3.Connection) -> int:
    """Without the pages that are free: they are given back at the end."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)


async def _give_space_back(engine: Engine) -> None:
    while await engine.write(_vacuum_some):
        pass
    for _ in range(_ATTEMPTS):  # only with its log in it does the file become shorter
        if await engine.read(_move_log):
            break
        await asyncio.sleep(_PAUSE)


def _vacuum_some(connection: sqlite3.Connection) -> bool:
    connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    return int(free) > 0


def _move_log(connection: sqlite3.Connection) -> bool:
    """Move the whole log into the database; returns whether nobody was in the way.

    Others cannot write while it waits for those who read, so it waits only for a moment.
    """
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {_MOMENT_MS}")
    try:
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {patience}")
    return not busy


def _bytes_on_disk(path: str) -> int:
    return sum(os.path.getsize(name) for name in (path, f"{path}-wal") if os.path.exists(name))


# ------------------------------------------------------------ looking


async def _count(engine: Engine, table: str) -> int:
    return await engine.read(partial(_count_rows, table=table))


def _count_rows(connection: sqlite3.Connection, table: str) -> int:
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - a name of ours
    return int(count)


def _count_frames(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT coalesce(sum(count), 0) FROM frames").fetchone()
    return int(count)


async def statistics(engine: Engine) -> dict[str, Any]:
    """Figures for people."""
    rows = {table: await _count(engine, table) for table in _TABLES}
    rows["frames"] = await engine.read(_count_frames)
    return {
        "path": engine.path,
        "bytes": _bytes_on_disk(engine.path),
        "version": await engine.read(version_of),
        "sqlite": sqlite3.sqlite_version,
        "full_text_search": engine.index.available,
        "rows": rows,
    }


async def check(engine: Engine) -> list[str]:
    """What is wrong, in words."""
    return await engine.read(_findings)


def _findings(connection: sqlite3.Connection) -> list[str]:
    try:
        damage = [line for (line,) in connection.execute("PRAGMA integrity_check(20)") if line != "ok"]
        return [*damage, *_wrong_numbers(connection), *_wrong_asks(connection), *_wrong_artefacts(connection)]
    except sqlite3.DatabaseError as error:
        return [f"it cannot be read to the end: {error}"]


def _wrong_numbers(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute(
        "SELECT sessions.id, last_seq, count(seq), coalesce(max(seq), 0) FROM sessions "
        "LEFT JOIN events ON events.session_id = sessions.id GROUP BY sessions.id, last_seq"
    )
    findings = [
        f"session {session_id} should have {last_seq} events, and has {count}, the last of which is {highest}"
        for session_id, last_seq, count, highest in rows
        if not last_seq == count == highest
    ]
    orphans = connection.execute(
        "SELECT DISTINCT session_id FROM events WHERE session_id NOT IN (SELECT id FROM sessions) "
        "AND session_id NOT IN (SELECT session_id FROM deletions)"
    )
    return findings + [f"there are events of a session {session_id} that is not there" for (session_id,) in orphans]


def _wrong_asks(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute("SELECT session_id, id FROM asks WHERE state IN ('decided', 'sent') AND answer IS NULL")
    return [f"the ask {ask_id} of session {session_id} is decided, but has no answer" for session_id, ask_id in rows]


def _wrong_artefacts(connection: sqlite3.Connection) -> list[str]:
    missing = connection.execute(
        "SELECT sha256, session_id FROM artefact_uses WHERE sha256 NOT IN (SELECT sha256 FROM artefacts)"
    )
    findings = [f"the artefact {name} of session {session_id} is missing" for name, session_id in missing]
    for name, data in connection.execute("SELECT sha256, data FROM artefacts"):
        try:
            content_of(name, data)
        except Damaged as error:
            findings.append(str(error))
    return findings
