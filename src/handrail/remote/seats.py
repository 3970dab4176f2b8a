"""A session that lives with a hub: what is asked of it here is done there."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import msgspec

from handrail.errors import StaleDigest
from handrail.policy.answers.encoding import encode_answer
from handrail.remote.connection import HubConnection
from handrail.remote.live import LivePool
from handrail.remote.paths import ask_path, session_path
from handrail.remote.reading import RemoteStore
from handrail.sessions.asks import Actor, AnyAnswer
from handrail.sessions.feed import Item

__all__ = ["RemoteSeat"]


class _Sent(msgspec.Struct):
    uuid: str


class _Answered(msgspec.Struct):
    answer: dict[str, Any]


class RemoteSeat:
    """Does what a `Session` is asked to do. Who does it is whoever the token belongs to: a hub believes no names.

    With `resumes`, a session that has ended is resumed for a message.
    """

    is_mine = False
    is_copied = True

    def __init__(
        self,
        session_id: str,
        connection: HubConnection,
        store: RemoteStore,
        live: LivePool,
        *,
        resumes: bool = False,
    ) -> None:
        self._id = session_id
        self._resumes = resumes
        self._path = session_path(session_id)
        self._connection = connection
        self._store = store
        self._live = live

    async def send(self, content: Any, *, actor: Actor, uuid: str | None) -> str:
        # With a uuid it is the same message however often it arrives, also at another hub.
        body = {"content": _plain(content), "uuid": uuid or str(uuid4()), "resume": self._resumes}
        sent: _Sent = await self._connection.post(f"{self._path}/messages", _Sent, body=body, repeatable=True)
        return sent.uuid

    async def decide(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._answer(ask_id, answer, digest, resume=False)

    async def answer_lost(self, ask_id: str, answer: AnyAnswer, *, actor: Actor, digest: str | None) -> None:
        await self._answer(ask_id, answer, digest, resume=True)

    async def _answer(self, ask_id: str, answer: AnyAnswer, digest: str | None, *, resume: bool) -> None:
        if digest is None:
            raise StaleDigest(f"an answer through a hub needs the digest of what was shown of the ask {ask_id}")
        encoded = encode_answer(answer)

        async def was_taken() -> bool | None:
            row = await self._store.get_ask(self._id, ask_id)
            if row is None or row.answer is None or (resume and row.state != "resumed"):
                return None  # one that did not get to Claude Code may be given again, and is not that of now
            return msgspec.json.decode(row.answer) == encoded or None

        body = {"answer": encoded, "digest": digest, "resume": resume}
        await self._connection.post(f"{ask_path(self._id, ask_id)}/answer", body=body, recover=was_taken)

    async def interrupt(self) -> None:
        await self._connection.post(f"{self._path}/interrupt")

    async def stop(self) -> None:
        await self._connection.post(f"{self._path}/stop")

    async def control(self, subtype: str, fields: dict[str, Any]) -> dict[str, Any]:
        body = {"subtype": subtype, "fields": fields}
        answered: _Answered = await self._connection.post(f"{self._path}/control", _Answered, body=body)
        return answered.answer

    async def set_permission_mode(self, mode: str) -> None:
        await self.control("set_permission_mode", {"mode": mode})

    async def set_model(self, model: str | None) -> None:
        await self.control("set_model", {"model": model})

    async def rename(self, title: str, *, by: str) -> None:
        await self._connection.act("PATCH", self._path, body={"title": title})

    def subscribe(
        self, after: int, *, deltas: bool, follow: bool, until_given_up: bool = False
    ) -> AsyncGenerator[Item, None]:
        return self._live.follow(self._id, after, deltas=deltas)


def _plain(content: Any) -> Any:
    """A message as JSON values: text, or content blocks."""
    return content if isinstance(content, str) else msgspec.to_builtins(list(content))
