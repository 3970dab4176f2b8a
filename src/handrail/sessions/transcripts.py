"""The transcripts that Claude Code writes of its sessions, as the events that a live session would have told.

A line of a transcript is nearly a frame: it is made into one and goes through the same translator. What a transcript
does not say, the beginning and the end of a run, follows from its messages. Whatever a line holds, reading goes on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from handrail.errors import SessionError
from handrail.events.model import Event, Prompt, Titled
from handrail.events.notices import malformed, note
from handrail.events.translate import Translator
from handrail.protocol.codec import DEFAULT_MAX_LINE, decode_line
from handrail.protocol.frames import Frame, Malformed
from handrail.protocol.lenient import plain_value

__all__ = ["Line", "command_of", "history", "parse_line", "time_of", "words_of"]

Line: TypeAlias = dict[str, Any]
"""One line of a transcript."""

INTERRUPTED = "[Request interrupted by user"
"""How the CLI begins the line that says so."""
SYNTHETIC_MODEL = "<synthetic>"
STOPPED = "stopped by the user"
NO_END = "the transcript does not say how this ended"
_COMMAND = re.compile(r"\s*<command-name>(?P<name>.*?)</command-name>", re.S)
_COMMAND_ARGUMENTS = re.compile(r"<command-args>(?P<arguments>.*?)</command-args>", re.S)
_COMMAND_OUTPUT = re.compile(r"\s*<local-command-std(?:out|err)>(?P<text>.*?)</local-command-std(?:out|err)>\s*", re.S)
_NOTIFICATION = re.compile(r"\s*<task-notification>(?P<body>.*)</task-notification>", re.S)
_NOTIFIED = re.compile(r"<(?P<name>task-id|tool-use-id|status|summary|output-file)>(?P<value>.*?)</(?P=name)>", re.S)
_AGENT = re.compile(r"[A-Za-z0-9_-]+")
_DEEPEST_AGENT = 8


def history(path: str) -> Iterator[Event]:
    """What happened in the session whose transcript is at `path`, with the times at which it happened.

    Raises `SessionError` if the file cannot be read.
    """
    yield from _Reader(path).read()


def parse_line(line: bytes) -> Line | None:
    """The object of a line; None if it is none."""
    try:
        value = plain_value(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def time_of(line: Line) -> float | None:
    """When a line was written, in seconds since the epoch."""
    stamp = line.get("timestamp")
    if not isinstance(stamp, str):
        return None
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except (ValueError, OverflowError):
        return None


def words_of(line: Line) -> str:
    """The text of a message."""
    content = _message(line).get("content")
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in _blocks(line) if block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def command_of(text: str) -> str | None:
    """The command that a message of the CLI's own form stands for, such as /compact; None if it is no such message."""
    name = _COMMAND.match(text)
    if name is None:
        return None
    arguments = _COMMAND_ARGUMENTS.search(text)
    return f"{name['name']} {arguments['arguments'] if arguments else ''}".strip()


def _message(line: Line) -> dict[str, Any]:
    message = line.get("message")
    return message if isinstance(message, dict) else {}


