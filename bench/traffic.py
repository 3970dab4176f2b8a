"""The bytes that are played: modelled on recorded traffic of 2.1.325, made up anew, the same in every run."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import count as count_up
from itertools import islice
from typing import Any

from bench.fake_cli import ID_PLACE, PLAYED_SESSION

__all__ = ["ask", "big_line", "conversation", "deltas", "ending", "initialized", "mix", "moments", "one_turn"]

SESSION = PLAYED_SESSION.decode()
MODEL = "claude-opus-5-5"
SEED = 20261115
PAGE = 200_000
MESSAGE = "msg_1d398206feb54af1a483"
CALL = "toolu_08a962becc194ab481e7"
CALLS = 0.8
"""How many messages of a conversation call a tool."""
DELTAS_OF_A_STEP = 5

WORDS = """
the a of to in is that it for on with as this be at by from or an are if return value self error file line test
function class import path result name list index while else not None True async await read write buffer session
frame request response "quoted" x == y foo(bar) [1, 2] {key} #comment 127.0.0.1 0x1F 3.14 C:\\dir
"""
TYPOGRAPHY = ("—", "“quoted”", "naïve", "café", "→", "✓")

Json = dict[str, Any]


def one_turn(frames: Iterator[Json] | list[Json]) -> bytes:
    """The frames of a turn as lines, from its `init` to its result."""
    return b"".join(map(_line, [_init(), *frames, _result()]))


def mix(count: int) -> Iterator[Json]:
    """What a working session writes: 80 % deltas, 10 % messages, 8 % tool results, 2 % system frames."""
    make = _Maker()
    return (make.any_frame() for _ in range(count))


def deltas(count: int) -> Iterator[Json]:
    make = _Maker()
    return (make.delta() for _ in range(count))


def conversation(count: int) -> Iterator[Json]:
    """The mix as a conversation that holds together, for those who look at what the frames mean.

    Each message begins, grows by deltas and comes whole; a tool call has an id of its own, and one result.
    """
    make = _Maker()
    steps = (frame for number in count_up() for frame in make.step(number))
    return islice(steps, count)


def moments(count: int) -> Iterator[Json]:
    """`count` messages of four frames: two that begin it, a piece of it, and all of it. Texts begin with its number."""
    make = _Maker()
    return (frame for number in range(count) for frame in make.moment(number))


def big_line(size: int, *, plain: bool) -> Json:
    """One tool result whose line has about `size` bytes; `plain` ones are pure ASCII, as encoded images are."""
    make = _Maker()
    return make.tool_result(make.text(size // 2, plain=float(plain)))


def ending() -> bytes:
    return _line(_result())


def ask() -> bytes:
    """A permission request, with a place for its id."""
    command = "python3 -m pytest tests/test_app.py -q"
    return _line(
        {
            "type": "control_request",
            "request_id": ID_PLACE.decode(),
            "request": {
                "subtype": "can_use_tool",
                "tool_name": "Bash",
                "display_name": "Bash",
                "input": {"command": command, "description": "Run the tests"},
                "description": "Run the tests",
                "permission_suggestions": [
                    {
                        "type": "addRules",
                        "rules": [{"toolName": "Bash", "ruleContent": command}],
                        "behavior": "allow",
                        "destination": "localSettings",
                    }
                ],
                "decision_reason": "This command requires approval",
                "decision_reason_type": "other",
                "tool_use_id": "toolu_d93d9df9bae341df8c27",
            },
        }
    )


def initialized() -> bytes:
    """The answer to `initialize`, of the size a real one has, with a place for the id."""
    make = _Maker()
    commands = [
        {"name": f"command-{n}", "description": make.text(40), "argumentHint": "[path]", "builtin": True}
        for n in range(50)
    ]
    body = {
        "commands": commands,
        "agents": [{"name": "general-purpose", "description": make.text(80)}],
        "output_style": "default",
        "available_output_styles": ["default", "Explanatory", "Learning"],
        "models": [{"value": "default", "displayName": "Default", "description": make.text(60)}],
        "account": {"tokenSource": "none", "apiProvider": "firstParty"},
        "pid": 4242,
    }
    response = {"subtype": "success", "request_id": ID_PLACE.decode(), "response": body}
    return _line({"type": "control_response", "response": response})


class _Maker:
    """Makes frames, always the same ones in the same order."""

    def __init__(self) -> None:
        self._random = random.Random(SEED)
        self._plain = self._compose(WORDS.split())
        self._typographic = self._compose(WORDS.split() * 10 + list(TYPOGRAPHY))

    def any_frame(self) -> Json:
        kind = self._random.random()
        if kind < 0.80:
            return self.delta()
        if kind < 0.90:
            return self.assistant()
        if kind < 0.98:
            return self.tool_result(self.text(self._size(1_000, 50_000) // 2, plain=0.75))
        return self.system()

    def step(self, number: int) -> Iterator[Json]:
        """A message and what follows from it: a tool's result, or now and then a system frame."""
        message, call = f"msg_{number:020x}", f"toolu_{number:020x}"
        text = self.text(self._size(1_000, 4_000) - 700, plain=0.5)
        calls = self._random.random() < CALLS
        block = _call(call, text) if calls else {"type": "text", "text": text}
        yield self._streamed({"type": "message_start", "message": _message(message, [])}, message)
        empty = {**block, "input": {}} if calls else {"type": "text", "text": ""}
        yield self._streamed({"type": "content_block_start", "index": 0, "content_block": empty}, message)
        for _ in range(DELTAS_OF_A_STEP):
            piece = self.text(self._random.randrange(20, 110))
            delta = (
                {"type": "input_json_delta", "partial_json": piece} if calls else {"type": "text_delta", "text": piece}
            )
            yield self._streamed({"type": "content_block_delta", "index": 0, "delta": delta}, message)
        yield {"type": "assistant", "message": _message(message, [block]), **self._end()}
        yield self._streamed({"type": "content_block_stop", "index": 0}, message)
        yield self._result(self.text(self._size(1_000, 50_000) // 2, plain=0.75), call) if calls else self.system()

    def moment(self, number: int) -> Iterator[Json]:
        """A message of a piece."""
        message, text = f"msg_{number:020x}", f"{number} {self.text(400)}"
        empty = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": text[:100]}
        yield self._streamed({"type": "message_start", "message": _message(message, [])}, message)
        yield self._streamed({"type": "content_block_start", "index": 0, "content_block": empty}, message)
        yield self._streamed({"type": "content_block_delta", "index": 0, "delta": delta}, message)
        yield {"type": "assistant", "message": _message(message, [{"type": "text", "text": text}]), **self._end()}

    def _streamed(self, event: Json, message: str) -> Json:
        return {
            "type": "stream_event",
            "event": event,
            "session_id": SESSION,
            "parent_tool_use_id": None,
            "uuid": self._uuid(),
            "api_message_id": message,
        }

    def delta(self) -> Json:
        """About 350 bytes."""
        text = self.text(self._random.randrange(20, 110))
        delta = self._random.choices(
            (
                {"type": "text_delta", "text": text},
                {"type": "input_json_delta", "partial_json": text},
                {"type": "thinking_delta", "thinking": text},
            ),
            (7, 2, 1),
        )[0]
        return self._streamed({"type": "content_block_delta", "index": 0, "delta": delta}, MESSAGE)

    def assistant(self) -> Json:
        """1 to 4 KB: a text or a tool call."""
        text = self.text(self._size(1_000, 4_000) - 700, plain=0.5)
        block = self._random.choice(
            (
                {"type": "text", "text": text},
                _call(CALL, text),
            )
        )
        return {"type": "assistant", "message": _message(MESSAGE, [block]), **self._end()}

    def tool_result(self, output: str) -> Json:
        """The CLI sends the output twice: as the model sees it, and as the tool returned it."""
        return self._result(output, CALL)

    def _result(self, output: str, call: str) -> Json:
        block = {
            "tool_use_id": call,
            "type": "tool_result",
            "content": output,
            "is_error": False,
        }
        return {
            "type": "user",
            "message": {"role": "user", "content": [block]},
            **self._end(),
            "tool_use_result": {"stdout": output, "stderr": "", "interrupted": False, "isImage": False},
        }

    def system(self) -> Json:
        ids = {"uuid": self._uuid(), "session_id": SESSION}
        return self._random.choice(
            (
                {"type": "system", "subtype": "status", "status": None, "permissionMode": "default", **ids},
                {
                    "type": "system",
                    "subtype": "task_progress",
                    "task_id": "a68f910f7136cc6ed",
                    "tool_use_id": "toolu_08a962becc194ab481e7",
                    "description": "Running the tests",
                    "subagent_type": "general-purpose",
                    "usage": {"total_tokens": 2912, "tool_uses": 3, "duration_ms": 20711},
                    "last_tool_name": "Bash",
                    **ids,
                },
            )
        )

    def text(self, size: int, *, plain: float = 0.0) -> str:
        """A piece of a page, `plain` of them pure ASCII. Cut, because composing each would take seconds."""
        page = self._plain if self._random.random() < plain else self._typographic
        repeated = page * (size // len(page) + 1)
        start = self._random.randrange(len(repeated) - size)
        return repeated[start : start + size]

    def _compose(self, words: list[str]) -> str:
        """Prose and code: a line break every few words, some escapes."""
        chosen = self._random.choices(words, k=PAGE // 5)
        breaks = self._random.choices((" ", "\n"), (9, 1), k=len(chosen))
        return "".join(word + space for word, space in zip(chosen, breaks, strict=True))

    def _size(self, least: int, most: int) -> int:
        """Small ones are more common than large ones: uniform in the logarithm."""
        return int(least * (most / least) ** self._random.random())

    def _end(self) -> Json:
        return {
            "parent_tool_use_id": None,
            "session_id": SESSION,
            "uuid": self._uuid(),
            "timestamp": "2026-11-15T19:25:36.400Z",
        }

    def _uuid(self) -> str:
        bits = f"{self._random.getrandbits(128):032x}"
        return "-".join((bits[:8], bits[8:12], bits[12:16], bits[16:20], bits[20:]))


def _init() -> Json:
    return {
        "type": "system",
        "subtype": "init",
        "cwd": "/home/dev/project",
        "session_id": SESSION,
        "tools": ["Task", "AskUserQuestion", "Bash", "Edit", "Read", "Write"],
        "mcp_servers": [],
        "model": MODEL,
        "permissionMode": "default",
        "slash_commands": ["clear", "compact", "context", "usage"],
        "apiKeySource": "none",
        "claude_code_version": "2.1.325",
        "output_style": "default",
        "agents": ["general-purpose"],
        "skills": [],
        "plugins": [],
        "uuid": "0a6f910f-7136-4cc6-9d7b-186234180000",
    }


def _result() -> Json:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 2411,
        "duration_api_ms": 2105,
        "num_turns": 1,
        "result": "Done.",
        "stop_reason": "end_turn",
        "session_id": SESSION,
        "total_cost_usd": 0.0022,
        "usage": _usage(),
        "modelUsage": {},
        "permission_denials": [],
        "uuid": "0a6f910f-7136-4cc6-9d7b-186234180001",
    }


def _usage() -> Json:
    return {
        "input_tokens": 10,
        "output_tokens": 500,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 20_480,
        "service_tier": "standard",
    }


def _message(name: str, content: list[Json]) -> Json:
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(),
        "context_management": None,
    }


def _call(name: str, text: str) -> Json:
    return {"type": "tool_use", "id": name, "name": "Write", "input": _file(text)}


def _file(text: str) -> Json:
    return {"file_path": "/home/dev/project/app.py", "content": text}


def _line(frame: Json) -> bytes:
    return json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
