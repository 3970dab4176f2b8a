"""A recording passes for the CLI: same frames, same order, addressed to whoever listens now."""

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import ClientClosed, LaunchError, LocalProtocolError
from handrail.transports.recorder import RecordingTransport
from handrail.transports.replay import Recording, ReplayTransport

TRANSCRIPTS = Path(__file__).parents[1] / "fixtures" / "transcripts"


class Host:
    """A receiver that decodes what it gets and may answer it at once."""

    def __init__(self, answer: Callable[[Any], None] | None = None) -> None:
        self.bytes = b""
        self.frames: list[Any] = []
        self.exits: list[int | None] = []
        self.answer = answer
        self.news = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        assert not self.exits
        self.bytes += data
        for line in data.splitlines():
            self.frames.append(json.loads(line))
            if self.answer:
                self.answer(self.frames[-1])
        self.news.set()

    def connection_lost(self, exit_code: int | None) -> None:
        self.exits.append(exit_code)
        self.news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self.news.clear()
                await self.news.wait()


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def recording(*entries: tuple[str, Any]) -> Recording:
    rows = [{"t": 0, "dir": direction, "raw": raw} for direction, raw in entries]
    return Recording.parse(b"".join(line(row) for row in rows))


def request(request_id: str, subtype: str) -> dict[str, Any]:
    return {"type": "control_request", "request_id": request_id, "request": {"subtype": subtype}}


def response(request_id: str, /, **body: Any) -> dict[str, Any]:
    inner = {"subtype": "success", "request_id": request_id, "response": body}
    return {"type": "control_response", "response": inner}


def user(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **fields}


def kinds(frames: list[Any]) -> list[str]:
    return [frame["type"] for frame in frames]


