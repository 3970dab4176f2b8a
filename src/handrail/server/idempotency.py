"""The same request twice does its work once: what was answered under an `Idempotency-Key` is answered again."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from handrail.errors import StoreError
from handrail.server.calls import Caller
from handrail.server.problems import Problem
from handrail.server.routing import Reply
from handrail.store.base import KeptReply, Store

__all__ = ["HEADER", "Replies", "check_key"]

logger = logging.getLogger("handrail.server")

HEADER: Final = "idempotency-key"
LONGEST_KEY: Final = 200
KEPT_FOR: Final = 24 * 3600.0


def check_key(key: str) -> str:
    """A key as a client sent it. Raises `Problem`."""
    if not 0 < len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise Problem("invalid", f"an Idempotency-Key has 1 to {LONGEST_KEY} printable ASCII characters")
    return key


class Replies:
    """What was answered lately, by caller and key. It is in the store: a restart of the hub changes nothing."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    async def once(self, caller: Caller, key: str, request: bytes, work: Callable[[], Awaitable[Reply]]) -> Reply:
        """Do the work, or give what it came to the first time. `request` is everything that the request says."""
        wanted = KeptReply(
            caller=caller.key, key=key, request_hash=hashlib.sha256(request).hexdigest(), at=self._clock()
        )
        found = await self._store.begin_reply(wanted, forget_before=self._clock() - KEPT_FOR)
        if found is not None:
            return _again(found, wanted)
        try:
            reply = await work()
        except BaseException:
            # Nothing was answered, so the key must not keep the client from trying again.
            await self._store.drop_reply(wanted.caller, wanted.key)
            raise
        await self._keep(wanted, reply)
        return reply

    async def _keep(self, wanted: KeptReply, reply: Reply) -> None:
        """Remember what was answered. What was done is done, so that this fails must not look as if that had."""
        headers = msgspec.json.encode(dict(reply.headers))
        done = msgspec.structs.replace(wanted, status=reply.status, body=reply.content, headers=headers)
        try:
            await self._store.keep_reply(done)
        except StoreError as error:
            logger.error("an answer cannot be kept for its Idempotency-Key: %s", error)


def _again(found: KeptReply, wanted: KeptReply) -> Reply:
    if found.request_hash != wanted.request_hash:
        raise Problem("idempotency_key_reused", "this Idempotency-Key was used with another request: make a new one")
    if found.status is None:
        raise Problem("in_progress", "a request with this Idempotency-Key is still being worked on: try again later")
    headers = msgspec.json.decode(found.headers, type=dict[str, str])
    return Reply(found.status, found.body, {**headers, "idempotent-replayed": "true"})
