"""A session as Markdown: to be read on a forge, in an editor, or as it is."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from html import escape

from handrail.events.endings import run_error
from handrail.events.model import Event, Text, Thinking
from handrail.events.resume import resume_line
from handrail.policy.describing.visible import one_line, visible
from handrail.rendering.amounts import size
from handrail.rendering.ansi import plain_output
from handrail.sessions.exporting.decisions import ask_heading, ask_sections, verdict
from handrail.sessions.exporting.safe_markdown import fence, longest_backticks, safe_markdown
from handrail.sessions.exporting.sections import (
    Code,
    Lines,
    Output,
    Picture,
    Prose,
    Section,
    call_line,
    content_sections,
    given_sections,
    result_sections,
)
from handrail.sessions.exporting.story import Asked, Call, Message, Remark, RunEnd, RunStart, tell
from handrail.sessions.exporting.words import clock, cost, moment, run_summary, shortened, title_of
from handrail.sessions.exporting.writing import SIGNS, ItemWriter
from handrail.store.base import SessionRow

__all__ = ["export_markdown"]

CALL_SIGNS = {"done": "✓", "failed": "✗", "unfinished": "…", "running": "…"}


def export_markdown(row: SessionRow, events: Iterable[Event]) -> str:
    """The session as one document."""
    writer = _Writer(row.cwd)
    parts = [_header(row)]
    for item in tell(events):
        parts += writer.write(item)
    parts.append(_footer(row))
    return "\n\n".join(part for part in parts if part) + "\n"


def _header(row: SessionRow) -> str:
    facts = [
        ("Session", code(row.id)),
        ("Directory", code(row.cwd)),
        ("Model", code(row.model) if row.model else ""),
        ("Began", moment(row.created_at)),
        ("Last change", moment(row.updated_at)),
        ("Cost", cost(row.cost_usd) if row.cost_usd else ""),
    ]
    table = "\n".join(f"| {name} | {_in_table(value)} |" for name, value in facts if value)
    return f"# {_plain(title_of(row))}\n\n|  |  |\n|---|---|\n{table}"


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")


def _footer(row: SessionRow) -> str:
    if row.cli_session_id is None:
        return ""
    return f"---\n\nGo on with:\n\n{fence(visible(resume_line(row.cli_session_id)), 'sh')}"


class _Writer(ItemWriter):
    def _run_start(self, item: RunStart) -> Iterator[str]:
        background = ", by itself" if item.event.cause == "background" else ""
        number = "" if item.event.run is None else f" {item.event.run}"
        yield f"## Run{number}{background} · {moment(item.event.at)}"

    def _run_end(self, item: RunEnd) -> Iterator[str]:
        sign = SIGNS["done" if item.event.ok else "failed"]
        yield f"{sign} *{run_summary(item.event)}*"
        if error := run_error(item.event):
            yield fence(visible(plain_output(error)), "text")

    def _message(self, item: Message) -> Iterator[str]:
        event = item.event
        who = f"**{_plain(event.by or 'You')}**" + (f" ({_plain(event.surface)})" if event.surface else "")
        body = "\n\n".join(_section(section) for section in content_sections(event.content))
        yield f"{who} · {clock(event.at)}\n\n{_quoted(body)}"

    def _speech(self, event: Text, within: str) -> Iterator[str]:
        body = safe_markdown(event.text) + ("\n\n*(cut off here)*" if event.partial else "")
        yield f"*{_plain(within)}*\n\n{_quoted(body)}" if within else body

    def _thought(self, event: Thinking) -> Iterator[str]:
        if event.redacted:
            yield "*(a thought that the API keeps to itself)*"
        elif event.text.strip():
            yield _details("Thought", safe_markdown(event.text))

    def _remark(self, item: Remark) -> Iterator[str]:
        sign = SIGNS[item.tone]
        if item.detail:
            yield _details(escape(f"{sign} {one_line(item.text)}"), _output(item.detail))
        else:
            yield f"{sign} {_plain(item.text)}"

    def _call(self, call: Call) -> Iterator[str]:
        label, line = call_line(call, self._cwd)
        about = f" <code>{escape(line, quote=False)}</code>" if line else ""
        within = f" · in {escape(one_line(call.within), quote=False)}" if call.within else ""
        body = [_section(section) for section in given_sections(call)]
        body += [part for item in call.inside for part in self.write(item)]
        body += [_section(section) for section in result_sections(call)]
        summary = f"{CALL_SIGNS[call.state]} <b>{escape(label, quote=False)}</b>{about}{within}"
        yield _details(summary, "\n\n".join(body))
        for asked in call.asked:
            yield from self._ask(asked, inside_call=True)

    def _ask(self, asked: Asked, *, inside_call: bool) -> Iterator[str]:
        what = [_section(section) for section in ask_sections(asked, inside_call=inside_call)]
        decided = verdict(asked)
        by = f" by {_plain(decided.who)}" if decided.who else ""
        when = f" · {decided.when}" if decided.when else ""
        lines = [f"{SIGNS['needs_you']} **{_plain(ask_heading(asked, inside_call=inside_call))}**", *what]
        lines += [f"{SIGNS[decided.tone]} **{_plain(decided.words)}**{by}{when}"]
        lines += [_section(section) for section in decided.sections]
        yield _quoted("\n\n".join(lines))


# ---------------------------------------------------------------- pieces


def code(text: str) -> str:
    """A word or a line of code, whatever it holds."""
    shown = one_line(text)
    ticks = "`" * (longest_backticks(shown) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{space}{shown}{space}{ticks}" if shown else ""


def _plain(text: str) -> str:
    """Text that means nothing but itself, on one line."""
    return "".join(f"\\{character}" if character in _MEANINGFUL else character for character in one_line(text))


_MEANINGFUL = frozenset("\\`*_[]<>#|~&$")


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _details(summary: str, body: str) -> str:
    """Something folded; `summary` is HTML."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>" if body else summary


def _output(text: str) -> str:
    return fence(visible(shortened(plain_output(text).rstrip())), "text")


def _section(section: Section) -> str:
    match section:
        case Code(text=text, language=language, file_name=name, label=label):
            return _labelled(label, fence(visible(shortened(text)), language or _extension(name)))
        case Output(text=text, label=label):
            return _labelled(label, _output(text)) if text.strip() else "*no output*"
        case Prose(text=text, label=label):
            return _labelled(label, safe_markdown(text))
        case Lines(lines=lines, label=label):
            return _labelled(label, "\n".join(f"- {_plain(line)}" for line in lines))
        case Picture(media_type=media_type, data=data):
            return f"*({_plain(media_type)}, {size(len(data) * 3 // 4)}: the HTML export shows it)*"


def _labelled(label: str, body: str) -> str:
    return f"**{_plain(label)}**\n\n{body}" if label else body


def _extension(file_name: str) -> str:
    extension = posixpath.splitext(file_name)[1].removeprefix(".")
    return extension if extension.isalnum() and extension.isascii() else ""