async def turns_of_the_loop(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_it_waits_for_each_recorded_write() -> None:
    transport = ReplayTransport(
        recording(("in", {"type": "a"}), ("out", user("hi")), ("in", {"type": "b"}), ("in", {"type": "c"}))
    )
    host = Host()
    await transport.open(host)
    await turns_of_the_loop()
    assert kinds(host.frames) == ["a"]
    assert transport.waiting_for is not None
    assert "line 2" in transport.waiting_for
    assert '"hi"' in transport.waiting_for
    transport.write(line(user("hello")))
    await transport.wait_played()
    assert kinds(host.frames) == ["a", "b", "c"]
    assert transport.written == [user("hello")]
    assert transport.waiting_for is None
    assert host.exits == []
    await transport.close()
    await transport.close()
    assert host.exits == [None]


async def test_nothing_is_delivered_before_open_returns() -> None:
    transport = ReplayTransport(recording(("in", {"type": "a"})))
    host = Host()
    await transport.open(host)
    assert host.frames == []
    await transport.wait_played()
    assert kinds(host.frames) == ["a"]


async def test_a_write_of_another_kind_does_not_count() -> None:
    transport = ReplayTransport(recording(("out", user("hi")), ("in", {"type": "b"})))
    host = Host()
    await transport.open(host)
    transport.write(line({"type": "keep_alive"}))
    await turns_of_the_loop()
    assert host.frames == []
    transport.write(line(user("hi")))
    await transport.wait_played()
    assert kinds(host.frames) == ["b"]


async def test_writes_may_come_early_and_in_another_order() -> None:
    transport = ReplayTransport(
        recording(
            ("out", request("r1", "initialize")),
            ("in", response("r1", n=1)),
            ("out", user("hi")),
            ("in", {"type": "result"}),
        )
    )
    host = Host()
    await transport.open(host)
    transport.write(line(user("hi")) + line(request("live", "initialize")))
    await transport.wait_played()
    assert host.frames == [response("live", n=1), {"type": "result"}]


async def test_responses_are_addressed_to_the_requests_of_today() -> None:
    transport = ReplayTransport(
        recording(
            ("out", request("init", "initialize")),
            ("out", request("mode", "set_permission_mode")),
            ("in", response("mode", mode="plan")),
            ("in", response("mode")),
            ("in", {"type": "system", "subtype": "control_request_progress", "request_id": "init"}),
            ("in", response("init", text="init", request_id="kept")),
        )
    )
    host = Host()
    await transport.open(host)
    transport.write(line(request("A", "initialize")) + line(request("B", "set_permission_mode")))
    await transport.wait_played()
    assert host.frames == [
        response("B", mode="plan"),
        response("B"),
        {"type": "system", "subtype": "control_request_progress", "request_id": "A"},
        response("A", text="init", request_id="kept"),
    ]


async def test_message_uuids_are_those_of_today() -> None:
    transport = ReplayTransport(
        recording(
            ("out", user("one", uuid="old-1")),
            ("in", {"type": "command_lifecycle", "command_uuid": "old-1", "state": "queued"}),
            ("out", user("two", uuid="old-2")),
            ("in", {"type": "result", "user_message_uuid": "old-2", "user_message_uuids": ["old-1", "old-2"]}),
        )
    )
    host = Host()
    await transport.open(host)
    transport.write(line(user("one", uuid="new-1")) + line(user("two", uuid="new-2")))
    await transport.wait_played()
    assert host.frames == [
        {"type": "command_lifecycle", "command_uuid": "new-1", "state": "queued"},
        {"type": "result", "user_message_uuid": "new-2", "user_message_uuids": ["new-1", "new-2"]},
    ]


async def test_a_control_request_that_was_not_recorded_is_answered() -> None:
    transport = ReplayTransport(recording(("out", user("hi")), ("in", {"type": "result"})))
    host = Host()
    await transport.open(host)
    transport.write(line(request("A", "initialize")))
    await host.until(lambda: len(host.frames) == 1)
    assert host.frames == [response("A")]
    transport.write(line(user("hi")))
    await transport.wait_played()
    assert kinds(host.frames) == ["control_response", "result"]


async def test_only_as_many_requests_as_were_recorded_get_the_recorded_answer() -> None:
    transport = ReplayTransport(recording(("out", request("r", "mcp_status")), ("in", response("r", n=1))))
    host = Host()
    await transport.open(host)
    transport.write(line(request("A", "mcp_status")) + line(request("B", "mcp_status")))
    await host.until(lambda: len(host.frames) == 2)
    assert sorted(host.frames, key=str) == sorted([response("A", n=1), response("B")], key=str)


async def test_it_does_not_wait_for_lines_that_the_cli_cannot_have_reacted_to() -> None:
    transport = ReplayTransport(
        recording(
            ("in", request("ask", "can_use_tool")),
            ("in", {"type": "control_cancel_request", "request_id": "ask"}),
            ("out", response("ask", behavior="allow")),
            ("out", response("orphan")),
            ("out", {"type": "keep_alive"}),
            ("in", {"type": "result"}),
        )
    )
    host = Host()
    await transport.open(host)
    await transport.wait_played()
    assert kinds(host.frames) == ["control_request", "control_cancel_request", "result"]


async def test_an_ask_is_waited_for() -> None:
    transport = ReplayTransport(
        recording(
            ("in", request("ask", "can_use_tool")), ("out", response("ask", behavior="allow")), ("in", {"type": "x"})
        )
    )
    host = Host(lambda frame: transport.write(line(response(frame["request_id"], behavior="deny"))))
    await transport.open(host)
    host.answer = lambda frame: (
        transport.write(line(response("ask", behavior="deny"))) if frame["type"] == "control_request" else None
    )
    await transport.wait_played()
    assert kinds(host.frames) == ["control_request", "x"]
    assert transport.written == [response("ask", behavior="deny")]


@pytest.mark.parametrize(
    ("before", "exit_code", "waits"),
    [
        ((), 1, False),
        ((), 0, False),
        ((), -9, True),  # whoever made this recording killed the CLI when it was done
        ((("meta", {"recorder": "handrail"}),), -9, False),  # ours say when they close
        ((("meta", {"recorder": "handrail"}), ("meta", {"close": True})), 0, True),
        ((("meta", {"stdin": "EOF"}),), 0, True),
        ((("meta", {"signal": "SIGTERM"}),), 143, True),
    ],
)
async def test_the_recorded_exit(before: tuple[tuple[str, Any], ...], exit_code: int, waits: bool) -> None:
    transport = ReplayTransport(recording(*before, ("in", {"type": "a"}), ("meta", {"exit": exit_code})))
    host = Host()
    await transport.open(host)
    await transport.wait_played()
    assert host.exits == ([] if waits else [exit_code])
    transport.close_input()
    await host.until(lambda: bool(host.exits))
    assert host.exits == [exit_code]
    transport.write(line(user("into the void")))
    await transport.close()
    assert host.exits == [exit_code]
    assert transport.written == []


async def test_who_decides_when_it_exits_can_be_chosen() -> None:
    content = recording(("meta", {"exit": 3}))
    held, prompt = ReplayTransport(content, wait_for_close=True), ReplayTransport(content, wait_for_close=False)
    for transport, exits in ((held, []), (prompt, [3])):
        host = Host()
        await transport.open(host)
        await transport.wait_played()
        assert host.exits == exits
        await transport.close()


async def test_closing_delivers_what_the_cli_had_already_sent() -> None:
    transport = ReplayTransport(
        recording(("in", {"type": "a"}), ("in", {"type": "b"}), ("out", user("never")), ("in", {"type": "c"}))
    )
    host = Host()
    await transport.open(host)
    await transport.close()
    assert kinds(host.frames) == ["a", "b"]
    assert host.exits == [None]


async def test_a_closed_replay_cannot_be_opened_again() -> None:
    transport = ReplayTransport(recording(("in", {"type": "a"})))
    await transport.close()
    with pytest.raises(ClientClosed):
        await transport.open(Host())


async def test_a_failing_receiver_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Host):
        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            raise RuntimeError("a bug in a receiver")

    transport, host = ReplayTransport(recording(("in", {"type": "a"}), ("in", {"type": "b"}))), Failing()
    await transport.open(host)
    await transport.wait_played()
    await transport.close()
    assert kinds(host.frames) == ["a", "b"]
    assert "a bug in a receiver" in caplog.text


