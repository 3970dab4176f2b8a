"""A session as one HTML file: no script, nothing from elsewhere, to be read on a desk, a phone or paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files

from handrail.events.endings import run_error
from handrail.events.model import Event, Text, Thinking
from handrail.events.resume import resume_line
from handrail.policy.describing.visible import one_line
from handrail.rendering.code import code_html
from handrail.rendering.marks import line_html
from handrail.rendering.output import output_html
from handrail.rendering.palette import NAMED, palette_css
from handrail.rendering.pictures import picture_html
from handrail.rendering.prose import prose_html
from handrail.sessions.exporting.decisions import ask_heading, ask_sections, verdict
from handrail.sessions.exporting.remarks import Tone
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
from handrail.sessions.exporting.words import clock, cost, duration, iso, moment, run_summary, shortened, title_of
from handrail.sessions.exporting.writing import SIGNS, ItemWriter
from handrail.store.base import SessionRow

__all__ = ["export_html"]

TONE_OF_CALL: dict[str, Tone] = {"done": "done", "failed": "failed", "unfinished": "quiet", "running": "quiet"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""What a browser may do with the page, should anything have slipped through: show it."""

_COLOUR_CLASSES = re.compile(r'(?<=[ "])[fb]([0-9]{2,3})(?=[ "])')


def export_html(row: SessionRow, events: Iterable[Event]) -> str:
    """The session as one page."""
    writer = _Writer(row.cwd)
    parts = ["<main>", _header(row)]
    for item in tell(events):
        parts += writer.write(item)
    parts += [writer.end(), "</main>", _footer(row), "</body>", "</html>"]
    body = "\n".join(part for part in parts if part)
    return f"{_head(row, _colours(body))}\n{body}\n"


def _colours(body: str) -> str:
    """The rules for those of the many colours of terminals that the page needs."""
    used = {int(number) for number in _COLOUR_CLASSES.findall(body)}
    return palette_css(sorted(number for number in used if NAMED <= number < 256))


def _head(row: SessionRow, colours: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(one_line(title_of(row)))}</title>\n<style>\n{_stylesheet()}{colours}</style>\n</head>\n<body>"
    )


@cache
def _stylesheet() -> str:
    return files(__package__).joinpath("page.css").read_text("utf-8")


def _header(row: SessionRow) -> str:
    facts = [
        ("Directory", f"<code>{line_html(row.cwd)}</code>"),
        ("Model", line_html(row.model)),
        ("Began", _time(row.created_at, moment(row.created_at))),
        ("Last change", _time(row.updated_at, moment(row.updated_at))),
        ("Cost", cost(row.cost_usd) if row.cost_usd else ""),
        ("Session", f"<code>{line_html(row.id)}</code>"),
    ]
    shown = "\n".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts if value)
    return f"<header>\n<h1>{line_html(title_of(row))}</h1>\n<dl>\n{shown}\n</dl>\n</header>"


def _footer(row: SessionRow) -> str:
    if row.cli_session_id is None:
        return ""
    return f"<footer>Go on with <code>{line_html(resume_line(row.cli_session_id))}</code></footer>"


