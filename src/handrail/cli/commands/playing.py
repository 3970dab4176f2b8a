"""Plays a recording on a surface, at the pace it was recorded at, or another one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec.structs import replace as replace_fields

from handrail.cli.commands.failures import ExitCode
from handrail.cli.commands.recorded import read_recording
from handrail.cli.commands.story import outcome_words, run_end
from handrail.cli.showing.style import NEEDS_YOU
from handrail.cli.surface import Surface
from handrail.cli.surroundings import Surroundings
from handrail.events.model import AskClosed, AskOpened, Completed, Delta, Event, Prompt, Started
from handrail.events.recording import RecordedLine, items_of_recording

__all__ = ["Player"]


class Player:
    """Plays once. `speed` is how many times as fast; None plays at once."""

    def __init__(
        self,
        surface: Surface,
        *,
        speed: float | None,
        for_a_person: bool,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._surface = replace(surface, keyboard=None, answerer=None)
        self._speed = speed
        self._for_a_person = for_a_person
        self._clock = clock
        self._sleep = sleep
        self._opened: dict[str, AskOpened] = {}
        self._waiting: dict[str, None] = {}
        self._position = 0.0
        self._playing: asyncio.Task[None] | None = None
        self._code: int = ExitCode.OK

    async def play(self, path: Path) -> int:
        """Play the recording; returns the exit code. Raises `HandrailError` for what is no recording."""
        lines = list(read_recording(path))
        self._playing = asyncio.create_task(self._play(items_of_recording(self._followed(lines))))
        self._surface.output.when_broken = lambda: self._stop(ExitCode.READER_GONE)
        with Surroundings(
            self._surface,
            on_interrupt=lambda: self._stop(ExitCode.INTERRUPTED),
            on_kill=lambda number: self._stop(128 + number),
        ):
            await asyncio.wait([self._playing])
        if not self._playing.cancelled():
            self._playing.result()
        return self._code

    def _stop(self, code: int) -> None:
        self._code = code
        if self._playing is not None:
            self._playing.cancel()

    async def _play(self, items: Iterator[Event | Delta]) -> None:
        started = self._clock()
        for item in items:
            await self._reached(started)
            self._show(item)

    def _followed(self, lines: Iterable[RecordedLine]) -> Iterator[RecordedLine]:
        """The lines; the position is that of the one from which the next items are made."""
        for line in lines:
            self._position = line[2]
            yield line

    async def _reached(self, started: float) -> None:
        """Wait until it is time for the position; at least for a moment, so that keys are heard."""
        due = 0.0 if self._speed is None else started + self._position / self._speed - self._clock()
        await self._sleep(max(0.0, due))

    def _show(self, item: Event | Delta) -> None:
        if self._for_a_person:
            self._show_what_is_missing(item)
        self._surface.view.show(item)
        if self._for_a_person:
            self._show_asks(item)

    def _show_what_is_missing(self, item: Event | Delta) -> None:
        """A recording may not say when a message was taken up: then it was when the next run began."""
        match item:
            case Prompt(uuid=uuid, state="queued" | "sent"):
                self._waiting.setdefault(uuid)
            case Prompt(uuid=uuid):
                self._waiting.pop(uuid, None)
            case Started():
                for uuid in self._waiting:
                    self._surface.view.show(Prompt(uuid=uuid, state="started", at=item.at))
                self._waiting.clear()

    def _show_asks(self, item: Event | Delta) -> None:
        """What the view leaves to where it is answered, which is nowhere here."""
        match item:
            case AskOpened() if item.ask_id not in self._opened:
                self._opened[item.ask_id] = item
                self._surface.view.notice(NEEDS_YOU, f"asked: {item.title}")
            case AskClosed() if item.ask_id in self._opened:
                closed = replace_fields(item, answer=_as_stored(item.answer or {}))
                self._surface.view.notice(*outcome_words(self._opened[item.ask_id], closed))
            case Completed():
                self._surface.view.screen.show(run_end(item), kind="end")


def _as_stored(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as it passed on the wire, in the terms of the journal."""
    match answer:
        case {"behavior": "allow"}:
            permissions = answer.get("updatedPermissions")
            return {"type": "allow", **({"updated_permissions": permissions} if permissions else {})}
        case {"behavior": "deny"}:
            return {"type": "deny", "message": answer.get("message", ""), "interrupt": answer.get("interrupt", False)}
        case {"action": action}:
            return {"type": "elicited", "action": action}
    return dict(answer)