async def test_notes_give_the_stderr_tail() -> None:
    transport = ReplayTransport(recording(("meta", {"stderr": "boom\n"}), ("meta", {"exit": 1})))
    assert transport.stderr_tail == "boom\n"
    assert transport.pid is None


async def test_strict_accepts_the_same_lines_with_other_ids() -> None:
    transport = ReplayTransport(
        recording(
            ("out", request("r", "initialize")),
            ("in", response("r")),
            ("out", user("hi", uuid="u", session_id="")),
            ("in", {"type": "result"}),
        ),
        strict=True,
    )
    host = Host()
    await transport.open(host)
    transport.write(line(request("A", "initialize")) + line(user("hi", uuid="v", session_id="s")))
    await transport.wait_played()
    assert host.frames == [response("A"), {"type": "result"}]


async def test_strict_refuses_anything_else() -> None:
    transport = ReplayTransport(recording(("out", user("hi")), ("in", {"type": "result"})), strict=True)
    await transport.open(Host())
    with pytest.raises(LocalProtocolError, match=r'recording, line 1 has .*"hi".* but this is written: .*"bye"'):
        transport.write(line(user("bye")))
    with pytest.raises(LocalProtocolError, match="initialize"):
        transport.write(line(request("A", "initialize")))
    transport.write(line(user("hi")))
    await transport.wait_played()
    with pytest.raises(LocalProtocolError, match="ends before this is written"):
        transport.write(line(user("more")))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"t":0,"dir":"in","raw":{}}\nnot json\n', "line 2"),
        (b'{"t":0,"dir":"sideways","raw":{}}\n', "line 1.*sideways"),
        (b'{"t":0,"raw":{}}\n', "line 1.*dir"),
        (b'{"t":0,"dir":"in"}\n', "line 1.*raw"),
        (b'{"t":0,"dir":"in","raw":7}\n', "line 1.*object or a string"),
        (b'{"t":0,"dir":"in","raw":"","base64":"!"}\n', "line 1"),
        (b'{"t":0,"dir":"in","raw":"\xff"}\n', "line 1"),
        (b'{"t":0,"dir":"meta","raw":"text"}\n', "line 1.*note"),
        (b'\n\n{"t":0,"dir":"in","raw":{"cut', "line 3"),
    ],
)
def test_a_malformed_recording_is_refused_with_file_and_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_bytes(content)
    with pytest.raises(LaunchError, match=rf"broken\.jsonl, {complaint}"):
        ReplayTransport(path)


