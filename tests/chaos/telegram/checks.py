"""What must hold once everything lives again and has come to rest."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

from handrail.events.model import AskClosed, Event
from handrail.remote.hub import Hub
from handrail.store.base import AskRow
from handrail.telegram.afterwards import sessions_with_files
from handrail.telegram.commands.wishes import WORKING
from handrail.telegram.model import Place
from handrail.telegram.names import Names
from handrail.telegram.state import BridgeState, Tables
from handrail.testing.journal_checks import journal_problems
from handrail.testing.telegram import Message
from tests.telegram.bridge.support import eventually

from .chain import Chain
from .person import Presser, buttons_of
from .talks import Talk

__all__ = ["at_rest", "check_database", "check_decisions", "check_journals", "check_prompts", "remove_copies"]


async def at_rest(chain: Chain, hub: Hub) -> None:
    """Wait until nothing is left to hear, to do, to say or to answer."""
    await eventually(lambda: _is_at_rest(chain, hub))


async def _is_at_rest(chain: Chain, hub: Hub) -> bool:
    if chain.telegram.pending_updates:
        return False
    ends = {row.id: row.last_seq for row in await hub.list() if row.status not in WORKING}
    async with BridgeState(str(chain.database)) as state:
        is_idle, follows = await state.read(lambda tables: (_is_idle(tables, chain), tables.follows()))
    are_told = all(follow.cursor == ends.get(follow.session_id) for follow in follows)
    return is_idle and bool(follows) and are_told


def _is_idle(tables: Tables, chain: Chain) -> bool:
    if tables.undone() or tables.waiting() or sessions_with_files(tables):
        return False
    asking = [message for message in chain.chat.bot_messages if message.buttons]
    return all(tables.message_at(chain.chat.id, message.id) is None for message in asking)


async def remove_copies(chain: Chain, presser: Presser) -> int:
    """Asks that came twice, because their sending was never answered: a press says so, and they go. Gives how many."""
    found = 0
    for message in [each for each in chain.chat.bot_messages if each.buttons]:
        assert not await _is_known(chain, message), f"{message} is still to be answered: {message.buttons}"
        toast = await message.press(next(buttons_of(message)), by=presser.by)
        assert toast.text
        await eventually(partial(_is_harmless, message))
        found += 1
    return found


def _is_harmless(message: Message) -> bool:
    return message.is_deleted or not message.buttons


async def _is_known(chain: Chain, message: Message) -> bool:
    async with BridgeState(str(chain.database)) as state:
        return await state.read(lambda tables: tables.message_at(message.chat.id, message.id)) is not None


async def check_prompts(hub: Hub, talk: Talk) -> None:
    """Each message reached Claude once."""
    views = [await hub.session(row.id).view() for row in await hub.list()]
    told = Counter(prompt.uuid for view in views for prompt in view.prompts.values())
    names = Names(talk.chain.telegram.bot.id)
    sent = [names.message(Place(message.chat.id), message.id) for message in talk.said.values()]
    assert {uuid: told[uuid] for uuid in sent} == dict.fromkeys(sent, 1)


async def check_journals(hub: Hub) -> None:
    for row in await hub.list():
        items = [item async for item in hub.session(row.id).subscribe(deltas=False, follow=False)]
        events = [item for item in items if isinstance(item, Event)]
        assert journal_problems(events, ended=False) == []
        decided = [event.ask_id for event in events if isinstance(event, AskClosed) and event.outcome == "decided"]
        assert len(decided) == len(set(decided))


async def check_decisions(hub: Hub, presser: Presser, *, may_be_lost: bool = False) -> None:
    """Each ask was decided once, by whoever pressed, with what they pressed.

    Where processes were killed, an ask may have the answer that was given to another: one that its process had left
    behind. Then that other one was for the very same, and its answer is no other ask's.
    """
    rows = {(ask.session_id, ask.id): ask for row in await hub.list() for ask in await hub.store.asks(row.id)}
    assert rows
    for ask in rows.values():
        if may_be_lost and ask.answer is None:
            assert ask.state in ("lost", "cancelled")
            continue
        assert ask.state == "sent" or (may_be_lost and ask.state in ("unsent", "resumed")), ask
        assert (ask.decided_by, ask.surface) == ("Ann", "telegram")
        meant = presser.meant.get((ask.session_id, ask.id), [])
        if may_be_lost and ask.granted_by and ask.state != "resumed":
            _check_grant(ask, rows[ask.session_id, ask.granted_by])
        else:
            assert msgspec.json.decode(ask.answer or b"") in meant, ask
        assert may_be_lost or len(meant) == 1
    used = Counter((ask.session_id, ask.granted_by) for ask in rows.values() if ask.granted_by)
    assert set(used.values()) <= {1}, used


def _check_grant(ask: AskRow, lost: AskRow) -> None:
    """It has the answer of one that was lost: a yes to the same, given before, which resumed the session."""
    assert lost.state == "resumed", (ask, lost)
    assert lost.answer == ask.answer == b'{"type":"allow"}', (ask, lost)
    assert (lost.decided_by, lost.surface) == (ask.decided_by, ask.surface), (ask, lost)
    assert (lost.decided_at or 0.0) < (ask.decided_at or 0.0), (ask, lost)
    assert _asked(lost) == _asked(ask), (ask, lost)


def _asked(ask: AskRow) -> list[object]:
    body = msgspec.json.decode(ask.body)
    return [body[name] for name in ("kind", "tool_name", "input", "cwd")]


def check_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
