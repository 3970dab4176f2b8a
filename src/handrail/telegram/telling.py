"""What is to stand in a chat about a session that it follows: progress, answers, asks, and what went wrong.

All of it is wanted inside one transaction, in which the cursor of the chat moves, too: so nothing is told twice, and
nothing is missing, whenever the bridge dies.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from handrail.events.view import AskItem, PromptItem, RunItem, SessionView
from handrail.telegram.asks.desk import AskDesk, AskedIn
from handrail.telegram.model import GONE, Content, Place, Priority, WantedMessage
from handrail.telegram.news import News
from handrail.telegram.session_notes import Origin, origin_note
from handrail.telegram.show import answers, notices, progress
from handrail.telegram.state import Chat, Follow, Tables
from handrail.telegram.text.rich import RichText, bold, plain
from handrail.telegram.text.safe import safe
from handrail.telegram.text.splitting import shortened

__all__ = ["Teller"]

logger = logging.getLogger("handrail.telegram")

LONGEST_QUOTE: Final = 600
SURFACES: Final = {"web": "the page", "cli": "the terminal", "python": "a program", "telegram": "Telegram"}
UNSHOWN: Final = "This cannot be shown here: look at it on the page, or in a terminal."

T = TypeVar("T")


class Teller:
    """Wants the messages of one session in one place, inside a transaction."""

    def __init__(
        self,
        tables: Tables,
        follow: Follow,
        view: SessionView,
        desk: AskDesk,
        *,
        host: str,
        now: float,
        is_away: bool = False,
    ) -> None:
        self._tables = tables
        self._follow = follow
        self._place: Place = follow.place
        self._session_id = follow.session_id
        self._view = view
        self._desk = desk
        self._now = now
        self._chat: Chat = tables.chat(follow.place)
        self._host = host
        self._away = host if is_away else ""

    @property
    def _is_of_this_chat(self) -> bool:
        return self._chat.session_id == self._session_id

    @property
    def _title(self) -> str:
        """What the session is called, where that is not plain."""
        return "" if self._is_of_this_chat else self._view.title or self._session_id[:8]

    def tell(self, news: News) -> None:
        """Everything that is new for this place."""
        seen = self._follow.cursor
        if news.asks and self._view.run is not None:
            self._holds_back(self._view.run)
        for seq, ask in news.asks.values():
            if seq > seen:
                self.ask(ask)
        if self._follow.mode == "asks":
            return
        for seq, prompt in news.prompts:
            if seq > seen:
                self._prompt(prompt)
        for seq, run in news.runs:
            if seq > seen:
                self._run(run)
        for seq, prompt in news.undone:  # but those of a run that failed: its end says that
            if seq > seen:
                self._undone(prompt)
        for event in news.exits:
            if event.seq > seen:
                self._say(f"exit:{self._session_id}:{event.seq}:{self._place}", notices.exited(event))

    # ------------------------------------------------------------ asks

    def ask(self, item: AskItem) -> None:
        """An ask as it stands. One that was over before anybody here saw it is not shown, unless it was a plan."""
        key = f"ask:{self._session_id}:{item.ask_id}:{self._place}"
        if item.outcome is not None and item.kind != "plan" and self._tables.sent(key) is None:
            return
        host = "" if self._is_of_this_chat else self._host
        try:
            self._desk.want(self._tables, item, AskedIn(self._session_id, self._title, host), self._place)
        except Exception:  # whatever is in it: a person must hear that something waits
            logger.exception("the ask %s of session %s cannot be shown", item.ask_id, self._session_id)
            self._want(key, Content(plain(UNSHOWN), sound=item.outcome is None), Priority.ASK)

    # ------------------------------------------------------------ runs

    def progress(self, *, streamed: bool) -> None:
        """What goes on now."""
        run = self._view.run
        if run is None or self._follow.mode != "all" or self._holds_back(run):
            return
        shown = self._safely(
            lambda: progress.progress(
                self._view,
                now=self._now,
                verbose=self._chat.prefs.verbose,
                title=self._title,
                streamed=streamed,
                away=self._away,
            ),
            plain("▸ Claude works."),
        )
        self._want(self._progress_key(run), Content(shown, reply_to=self._origin(run)), Priority.PROGRESS)

    def _holds_back(self, run: RunItem) -> bool:
        """Whether progress would push up what waits for a person: while something does, none is begun."""
        known = self._tables.sent(self._progress_key(run)) if self._view.asks else None
        if known is not None and not known.message_id:
            self._want(known.key, GONE, Priority.PROGRESS)
        return bool(self._view.asks) and (known is None or not known.message_id)

    def _run(self, run: RunItem) -> None:
        """A run is over: its answer takes the place of its progress."""
        last = ""
        for number, content in enumerate(self._safely(lambda: self._answer(run), [Content(plain(UNSHOWN))]), 1):
            key = f"answer:{self._session_id}:{run.number}:{number}:{self._place}"
            self._want(key, content, Priority.ANSWER, after=last)
            last = key
        self._end_progress(run, after=last)
        for uuid in run.messages:
            self._forget_origin(uuid)

    def _answer(self, run: RunItem) -> list[Content]:
        """The messages of an answer: the first is a reply to what it answers."""
        planmode = self._chat.prefs.planmode if self._is_of_this_chat else ""
        parts = answers.answer(run, self._view, title=self._title, now=self._now, planmode=planmode, host=self._host)
        reply_to = self._origin(run)
        texts = [Content(part, reply_to=0 if number else reply_to) for number, part in enumerate(parts)]
        whole = answers.answer_file(run, self._view)
        return [*texts, Content(attachment=whole)] if whole is not None else texts

    def _end_progress(self, run: RunItem, *, after: str) -> None:
        key = self._progress_key(run)
        if self._chat.prefs.verbose:
            line = self._safely(lambda: progress.summary(run, self._view, title=self._title), plain("✓ Done."))
            self._want(key, Content(line), Priority.PROGRESS)
        elif self._tables.sent(key) is not None:
            self._want(key, GONE, Priority.PROGRESS, after=after)

    def _progress_key(self, run: RunItem) -> str:
        return f"progress:{self._session_id}:{run.number}:{self._place}"

    # ------------------------------------------------------------ messages to Claude

    def _prompt(self, prompt: PromptItem) -> None:
        """What somebody wrote elsewhere: without it, its answer would mean nothing here."""
        origin = self._origin_of(prompt.uuid)
        if (origin is not None and origin.place == self._place) or not prompt.by:
            return
        who = f"{prompt.by} ({SURFACES.get(prompt.surface, prompt.surface)})" if prompt.surface else prompt.by
        words = shortened(plain(safe(prompt.text)), LONGEST_QUOTE)
        self._say(f"said:{self._session_id}:{prompt.uuid}:{self._place}", bold(safe(who)) + "\n" + words)

    def _undone(self, prompt: PromptItem) -> None:
        origin = self._origin_of(prompt.uuid)
        if origin is None or origin.place != self._place:
            return
        key = f"undone:{self._session_id}:{prompt.uuid}:{self._place}"
        self._say(key, notices.undone(prompt), reply_to=origin.message_id, priority=Priority.REPLY)
        self._forget_origin(prompt.uuid)

    def _origin(self, run: RunItem) -> int:
        """The message in this place that a run answers; 0 if it is another one's."""
        found = (self._origin_of(uuid) for uuid in run.messages)
        return next((origin.message_id for origin in found if origin is not None and origin.place == self._place), 0)

    def _origin_of(self, uuid: str) -> Origin | None:
        noted = self._tables.noted(origin_note(uuid))
        return msgspec.json.decode(noted, type=Origin) if noted is not None else None

    def _forget_origin(self, uuid: str) -> None:
        origin = self._origin_of(uuid)
        if origin is not None and origin.place == self._place:
            self._tables.note(origin_note(uuid), None)

    # ------------------------------------------------------------ inside

    def _say(self, key: str, text: RichText, *, reply_to: int = 0, priority: Priority = Priority.ANSWER) -> None:
        self._want(key, Content(text, reply_to=reply_to), priority)

    def _want(self, key: str, content: Content, priority: Priority, *, after: str = "") -> None:
        self._tables.want(
            WantedMessage(
                key=key,
                place=self._place,
                content=content,
                priority=priority,
                session_id=self._session_id,
                after=after,
            )
        )

    def _safely(self, render: Callable[[], T], instead: T) -> T:
        """What a renderer makes. One that fails must not hold up everything that comes after it."""
        try:
            return render()
        except Exception:
            logger.exception("something of session %s cannot be shown", self._session_id)
            return instead
