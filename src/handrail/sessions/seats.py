"""Where a session lives: in this process, or in another one on this machine. Both fulfil `Seat`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import msgspec

from handrail.errors import LocalProtocolError, SelfApproval
from handrail.events.codec import decode_item, encode_event
from handrail.policy.answers.encoding import decode_answer, encode_answer
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.engine import Engine
from handrail.sessions.feed import Feed, Item
from handrail.sessions.owning.owner import Peer
from handrail.sessions.owning.owner_link import OwnerLink
from handrail.transports.ancestry import descends_from_session

__all__ = ["HereSeat", "SeatServer", "ThereSeat"]

ELSEWHERE = "attach"
"""The surface of whoever is in another process: they saw a copy of an ask, and must name its digest."""
FRONT_ENDS = frozenset({"web", "api", "cli", "telegram"})
"""Surfaces of a hub, which passes on what people do there, and of which the same is true."""
APPROVING = frozenset({"decide", "answer_lost", "control", "set_permission_mode"})
"""Calls that can allow something: never to be made by what a session itself has started."""


class HereSeat:
    """A session whose CLI runs in this process."""

    is_mine = True
    is_copied = False

    def __init__(self, engine: Engine, feed: Feed) -> None:
        self._engine = engine
        self._feed = feed

    async def send(self, content: Any, *, actor: Actor, uuid: str | None) -> str:
        return await self._engine.send(content, actor=actor, uuid=uuid)

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._engine.decide(ask_id, answer, actor=actor, digest=digest)

    async def answer_lost(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._engine.answer_lost(ask_id, answer, actor=actor, digest=digest)

    async def interrupt(self) -> None:
        await self._engine.interrupt()

    async def stop(self) -> None:
        await self._engine.stop()

    async def control(self, subtype: str, fields: dict[str, Any]) -> dict[str, Any]:
        return await self._engine.control(subtype, fields)

    async def set_permission_mode(self, mode: str) -> None:
        await self._engine.set_permission_mode(mode)

    async def set_model(self, model: str | None) -> None:
        await self._engine.set_model(model)

    async def rename(self, title: str, *, by: str) -> None:
        self._engine.rename(title, by=by)
        await self._engine.journal.stored()

    def subscribe(
        self, after: int, *, deltas: bool, follow: bool, until_given_up: bool = False
    ) -> AsyncGenerator[Item, None]:
        move = self._feed.moves if until_given_up else None
        return self._feed.read(after, deltas=deltas, follow=follow, until_move_after=move)


class ThereSeat:
    """A session whose CLI runs in another process, which does what is asked of it here."""

    is_mine = False
    is_copied = False

    def __init__(self, session_id: str, link: OwnerLink) -> None:
        self._session_id = session_id
        self._link = link

    async def send(self, content: Any, *, actor: Actor, uuid: str | None) -> str:
        return str(await self._call("send", content=content, uuid=uuid, **_signed(actor)))

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._call("decide", ask_id=ask_id, answer=encode_answer(answer), digest=digest, **_signed(actor))

    async def answer_lost(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._call("answer_lost", ask_id=ask_id, answer=encode_answer(answer), digest=digest, **_signed(actor))

    async def interrupt(self) -> None:
        await self._call("interrupt")

    async def stop(self) -> None:
        await self._call("stop")

    async def control(self, subtype: str, fields: dict[str, Any]) -> dict[str, Any]:
        return dict(await self._call("control", subtype=subtype, fields=fields))

    async def set_permission_mode(self, mode: str) -> None:
        await self._call("set_permission_mode", mode=mode)

    async def set_model(self, model: str | None) -> None:
        await self._call("set_model", model=model)

    async def rename(self, title: str, *, by: str) -> None:
        await self._call("rename", title=title, by=by)

    async def subscribe(
        self, after: int, *, deltas: bool, follow: bool, until_given_up: bool = False
    ) -> AsyncGenerator[Item, None]:
        params = {"after": after, "deltas": deltas, "follow": follow, "until_given_up": until_given_up}
        stream = self._link.stream(self._session_id, "subscribe", params, into=msgspec.Raw)
        async with aclosing(stream) as items:
            async for item in items:
                yield decode_item(bytes(item))

    async def _call(self, method: str, **params: Any) -> Any:
        return await self._link.call(self._session_id, method, params)


class SeatServer:
    """Does for other processes what they ask of the sessions that live here. A handler of `OwnerServer`."""

    def __init__(self, seat: Callable[[str], HereSeat]) -> None:
        self._seat = seat

    async def call(self, session_id: str, method: str, params: dict[str, Any], peer: Peer) -> Any:
        """One call. Raises `SessionNotLive` for a session that does not live here."""
        seat = self._seat(session_id)
        do = _CALLS.get(method)
        if do is None:
            raise LocalProtocolError(f"this Handrail knows no call {method!r}: is it older than the one that asks?")
        if method in APPROVING and await asyncio.to_thread(descends_from_session, peer.pid):
            raise SelfApproval(
                f"process {peer.pid} was started by a session, and a session can neither answer what was asked nor "
                "change what it may do: do that from a terminal or page of your own"
            )
        return await do(seat, params, _signatory(params, peer))

    async def stream(self, session_id: str, method: str, params: dict[str, Any], peer: Peer) -> AsyncIterator[Any]:
        """The items of a subscription."""
        if method != "subscribe":
            raise LocalProtocolError(f"this Handrail knows no stream {method!r}: is it older than the one that asks?")
        items = self._seat(session_id).subscribe(
            int(params.get("after", 0)),
            deltas=bool(params.get("deltas", True)),
            follow=bool(params.get("follow", True)),
            until_given_up=bool(params.get("until_given_up", False)),
        )
        async with aclosing(items):
            async for item in items:
                yield msgspec.Raw(encode_event(item))


def _signed(actor: Actor) -> dict[str, str]:
    """Who does it, for the process that does it for them."""
    return {"actor": actor.name, "surface": actor.surface}


def _signatory(params: dict[str, Any], peer: Peer) -> Actor:
    """Who says that they do it. None of the surfaces that they may name counts as one of this process."""
    surface = str(params.get("surface"))
    name = str(params.get("actor") or f"process {peer.pid}")
    return Actor(name, surface if surface in FRONT_ENDS else ELSEWHERE, peer.pid)


async def _decide(seat: HereSeat, params: dict[str, Any], actor: Actor) -> None:
    answer = decode_answer(params.get("answer"))
    await seat.decide(str(params.get("ask_id")), answer, actor=actor, digest=params.get("digest"))


async def _answer_lost(seat: HereSeat, params: dict[str, Any], actor: Actor) -> None:
    answer = decode_answer(params.get("answer"))
    await seat.answer_lost(str(params.get("ask_id")), answer, actor=actor, digest=params.get("digest"))


async def _send(seat: HereSeat, params: dict[str, Any], actor: Actor) -> str:
    return await seat.send(params.get("content"), actor=actor, uuid=params.get("uuid"))


async def _interrupt(seat: HereSeat, params: dict[str, Any], actor: Actor) -> None:
    await seat.interrupt()


async def _stop(seat: HereSeat, params: dict[str, Any], actor: Actor) -> None:
    await seat.stop()


async def _control(seat: HereSeat, params: dict[str, Any], actor: Actor) -> dict[str, Any]:
    return await seat.control(str(params.get("subtype")), dict(params.get("fields") or {}))


async def _set_permission_mode(seat: HereSeat, params: dict[str, Any], actor: Actor) -> None:
    await seat.set_permission_mode(str(params.get("mode")))


async def _set_model(seat: HereSeat, params: dict[str, Any], actor: Actor) -> None:
    await seat.set_model(params.get("model"))


async def _rename(seat: HereSeat, params: dict[str, Any], actor: Actor) -> None:
    await seat.rename(str(params.get("title") or ""), by=actor.name)


_CALLS: dict[str, Callable[[HereSeat, dict[str, Any], Actor], Any]] = {
    "send": _send,
    "decide": _decide,
    "answer_lost": _answer_lost,
    "interrupt": _interrupt,
    "stop": _stop,
    "control": _control,
    "set_permission_mode": _set_permission_mode,
    "set_model": _set_model,
    "rename": _rename,
}
