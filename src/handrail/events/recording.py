"""A recorded session as events: what would have been in its journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from msgspec.structs import force_setattr

from handrail.events.model import Delta, Event
from handrail.events.translate import Translator
from handrail.protocol.codec import Codec
from handrail.protocol.lenient import plain_object

__all__ = ["RecordedLine", "events_of_recording", "items_of_recording"]

RecordedLine: TypeAlias = tuple[str, bytes, float]
"""Direction (`in`: from the CLI, `out`: to it, `meta`: about the connection), the line, and when it passed."""

RECORDING_ENDS = "the recording ends here"


def events_of_recording(lines: Iterable[RecordedLine]) -> Iterator[Event]:
    """The events of a recorded session, numbered from 1. Each bears the time of the line that it comes from."""
    return (item for item in items_of_recording(lines) if isinstance(item, Event))


def items_of_recording(lines: Iterable[RecordedLine]) -> Iterator[Event | Delta]:
    """As `events_of_recording`, with the deltas between the events."""
    return _Replay().items(lines)


class _Replay:
    def __init__(self) -> None:
        self._translator = Translator(asks=True)
        self._codec = Codec()
        self._seq = 0
        self._exit_code: int | None = None
        self._reason = RECORDING_ENDS
        self._stderr = ""

    def items(self, lines: Iterable[RecordedLine]) -> Iterator[Event | Delta]:
        at = 0.0
        for direction, line, at in lines:
            yield from self._numbered(self._read(direction, line), at)
        yield from self._numbered(self._end(), at)

    def _read(self, direction: str, line: bytes) -> Iterator[Event | Delta]:
        if direction == "meta":
            self._note(plain_object(line))
            return
        for frame in self._codec.feed(line.rstrip(b"\r\n") + b"\n"):
            yield from self._translator.receive(frame) if direction == "in" else self._translator.sent(frame)

    def _end(self) -> list[Event]:
        return self._translator.exited(
            exit_code=self._exit_code, reason=self._reason, stderr=self._stderr, expected=self._exit_code == 0
        )

    def _note(self, note: dict[str, Any]) -> None:
        """What the recorder wrote down about the process: how it was started, how it ended."""
        match note:
            case {"cmd": [*words]}:
                self._translator = _translator_for([str(word) for word in words])
            case {"exit": code}:
                self._exit_code = code if isinstance(code, int) else None
                self._reason = "" if isinstance(code, int) else RECORDING_ENDS
            case {"stderr": str(text)}:
                self._stderr += text

    def _numbered(self, items: Iterable[Event | Delta], at: float) -> Iterator[Event | Delta]:
        for item in items:
            if isinstance(item, Event):
                self._seq += 1
                force_setattr(item, "seq", self._seq)
                force_setattr(item, "at", at)
            else:
                force_setattr(item, "after", self._seq)
            yield item


def _translator_for(words: list[str]) -> Translator:
    """A translator that knows what the recorded process was asked for."""
    return Translator(
        asks=True,
        resume=_option(words, "--resume") or _option(words, "-r"),
        fork="--fork-session" in words,
        mode=_option(words, "--permission-mode"),
        model=_option(words, "--model"),
    )


def _option(words: list[str], name: str) -> str | None:
    for index, word in enumerate(words):
        if word == name and index + 1 < len(words) and not words[index + 1].startswith("-"):
            return words[index + 1]
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return None
