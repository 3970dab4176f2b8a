"""One process serves its sessions to the others: calls are answered, errors arrive as raised, nobody is in the way."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import (
    AlreadyDecided,
    AskClosed,
    BudgetSpent,
    ControlExpired,
    HandrailError,
    LocalProtocolError,
    ProcessExited,
    SelfApproval,
    SessionBusy,
    SessionError,
    SessionNotLive,
    StaleDigest,
    UnfitAnswer,
)
from handrail.sessions.owning import owner_wire as wire
from handrail.sessions.owning.owner import OwnerServer, Peer
from handrail.sessions.owning.owner_link import OwnerLink

DEADLINE = 30.0


class Sessions:
    """A handler that does what its caller names."""

    def __init__(self) -> None:
        self.peers: set[Peer] = set()
        self.produced = 0
        self.cancelled = asyncio.Event()
        self.streams = 0
        self.gate = asyncio.Event()
        self.entered = asyncio.Event()

    async def call(self, session_id: str, method: str, params: dict[str, Any], peer: Peer) -> Any:
        self.peers.add(peer)
        match method:
            case "echo":
                return {"session": session_id, **params}
            case "wait":
                return await self._wait()
            case "raise":
                raise self.error
            case "unsayable":
                return object()
        raise LocalProtocolError(f"no such method: {method}")

    async def _wait(self) -> str:
        self.entered.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "waited"

    async def stream(self, session_id: str, method: str, params: dict[str, Any], peer: Peer) -> AsyncIterator[Any]:
        self.streams += 1
        try:
            for number in range(params.get("count", 10**9)):
                self.produced += 1
                yield {"number": number}
                if number == params.get("fail_after"):
                    raise self.error
                await asyncio.sleep(0)
        finally:
            self.streams -= 1

    error: Exception = ValueError("a mistake")


@pytest.fixture
def sessions() -> Sessions:
    return Sessions()


@pytest.fixture
async def server(tmp_path: Path, sessions: Sessions) -> AsyncIterator[OwnerServer]:
    async with OwnerServer(str(tmp_path / "run"), sessions) as server:
        yield server


@pytest.fixture
async def link(server: OwnerServer) -> AsyncIterator[OwnerLink]:
    async with await OwnerLink.open(server.address) as link:
        yield link


async def eventually(condition: Callable[[], object], what: str) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.005)


# ------------------------------------------------------------ calls


async def test_a_call_is_answered_and_the_kernel_says_who_called(link: OwnerLink, sessions: Sessions) -> None:
    assert await link.call("s1", "echo", {"text": "line\nbreak"}) == {"session": "s1", "text": "line\nbreak"}
    assert sessions.peers == {Peer(os.getpid(), os.getuid())}
    assert link.owner_pid == os.getpid()


async def test_an_answer_can_be_read_as_a_type(link: OwnerLink) -> None:
    class Echo(msgspec.Struct):
        session: str

    assert await link.call("s1", "echo", into=Echo) == Echo("s1")
    with pytest.raises(SessionError, match="unexpected"):
        await link.call("s1", "echo", into=list[int])


async def test_answers_come_in_any_order(link: OwnerLink, sessions: Sessions) -> None:
    waiting = asyncio.create_task(link.call("s1", "wait"))
    await sessions.entered.wait()
    assert (await link.call("s1", "echo"))["session"] == "s1"
    assert not waiting.done()
    sessions.gate.set()
    assert await waiting == "waited"


async def test_a_caller_that_stops_waiting_cancels_the_call(link: OwnerLink, sessions: Sessions) -> None:
    waiting = asyncio.create_task(link.call("s1", "wait"))
    await sessions.entered.wait()
    waiting.cancel()
    await asyncio.wait_for(sessions.cancelled.wait(), DEADLINE)
    assert (await link.call("s1", "echo"))["session"] == "s1"


async def test_a_caller_that_vanishes_cancels_the_call(server: OwnerServer, sessions: Sessions) -> None:
    link = await OwnerLink.open(server.address)
    waiting = asyncio.create_task(link.call("s1", "wait"))
    await sessions.entered.wait()
    await link.close()
    await asyncio.wait_for(sessions.cancelled.wait(), DEADLINE)
    with pytest.raises(SessionError, match="closed"):
        await waiting
    with pytest.raises(SessionError, match="closed"):
        await link.call("s1", "echo")


@pytest.mark.slow
async def test_what_is_too_long_is_refused_before_it_is_sent(link: OwnerLink) -> None:
    with pytest.raises(SessionError, match="send less"):
        await link.call("s1", "echo", {"text": "x" * wire.MAX_LINE})
    assert (await link.call("s1", "echo"))["session"] == "s1"


async def test_large_calls_go_through(link: OwnerLink) -> None:
    text = "x" * 5_000_000
    assert (await link.call("s1", "echo", {"text": text}))["text"] == text


# ------------------------------------------------------------ errors

ERRORS = [
    AlreadyDecided("already decided by ada", actor="ada (attach)", at=1234.5),
    AskClosed("this ask is closed", state="lost"),
    StaleDigest("look again"),
    UnfitAnswer("needs a choice"),
    SelfApproval("a session cannot answer for itself"),
    BudgetSpent("spent"),
    SessionNotLive("resume it first"),
    ControlExpired("interrupt", 30.0),
    ProcessExited("gone", exit_code=-9, stderr_tail="tail"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_an_error_arrives_as_it_was_raised(link: OwnerLink, sessions: Sessions, error: HandrailError) -> None:
    sessions.error = error
    with pytest.raises(type(error)) as caught:
        await link.call("s1", "raise")
    assert type(caught.value) is type(error)
    assert str(caught.value) == str(error)
    assert vars(caught.value) == vars(error)


@pytest.mark.parametrize("method", ["raise", "unsayable"])
async def test_a_mistake_of_the_owner_is_named_and_logged(
    link: OwnerLink, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SessionError, match=r"the owner of the session failed: (Value|Type)Error"):
        await link.call("s1", method)
    assert "failed" in caplog.text
    assert (await link.call("s1", "echo"))["session"] == "s1"


# ------------------------------------------------------------ streams


async def test_a_stream_is_whole_and_in_order(link: OwnerLink, sessions: Sessions) -> None:
    items = [item["number"] async for item in link.stream("s1", "count", {"count": 1000})]
    assert items == list(range(1000))
    assert sessions.streams == 0


async def test_streams_and_calls_do_not_wait_for_a_stream_that_nobody_reads(
    link: OwnerLink, sessions: Sessions
) -> None:
    async with aclosing(link.stream("s1", "count")) as unread:
        await anext(unread)
        numbers = [item["number"] async for item in link.stream("s2", "count", {"count": 500})]
        assert numbers == list(range(500))
        assert (await link.call("s1", "echo"))["session"] == "s1"
        assert sessions.produced < 500 + 100, "the owner went on for a reader that does not read"
        assert sessions.streams == 1
    await eventually(lambda: sessions.streams == 0, "the owner has closed the stream that was left")


async def test_a_stream_that_fails_gives_its_items_then_the_error(link: OwnerLink, sessions: Sessions) -> None:
    sessions.error = AskClosed("closed", state="lost")
    stream = link.stream("s1", "count", {"fail_after": 5})
    assert [(await anext(stream))["number"] for _ in range(6)] == list(range(6))
    with pytest.raises(AskClosed):
        await anext(stream)


async def test_a_reader_that_stops_reading_its_socket_costs_the_owner_nothing(
    server: OwnerServer, sessions: Sessions
) -> None:
    with socket.socket(socket.AF_UNIX) as rude:
        rude.connect(server.address)
        rude.sendall(wire.encode(wire.Hello(version=wire.VERSION)))
        rude.sendall(wire.encode(wire.Open(id=1, session="s1", method="count", credit=10**9)))
        async with await OwnerLink.open(server.address) as other:
            async with asyncio.timeout(DEADLINE):
                before = -1
                while before != sessions.produced:  # until its socket is full
                    before = sessions.produced
                    for _ in range(200):
                        await other.call("s1", "echo")
            assert sessions.produced < 100_000
    await eventually(lambda: sessions.streams == 0, "the stream has ended with its reader")


# ------------------------------------------------------------ many, malformed, foreign


@pytest.mark.slow
async def test_fifty_links_at_once(server: OwnerServer, sessions: Sessions) -> None:
    async def use(number: int) -> list[int]:
        async with await OwnerLink.open(server.address) as link:
            calls = [link.call(f"s{number}", "echo", {"n": n}) for n in range(5)]
            assert [answer["n"] for answer in await asyncio.gather(*calls)] == list(range(5))
            return [item["number"] async for item in link.stream("s", "count", {"count": 100})]

    async with asyncio.timeout(DEADLINE):
        assert await asyncio.gather(*map(use, range(50))) == [list(range(100))] * 50
    assert sessions.streams == 0


async def raw_exchange(address: str, *lines: bytes) -> list[wire.FromOwner]:
    """Everything that the owner answers to these lines until it closes the connection."""
    reader, writer = await asyncio.open_unix_connection(address)
    writer.write(b"".join(lines))
    answers = []
    with suppress(ConnectionError):
        async with asyncio.timeout(DEADLINE):
            while line := await reader.readline():
                answers.append(wire.decode_from_owner(line))
    writer.close()
    await writer.wait_closed()
    return answers


HELLO = wire.encode(wire.Hello(version=wire.VERSION))


@pytest.mark.parametrize(
    "lines",
    [
        [b"nonsense\n"],
        [b"\xff\xfe\n"],
        [b"[]\n"],
        [wire.encode(wire.Cancel(id=1))],
        [HELLO, b"{}\n"],
        [HELLO, b'{"type":"call","id":"one"}\n'],
        [HELLO, b'{"type":"dance","id":1}\n'],
        [HELLO, b"[" * 100_000 + b"\n"],
    ],
)
async def test_malformed_lines_are_refused_and_nobody_else_notices(
    server: OwnerServer, link: OwnerLink, lines: list[bytes]
) -> None:
    answers = await raw_exchange(server.address, *lines)
    assert isinstance(answers[-1], wire.Refused)
    assert (await link.call("s1", "echo"))["session"] == "s1"


async def test_an_id_that_is_in_use_is_refused(server: OwnerServer, sessions: Sessions) -> None:
    call = wire.encode(wire.Call(id=7, session="s", method="wait"))
    reader, writer = await asyncio.open_unix_connection(server.address)
    writer.write(HELLO + call + call)
    await reader.readline()
    failed = wire.decode_from_owner(await reader.readline())
    assert isinstance(failed, wire.Failed)
    assert failed.error.kind == "LocalProtocolError"
    writer.close()
    await writer.wait_closed()


async def test_a_connection_that_ends_in_the_middle_of_a_line_is_let_go(server: OwnerServer, link: OwnerLink) -> None:
    with socket.socket(socket.AF_UNIX) as rude:
        rude.connect(server.address)
        rude.sendall(HELLO + b'{"type":"call"')
    assert (await link.call("s1", "echo"))["session"] == "s1"


async def test_the_owner_refuses_another_version(server: OwnerServer) -> None:
    hello, refused = await raw_exchange(server.address, wire.encode(wire.Hello(version=99)))
    assert isinstance(hello, wire.Hello)
    assert isinstance(refused, wire.Refused)
    assert "99" in refused.error.message


@pytest.fixture
async def impostor(tmp_path: Path) -> AsyncIterator[Callable[[bytes], Any]]:
    """Makes something that answers every connection with the same bytes, then ends it."""
    servers: list[asyncio.Server] = []

    async def make(answer: bytes) -> str:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(answer)
            await writer.drain()
            writer.close()

        servers.append(await asyncio.start_unix_server(accept, tmp_path / "impostor"))
        return str(tmp_path / "impostor")

    yield make
    for server in servers:
        server.close()
        await server.wait_closed()


async def test_a_link_says_that_the_owner_is_of_another_version(impostor: Callable[[bytes], Any]) -> None:
    address = await impostor(wire.encode(wire.Hello(version=99, pid=4711)))
    with pytest.raises(SessionBusy, match=r"process 4711 .* another version"):
        await OwnerLink.open(address)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(b"", SessionNotLive), (b"nonsense\n", SessionError), (wire.encode(wire.End(id=1)), SessionBusy)],
)
async def test_a_link_does_not_trust_what_it_hears(
    impostor: Callable[[bytes], Any], answer: bytes, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await OwnerLink.open(await impostor(answer))


async def test_a_link_that_hears_nonsense_ends_every_call(impostor: Callable[[bytes], Any]) -> None:
    link = await OwnerLink.open(await impostor(HELLO + b"nonsense\n"))
    with pytest.raises(SessionError, match="not of this protocol"):
        await link.call("s1", "echo")
    assert not link.is_open
    await link.close()


# ------------------------------------------------------------ where it listens


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory with a path that is short enough for sockets, wherever temporary files are."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield Path(directory)


async def test_the_socket_is_private_and_is_removed(short_path: Path, sessions: Sessions) -> None:
    runtime = short_path / "run"
    runtime.mkdir(mode=0o755)
    async with OwnerServer(str(runtime), sessions) as server:
        assert stat.S_IMODE(os.stat(server.address).st_mode) == 0o600
        assert stat.S_IMODE(runtime.stat().st_mode) == 0o700
        assert Path(server.address).parent == runtime
        assert len(list(runtime.iterdir())) == 1
    assert list(runtime.iterdir()) == []


async def test_a_path_that_is_too_long_gets_a_short_private_one(
    tmp_path: Path, sessions: Sessions, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="handrail.owner")
    async with OwnerServer(str(tmp_path / ("long" * 30)), sessions) as server:
        directory = Path(server.address).parent
        assert "too long" in caplog.text
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        async with await OwnerLink.open(server.address) as link:
            assert (await link.call("s1", "echo"))["session"] == "s1"
    assert not directory.exists()


async def test_other_users_are_refused(server: OwnerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail.sessions.owning.owner.os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(SessionBusy, match="another user"):
        await OwnerLink.open(server.address)


async def test_an_owner_that_was_never_there_is_recognised_at_once(tmp_path: Path) -> None:
    with pytest.raises(SessionNotLive, match="resume"):
        await OwnerLink.open(str(tmp_path / "nothing"))


async def test_the_sockets_of_dead_owners_are_removed_and_those_of_the_living_stay(
    short_path: Path, sessions: Sessions
) -> None:
    runtime = short_path / "run"
    runtime.mkdir()
    stale = runtime / "owner-1-dead.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(stale))
    with pytest.raises(SessionNotLive):
        await OwnerLink.open(str(stale))
    async with OwnerServer(str(runtime), sessions) as first, OwnerServer(str(runtime), sessions) as second:
        assert sorted(map(str, runtime.iterdir())) == sorted([first.address, second.address])


async def test_closing_answers_what_is_under_way_and_ends_the_rest(server: OwnerServer, sessions: Sessions) -> None:
    link = await OwnerLink.open(server.address)
    answered = asyncio.create_task(link.call("s1", "wait"))
    await sessions.entered.wait()
    stream = link.stream("s1", "count")
    await anext(stream)
    closing = asyncio.create_task(server.close())
    await eventually(lambda: not os.path.exists(server.address), "it no longer listens")
    sessions.gate.set()
    assert await answered == "waited"
    await closing
    with pytest.raises(SessionNotLive):
        _ = [item async for item in stream]
    with pytest.raises(SessionNotLive):
        await link.call("s1", "echo")
    await link.close()


# ------------------------------------------------------------ an owner in another process

OWNER = """
import asyncio, os, sys, time
from handrail.sessions.owning.owner import OwnerServer
class Sessions:
    async def call(self, session_id, method, params, peer):
        if method == "fork":
            fork = os.fork()
            return fork or time.sleep(600)
        await asyncio.sleep(600)
    async def stream(self, session_id, method, params, peer):
        yield peer.pid
        await asyncio.sleep(600)
