"""Scripts for a scripted model in a file: TOML, one table per reply.

::

    default = "ok"                          # answers side requests; optional

    [[main]]
    thinking = "What is in here?"
    text = "Let me look."
    tools = [{ name = "Bash", input = { command = "ls", description = "List the files" } }]

    [[main]]
    error = 529                             # any API error: 429, 500, 401, …
    times = 2
    retry_after = 0

    [[main]]
    text = "There are three files."
    deltas = 10
    delta_delay = 0.05

    [[conversations."count the files"]]     # played to the subagent whose prompt contains these words
    text = "3"

A reply is a table with any of `thinking`, `text` and `tools` (sent in this order), or `error` (with
`message`, `type`, `retry_after`, `mid_stream`), or `drop = true`. The other keys are those of
`handrail.testing.Reply`: `deltas`, `delay`, `delta_delay`, `stop_reason`, `usage`, `drop_after`,
`hang_after`, `times`. A plain string stands for a text reply, so `main = ["first", "second"]` is a script
too. Functions cannot be written in a file: use Python for those.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from handrail.errors import HandrailError
from handrail.testing.replies import Block, Reply, Text, Thinking, ToolUse

__all__ = ["LoadedScript", "ScriptFileError", "load_script"]


class ScriptFileError(HandrailError):
    """A script file cannot be used; the message names the file, the entry and what to do."""


@dataclass(frozen=True, slots=True)
class LoadedScript:
    """What a script file holds."""

    main: list[Reply]
    conversations: dict[str, list[Reply]]
    default: Reply


class _Tool(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    input: dict[str, Any] = {}
    id: str | None = None


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    thinking: str | None = None
    text: str | None = None
    tools: list[_Tool] = []
    error: int | None = None
    drop: bool = False
    message: str | None = None
    type: str | None = None
    retry_after: float | None = None
    mid_stream: bool = False
    deltas: int = 3
    delay: float = 0
    delta_delay: float = 0
    stop_reason: str | None = None
    usage: dict[str, int] | None = None
    drop_after: int | None = None
    hang_after: int | None = None
    times: int = 1


def load_script(path: str | Path) -> LoadedScript:
    """Read a script file. Raises `ScriptFileError` if it cannot be read or used."""
    document = _read(Path(path))
    if unknown := document.keys() - {"main", "conversations", "default"}:
        raise ScriptFileError(
            f"{path}: unknown key {min(unknown)!r}; a script file has `main`, `conversations` and `default`"
        )
    conversations = document.get("conversations", {})
    if not isinstance(conversations, dict):
        raise ScriptFileError(f'{path}: `conversations` must be a table: write [[conversations."some words"]]')
    return LoadedScript(
        main=_replies(document.get("main", []), f"{path}: main", "[[main]]"),
        conversations={
            name: _replies(entries, f"{path}: conversation {name!r}", f'[[conversations."{name}"]]')
            for name, entries in conversations.items()
        },
        default=_reply(document.get("default", "ok"), f"{path}: default"),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScriptFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ScriptFileError(f"{path}: is not UTF-8 text; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise ScriptFileError(f"{path}: is not valid TOML: {error}") from error


def _replies(entries: Any, where: str, header: str) -> list[Reply]:
    if not isinstance(entries, list):
        raise ScriptFileError(f"{where}: must be a list of replies: begin each of them with {header}")
    return [_reply(entry, f"{where}, reply {number}") for number, entry in enumerate(entries, start=1)]


def _reply(entry: Any, where: str) -> Reply:
    if isinstance(entry, str):
        return Reply(entry)
    try:
        return _built(msgspec.convert(entry, _Entry))
    except msgspec.ValidationError as error:
        keys = ", ".join(_Entry.__struct_fields__)
        raise ScriptFileError(f"{where}: {error}. A reply is a string or a table of: {keys}") from error
    except ValueError as error:
        raise ScriptFileError(f"{where}: {error}") from error


def _built(entry: _Entry) -> Reply:
    kinds: list[tuple[bool, Callable[[_Entry], Reply]]] = [
        (bool(entry.thinking or entry.text or entry.tools), _message),
        (entry.error is not None, _error),
        (entry.drop, _drop),
    ]
    wanted = [build for applies, build in kinds if applies]
    if len(wanted) != 1:
        raise ValueError("give either `text`, `thinking` or `tools`, or `error`, or `drop = true`")
    return wanted[0](entry)


def _message(entry: _Entry) -> Reply:
    _forbid(entry, "message", "type", "retry_after", "mid_stream", kind="a reply with content")
    return Reply(
        *_blocks(entry),
        deltas=entry.deltas,
        delay=entry.delay,
        delta_delay=entry.delta_delay,
        stop_reason=entry.stop_reason,
        usage=entry.usage,
        drop_after=entry.drop_after,
        hang_after=entry.hang_after,
        times=entry.times,
    )


_CONTENT_ONLY = ("deltas", "delta_delay", "stop_reason", "usage", "drop_after", "hang_after")


def _error(entry: _Entry) -> Reply:
    _forbid(entry, *_CONTENT_ONLY, kind="an error")
    return Reply.error(
        entry.error or 0,
        entry.message,
        type=entry.type,
        retry_after=entry.retry_after,
        mid_stream=entry.mid_stream,
        delay=entry.delay,
        times=entry.times,
    )


def _drop(entry: _Entry) -> Reply:
    _forbid(entry, *_CONTENT_ONLY, "message", "type", "retry_after", "mid_stream", kind="a dropped connection")
    return Reply.drop(delay=entry.delay, times=entry.times)


def _forbid(entry: _Entry, *fields: str, kind: str) -> None:
    """A key that would have no effect is a mistake worth telling."""
    defaults = _Entry()
    for name in fields:
        if getattr(entry, name) != getattr(defaults, name):
            raise ValueError(f"`{name}` has no meaning for {kind}: remove it")


def _blocks(entry: _Entry) -> list[Block]:
    blocks: list[Block] = []
    if entry.thinking:
        blocks.append(Thinking(entry.thinking))
    if entry.text:
        blocks.append(Text(entry.text))
    return blocks + [ToolUse(tool.name, tool.input, tool.id) for tool in entry.tools]
