"""Delivering a message, and waiting for what comes of it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from handrail.cli.commands.ask_list import ask_words
from handrail.cli.commands.failures import ExitCode
from handrail.cli.showing.style import FAILED, NEEDS_YOU
from handrail.events.endings import was_interrupted
from handrail.events.model import AskOpened, Completed
from handrail.sessions.ask_records import ask_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from handrail.cli.commands.workplace import Workplace
    from handrail.sessions.session import Session

__all__ = ["deliver"]


async def deliver(
    place: Workplace, session: Session, message: str, *, wait: bool, resume: bool, as_json: bool
) -> int | None:
    """Send a message. If that resumed the session in this process, stay until it is answered: it ends with us."""
    after = (await session.row()).last_seq
    uuid = await session.send(message, actor=place.actor, resume=resume)
    is_mine = await session.is_mine()
    if is_mine and place.has_person and place.out.is_terminal and not as_json:
        from handrail.cli.commands.live import until_answered

        return await until_answered(place, session, uuid, after=after)
    if wait or is_mine:
        async with _asks_told(place, session, after):
            return _tell(place, session, uuid, await session.wait(uuid, after=after), as_json=as_json)
    if as_json:
        place.json({"session_id": session.id, "uuid": uuid})
    else:
        place.done("sent")
    return None


@asynccontextmanager
async def _asks_told(place: Workplace, session: Session, after: int) -> AsyncIterator[None]:
    """While we wait, say what waits for somebody: nobody can be asked here."""
    telling = asyncio.create_task(_tell_asks(place, session, after))
    try:
        yield
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling


async def _tell_asks(place: Workplace, session: Session, after: int) -> None:
    told: set[str] = set()
    async with aclosing(session.subscribe(after, deltas=False)) as items:
        async for item in items:
            if isinstance(item, AskOpened) and item.ask_id not in told:
                told.add(item.ask_id)
                what = ask_words(ask_of(item.ask), item.title)
                place.remark(f"waits for an answer: {what}; handrail answer {item.ask_id}", NEEDS_YOU)


def _tell(place: Workplace, session: Session, uuid: str, end: Completed, *, as_json: bool) -> int:
    if as_json:
        place.json(
            {
                "session_id": session.id,
                "uuid": uuid,
                "ok": end.ok,
                "answer": end.answer,
                "error": end.error,
                "cost_usd": end.cost_usd,
                "structured_output": end.structured_output,
            }
        )
    elif end.answer:
        place.line(end.answer)
    if not end.ok and not as_json:
        place.remark("interrupted" if was_interrupted(end) else end.error or "failed", FAILED)
    return ExitCode.OK if end.ok else ExitCode.FAILED