def _blocks(line: Line) -> list[dict[str, Any]]:
    content = _message(line).get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text_field(line: dict[str, Any], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------- lines of files


def _lines(path: str) -> Iterator[bytes]:
    """The lines of a file; of one that is too long, its beginning."""
    try:
        with open(path, "rb") as file:
            while line := file.readline(DEFAULT_MAX_LINE):
                yield line
                while line and not line.endswith(b"\n"):
                    line = file.readline(DEFAULT_MAX_LINE)
    except OSError as error:
        raise SessionError(f"the transcript {path} cannot be read: {error.strerror}") from None


class _Reader:
    """Reads one transcript, from its beginning to its end."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._translator = Translator(asks=True)
        self._at = 0.0
        self._seen: set[str] = set()
        self._run = _Run()
        self._mode = ""
        self._depth = 0
        self._agents_read: set[str] = set()
        self._sidechains: dict[str, str] = {}
        """To which call the messages of a subagent belong, by their ids, where they stand in this file."""
        self._delegated: dict[str, str] = {}
        """The calls of subagents, by their prompts."""

    def read(self) -> Iterator[Event]:
        for raw in _lines(self._path):
            line = parse_line(raw)
            if line is not None:
                yield from self._dated(self._line(line), time_of(line))
            elif raw.strip():
                yield from self._dated(self._broken(raw), None)
        yield from self._dated(self._end_run(), None)

    def _dated(self, events: Iterable[Event], at: float | None) -> Iterator[Event]:
        """The events, which happened at that time; a line without one happened when the line before did."""
        for event in events:
            if not event.at:
                force_setattr(event, "at", self._at if at is None else at)
            yield event
        if at is not None:
            self._at = at

    def _broken(self, raw: bytes) -> Iterator[Event]:
        frame = decode_line(raw)
        if isinstance(frame, Malformed):
            yield malformed(frame)

    def _line(self, line: Line) -> Iterator[Event]:
        uuid = line.get("uuid")
        if isinstance(uuid, str):
            # Some versions copy the messages before a fork or a /clear.
            if uuid in self._seen:
                return
            self._seen.add(uuid)
        match line.get("type"):
            case "assistant":
                yield from self._assistant(line)
            case "user":
                yield from self._user(line)
            case "system":
                yield from self._system(line)
            case "attachment":
                yield from self._attachment(line)
            case "custom-title":
                yield from self._titled(line)

    # ------------------------------------------------------------ messages

    def _assistant(self, line: Line) -> Iterator[Event]:
        failed = line.get("isApiErrorMessage") is True
        if _message(line).get("model") == SYNTHETIC_MODEL and not failed:
            return
        parent = self._parent(line)
        frame = self._frame(line, "assistant", parent)
        if failed:
            frame["error"] = line.get("error") or "unknown"
        self._note_delegation(line)
        if parent is None:
            yield from self._begin_run(line)
            self._run.answered(line, time_of(line), failed=failed)
        yield from self._receive(frame)

    def _user(self, line: Line) -> Iterator[Event]:
        if line.get("isMeta") is True:
            return
        results = [block for block in _blocks(line) if block.get("type") == "tool_result"]
        parent = self._parent(line)
        if results or parent is not None:
            yield from self._results(line, results, parent)
        elif line.get("isSidechain") is not True:
            yield from self._said(line)

    def _results(self, line: Line, results: list[dict[str, Any]], parent: str | None) -> Iterator[Event]:
        result = line.get("toolUseResult")
        if parent is None:
            yield from self._begin_run(line)
            self._run.resulted(results, time_of(line))
        if len(results) == 1 and isinstance(result, dict):
            yield from self._subagent(_text_field(result, "agentId"), _text_field(results[0], "tool_use_id"))
        yield from self._receive(self._frame(line, "user", parent) | {"tool_use_result": result})

    def _said(self, line: Line) -> Iterator[Event]:
        """What stands in the user's place: a message, or one of the CLI's own forms."""
        text = words_of(line)
        if line.get("isCompactSummary") is True:
            yield from self._remark(line, text)
        elif text.startswith(INTERRUPTED):
            self._run.stopped = True
            yield from self._end_run()
        elif (output := _COMMAND_OUTPUT.match(text)) is not None:
            if output["text"].strip():
                yield from self._remark(line, output["text"])
        elif (notified := _NOTIFICATION.match(text)) is not None:
            yield from self._end_run()
            yield from self._notified(line, notified["body"])
        else:
            yield from self._prompt(line, command_of(text))

    def _prompt(self, line: Line, command: str | None) -> Iterator[Event]:
        if not self._run.takes_messages:
            yield from self._end_run()
        content = command if command is not None else _message(line).get("content")
        uuid = _text_field(line, "uuid") or f"message-{len(self._seen)}"
        if command is not None:
            yield Prompt(uuid=uuid, content=content)
            return
        sent = {"type": "user", "uuid": uuid, "message": {"role": "user", "content": content}}
        yield from self._translator.sent(_decoded(sent))
        self._run.asked_at = self._run.asked_at or time_of(line) or self._at
        self._mode = _text_field(line, "permissionMode") or self._mode

    def _notified(self, line: Line, body: str) -> Iterator[Event]:
        """Work in the background is done, and a run follows that nobody asked for."""
        told = {found["name"].replace("-", "_"): found["value"].strip() for found in _NOTIFIED.finditer(body)}
        yield from self._receive({"type": "system", "subtype": "task_notification", **self._place(line), **told})

    # ------------------------------------------------------------ everything else

    def _system(self, line: Line) -> Iterator[Event]:
        match line.get("subtype"):
            case "compact_boundary":
                told = line.get("compactMetadata")
                known = _snake_case(told) if isinstance(told, dict) else {}
                if known.get("trigger") == "manual":
                    yield from self._end_run()
                boundary = {"type": "system", "subtype": "compact_boundary", "compact_metadata": known}
                yield from self._receive(boundary | self._place(line))
            case "local_command" | "informational":
                text = _text_field(line, "content")
                output = _COMMAND_OUTPUT.match(text)
                yield from self._remark(line, text if output is None else output["text"])
            case "turn_duration":
                self._run.duration_ms = line.get("durationMs")

    def _attachment(self, line: Line) -> Iterator[Event]:
        """A message that was sent while a run went on."""
        attachment = line.get("attachment")
        if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            uuid = _text_field(attachment, "source_uuid") or _text_field(line, "uuid") or f"message-{len(self._seen)}"
            if attachment.get("commandMode") != "task-notification" and self._parent(line) is None:
                yield Prompt(uuid=uuid, content=attachment.get("prompt"), run=self._translator.run)

    def _titled(self, line: Line) -> Iterator[Event]:
        title = _text_field(line, "customTitle")
        if title:
            yield Titled(title=title, by="claude")

    def _remark(self, line: Line, text: str) -> Iterator[Event]:
        if text.strip():
            told = note(text, id=_text_field(line, "uuid") or f"note-{len(self._seen)}")
            force_setattr(told, "run", self._translator.run)
            yield told

    # ------------------------------------------------------------ runs

    def _begin_run(self, line: Line) -> Iterator[Event]:
        if self._translator.run is not None:
            return
        model = _text_field(_message(line), "model")
        init = {
            "type": "system",
            "subtype": "init",
            "session_id": _text_field(line, "sessionId") or None,
            "cwd": _text_field(line, "cwd"),
            "model": "" if model == SYNTHETIC_MODEL else model,
            "permissionMode": self._mode,
            "claude_code_version": _text_field(line, "version"),
        }
        yield from self._receive(init)

    def _end_run(self) -> Iterator[Event]:
        run, self._run = self._run, _Run()
        if self._translator.run is None:
            self._run.asked_at = run.asked_at
            return
        yield from self._dated(self._receive(run.result()), run.last_at or self._at)

    # ------------------------------------------------------------ subagents

    def _note_delegation(self, line: Line) -> None:
        for block in _blocks(line):
            given = block.get("input")
            if block.get("type") == "tool_use" and isinstance(given, dict) and isinstance(given.get("prompt"), str):
                self._delegated[given["prompt"]] = _text_field(block, "id")

    def _parent(self, line: Line) -> str | None:
        """The call that a subagent's message belongs to: the one with its prompt, or that of the message before."""
        given = line.get("parent_tool_use_id")
        if isinstance(given, str):
            return given
        if line.get("isSidechain") is not True:
            return None
        parent = self._sidechains.get(_text_field(line, "parentUuid")) or self._delegated.get(words_of(line))
        if parent is not None:
            self._sidechains[_text_field(line, "uuid")] = parent
        return parent

    def _subagent(self, agent: str, call: str) -> Iterator[Event]:
        """What a subagent said and did, from the file that it has of its own."""
        if not call or not _AGENT.fullmatch(agent) or agent in self._agents_read:
            return
        path = os.path.join(os.path.splitext(self._path)[0], "subagents", f"agent-{agent}.jsonl")
        if self._depth == _DEEPEST_AGENT or not os.path.isfile(path):
            return
        self._agents_read.add(agent)
        self._depth += 1
        lines = [line for raw in _lines(path) if (line := parse_line(raw)) is not None]
        # Some versions write them in another order than they happened in.
        for line in sorted(lines, key=lambda line: time_of(line) or 0.0):
            if line.get("type") in ("user", "assistant"):
                yield from self._dated(self._line(line | {"parent_tool_use_id": call}), time_of(line))
        self._depth -= 1

    # ------------------------------------------------------------ frames

    def _frame(self, line: Line, kind: str, parent: str | None) -> dict[str, Any]:
        return {"type": kind, "message": line.get("message"), "parent_tool_use_id": parent, **self._place(line)}

    def _place(self, line: Line) -> dict[str, Any]:
        return {"uuid": line.get("uuid"), "session_id": line.get("sessionId")}

    def _receive(self, frame: dict[str, Any]) -> list[Event]:
        return [item for item in self._translator.receive(_decoded(frame)) if isinstance(item, Event)]


def _decoded(frame: dict[str, Any]) -> Frame:
    return decode_line(msgspec.json.encode({name: value for name, value in frame.items() if value is not None}))


def _snake_case(fields: dict[str, Any]) -> dict[str, Any]:
    return {re.sub(r"(?<=[a-z])([A-Z])", r"_\1", str(name)).lower(): value for name, value in fields.items()}


class _Run:
    """What is known of the run that is being read."""

    def __init__(self) -> None:
        self.asked_at: float | None = None
        self.stopped = False
        self.duration_ms: Any = None
        self.last_at: float | None = None
        self._open: set[str] = set()
        self._messages: set[str] = set()
        self._last = ""
        self._failure: str | None = None

    @property
    def takes_messages(self) -> bool:
        """Whether a message that comes now belongs to this run: Claude was given results and has not spoken since."""
        return self._last == "results" and not self._open

    def answered(self, line: Line, at: float | None, *, failed: bool) -> None:
        """Claude spoke."""
        self.last_at = at or self.last_at
        blocks = _blocks(line)
        self._open |= {_text_field(block, "id") for block in blocks if block.get("type") == "tool_use"}
        self._messages.add(_text_field(_message(line), "id"))
        self._last = "words"
        self._failure = words_of(line) if failed else None

    def resulted(self, results: list[dict[str, Any]], at: float | None) -> None:
        """Tools gave results."""
        self.last_at = at or self.last_at
        self._open -= {_text_field(result, "tool_use_id") for result in results}
        self._last = "results"

    def result(self) -> dict[str, Any]:
        """The frame that would have ended it."""
        took = self.duration_ms
        if not isinstance(took, int | float):
            took = max(0.0, round((self.last_at - self.asked_at) * 1000)) if self.last_at and self.asked_at else 0.0
        told = {"type": "result", "num_turns": len(self._messages), "duration_ms": took}
        if self._failure is not None:
            return told | {"subtype": "success", "is_error": True, "result": self._failure}
        if self.stopped or self._open or self._last != "words":
            error = STOPPED if self.stopped else NO_END
            return told | {"subtype": "error_during_execution", "is_error": True, "errors": [error]}
        return told | {"subtype": "success", "is_error": False}
