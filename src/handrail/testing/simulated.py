"""`SimulatedCLI`: an executable that passes for Claude Code and does what a script says, faults included.

    from handrail.testing import SimulatedCLI, simulated as sim

    cli = SimulatedCLI([sim.turn("Hello."), sim.expect("user"), sim.exit(3)], directory=tmp_path)
    subprocess.run([cli.path, "--input-format", "stream-json", ...])
    cli.received()    # every line the host wrote, decoded
    cli.launches()    # how it was started

A script is a list of steps, played in order; when it is over, the CLI serves control requests until its input
ends. While the script plays, control requests are answered as the emulated version would answer them; `answers`
changes that, by subtype (`Answer`). A line on standard input that is not JSON ends the process, as it ends the CLI.

Strings in the frames and requests of a script may be placeholders: `"$session"`, `"$uuid"` (a new one each time),
`"$now"`, `"$cwd"`, `"$model"`, `"$mode"`, `"$version"`, `"$pid"`, and, of what was received last or matched by the
last `expect`, `"$request_id"`, `"$user_uuid"` and `"$text"`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal as signals
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handrail.testing.simulated_frames import DEFAULT_VERSION, profile
from handrail.testing.simulated_process.wire import message_matches

__all__ = [
    "Answer",
    "Launch",
    "SimulatedCLI",
    "Step",
    "ask",
    "blast",
    "cancel",
    "die",
    "exit",
    "expect",
    "flood",
    "hook",
    "huge",
    "ignore_eof",
    "ignore_sigterm",
    "loop_turns",
    "mcp",
    "repeat",
    "request",
    "say",
    "send",
    "send_raw",
    "silence",
    "sleep",
    "spawn_grandchild",
    "stderr",
    "tool",
    "turn",
]

GREETING = "Hello from the simulated CLI."
POLL_SECONDS = 0.005


# Steps


@dataclass(frozen=True)
class Step:
    """One thing the simulated CLI does. Made by the functions of this module."""

    op: str
    fields: Mapping[str, Any]


def _step(op: str, **fields: Any) -> Step:
    return Step(op, fields)


def expect(type: str, **fields: Any) -> Step:
    """Wait for a line of this type with these fields (of the line, its `request`, `response` or `message`).

    Lines that do not match stay for a later `expect`. A user message found here is the next turn's prompt.
    """
    return _step("expect", type=type, fields=fields)


def send(*frames: Mapping[str, Any]) -> Step:
    """Write these frames, with their placeholders filled in."""
    return _step("send", frames=[dict(frame) for frame in frames])


def send_raw(*pieces: bytes, pause: float = 0.002) -> Step:
    """Write these bytes as they are, each piece by itself, with a pause between them."""
    return _step("send_raw", pieces=[piece.decode("latin-1") for piece in pieces], pause=pause)


def huge(size: int) -> Step:
    """Write one assistant frame whose line, newline included, is `size` bytes long."""
    return _step("huge", size=size)


def flood(count: int, frame: Mapping[str, Any]) -> Step:
    """Write the frame `count` times without a pause; the placeholder `"$index"` counts from 0."""
    return _step("flood", count=count, frame=dict(frame))


def blast(data: bytes | Path, *, chunk: int = 65536, times: int = 1, lines_per_second: float | None = None) -> Step:
    """Write prepared bytes (or a file of them) at full speed, or line by line at a steady pace."""
    return _step("blast", path=data, chunk=chunk, times=times, lines_per_second=lines_per_second)


def turn(*parts: str | Step, result: Mapping[str, Any] | None = None, prompted: bool = True) -> Step:
    """A whole turn: waits for a user message, then `system/init`, the parts (a string is said), the result.

    `result` overrides fields of the result frame. With `prompted=False` the turn starts by itself, as turns do
    that a background task causes. An interrupt ends the turn the way the CLI ends it.
    """
    steps = [say(part) if isinstance(part, str) else part for part in parts]
    return _step("turn", parts=steps, result=dict(result or {}), prompted=prompted)


def loop_turns(*parts: str | Step) -> Step:
    """Answer every user message with a turn, for ever."""
    return repeat(None, turn(*(parts or (GREETING,))))


def say(text: str, *, pause: float = 0.0) -> Step:
    """Assistant text, streamed word by word (`pause` seconds each) if the host asked for partial messages.

    `$text` inside the text stands for what the user said last.
    """
    return _step("say", text=text, pause=pause)


def tool(
    name: str,
    input: Mapping[str, Any],
    *,
    output: Any = "done",
    is_error: bool = False,
    ask: bool = True,
    request_id: str | None = None,
    suggestions: Sequence[Mapping[str, Any]] | None = None,
    **fields: Any,
) -> Step:
    """A tool call of the model: shown, asked about unless mode or rules allow it, then run or refused."""
    step = _permission(name, input, request_id, suggestions, fields)
    return _step("tool", **step, output=output, is_error=is_error, ask=ask)


def ask(
    name: str,
    input: Mapping[str, Any],
    *,
    request_id: str | None = None,
    suggestions: Sequence[Mapping[str, Any]] | None = None,
    wait: bool = True,
    **fields: Any,
) -> Step:
    """Only the permission request (`can_use_tool`), with more `fields`. Waits for the answer, or goes on."""
    return _step("ask", **_permission(name, input, request_id, suggestions, fields), wait=wait)


def _permission(
    name: str,
    input: Mapping[str, Any],
    request_id: str | None,
    suggestions: Sequence[Mapping[str, Any]] | None,
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    if suggestions is None:
        rule = {"toolName": name}
        suggestions = [
            {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"},
        ]
    return {
        "tool": name,
        "input": dict(input),
        "request_id": request_id,
        "suggestions": [dict(suggestion) for suggestion in suggestions],
        "fields": dict(fields),
    }


def hook(
    event: str,
    input: Mapping[str, Any] | None = None,
    *,
    callback_id: str | None = None,
    tool_use_id: str | None = None,
    request_id: str | None = None,
    wait: bool = True,
) -> Step:
    """Call a hook of the host: `callback_id`, or the first one it registered for this event."""
    return _step(
        "hook",
        event=event,
        input=dict(input or {}),
        callback_id=callback_id,
        tool_use_id=tool_use_id,
        request_id=request_id,
        wait=wait,
    )


def mcp(server: str, message: Mapping[str, Any], *, request_id: str | None = None, wait: bool = True) -> Step:
    """Send a JSON-RPC message to an MCP server that lives in the host."""
    return _step("mcp", server=server, message=dict(message), request_id=request_id, wait=wait)


def request(fields: Mapping[str, Any], *, request_id: str | None = None, wait: bool = True) -> Step:
    """Any other control request to the host, `subtype` included: an elicitation, a dialog, an unknown one."""
    return _step("request", request=dict(fields), request_id=request_id, wait=wait)


def cancel(request_id: str) -> Step:
    """Withdraw a control request that was sent with this id."""
    return _step("cancel", request_id=request_id)


def stderr(text: str) -> Step:
    """Write to standard error."""
    return _step("stderr", text=text)


def repeat(times: int | None, *steps: Step) -> Step:
    """Play the steps several times, or for ever (None)."""
    return _step("repeat", times=times, steps=list(steps))


def sleep(seconds: float) -> Step:
    """Do nothing for a while; control requests are answered meanwhile."""
    return _step("sleep", seconds=seconds)


def silence(seconds: float | None = None, *, reading: bool = False) -> Step:
    """Hang: answer nothing and, unless `reading`, read nothing, for a while or (None) until killed."""
    return _step("silence", seconds=seconds, reading=reading)


def exit(code: int = 0) -> Step:
    """Exit at once."""
    return _step("exit", code=code)


def die(signal: int = signals.SIGKILL) -> Step:
    """Die of this signal."""
    return _step("die", signal=int(signal))


def ignore_sigterm() -> Step:
    """From here on, SIGTERM does nothing."""
    return _step("ignore_sigterm")


def ignore_eof() -> Step:
    """From here on, live on when input ends."""
    return _step("ignore_eof")


def spawn_grandchild(
    *, detached: bool = True, holds_stdout: bool = True, ignores_sigterm: bool = False, seconds: float = 120.0
) -> Step:
    """Start a process that outlives the CLI: in a session of its own, with the CLI's output pipes open.

    It ends by itself after `seconds`, so that a failing test leaves nothing behind for long.
    """
    return _step(
        "spawn_grandchild",
        detached=detached,
        holds_stdout=holds_stdout,
        ignores_sigterm=ignores_sigterm,
        seconds=seconds,
    )


# Answers to control requests


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How the simulated CLI answers a control request: the usual body at once, unless said otherwise."""

    body: Mapping[str, Any] | None = None
    error: str | None = None
    code: str | None = None
    times: int = 1
    after_lines: int = 0
    after_seconds: float = 0.0
    after_frame: str | None = None

    @classmethod
    def never(cls) -> Answer:
        """No answer, and the request has no effect."""
        return cls(times=0)

    @classmethod
    def twice(cls) -> Answer:
        return cls(times=2)

    @classmethod
    def refuse(cls, error: str, *, code: str | None = None) -> Answer:
        """An error; the request has no effect."""
        return cls(error=error, code=code)

    @classmethod
    def late(cls, *, lines: int = 0, seconds: float = 0.0, frame: str | None = None) -> Answer:
        """Not before so many more lines came in, so much time passed, and a frame of this type was sent."""
        return cls(after_lines=lines, after_seconds=seconds, after_frame=frame)

    def _as_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


