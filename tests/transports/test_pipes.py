"""Bytes arrive whole and in order however the reader takes them; the end of stderr is the end of stderr."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.transports.pipes import PipeWriter, StderrTail

from .support import DEADLINE


@contextmanager
def pipe() -> Iterator[tuple[int, PipeWriter]]:
    """A reader's descriptor and a writer, inside a running loop."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    writer = PipeWriter(asyncio.get_running_loop(), os.fdopen(write_end, "wb", buffering=0))
    try:
        yield read_end, writer
    finally:
        writer.close()
        os.close(read_end)


async def read_everything(read_end: int, sizes: list[int]) -> bytes:
    """Read until the pipe ends, so much at a time."""
    content = bytearray()
    for size in itertools.cycle(sizes):
        try:
            chunk = os.read(read_end, size)
        except BlockingIOError:
            await asyncio.sleep(0)
            continue
        if not chunk:
            break
        content += chunk
        await asyncio.sleep(0)
    return bytes(content)


@settings(deadline=None, max_examples=25)
@given(
    writes=st.lists(st.integers(0, 200_000), max_size=8),
    reads=st.lists(st.integers(1, 150_000), min_size=1, max_size=5),
    pauses=st.lists(st.booleans(), min_size=1, max_size=7),
)
def test_everything_arrives_in_order(writes: list[int], reads: list[int], pauses: list[bool]) -> None:
    messages = [bytes([number % 256]) * size for number, size in enumerate(writes)]

    async def scenario() -> bytes:
        with pipe() as (read_end, writer):
            received = asyncio.create_task(read_everything(read_end, reads))
            for number, message in enumerate(messages):
                writer.write(message)
                if pauses[number % len(pauses)]:
                    await asyncio.sleep(0)
            queued = writer.size
            writer.end()
            await writer.drain()
            assert queued <= sum(writes)
            assert writer.size == 0
            return await asyncio.wait_for(received, DEADLINE)

    assert asyncio.run(scenario()) == b"".join(messages)


def go_away(read_end: int) -> None:
    """Close the reading end, but keep its number taken."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, read_end)
    os.close(nothing)


async def test_a_reader_that_goes_away_takes_the_queue_with_it() -> None:
    with pipe() as (read_end, writer):
        writer.write(b"x" * 1_000_000)
        waiting = asyncio.create_task(writer.drain())
        await asyncio.sleep(0)
        go_away(read_end)
        await asyncio.wait_for(waiting, DEADLINE)
        assert writer.size == 0
        writer.write(b"more")
        assert writer.size == 0


async def test_a_reader_that_is_gone_already_is_no_error() -> None:
    with pipe() as (read_end, writer):
        go_away(read_end)
        writer.write(b"x")
        writer.write(b"y")
        await writer.drain()
        assert writer.size == 0


async def test_a_cancelled_drain_disturbs_nobody() -> None:
    with pipe() as (read_end, writer):
        writer.write(b"x" * 100_000)
        impatient, patient = (asyncio.create_task(writer.drain()) for _ in range(2))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.sleep(0)
        assert impatient.cancelled()
        received = asyncio.create_task(read_everything(read_end, [65536]))
        await asyncio.wait_for(patient, DEADLINE)
        writer.end()
        assert len(await received) == 100_000


@given(st.lists(st.binary(max_size=200)), st.integers(1, 100))
def test_the_tail_is_the_end_of_everything(chunks: list[bytes], limit: int) -> None:
    tail = StderrTail(1, limit)
    for chunk in chunks:
        tail.feed(chunk)
    assert tail.text == b"".join(chunks)[-limit:].decode(errors="replace")


@given(chunks=st.lists(st.text("ab\n", max_size=10)))
def test_every_line_is_logged_once(chunks: list[str]) -> None:
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("handrail.transports.pipes._stderr_log", _ListLog(lines))
        tail = StderrTail(1, 100)
        for chunk in chunks:
            tail.feed(chunk.encode())
        tail.end()
    text = "".join(chunks)
    assert lines == text.removesuffix("\n").split("\n") if text else lines == []


class _ListLog:
    """Just enough of a logger."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the name that logging has
        return True

    def debug(self, message: str, pid: int, line: str) -> None:
        self._lines.append(line)
