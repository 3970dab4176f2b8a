"""What an ask is about, as the page shows it: the `what` of a card."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from handrail.policy.describing.diffs import unified_hunks
from handrail.policy.describing.json_text import storable
from handrail.protocol import descriptions as d
from handrail.rendering.amounts import count
from handrail.rendering.marks import exact_html, text_html
from handrail.server.showing.pieces import Pieces
from handrail.server.showing.strings import exact, fields, line, words

__all__ = ["what_of"]

NO_PLAN = '<p class="quiet">(Claude Code sent no text of the plan)</p>'
OUTCOMES = {
    "created": "a new file",
    "changed": "changes the file",
    "unchanged": "changes nothing",
    "fails": "will fail",
    "unknown": "cannot be compared with what is there",
}


def what_of(what: d.What, pieces: Pieces) -> dict[str, Any]:
    """`what` as JSON, whole."""
    match what:
        case d.Command():
            return _command(what, pieces)
        case d.Change(change=change):
            return _change(change, pieces)
        case d.Fetch(url=url, host=host):
            return {"type": "fetch", "url": exact(url), "url_html": exact_html(url), "host": line(host)}
        case d.PlanReview():
            return _plan(what, pieces)
        case d.Questions(questions=questions):
            return {"type": "questions", "questions": [_question(each, pieces) for each in questions]}
        case d.Form():
            return _form(what, pieces)
        case d.Call(tool=tool, server=server):
            return {"type": "call", "tool": line(tool), "server": line(server)}


def _command(what: d.Command, pieces: Pieces) -> dict[str, Any]:
    return {
        "type": "command",
        "html": pieces.code(what.text, what.language, shown=None),
        "text": storable(what.text),
        "language": line(what.language),
        "lines": what.text.count("\n") + 1,
    }


# ---------------------------------------------------------------- changes of files


def _change(change: d.FileChange, pieces: Pieces) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "type": "change",
        "path": exact(change.path),
        "outcome": change.outcome,
        "outcome_words": OUTCOMES[change.outcome],
        "added": change.added,
        "removed": change.removed,
        "diff_html": pieces.diff(change.hunks) if change.hunks else "".join(_replacements(change, pieces)),
        "notes": [*map(words, change.notes), *_everywhere(change)],
        "before": _measure(change.before),
        "after": _measure(change.after),
    }
    if change.text is not None:
        shown["text_html"] = pieces.code(change.text, file_name=change.path)
    return shown


def _replacements(change: d.FileChange, pieces: Pieces) -> Iterator[str]:
    """Where there is no diff against the file, what the call says is shown instead."""
    for number, each in enumerate(change.replacements, start=1):
        if len(change.replacements) > 1:
            yield f'<p class="quiet">Edit {number} of {len(change.replacements)}</p>'
        hunks = unified_hunks(each.old, each.new)
        yield pieces.diff(hunks, numbered=False) if hunks else pieces.code(each.old, file_name=change.path)


def _everywhere(change: d.FileChange) -> list[str]:
    places = sum(each.everywhere for each in change.replacements)
    if not places:
        return []
    return (
        ["replace_all: wherever the text occurs"]
        if len(change.replacements) == 1
        else [f"replace_all for {count(places, 'edit')}: wherever the text occurs"]
    )


def _measure(content: d.Content | None) -> dict[str, int] | None:
    return None if content is None else {"size": content.size, "lines": content.lines}


# ---------------------------------------------------------------- plans, questions, forms


def _plan(what: d.PlanReview, pieces: Pieces) -> dict[str, Any]:
    blocks = pieces.review(what.plan)
    return {
        "type": "plan",
        "html": "".join(block.html for block in blocks) or NO_PLAN,
        "text": storable(what.plan),
        "path": exact(what.path),
        "blocks": [{"html": block.html, "text": storable(block.text)} for block in blocks],
    }


def _question(question: d.Question, pieces: Pieces) -> dict[str, Any]:
    return {
        "text": storable(question.text),
        "html": text_html(question.text),
        "header": line(question.header),
        "multi_select": question.multi_select,
        "options": [_option(option, pieces) for option in question.options],
        "fields": fields(question.fields, pieces),
    }


def _option(option: d.Option, pieces: Pieces) -> dict[str, Any]:
    return {
        "label": storable(option.label),
        "label_html": text_html(option.label),
        "description": words(option.description),
        "description_html": text_html(option.description) if option.description else "",
        "preview_html": "".join(block.html for block in pieces.review(option.preview)),
        "fields": fields(option.fields, pieces),
    }


def _form(form: d.Form, pieces: Pieces) -> dict[str, Any]:
    return {
        "type": "form",
        "server": line(form.server),
        "message": words(form.message),
        "message_html": text_html(form.message),
        "url": exact(form.url),
        "url_html": exact_html(form.url),
        "form_fields": [_form_field(field, pieces) for field in form.form_fields],
    }


def _form_field(field: d.FormField, pieces: Pieces) -> dict[str, Any]:
    return {
        "name": storable(field.name),
        "title": line(field.title or field.name),
        "shown_name": line(field.name),
        "kind": line(field.kind),
        "description": words(field.description),
        "required": field.required,
        "default": None if field.default is None else storable(field.default),
        "choices": [{"value": storable(each.value), "shown": line(each.shown)} for each in field.choices],
        "several": field.several,
        "fields": fields(field.fields, pieces),
    }
