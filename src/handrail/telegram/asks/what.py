"""What exactly would happen if an ask was allowed: as blocks of text, whole, with nothing hidden in them."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.policy.describing.diffs import unified_hunks
from handrail.protocol import descriptions as d
from handrail.rendering.amounts import count
from handrail.telegram.asks.fitting import stacked
from handrail.telegram.asks.reviewing import reviewed
from handrail.telegram.asks.words import exact, line, words
from handrail.telegram.text.rich import RichText, bold, code, italic, plain, pre

__all__ = ["fields_shown", "form_field_shown", "option_shown", "what_shown"]

LONGEST_IN_A_ROW = 60
NO_PLAN = "(Claude Code sent no text of the plan)"
NOTHING = "(empty)"
OUTCOMES = {
    "created": "a new file",
    "changed": "",
    "unchanged": "changes nothing",
    "fails": "will fail",
    "unknown": "cannot be compared with what is there",
}


def what_shown(description: d.Description) -> list[RichText]:
    """The blocks. Questions and forms are shown step by step, so only what surrounds their steps is here."""
    return [*_what(description), *fields_shown(description.fields)]


def _what(description: d.Description) -> Iterator[RichText]:
    match description.what:
        case d.Command(text=text, language=language):
            yield _code(text, language)
        case d.Fetch(url=url):
            yield _code(url)
        case d.Change(change=change):
            yield from _change(change)
        case d.PlanReview(plan=plan):
            yield reviewed(plan) if plan.strip() else italic(NO_PLAN)
        case d.Form():
            yield from _form(description.what)
        case d.Call() if description.kind == "enter_plan":
            yield plain("Claude wants to plan before it changes anything.")
        case d.Call() if description.kind == "budget":
            yield bold(words(description.purpose))
        case d.Call(server=server) if server:
            yield plain(f"MCP server {line(server)}")
        case d.Call() if not description.fields:
            yield italic("(no input)")


def _code(text: str, language: str = "") -> RichText:
    shown = exact(text)
    # Telegram drops what is blank, so it is said instead.
    return pre(shown, language) if shown.strip() else italic(_blank(shown))


def _blank(text: str) -> str:
    return f"({count(len(text), 'blank character')})" if text else NOTHING


# ---------------------------------------------------------------- changes of files


def _change(change: d.FileChange) -> Iterator[RichText]:
    yield stacked([_file(change), *(plain(f"▲ {words(note)}") for note in change.notes)], "\n")
    if change.hunks:
        yield _diff(change.hunks)
    elif change.outcome != "unchanged":
        yield from _without_hunks(change)
    if any(each.everywhere for each in change.replacements):
        yield plain("replace_all: wherever the text occurs")


def _file(change: d.FileChange) -> RichText:
    outcome = OUTCOMES[change.outcome]
    amounts = f"  +{change.added} −{change.removed}" if change.outcome != "unknown" else ""
    return code(exact(change.path)) + amounts + (f"  {outcome}" if outcome else "")


def _diff(hunks: tuple[d.Hunk, ...]) -> RichText:
    lines = [text for hunk in hunks for text in (hunk.header, *hunk.lines)]
    return pre(exact("\n".join(lines)), "diff")


def _without_hunks(change: d.FileChange) -> Iterator[RichText]:
    """Where there is no diff against the file, what the call says is shown instead."""
    for number, each in enumerate(change.replacements, start=1):
        if len(change.replacements) > 1:
            yield italic(f"Edit {number} of {len(change.replacements)}")
        hunks = tuple(unified_hunks(each.old, each.new))
        yield _diff(hunks) if hunks else _code(each.old)
    if change.text is not None:
        yield _code(change.text)


# ---------------------------------------------------------------- forms and options


def _form(form: d.Form) -> Iterator[RichText]:
    if form.server:
        yield plain(f"MCP server {line(form.server)}")
    if form.message.strip():
        yield plain(words(form.message))
    if form.url:
        yield _code(form.url)


def form_field_shown(field: d.FormField) -> RichText:
    """One value that is wanted: what it is called, what it is for, and what it may be."""
    notes = [line(field.kind), *(["required"] if field.required else []), *(["several"] if field.several else [])]
    if field.default is not None:
        notes.append(f"otherwise {line(field.default)}")
    name = f" ({line(field.name)})" if field.title and field.title != field.name else ""
    rows = [bold(line(field.title or field.name)) + f"{name}  {', '.join(notes)}"]
    if field.description:
        rows.append(plain(words(field.description)))
    rows += [plain(f"{number}  {line(choice.shown)}") for number, choice in enumerate(field.choices, start=1)]
    return stacked([*rows, *fields_shown(field.fields)])


def option_shown(number: int, option: d.Option) -> RichText:
    """One choice of a question, with everything that the CLI sent about it."""
    rows = [bold(f"{number}  {words(option.label)}")]
    if option.description:
        rows.append(plain(words(option.description)))
    if option.preview.strip():
        rows.append(reviewed(option.preview))
    return stacked([*rows, *fields_shown(option.fields)])


# ---------------------------------------------------------------- every other field


def fields_shown(fields: tuple[d.InputField, ...]) -> list[RichText]:
    """Each field with its name and its value, whole."""
    return [_field(field) for field in fields]


def _field(field: d.InputField) -> RichText:
    value = exact(field.value)
    name = plain(f"{line(field.name)}:")
    if not value.strip():
        return name + " " + italic(_blank(value))
    if "\n" in value or len(value) > LONGEST_IN_A_ROW:
        return name + "\n" + pre(value, "json" if field.is_json else "")
    return name + " " + code(value)
