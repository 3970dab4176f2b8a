"""The invariants of docs/invariants.md, each over recorded sessions or sessions with faults."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.errors import LocalProtocolError
from handrail.events.model import Completed, Event, Started
from handrail.events.recording import RecordedLine, events_of_recording
from handrail.policy.describing.describe import describe
from handrail.policy.files import Disk
from handrail.policy.policy import Policy
from handrail.protocol.asks import ASK_SUBTYPES, Allow, Answer, Ask, ask_from
from handrail.protocol.connection import Answered, Asked, Cancelled, Connection
from handrail.protocol.frames import Frame, Malformed, Result
from handrail.protocol.launch import child_environment
from handrail.protocol.options import Options
from handrail.sessions.client import connect
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI
from handrail.transports.redact import REDACTED

HERE = Path(__file__).parent
RECORDINGS = sorted((HERE / "fixtures" / "transcripts").rglob("*.jsonl"))


@cache
def lines_of(path: Path) -> list[bytes]:
    """What the CLI wrote in a recorded session."""
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return [json.dumps(entry["raw"]).encode() for entry in entries if entry["dir"] == "in"]


def recorded(check: Callable[[Path], None]) -> Callable[[pytest.Subtests], None]:
    """A test that checks every recorded session, and names each that fails."""

    def test(subtests: pytest.Subtests) -> None:
        for path in RECORDINGS:
            with subtests.test(f"{path.parent.name}/{path.stem}"):
                check(path)

    return test


def test_the_page_and_the_tests_name_the_same_invariants() -> None:
    page = (HERE.parent / "docs" / "invariants.md").read_text()
    named = {name.replace(" ", "_") for name in re.findall(r"^\| \*\*(.+?)\*\*", page, re.M)}
    tested = {name.removeprefix("test_invariant_") for name in globals() if name.startswith("test_invariant_")}
    assert named == tested
    assert len(RECORDINGS) > 5


@recorded
def test_invariant_answered(path: Path) -> None:
    connection = Connection()
    asked, closed = 0, 0
    for line in lines_of(path):
        connection.receive_data(line + b"\n")
        for event in connection.events():
            if isinstance(event, Asked):
                asked += 1
                answer = json.loads(connection.respond(event.request, {}))
                assert answer["response"]["request_id"] == event.request.id
                closed += 1
            elif isinstance(event, Cancelled | Answered):
                raise AssertionError("nothing of ours is open, and everything of theirs was answered at once")
    assert connection.pending == ()
    assert asked == closed


@recorded
def test_invariant_nothing_vanishes(path: Path) -> None:
    lines = lines_of(path)
    connection = Connection()
    data = b"\n".join(lines) + b"\n"
    frames: list[Frame] = []
    for start in range(0, len(data), 4096):
        frames += connection.receive_data(data[start : start + 4096])
    frames += connection.receive_eof()
    assert [json.loads(frame.raw) for frame in frames] == [json.loads(line) for line in lines]
    assert not [frame for frame in frames if isinstance(frame, Malformed) and frame.kind == "not_json"]

    told = "\0".join(strings_in([msgspec.to_builtins(event) for event in events_of_recording(recording(path))]))
    for text in said_in(frames):
        assert text in told


def recording(path: Path) -> list[RecordedLine]:
    """A recorded session, with what was written to the CLI and what the recorder noted."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        ("meta" if row["dir"] == "meta" or row.get("meta") else row["dir"], json.dumps(row["raw"]).encode(), row["t"])
        for row in rows
    ]


KEPT_OF_SYSTEM_FRAMES = {"content", "description", "summary", "message", "text", "error", "prompt", "title", "patch"}


def said_in(frames: list[Frame]) -> set[str]:
    """What the CLI said in words: texts, thoughts, calls and their results, answers, errors, remarks."""
    said: set[str] = set()
    for frame in frames:
        data = frame.data
        if frame.type in ("assistant", "user"):
            content = data["message"]["content"]
            blocks = [{"text": content}] if isinstance(content, str) else content
            said |= strings_in(
                [block.get(name) for block in blocks for name in ("text", "thinking", "input", "content")]
            )
        elif frame.type == "result":
            said |= strings_in([data.get(name) for name in ("result", "errors", "permission_denials")])
        elif frame.type == "system":
            said |= strings_in([value for name, value in data.items() if name in KEPT_OF_SYSTEM_FRAMES])
    return said


