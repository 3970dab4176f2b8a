"""A recording has everything that passed, in order, without secrets; and recording disturbs nothing."""

import io
import json
import logging
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import ClientClosed, LaunchError
from handrail.transports.recorder import RecordingTransport, WireLog
from handrail.transports.redact import REDACTED, Redactor
from handrail.transports.replay import Recording


class Peer:
    """An inner transport whose other end is the test."""

    pid = 4711
    stderr_tail = ""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.receiver: Any = None
        self.calls: list[Any] = []

    async def open(self, receiver: Any) -> None:
        if self.fails:
            raise LaunchError("no such CLI")
        self.receiver = receiver

    def write(self, data: bytes) -> None:
        self.calls.append(data)

    async def drain(self) -> None:
        self.calls.append("drain")

    def close_input(self) -> None:
        self.calls.append("close_input")

    async def close(self) -> None:
        self.calls.append("close")
        if self.receiver is not None:
            receiver, self.receiver = self.receiver, None
            receiver.connection_lost(0)


class Log:
    """A receiver that keeps what it is told, and may react."""

    def __init__(self) -> None:
        self.data: list[bytes] = []
        self.exits: list[int | None] = []
        self.reaction: Any = None

    def data_received(self, data: bytes) -> None:
        self.data.append(data)
        if self.reaction:
            self.reaction()

    def connection_lost(self, exit_code: int | None) -> None:
        self.exits.append(exit_code)