class _Writer(ItemWriter):
    def __init__(self, cwd: str) -> None:
        super().__init__(cwd)
        self._in_run = False

    def end(self) -> str:
        """What closes the last run, if it has not ended."""
        return "</section>" if self._in_run else ""

    def _run_start(self, item: RunStart) -> Iterator[str]:
        if self._in_run:
            yield "</section>"
        self._in_run = True
        number = item.event.run
        name = "Run" if number is None else f"Run {number}"
        anchor = "" if number is None else f' id="run-{number}"'
        cause = " · by itself" if item.event.cause == "background" else ""
        yield f"<section{anchor}>"
        yield f"<h2>{name}{cause} · {_time(item.event.at, moment(item.event.at))}</h2>"

    def _run_end(self, item: RunEnd) -> Iterator[str]:
        tone: Tone = "done" if item.event.ok else "failed"
        yield f'<p class="end">{_sign(tone)} {escape(run_summary(item.event))}</p>'
        if error := run_error(item.event):
            yield output_html(shortened(error))
        if self._in_run:
            yield "</section>"
        self._in_run = False

    def _message(self, item: Message) -> Iterator[str]:
        event = item.event
        via = f" · {line_html(event.surface)}" if event.surface else ""
        who = f"<b>{line_html(event.by or 'You')}</b>{via} · {_time(event.at, clock(event.at))}"
        body = "".join(_section(section) for section in content_sections(event.content))
        yield f'<article class="message"><p class="who">{who}</p>{body}</article>'

    def _speech(self, event: Text, within: str) -> Iterator[str]:
        cut = '<p class="quiet">(cut off here)</p>' if event.partial else ""
        who = f'<p class="who">{line_html(within)}</p>' if within else ""
        yield f'<article class="claude">{who}{prose_html(event.text)}{cut}</article>'

    def _thought(self, event: Thinking) -> Iterator[str]:
        if event.redacted:
            yield '<p class="quiet">(a thought that the API keeps to itself)</p>'
        elif event.text.strip():
            yield _details('<span class="quiet">Thought</span>', prose_html(event.text), "thought")

    def _remark(self, item: Remark) -> Iterator[str]:
        line = f"{_sign(item.tone)} {line_html(item.text)}"
        if item.detail:
            yield _details(line, output_html(shortened(item.detail)), "remark")
        else:
            yield f'<p class="remark">{line}</p>'

    def _call(self, call: Call) -> Iterator[str]:
        label, line = call_line(call, self._cwd)
        about = f" <code>{line_html(line)}</code>" if line else ""
        within = f' <span class="quiet">in {line_html(call.within)}</span>' if call.within else ""
        body = "".join(_section(section) for section in given_sections(call))
        body += "\n".join(part for item in call.inside for part in self.write(item))
        body += "".join(_section(section) for section in result_sections(call))
        summary = f"{_sign(TONE_OF_CALL[call.state])} <b>{escape(label)}</b>{about}{within}{_took(call)}"
        yield _details(summary, body, "call")
        for asked in call.asked:
            yield from self._ask(asked, inside_call=True)

    def _ask(self, asked: Asked, *, inside_call: bool) -> Iterator[str]:
        what = "".join(_section(section) for section in ask_sections(asked, inside_call=inside_call))
        heading = line_html(ask_heading(asked, inside_call=inside_call))
        decided = verdict(asked)
        by = f" by {line_html(decided.who)}" if decided.who else ""
        when = f' <span class="quiet">{escape(decided.when)}</span>' if decided.when else ""
        answer = "".join(_section(section) for section in decided.sections)
        yield (
            f'<aside class="ask {"plan" if asked.opened.kind == "plan" else "needs_you"}">'
            f'<p class="who">{_sign("needs_you")} {heading}</p>{what}'
            f"<p>{_sign(decided.tone)} <b>{line_html(decided.words)}</b>{by}{when}</p>{answer}</aside>"
        )


# ---------------------------------------------------------------- pieces


def _time(at: float, shown: str) -> str:
    return f'<time datetime="{iso(at)}">{shown}</time>'


def _sign(tone: Tone) -> str:
    return f'<span class="sign {tone}" aria-hidden="true">{SIGNS[tone]}</span>'


def _took(call: Call) -> str:
    if call.ended is None or not call.started.at or call.ended.at - call.started.at < 0.1:
        return ""
    return f' <span class="took">{duration(call.ended.at - call.started.at)}</span>'


def _details(summary: str, body: str, kind: str) -> str:
    if not body:
        return f'<p class="{kind}">{summary}</p>'
    return f'<details class="{kind}"><summary>{summary}</summary>\n<div class="body">{body}</div></details>'


def _section(section: Section) -> str:
    match section:
        case Code(text=text, language=language, file_name=name, label=label):
            return _label(label) + code_html(shortened(text), language, name)
        case Output(text=text, label=label):
            return _label(label) + output_html(shortened(text)) if text.strip() else '<p class="quiet">no output</p>'
        case Prose(text=text, label=label):
            return _label(label) + prose_html(text)
        case Lines(lines=lines, label=label):
            return _label(label) + "<ul>" + "".join(f"<li>{line_html(line)}</li>" for line in lines) + "</ul>"
        case Picture(media_type=media_type, data=data):
            return picture_html(media_type, data)


def _label(label: str) -> str:
    return f'<p class="label">{line_html(label)}</p>' if label else ""
