"""`handrail replay`: recordings as they were, as fast as is wanted, and as events."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from handrail.cli.commands.playing import Player
from handrail.cli.surface import make_surface

from .support import Home

RECORDING = [
    {"t": 0.0, "dir": "meta", "raw": {"cmd": ["claude"]}},
    {"t": 0.1, "dir": "out", "raw": {"type": "user", "message": {"role": "user", "content": "look"}, "uuid": "u1"}},
    {"t": 0.2, "dir": "in", "raw": {"type": "system", "subtype": "init", "session_id": "s1", "model": "opus"}},
    {
        "t": 0.3,
        "dir": "in",
        "raw": {
            "type": "assistant",
            "session_id": "s1",
            "message": {
                "id": "m1",
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}],
            },
        },
    },
    {
        "t": 0.4,
        "dir": "in",
        "raw": {
            "type": "control_request",
            "request_id": "r1",
            "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}},
        },
    },
    {
        "t": 0.5,
        "dir": "out",
        "raw": {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "r1",
                "response": {"behavior": "deny", "message": "not now"},
            },
        },
    },
    {"t": 0.6, "dir": "in", "raw": "not JSON"},
    {
        "t": 3600.0,
        "dir": "in",
        "raw": {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "session_id": "s1",
            "result": "Done.",
            "num_turns": 1,
        },
    },
    {"t": 3600.1, "dir": "meta", "raw": {"exit": 0}},
]


def message(uuid: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": "look"}, "uuid": uuid}


@pytest.fixture
def recording(tmp_path: Path) -> str:
    path = tmp_path / "recording.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in RECORDING))
    return str(path)


def test_a_recording_is_played_at_once(home: Home, recording: str) -> None:
    done = home.run("replay", recording, "--speed", "max")
    assert (done.returncode, done.stderr) == (0, "")
    shown = done.stdout
    places = [shown.index(text) for text in ("› look", "Bash  ls", "asked: ", "denied", "✓ done")]
    assert places == sorted(places)


def test_a_recording_may_come_through_a_pipe(home: Home, recording: str) -> None:
    done = home.run("replay", "-", "--speed", "max", stdin=Path(recording).read_text())
    assert done.returncode == 0
    assert done.stdout == home.run("replay", recording, "--speed", "max").stdout


def test_as_events(home: Home, recording: str) -> None:
    done = home.run("replay", recording, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    types = [event["type"] for event in events]
    assert {"prompt", "started", "action", "ask_opened", "ask_closed", "completed", "process_exited"} <= set(types)
    (completed,) = (event for event in events if event["type"] == "completed")
    assert completed["at"] == 3600.0


def test_an_hour_in_a_blink(home: Home, recording: str) -> None:
    done = home.run("replay", recording, "--speed", "100000x")
    assert done.returncode == 0
    assert "✓ done" in done.stdout


async def test_the_pace_is_that_of_the_recording(recording: str) -> None:
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        await asyncio.sleep(0)

    player = Player(make_surface(json=True), speed=4, for_a_person=False, clock=lambda: now, sleep=sleep)
    assert await player.play(Path(recording)) == 0
    assert now == pytest.approx(3600.1 / 4)


@pytest.mark.parametrize("speed", ["0", "-1", "fast", "inf", "nan"])
def test_a_speed_is_a_number(home: Home, recording: str, speed: str) -> None:
    done = home.run("replay", recording, "--speed", speed)
    assert done.returncode == 2
    assert "max" in done.stderr


@pytest.mark.parametrize(
    ("content", "told"), [("hello\n", "line 1: this is no recording"), ('{"dir": "in"}\n', "line 1")]
)
def test_what_is_no_recording(home: Home, tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(content)
    done = home.run("replay", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr
    missing = home.run("replay", str(tmp_path / "missing"))
    assert missing.returncode == 1
    assert "No such file" in missing.stderr


@pytest.mark.slow
def test_what_was_kept_of_a_session_can_be_played(past: tuple[Home, str], tmp_path: Path) -> None:
    home, session_id = past
    kept = tmp_path / "kept.jsonl"
    kept.write_text(home.run("show", session_id, "--raw").stdout)
    done = home.run("replay", str(kept), "--speed", "max")
    assert done.returncode == 0, done.stderr
    for expected in ("› hello there", "Bash  ls -l", "denied", "You said: hello there", "✓ done"):
        assert expected in done.stdout


@pytest.mark.slow
def test_playing_can_be_stopped(home: Home, recording: str) -> None:
    with home.on_terminal("replay", recording) as terminal:
        terminal.wait_for("denied")
        terminal.press(b"\x03")
        assert terminal.exit_code() == 130


@pytest.mark.slow
async def test_a_reader_that_leaves_ends_it(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"  # more than a pipe holds, so that it cannot all be written before the reader leaves
    prompts = ({"t": 0.0, "dir": "out", "raw": message(str(number))} for number in range(3000))
    path.write_text("".join(json.dumps(line) + "\n" for line in prompts))
    done = await home.process("replay", str(path), "--json", reader="head -n 1")
    assert (done.returncode, done.stderr) == (141, "")
    assert len(done.stdout.splitlines()) == 1
