"""All of one row of the conversation: what a tool was given, what it changed, what it gave back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from handrail.events.model import Action, Event, Prompt, Text, Thinking, Unknown
from handrail.policy.describing.json_text import json_text
from handrail.rendering.marks import line_html, text_html
from handrail.rendering.pictures import not_shown_html
from handrail.server.showing.images import image_reference, images_in
from handrail.server.showing.pieces import Pieces
from handrail.server.showing.strings import exact, words
from handrail.sessions.exporting.sections import (
    Code,
    Diff,
    Lines,
    Output,
    Picture,
    Prose,
    Section,
    content_sections,
    given_sections,
    result_sections,
    tool_name,
)
from handrail.sessions.exporting.story import Call

__all__ = ["row_details"]

LONGEST_COPY = 200_000
"""What is longer can be copied from the page, but is not sent twice."""
_EXPLAINED = frozenset({"Agent", "Bash", "Task"})
"""Tools whose sections leave out the description."""


def row_details(
    events: Sequence[Event], *, session_id: str = "", key: str = "", pieces: Pieces | None = None
) -> dict[str, Any]:
    """The details of the row that `events` make: all of them, in order. Without `session_id` images come along."""
    details = _Details(session_id, pieces or Pieces(0))
    actions = [event for event in events if isinstance(event, Action)]
    if actions:
        details.add_call(actions)
    for event in events:
        if not isinstance(event, Action):
            details.add_event(event)
    shown = {"key": key} if key else {}
    return {**shown, "sections": details.sections, "images": details.images, "text": details.text}


@dataclass
class _Details:
    session_id: str
    pieces: Pieces
    sections: list[dict[str, str]] = field(default_factory=list)
    images: list[dict[str, str]] = field(default_factory=list)
    text: str = ""

    def add_call(self, actions: Sequence[Action]) -> None:
        """A tool call, from all its phases."""
        call = _call(actions)
        if purpose := _purpose(call):
            self._section("What for", "text", text_html(purpose))
        for section in given_sections(call):
            self._add(section, "Input")
        failed = call.state == "failed"
        for section in result_sections(call):
            self._add(section, "Error" if failed else "Output")
        for action in actions:
            self.images += [
                image_reference(image, action.seq, self.session_id) for image in images_in(action.detail.get("content"))
            ]
        if not self.sections and not self.images:
            self._add(Code(json_text(_told(call)), "json"), "Details")

    def add_event(self, event: Event) -> None:
        """Anything else: its text, or all of it as JSON."""
        match event:
            case Text(text=text) | Thinking(text=text):
                self._section("Text", "markdown", self.pieces.prose(text))
                self.text = words(text)
            case Prompt(content=content) if content is not None:
                self.images += [image_reference(each, event.seq, self.session_id) for each in images_in(content)]
                for section in content_sections(content):
                    self._add(section, "Message")
            case Unknown(frame=frame):
                self._add(Code(json_text(frame), "json"), "Frame")
            case _:
                self._add(Code(json_text(msgspec.to_builtins(event)), "json"), "Details")

    def _add(self, section: Section, title: str) -> None:
        match section:
            case Diff(hunks=hunks):
                self._section("Diff", "diff", self.pieces.diff(hunks, numbered=section.numbered))
            case Code(text=text, language=language, file_name=name, label=label):
                kind = "json" if language == "json" else "code"
                self._section(label or title, kind, self.pieces.code(text, language, name))
                self._copyable(text)
            case Output(text=text):
                self._section(title, "output", self.pieces.output(text) if text.strip() else _quiet("no output"))
                self._copyable(text)
            case Prose(text=text, label=label):
                self._section(label or title, "markdown", self.pieces.prose(text))
            case Lines(lines=lines, label=label):
                items = "".join(f"<li>{line_html(line)}</li>" for line in lines)
                self._section(label or title, "list", f'<ul class="lines">{items}</ul>')
            case Picture(media_type=media_type, data=data):
                if not any(images_in([_block(section)])):
                    self._section(title, "image", not_shown_html(media_type, data))

    def _section(self, title: str, kind: str, html: str) -> None:
        self.sections.append({"title": title, "kind": kind, "html": html})

    def _copyable(self, text: str) -> None:
        """The last thing that was given or printed is what people copy."""
        if len(text) <= LONGEST_COPY:
            self.text = exact(text)


def _call(actions: Sequence[Action]) -> Call:
    """The call as an export knows it: how it began, with all that became known, and how it ended."""
    detail: dict[str, Any] = {}
    for action in actions:
        detail |= action.detail
    started = msgspec.structs.replace(actions[0], detail=detail)
    last = actions[-1]
    if last.phase != "completed":
        return Call(started)
    return Call(started, msgspec.structs.replace(last, detail=detail), "failed" if last.ok is False else "done")


def _purpose(call: Call) -> str:
    """What Claude said that a command is for."""
    given = call.detail.get("tool_input")
    said = given.get("description") if isinstance(given, dict) else None
    return said if isinstance(said, str) and tool_name(call) in _EXPLAINED and said != call.started.title else ""


def _told(call: Call) -> dict[str, Any]:
    """What is known of a call that was given nothing and gave nothing back."""
    hidden = {"block", "message_id", "tool_use_id", "parent_tool_use_id"}
    return {name: value for name, value in call.detail.items() if name not in hidden} or {"title": call.started.title}


def _block(picture: Picture) -> dict[str, Any]:
    return {"type": "image", "source": {"media_type": picture.media_type, "data": picture.data}}


def _quiet(text: str) -> str:
    return f'<p class="quiet">{text}</p>'