async def main():
    async with OwnerServer(sys.argv[1], Sessions()) as server:
        print(server.address, flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-c", OWNER, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        process.kill()


@pytest.mark.slow
async def test_an_owner_that_is_killed_ends_every_call_and_stream(owner: tuple[subprocess.Popen[str], str]) -> None:
    process, address = owner
    link = await OwnerLink.open(address)
    stream = link.stream("s1", "count")
    assert await anext(stream) == os.getpid()
    call = asyncio.create_task(link.call("s1", "echo"))
    await asyncio.sleep(0)
    process.kill()
    async with asyncio.timeout(DEADLINE):
        with pytest.raises(SessionNotLive, match=f"process {process.pid}"):
            await call
        with pytest.raises(SessionNotLive, match="Resume"):
            await anext(stream)
        with pytest.raises(SessionNotLive):
            await link.call("s1", "echo")
        with pytest.raises(SessionNotLive, match="resume"):
            await OwnerLink.open(address)
    await link.close()


@pytest.mark.slow
async def test_a_fork_of_the_owner_does_not_pass_for_it(owner: tuple[subprocess.Popen[str], str]) -> None:
    process, address = owner
    link = await OwnerLink.open(address)
    fork = await link.call("s1", "fork")
    try:
        process.kill()
        async with asyncio.timeout(DEADLINE):
            with pytest.raises(SessionNotLive):
                await link.call("s1", "echo")
            with pytest.raises(SessionNotLive):
                await OwnerLink.open(address)
    finally:
        os.kill(fork, signal.SIGKILL)
        await link.close()


@pytest.mark.slow
async def test_an_owner_that_is_stopped_does_not_keep_anybody_waiting(
    owner: tuple[subprocess.Popen[str], str],
) -> None:
    process, address = owner
    process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(SessionBusy, match="does not answer"):
            await OwnerLink.open(address, patience=0.1)
    finally:
        process.send_signal(signal.SIGCONT)