# The executable


@dataclass(frozen=True)
class Launch:
    """One start of the simulated CLI."""

    argv: list[str]
    env: dict[str, str]
    cwd: str
    pid: int
    received: list[Any]


class SimulatedCLI:
    """An executable file that speaks Claude Code's protocol from a script; without one, it answers every message.

    `directory`, which belongs to the caller, gets the executable (`path`) and, beside it, the script and the
    records of each run. `version` sets what the frames look like and how the CLI behaves. `answers` says how to
    answer control requests, by subtype or for all (`"*"`): an `Answer`, or several for the first, second and
    further requests.
    """

    def __init__(
        self,
        script: Iterable[Step] | None = None,
        *,
        directory: str | os.PathLike[str],
        name: str = "claude",
        version: str = DEFAULT_VERSION,
        answers: Mapping[str, Answer | Sequence[Answer]] | None = None,
        session_id: str | None = None,
    ) -> None:
        self.version = version
        self.path = Path(directory).resolve() / name
        # For its owner only: the records of a run have its environment.
        self._data = Path(tempfile.mkdtemp(prefix=name + ".", dir=self.path.parent))
        steps = [loop_turns()] if script is None else list(script)
        self._write_script(
            {
                "profile": profile(version),
                "runs": str(self._data),
                "session_id": session_id,
                "answers": _answers_as_json(answers or {}),
                "steps": self._steps_as_json(steps),
            }
        )

    @property
    def argv(self) -> list[str]:
        """The command that starts it."""
        return [str(self.path)]

    def launches(self) -> list[Launch]:
        """Every start so far, oldest first (`--version` does not count)."""
        return [self._launch(note) for note in sorted(self._data.glob("*.launch"))]

    def received(self) -> list[Any]:
        """Every line received so far, decoded; a line that is not JSON is a string."""
        return [line for launch in self.launches() for line in launch.received]

    def grandchildren(self) -> list[int]:
        """The process ids of what `spawn_grandchild` started."""
        notes = sorted(self._data.glob("*.grandchildren"))
        return [int(line) for note in notes for line in note.read_text().split()]

    def find(self, type: str, **fields: Any) -> dict[str, Any] | None:
        """The first line received of this type with these fields, as in `expect`."""
        for line in self.received():
            if isinstance(line, dict) and message_matches(line, type, fields):
                return line
        return None

    async def wait_for(self, type: str, *, timeout: float = 30.0, **fields: Any) -> dict[str, Any]:
        """Wait until such a line has been received, and return it."""
        deadline = time.monotonic() + timeout
        while (line := self.find(type, **fields)) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the simulated CLI received no {type} {fields or ''} within {timeout:g} s")
            await asyncio.sleep(POLL_SECONDS)
        return line

    def _write_script(self, script: Mapping[str, Any]) -> None:
        script_path = self._data / "script.json"
        script_path.write_text(json.dumps(script), encoding="utf-8")
        self.path.write_text(_executable(script_path), encoding="utf-8")
        self.path.chmod(0o755)

    def _steps_as_json(self, steps: Iterable[Step]) -> list[dict[str, Any]]:
        return [{"op": step.op} | {name: self._as_json(value) for name, value in step.fields.items()} for step in steps]

    def _as_json(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return self._file_of(value)
        if isinstance(value, Path):
            return str(value.resolve())
        if isinstance(value, list) and any(isinstance(item, Step) for item in value):
            return self._steps_as_json(value)
        return value

    def _file_of(self, data: bytes) -> str:
        path = self._data / f"blast-{len(list(self._data.glob('blast-*')))}"
        path.write_bytes(data)
        return str(path)

    def _launch(self, note: Path) -> Launch:
        received = note.with_suffix(".received").read_bytes()
        # What follows the last newline is still being written.
        lines = received.split(b"\n")[:-1]
        return Launch(**json.loads(note.read_bytes()), received=[_decoded(line) for line in lines])


def _executable(script_path: Path) -> str:
    """A shell script, since the kernel limits the length of an interpreter line and splits it at spaces."""
    main = Path(__file__).with_name("simulated_main.py")
    command = [os.path.realpath(sys.executable), "-S", "-I", str(main), str(script_path)]
    return f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'


def _answers_as_json(answers: Mapping[str, Answer | Sequence[Answer]]) -> dict[str, list[dict[str, Any]]]:
    return {
        subtype: [each._as_json() for each in ([answer] if isinstance(answer, Answer) else answer)]
        for subtype, answer in answers.items()
    }


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line.decode("utf-8", "replace")
