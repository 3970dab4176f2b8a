"""What every transport must do, as tests to inherit: name the peers, and the rest follows."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from handrail.errors import ClientClosed, LaunchError
from handrail.transports.base import Transport

from .support import DEADLINE, Recorder

MEGABYTE = 1024 * 1024


@asynccontextmanager
async def opened(transport: Transport) -> AsyncIterator[Recorder]:
    recorder = Recorder()
    await transport.open(recorder)
    try:
        yield recorder
    finally:
        await transport.close()


class FailingReceiver(Recorder):
    """Raises from every callback, after it has taken note."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        raise RuntimeError("a bug in a receiver")

    def connection_lost(self, exit_code: int | None) -> None:
        super().connection_lost(exit_code)
        raise RuntimeError("a bug in a receiver")


class TransportConformance(ABC):
    """Inherit and provide the peers."""

    @abstractmethod
    def echo(self) -> Transport:
        """To a peer that sends back what it gets, and leaves with 0 when its input ends."""

    @abstractmethod
    def saying(self, text: bytes) -> Transport:
        """To a peer that says something and leaves."""

    @abstractmethod
    def deaf(self) -> Transport:
        """To a peer that never reads, and stays when its input ends."""

    @abstractmethod
    def missing(self) -> Transport:
        """To a peer that cannot be started."""

    async def test_what_is_written_comes_back_in_order(self) -> None:
        transport = self.echo()
        async with opened(transport) as recorder:
            for number in range(100):
                transport.write(b"line %d\n" % number)
            await recorder.until_data(b"line 99\n")
        assert recorder.data == b"".join(b"line %d\n" % number for number in range(100))

    async def test_a_line_of_ten_megabytes_passes_both_ways(self) -> None:
        line = bytes(range(32, 127)) * (10 * MEGABYTE // 95) + b"\n"
        transport = self.echo()
        async with opened(transport) as recorder:
            transport.write(line)
            await recorder.until_size(len(line))
        assert recorder.data == line

    async def test_concurrent_writers_never_interleave(self) -> None:
        transport = self.echo()

        async def write_lines(writer: int) -> None:
            for number in range(20):
                transport.write(json.dumps([writer, number, "x" * 20_000]).encode() + b"\n")
                await transport.drain()

        async with opened(transport) as recorder:
            async with asyncio.timeout(DEADLINE):
                await asyncio.gather(*(write_lines(writer) for writer in range(10)))
            await recorder.until(lambda: recorder.data.count(b"\n") == 200)
        numbers: dict[int, list[int]] = {}
        for line in recorder.data.splitlines():
            writer, number, _ = json.loads(line)
            numbers.setdefault(writer, []).append(number)
        assert numbers == {writer: list(range(20)) for writer in range(10)}

    async def test_the_end_is_reported_once_and_last(self) -> None:
        async with opened(self.saying(b"bye\n")) as recorder:
            await recorder.until_lost()
        assert recorder.data == b"bye\n"
        assert len(recorder.exit_codes) == 1
        assert not recorder.data_after_end

    async def test_closing_reports_the_end_too(self) -> None:
        async with opened(self.echo()) as recorder:
            pass
        assert len(recorder.exit_codes) == 1

    async def test_what_the_peer_said_before_it_left_is_not_lost(self) -> None:
        text = b"0123456789abcdef" * 4096 * 4
        async with opened(self.saying(text)) as recorder:
            await recorder.until_lost()
        assert recorder.data == text

    async def test_ending_the_input_lets_the_queue_leave_first(self) -> None:
        transport = self.echo()
        async with opened(transport) as recorder:
            transport.write(b"x" * MEGABYTE)
            transport.close_input()
            transport.close_input()
            transport.write(b"dropped")
            await recorder.until_lost()
        assert recorder.data == b"x" * MEGABYTE

    async def test_writing_to_a_peer_that_is_gone_does_nothing(self) -> None:
        transport = self.saying(b"")
        async with opened(transport) as recorder:
            await recorder.until_lost()
            transport.write(b"hello\n")
            async with asyncio.timeout(DEADLINE):
                await transport.drain()
            transport.close_input()
        transport.write(b"hello\n")

    async def test_drain_ends_when_the_peer_goes(self) -> None:
        transport = self.deaf()
        async with opened(transport):
            transport.write(b"x" * MEGABYTE)
            draining = asyncio.create_task(transport.drain())
            await asyncio.sleep(0)
            assert not draining.done()
            await transport.close()
            async with asyncio.timeout(DEADLINE):
                await draining

    async def test_a_failing_receiver_stops_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        transport = self.echo()
        receiver = FailingReceiver()
        await transport.open(receiver)
        transport.write(b"one\n")
        await receiver.until_data(b"one\n")
        transport.write(b"two\n")
        await receiver.until_data(b"two\n")
        await transport.close()
        assert len(receiver.exit_codes) == 1
        assert "a bug in a receiver" in caplog.text

    async def test_closing_twice_and_at_once_is_fine(self) -> None:
        transport = self.echo()
        async with opened(transport) as recorder:
            await asyncio.gather(transport.close(), transport.close())
            await transport.close()
        assert len(recorder.exit_codes) == 1
        assert transport.pid is None

    async def test_closing_goes_through_when_cancelled(self) -> None:
        transport = self.deaf()
        async with opened(transport) as recorder:
            closing = asyncio.create_task(transport.close())
            for _ in range(3):
                await asyncio.sleep(0)
                closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
            assert len(recorder.exit_codes) == 1
            assert transport.pid is None

    async def test_closing_what_was_never_open(self) -> None:
        transport = self.echo()
        await transport.close()
        assert transport.pid is None
        assert transport.stderr_tail == ""
        with pytest.raises(ClientClosed):
            await transport.open(Recorder())

    async def test_a_peer_that_cannot_be_started(self) -> None:
        recorder = Recorder()
        transport = self.missing()
        with pytest.raises(LaunchError):
            await transport.open(recorder)
        await transport.close()
        assert recorder.chunks == []
        assert recorder.exit_codes == []
