"""Handrail, through its public interface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.contenders import Tally
from handrail import Allow, Ask, Assistant, Client, Options, StreamEvent, User, connect


@asynccontextmanager
async def session(cli: str) -> AsyncIterator[HandrailSession]:
    async with connect(Options(cli_path=cli, include_partial_messages=True), on_ask=allow) as client:
        yield HandrailSession(client)


async def allow(ask: Ask) -> Allow:
    return Allow()


class HandrailSession:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def consume(self, tally: Tally, look: str) -> None:
        async with self._client.turn("go") as turn:
            if look == "count":
                async for _ in turn:
                    tally.frames += 1
            elif look == "raw":
                async for frame in turn:
                    tally.frames += bool(frame.raw)
            else:
                async for frame in turn:
                    tally.frames += 1
                    read_content(frame)


def read_content(frame: object) -> object:
    """What a program that shows the conversation looks at."""
    if isinstance(frame, StreamEvent):
        return frame.event and frame.event.delta  # type: ignore[union-attr]
    if isinstance(frame, Assistant | User):
        return [block.type for block in frame.message.blocks]
    return None
