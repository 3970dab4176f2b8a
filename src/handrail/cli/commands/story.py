"""A session's story in the terminal: what was said, what was done, what was asked and who decided. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.asking.outcomes import what_was_asked
from handrail.cli.showing.amounts import cost, count, duration
from handrail.cli.showing.layout import Hanging, Indented
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import DONE, FAILED, MARKS, NEEDS_YOU, PLAN, QUIET, RUNNING, exact, markdown, prose
from handrail.events.endings import was_interrupted
from handrail.events.model import AskClosed, AskOpened, Completed, Event, Prompt, Started, Thinking
from handrail.sessions.exporting.decisions import verdict
from handrail.sessions.exporting.sections import Code, Lines, Prose, call_line
from handrail.sessions.exporting.story import Asked, Call, Item, Message, Remark, RunEnd, RunStart, Speech, tell

__all__ = ["Story", "answer_words", "outcome_words", "run_end", "the_last_runs"]

COLOURS: Mapping[str, str] = {
    "quiet": QUIET,
    "running": RUNNING,
    "done": DONE,
    "failed": FAILED,
    "needs_you": NEEDS_YOU,
    "plan": PLAN,
    "unfinished": QUIET,
}
"""The colour of each tone, and of each state of a call."""


def the_last_runs(events: Sequence[Event], number: int) -> list[Event]:
    """Everything behind the end of the run before the last so many, so with the messages that caused them."""
    starts = [event.seq for event in events if isinstance(event, Started)]
    if len(starts) <= number:
        return list(events)
    ended = [event.seq for event in events if isinstance(event, Completed) and event.seq < starts[-number]]
    return [event for event in events if event.seq > (ended[-1] if ended else 0)]


def answer_words(answer: Mapping[str, Any]) -> str:
    """An answer, as it is stored, in words."""
    opened = AskOpened(ask_id="", kind="", digest="", title="")
    decided = verdict(Asked(opened, AskClosed(ask_id="", outcome="decided", answer=dict(answer))))
    return decided.words


def outcome_words(opened: AskOpened, closed: AskClosed) -> tuple[str, str]:
    """What became of an ask: the colour of that, and words."""
    decided = verdict(Asked(opened, closed))
    return COLOURS[decided.tone], f"{decided.words} by {decided.who}" if decided.who else decided.words


class Story:
    """Tells events. `waiting` are the asks that wait for an answer now, by id; `live` says that calls may still run."""

    def __init__(self, *, cwd: str, waiting: frozenset[str] = frozenset(), live: bool = False) -> None:
        self._cwd = cwd
        self._waiting = waiting
        self._live = live
        self._kind = ""

    def tell(self, events: Sequence[Event]) -> Iterator[RenderableType]:
        """The story, piece by piece; what is of another kind than what came before stands apart."""
        for item in tell(events):
            for told in self._item(item):
                kind = "call" if isinstance(item, Call) else type(item).__name__
                if self._kind and (kind != self._kind or kind in ("Message", "Speech")):
                    yield Text()
                self._kind = kind
                yield told

    def _item(self, item: Item) -> Iterator[RenderableType]:
        match item:
            case Message():
                yield _message(item.event)
            case Speech() if item.event.text.strip() and not isinstance(item.event, Thinking):
                yield Indented(_speech(item), 1) if item.within else _speech(item)
            case Call():
                yield from self._call(item)
            case Asked():
                yield self._asked(item)
            case Remark():
                yield notice(COLOURS[item.tone], item.text)
            case RunEnd():
                yield run_end(item.event)
            case RunStart():
                pass

    # ------------------------------------------------------------ what was done

    def _call(self, call: Call) -> Iterator[RenderableType]:
        state = "running" if call.state == "unfinished" and self._live else call.state
        tool, about = call_line(call, self._cwd)
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{MARKS[COLOURS[state]]} ", COLOURS[state])
        line.append_text(exact(tool, "bold")).append("  ").append_text(exact(about))
        yield Indented(line, 1) if call.within else line
        for asked in call.asked:
            yield Hanging(Text("  "), self._asked(asked, of_call=True))
        inside = [told for item in call.inside for told in self._item(item)]
        if inside:
            yield Indented(Group(*inside), 1)

    # ------------------------------------------------------------ what was asked

    def _asked(self, asked: Asked, *, of_call: bool = False) -> RenderableType:
        """What was asked and what became of it. `of_call`: the call that it is about stands above it."""
        outcome = self._outcome(asked)
        if of_call:
            return outcome
        colour = PLAN if asked.opened.kind in ("plan", "enter_plan") else NEEDS_YOU
        title = exact(f"asked: {what_was_asked(asked.opened)}")
        return Group(
            Hanging(Text(f"{MARKS[colour]} ", style=colour), title),
            Hanging(Text("  "), outcome),
        )

    def _outcome(self, asked: Asked) -> RenderableType:
        ask_id = asked.opened.ask_id
        if ask_id in self._waiting:
            return notice(NEEDS_YOU, f"waits for an answer: handrail answer {ask_id}")
        decided = verdict(asked)
        who = f" by {decided.who}" if decided.who else ""
        when = f", {decided.when}" if decided.when else ""
        words = prose(decided.words).append_text(exact(f"{who}{when}", QUIET))
        head = Hanging(Text(f"{MARKS[COLOURS[decided.tone]]} ", style=COLOURS[decided.tone]), words)
        said = [_section(section) for section in decided.sections if isinstance(section, Prose | Lines | Code)]
        return Group(head, *(Hanging(Text("  "), part) for part in said))


def _section(section: Prose | Lines | Code) -> RenderableType:
    text = "\n".join(section.lines) if isinstance(section, Lines) else section.text
    return prose(f"{section.label}: {text}" if section.label else text, QUIET)


# ---------------------------------------------------------------- what was said


def _message(event: Prompt) -> RenderableType:
    surface = f" ({event.surface})" if event.surface else ""
    who = exact(event.by or "You", "bold").append_text(exact(surface, QUIET))
    who.append(f"  {_moment(event.at)}", QUIET)
    return Group(who, Hanging(Text("› ", style=QUIET), prose(_content_text(event.content))))


def _content_text(content: Any) -> str:
    """The text of a message; what is no text is named."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list | tuple) else []
    return "\n".join(
        str(block.get("text", "")) if block.get("type") == "text" else f"[{block.get('type', 'block')}]"
        for block in blocks
    )


def _speech(speech: Speech) -> RenderableType:
    return markdown(f"{speech.event.text} … (cut off)" if speech.event.partial else speech.event.text)


# ---------------------------------------------------------------- ends


def run_end(event: Completed) -> RenderableType:
    """How a run ended, and what it took."""
    took = " · ".join(_figures(event))
    if event.ok:
        return Text.assemble((f"{MARKS[DONE]} ", DONE), "done", (f" · {took}" if took else "", QUIET))
    how = "interrupted" if was_interrupted(event) else event.error or "failed"
    return notice(FAILED, " · ".join(filter(None, (how, took))))


def _figures(event: Completed) -> Iterator[str]:
    if event.duration_ms:
        yield duration(event.duration_ms)
    if event.num_turns:
        yield count(event.num_turns, "turn")
    if event.cost_usd:
        yield cost(event.cost_usd)


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M") if at else ""