def rows(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def passed(content: bytes, direction: str) -> list[Any]:
    return [row["raw"] for row in rows(content) if row["dir"] == direction]


async def test_both_directions_are_recorded_and_passed_on(tmp_path: Path) -> None:
    ticks = iter([float(number) for number in range(100)])
    peer, log, path = Peer(), Log(), tmp_path / "r.jsonl"
    transport = RecordingTransport(peer, path, clock=lambda: next(ticks))
    await transport.open(log)
    assert transport.pid == 4711
    transport.write(b'{"type":"user"}\n{"type":"keep_alive"}\n')
    await transport.drain()
    peer.receiver.data_received(b'{"type": "system"}\n{"ty')
    peer.receiver.data_received(b'pe":"result"}\n')
    transport.close_input()
    transport.close_input()
    await transport.close()
    await transport.close()

    assert peer.calls == [
        b'{"type":"user"}\n{"type":"keep_alive"}\n',
        "drain",
        "close_input",
        "close_input",
        "close",
        "close",
    ]
    assert log.data == [b'{"type": "system"}\n{"ty', b'pe":"result"}\n']
    assert log.exits == [0]
    recorded = rows(path.read_bytes())
    assert [(row["dir"], row["raw"]) for row in recorded] == [
        ("meta", {"recorder": "handrail"}),
        ("out", {"type": "user"}),
        ("out", {"type": "keep_alive"}),
        ("in", {"type": "system"}),
        ("in", {"type": "result"}),
        ("meta", {"stdin": "EOF"}),
        ("meta", {"close": True}),
        ("meta", {"exit": 0}),
    ]
    times = [row["t"] for row in recorded]
    assert times == sorted(times)


async def test_an_answer_is_recorded_after_what_it_answers(tmp_path: Path) -> None:
    peer, log, path = Peer(), Log(), tmp_path / "r.jsonl"
    transport = RecordingTransport(peer, path)
    await transport.open(log)
    log.reaction = lambda: transport.write(b'{"type":"control_response"}\n')
    peer.receiver.data_received(b'{"type":"control_request"}\n')
    await transport.close()
    assert [row["dir"] for row in rows(path.read_bytes())][1:3] == ["in", "out"]


async def test_what_was_recorded_is_on_disk_before_the_connection_ends(tmp_path: Path) -> None:
    peer, path = Peer(), tmp_path / "r.jsonl"
    transport = RecordingTransport(peer, path)
    await transport.open(Log())
    peer.receiver.data_received(b'{"type":"system"}\n')
    assert passed(path.read_bytes(), "in") == [{"type": "system"}]
    await transport.close()


async def test_secrets_are_left_out_of_the_file_but_not_of_the_wire(tmp_path: Path) -> None:
    line = b'{"type":"update_environment_variables","variables":{"A":"hush"}}\n'
    peer, path = Peer(), tmp_path / "r.jsonl"
    transport = RecordingTransport(peer, path, redact=Redactor(["swordfish"]))
    await transport.open(Log())
    transport.write(line)
    transport.write(b'{"type":"user","text":"swordfish"}\n')
    await transport.close()
    assert peer.calls[0] == line
    assert passed(path.read_bytes(), "out") == [
        {"type": "update_environment_variables", "variables": {"A": REDACTED}},
        {"type": "user", "text": REDACTED},
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_redaction_can_be_switched_off() -> None:
    file = io.BytesIO()
    transport = RecordingTransport(Peer(), file, redact=False)
    await transport.open(Log())
    transport.write(b'{"password":"x"}\n')
    await transport.close()
    assert passed(file.getvalue(), "out") == [{"password": "x"}]


async def test_a_file_object_stays_open() -> None:
    file = io.BytesIO()
    transport = RecordingTransport(Peer(), file)
    await transport.open(Log())
    await transport.close()
    assert not file.closed


async def test_stderr_and_an_unfinished_line_are_kept() -> None:
    peer, file = Peer(), io.BytesIO()
    transport = RecordingTransport(peer, file)
    await transport.open(Log())
    peer.stderr_tail = "boom: sk-ant-abcdefghijklmnopqrst"
    peer.receiver.data_received(b'{"type":"sys')
    await transport.close()
    assert [(row["dir"], row["raw"], row.get("end")) for row in rows(file.getvalue())][2:] == [
        ("in", '{"type":"sys', False),
        ("meta", {"stderr": f"boom: {REDACTED}"}, None),
        ("meta", {"exit": 0}, None),
    ]


async def test_a_file_that_cannot_be_created_fails_the_start(tmp_path: Path) -> None:
    transport = RecordingTransport(Peer(), tmp_path / "missing" / "r.jsonl")
    with pytest.raises(LaunchError, match=r"cannot record to .*r\.jsonl: No such file"):
        await transport.open(Log())
    await transport.close()


async def test_a_cli_that_cannot_be_started_leaves_no_open_file(tmp_path: Path) -> None:
    transport = RecordingTransport(Peer(fails=True), tmp_path / "r.jsonl")
    with pytest.raises(LaunchError, match="no such CLI"):
        await transport.open(Log())


async def test_lines_that_nobody_will_get_are_not_recorded() -> None:
    peer, file = Peer(), io.BytesIO()
    transport = RecordingTransport(peer, file)
    await transport.open(Log())
    transport.close_input()
    transport.write(b'{"type":"user"}\n')
    await transport.close()
    assert passed(file.getvalue(), "out") == []


async def test_a_closed_transport_cannot_be_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    transport = RecordingTransport(Peer(), path)
    await transport.open(Log())
    await transport.close()
    before = path.read_bytes()
    with pytest.raises(ClientClosed):
        await transport.open(Log())
    assert path.read_bytes() == before


async def test_a_full_disk_ends_the_recording_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

    peer, log = Peer(), Log()
    transport = RecordingTransport(peer, Full())
    with caplog.at_level(logging.WARNING):
        await transport.open(log)
        transport.write(b"{}\n")
        peer.receiver.data_received(b"{}\n")
        await transport.close()
    assert [record.message for record in caplog.records] == [
        "the recording ends here, since it cannot be written: [Errno 28] No space left on device"
    ]
    assert (peer.calls, log.data, log.exits) == ([b"{}\n", "close"], [b"{}\n"], [0])


async def test_a_file_of_our_own_that_fails_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    reader, writer = os.pipe()
    transport = RecordingTransport(Peer(), f"/dev/fd/{writer}")
    with caplog.at_level(logging.WARNING):
        await transport.open(Log())
        os.close(reader)
        transport.write(b"{}\n")
        await transport.close()
    os.close(writer)
    assert len(caplog.records) == 1


async def test_the_wire_log_redacts_then_cuts(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer()
    transport = RecordingTransport(peer, WireLog(limit=40))
    with caplog.at_level(logging.DEBUG, logger="handrail.wire"):
        await transport.open(Log())
        transport.write(b'{"token":"abc"}\n')
        peer.receiver.data_received(b'{"text":"' + b"x" * 100 + b'"}\n\xff\n')
        await transport.close()
    shown = [record.getMessage().split(" ", 1)[1].lstrip("0123456789. ") for record in caplog.records]
    assert shown == [
        '-- {"recorder":"handrail"}',
        f'-> {{"token":"{REDACTED}"}}',
        '<- {"text":"' + "x" * 31 + "… (111 bytes)",
        "<- \\xff",
        '-- {"close":true}',
        '-- {"exit":0}',
    ]


async def test_the_wire_log_does_nothing_unless_it_is_read() -> None:
    class Untouchable(Redactor):
        def line(self, line: bytes) -> bytes:
            raise AssertionError("redacted for nobody")

    log = logging.getLogger("handrail.test.quiet")
    log.setLevel(logging.INFO)
    transport = RecordingTransport(Peer(), WireLog(log, redactor=Untouchable()))
    await transport.open(Log())
    transport.write(b"{}\n")
    await transport.close()


lines = st.one_of(
    st.binary(max_size=30).map(lambda data: data.replace(b"\n", b" ")),
    st.sampled_from(
        [
            b"",
            b"{}",
            b' {"a":1}',
            b'{"a":1}\r',
            b'{"a" : [1.50, "\\u00e9\xc3\xa9", 1e400]}',
            b'{"a":"\\ud800"}',
            b'{"a":"\xff"}',
            b'"text"',
            b"[1]",
            b"null",
            b'{"a":1}{"b":2}',
            b'{"unfinished":',
            b"\xef\xbb\xbf{}",
            b"\x00",
            b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
        ]
    ),
)


@pytest.mark.slow
@given(st.lists(lines, max_size=12), st.booleans(), st.lists(st.integers(1, 40), max_size=8))
async def test_every_byte_comes_back(content: list[bytes], ended: bool, cuts: list[int]) -> None:
    """Whatever the CLI sends, in whatever pieces, a recording without redaction returns it byte for byte."""
    sent = b"\n".join(content) + (b"\n" if ended and content else b"")
    peer, log, file = Peer(), Log(), io.BytesIO()
    transport = RecordingTransport(peer, file, redact=False)
    await transport.open(log)
    rest = sent
    for size in cuts:
        piece, rest = rest[:size], rest[size:]
        if piece:
            peer.receiver.data_received(piece)
    if rest:
        peer.receiver.data_received(rest)
    await transport.close()
    entries = Recording.parse(file.getvalue()).entries
    assert b"".join(entry.data for entry in entries if entry.direction == "in") == sent
    assert b"".join(log.data) == sent