@recorded
def test_invariant_bracketed(path: Path) -> None:
    lines = recording(path)
    for end in (len(lines), len(lines) * 2 // 3, len(lines) // 2, len(lines) // 3):
        runs: list[Event] = [event for event in events_of_recording(lines[:end]) if event.run is not None]
        numbers = sorted({event.run for event in runs if event.run is not None})
        assert numbers == list(range(1, len(numbers) + 1))
        for number in numbers:
            events = [event for event in runs if event.run == number]
            assert [type(event) for event in events if isinstance(event, Started | Completed)] == [Started, Completed]
            assert isinstance(events[0], Started)
            assert isinstance(events[-1], Completed)


@recorded
def test_invariant_first_answer_wins(path: Path) -> None:
    connection = Connection()
    for line in lines_of(path):
        connection.receive_data(line + b"\n")
    for event in connection.events():
        if isinstance(event, Asked):
            if event.request in connection.pending:
                connection.respond(event.request, {})
            with pytest.raises(LocalProtocolError):
                connection.respond(event.request, {})


async def test_invariant_a_slow_reader_slows_no_one(tmp_path: Path) -> None:
    flood = {"type": "tool_progress", "elapsed_time_seconds": "$index"}
    cli = SimulatedCLI([sim.repeat(3, sim.turn(sim.flood(5000, flood)))], directory=tmp_path)
    async with connect(Options(cli_path=str(cli.path)), unread_budget=100_000) as client:
        never_read, slow, quick = client.frames(), client.frames(), client.frames()
        for _ in range(3):
            assert (await client.run("flood")).ok
            await client.set_model("m")
            await anext(aiter(slow))
        seen = 0
        async for frame in quick:
            seen += isinstance(frame, Result)
            if seen == 3:
                break
        assert never_read.spilled_bytes > 0
        assert never_read.unread_bytes <= 100_000


async def test_invariant_a_timeout_is_not_a_denial(tmp_path: Path) -> None:
    answered = asyncio.Event()

    async def decide(ask: Ask) -> Answer:
        await answered.wait()
        return Allow()

    never = {"mcp_status": sim.Answer.never()}
    cli = SimulatedCLI([sim.turn(sim.ask("Bash", {"command": "ls"}))], directory=tmp_path, answers=never)
    async with connect(Options(cli_path=str(cli.path)), on_ask=decide) as client:
        running = asyncio.create_task(client.run("hi"))
        await cli.wait_for("user")
        while not client.asks:
            await asyncio.sleep(0.005)
        with pytest.raises(Exception, match="did not answer"):
            await client.control("mcp_status", timeout=0.05)
        assert client.asks
        assert cli.find("control_response") is None
        answered.set()
        await running
    answer = cli.find("control_response")
    assert answer is not None
    assert answer["response"]["response"]["behavior"] == "allow"


def asks_of(path: Path) -> list[Ask]:
    """Every ask of a recorded session."""
    connection = Connection()
    for line in lines_of(path):
        connection.receive_data(line + b"\n")
    requests = [event.request for event in connection.events() if isinstance(event, Asked)]
    return [ask_from(request.id, request.body) for request in requests if request.subtype in ASK_SUBTYPES]


def strings_in(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {text for item in value.values() for text in strings_in(item)}
    if isinstance(value, list | tuple):
        return {text for item in value for text in strings_in(item)}
    return {value} if isinstance(value, str) else set()


@recorded
def test_invariant_what_you_see_is_what_runs(path: Path) -> None:
    for ask in asks_of(path):
        description = describe(ask, cwd="/home/dev/project", home="/home/dev", files=Disk(), plan=ask.plan)
        shown = "\n".join(strings_in(msgspec.to_builtins(description)))
        for text in strings_in(ask.input):
            for line in text.splitlines():
                assert line in shown


@recorded
def test_invariant_a_policy_binds(path: Path) -> None:
    """Whatever was asked in a recorded session: what a rule denies or wants asked is not allowed in any mode."""
    for ask in asks_of(path):
        if not ask.tool_name or ask.kind != "permission":
            continue
        for behavior in ("deny", "ask"):
            policy = Policy.of("trusted", allow=[ask.tool_name], **{behavior: [ask.tool_name]})
            for mode in ("default", "acceptEdits", "plan", "bypassPermissions"):
                ruling = policy.judge(ask.tool_name, ask.input, cwd="/home/dev/project", home="/home/dev", mode=mode)
                assert ruling.behavior == behavior


async def test_invariant_no_orphans(tmp_path: Path) -> None:
    script = [sim.turn(sim.spawn_grandchild(detached=True, holds_stdout=True, ignores_sigterm=False), "done")]
    cli = SimulatedCLI(script, directory=tmp_path)
    async with connect(Options(cli_path=str(cli.path))) as client:
        await client.run("hi")
        pids = [client.pid, *cli.grandchildren()]
    assert len(pids) == 2
    for pid in pids:
        assert pid is not None
        assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_invariant_secrets_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-secret-secret")
    cli = SimulatedCLI(directory=tmp_path)
    wire = tmp_path / "wire.jsonl"
    async with connect(Options(cli_path=str(cli.path)), record=wire) as client:
        await client.run("my key is sk-ant-secret-secret-secret")
    (launch,) = cli.launches()
    assert "ANTHROPIC_API_KEY" not in launch.env
    assert "sk-ant-secret" not in wire.read_text()
    assert REDACTED in wire.read_text()
    kept: dict[str, Any] = child_environment(Options(use_api_billing=True), dict(os.environ))
    assert kept["ANTHROPIC_API_KEY"] == "sk-ant-secret-secret-secret"