def test_a_missing_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"cannot read the recording .*gone\.jsonl: No such file"):
        ReplayTransport(tmp_path / "gone.jsonl")


def recorded(path: Path, direction: str) -> list[Any]:
    rows = [json.loads(row) for row in path.read_text().splitlines()]
    return [row["raw"] for row in rows if row["dir"] == direction and not row.get("meta")]


@pytest.mark.slow
async def test_real_transcripts_play_to_the_end(subtests: pytest.Subtests) -> None:
    for path in sorted(TRANSCRIPTS.glob("*/*.jsonl")):
        with subtests.test(f"{path.parent.name}/{path.stem}"):
            await assert_plays_to_the_end(path)


async def assert_plays_to_the_end(path: Path) -> None:
    transport = ReplayTransport(path)
    host = Host()
    await transport.open(host)
    for number, value in enumerate(recorded(path, "out")):
        if value.get("type") == "control_request":
            value["request_id"] = f"live-{number}"
        transport.write(line(value))
    async with asyncio.timeout(10):
        await transport.wait_played()
    expected = [frame for frame in recorded(path, "in") if frame["type"] != "control_response"]
    assert [frame for frame in host.frames if frame["type"] != "control_response"] == expected
    addressees = [f["response"]["request_id"] for f in host.frames if f["type"] == "control_response"]
    assert all(addressee.startswith("live-") for addressee in addressees)
    await transport.close()
    assert len(host.exits) == 1


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)
frames_in = st.dictionaries(st.text("abc", max_size=3), json_values, max_size=3).map(lambda d: {**d, "type": "x"})
conversation = st.lists(
    st.one_of(
        frames_in.map(lambda frame: ("in", frame)),
        st.integers(0, 3).map(lambda number: ("out", user(f"message {number}"))),
        st.sampled_from(["initialize", "mcp_status"]).map(lambda name: ("control", name)),
    ),
    max_size=12,
)


@pytest.mark.slow
@given(conversation)
async def test_a_recorded_conversation_replays_as_it_was(steps: list[tuple[str, Any]]) -> None:
    """Play a conversation, record it while it plays, play the recording: both hosts saw and wrote the same."""
    entries: list[tuple[str, Any]] = []
    for number, (direction, value) in enumerate(steps):
        if direction == "control":
            entries += [("out", request(f"r{number}", value)), ("in", response(f"r{number}", n=number))]
        else:
            entries.append((direction, value))
    writes = [value for direction, value in entries if direction == "out"]

    async def converse(source: Recording, file: io.BytesIO) -> tuple[bytes, list[Any]]:
        inner = ReplayTransport(source, strict=True)
        transport, host = RecordingTransport(inner, file, redact=False), Host()
        await transport.open(host)
        for value in writes:
            transport.write(line(value))
        await inner.wait_played()
        await transport.close()
        return host.bytes, inner.written

    first, second = io.BytesIO(), io.BytesIO()
    original = await converse(recording(*entries), first)
    again = await converse(Recording.parse(first.getvalue()), second)
    assert original == again
    assert [json.loads(each) for each in original[0].splitlines()] == [v for d, v in entries if d == "in"]
