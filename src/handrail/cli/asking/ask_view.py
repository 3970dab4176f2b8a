"""An ask as a panel: exactly what would happen, why it was asked, and what about it stands out. Pure but for files.

It shows the ask's description, whole. Where an ask carries none, or was changed by the person, one is made here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.text import Text

from handrail.cli.asking.selection import Selection
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.listing import Line, Listing, diff_listing, hunk_listing, text_listing
from handrail.cli.showing.style import FAILED, MARKS, NEEDS_YOU, PLAN, QUIET, exact, markdown, prose
from handrail.cli.showing.tools import tool_title
from handrail.policy.answers.plan import PlanContext
from handrail.policy.describing.deceptions import deceptions
from handrail.policy.describing.describe import describe
from handrail.policy.describing.described_forms import questions_of
from handrail.policy.describing.json_text import strings_in
from handrail.policy.describing.visible import hidden_characters, one_line
from handrail.policy.files import Disk
from handrail.protocol.asks import Ask
from handrail.protocol.descriptions import (
    Call,
    Change,
    Command,
    Description,
    Fetch,
    FileChange,
    Flag,
    Form,
    FormField,
    InputField,
    Level,
    Option,
    PlanReview,
    Question,
    Questions,
)
from handrail.sessions.exporting.noise import is_any_hook

__all__ = ["Asking", "ask_panel", "choice_mark", "option_labels", "plan_text", "question_panel"]

NARROW = 60
LONGEST_IN_A_ROW = 60
LABEL = 11

SIGNS: Mapping[Level, tuple[str, str]] = {
    "high": (MARKS[FAILED], f"bold {FAILED}"),
    "medium": (MARKS[NEEDS_YOU], NEEDS_YOU),
    "low": (MARKS[QUIET], QUIET),
}
"""The sign and the style of a flag."""

_REASONS: Mapping[str, str] = {
    "decision_reason": "Why asked",
    "decision_reason_hook_source": "Hook",
    "server_prompt": "Server",
    "matched_ask_rule": "Rule",
    "blocked_path": "Touches",
}


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """What is known around an ask."""

    who: str = ""
    """The subagent that asks; empty for the main conversation."""
    call: Mapping[str, Any] | None = None
    """The tool call's input as the model wrote it: a plan may be there and not in the ask."""
    waiting: int = 0
    """How many further asks wait behind this one."""
    plan: PlanContext = PlanContext()
    """What answers to a plan depend on."""
    edited: bool = False


def ask_panel(ask: Ask, asking: Asking) -> RenderableType:
    """The panel for any kind of ask but questions, which have one each."""
    description = _description(ask, asking)
    colour = PLAN if ask.kind in ("plan", "enter_plan") else NEEDS_YOU
    body = [*_what(description), *_fields(description), *_around(description, asking)]
    return _panel(_title(description), body, asking, colour, description.risk.level)


def question_panel(
    question: Mapping[str, Any],
    asking: Asking,
    *,
    place: tuple[int, int] = (1, 1),
    selection: Selection | None = None,
) -> RenderableType:
    """One question with its numbered choices; `place` says which of how many, `selection` what is marked."""
    asked = questions_of({"questions": [dict(question)]})
    body = list(_question(asked.questions[0], selection)) if asked is not None else []
    number, count = place
    header = question.get("header")
    named = [header] if isinstance(header, str) and header else []
    title = " · ".join([f"Question {number} of {count}" if count > 1 else "Question", *named])
    flags = tuple(deceptions("\n.\n".join(strings_in(question)), "", "prose"))
    return _panel(title, [*body, *_spaced([*_flags(flags), *_who(asking)])], asking, NEEDS_YOU, "low")


def choice_mark(selection: Selection, index: int) -> Text:
    """What stands before a choice: the cursor, whether it is taken, its number."""
    cursor = "❯ " if index == selection.cursor else "  "
    box = ("[x] " if index in selection.taken else "[ ] ") if selection.several else ""
    return Text(f"{cursor}{box}{index + 1}  ", style=f"bold {NEEDS_YOU}")


def option_labels(question: Mapping[str, Any]) -> list[str]:
    """The choices of a question, as they must be sent back."""
    found = question.get("options")
    options = [option for option in found if isinstance(option, dict)] if isinstance(found, list) else []
    return [str(option.get("label", "")) for option in options]


def plan_text(ask: Ask, asking: Asking) -> str:
    """The plan: newer CLIs may leave it out of the ask, and then it is in the tool call or in a file."""
    for plan in (ask.input.get("plan"), ask.plan, (asking.call or {}).get("plan")):
        if isinstance(plan, str) and plan.strip():
            return plan
    return ""


def _description(ask: Ask, asking: Asking) -> Description:
    if ask.description is not None and not asking.edited:
        return ask.description
    home = os.path.expanduser("~")
    return describe(ask, cwd=ask.cwd or os.getcwd(), home=home, files=Disk(), plan=plan_text(ask, asking) or None)


def _title(description: Description) -> str:
    if description.kind in ("elicitation", "dialog"):
        return description.title
    tool = tool_title(description.tool)
    if description.kind in ("plan", "enter_plan"):
        return tool
    return description.title if description.title.startswith(tool) else f"{tool} · {description.title}"


# ---------------------------------------------------------------- what would happen


def _what(description: Description) -> Iterator[RenderableType]:
    match description.what:
        case Command(text=text):
            yield text_listing(text)
        case Fetch(url=url):
            yield _bold(url)
        case Change(change=change):
            yield from _change(change)
        case PlanReview(plan=plan):
            yield markdown(plan) if plan.strip() else Text("(the CLI sent no text of the plan)", style=QUIET)
        case Questions(questions=questions):
            for question in questions:
                yield from _question(question)
        case Form():
            yield from _form(description.what)
        case Call() if description.kind == "enter_plan":
            yield Text("Claude wants to plan before it changes anything.")
        case Call() if description.kind == "budget":
            yield prose(description.purpose, "bold")
        case Call() if not description.fields:
            yield Text("(no input)", style=QUIET)


def _change(change: FileChange) -> Iterator[RenderableType]:
    yield _bold(change.path)
    for note in change.notes:
        yield Hanging(Text(f"{MARKS[NEEDS_YOU]} ", style=NEEDS_YOU), exact(note, NEEDS_YOU))
    if change.hunks:
        # Without `after` the diff is of one cell of a notebook, and not of the file's lines.
        whole = change.before.lines if change.before is not None and change.after is not None else None
        yield hunk_listing(change.hunks, whole)
    elif change.outcome == "unchanged":
        yield Text("(no change)", style=QUIET)
    else:
        yield from _without_hunks(change)
    if any(replacement.everywhere for replacement in change.replacements):
        yield Text("replace_all: true", style=QUIET)
    yield from _sizes(change)


def _without_hunks(change: FileChange) -> Iterator[RenderableType]:
    """Where there is no diff against the file, what the call says is shown instead."""
    for replacement in change.replacements:
        yield diff_listing(replacement.old, replacement.new)
    if change.text is not None:
        yield text_listing(change.text)


def _sizes(change: FileChange) -> Iterator[Text]:
    if change.after is not None and not change.replacements:
        count = change.after.lines
        yield Text(f"{count} {'line' if count == 1 else 'lines'} in all", style=QUIET)


def _question(question: Question, selection: Selection | None = None) -> Iterator[RenderableType]:
    yield prose(question.text, "bold")
    if question.multi_select:
        yield Text("several may be chosen", style=QUIET)
    yield Text()
    for index, option in enumerate(question.options):
        number = Text(f"{index + 1}  ", style=f"bold {NEEDS_YOU}")
        yield Hanging(number if selection is None else choice_mark(selection, index), Group(*_option(option)))
    yield from map(_field, question.fields)


def _option(option: Option) -> Iterator[RenderableType]:
    yield prose(option.label, "bold")
    if option.description:
        yield prose(option.description, QUIET)
    if option.preview:
        yield markdown(option.preview)
    yield from map(_field, option.fields)


def _form(form: Form) -> Iterator[RenderableType]:
    yield prose(form.message)
    if form.url:
        yield Text()
        yield _bold(form.url)
    if form.form_fields:
        yield Text()
    for field in form.form_fields:
        yield Hanging(Text("· ", style=QUIET), Group(*_form_field(field)))


def _form_field(field: FormField) -> Iterator[RenderableType]:
    notes = [field.kind, *(["required"] if field.required else []), *(["several"] if field.several else [])]
    if field.default is not None:
        notes.append(f"otherwise {field.default}")
    name = f" ({field.name})" if field.title and field.title != field.name else ""
    yield Text.assemble(prose(field.title or field.name, "bold"), exact(f"{name}  {', '.join(notes)}", QUIET))
    if field.description:
        yield prose(field.description, QUIET)
    if field.choices:
        yield exact("one of: " + ", ".join(choice.shown for choice in field.choices), QUIET)
    yield from map(_field, field.fields)


# ---------------------------------------------------------------- every other field


def _fields(description: Description) -> Iterator[RenderableType]:
    quoted = description.kind == "dialog"
    for field in description.fields:
        yield _field(msgspec.structs.replace(field, name=f'"{field.name}"') if quoted else field)


def _field(field: InputField) -> RenderableType:
    if "\n" in field.value or len(field.value) > LONGEST_IN_A_ROW:
        return Group(exact(f"{field.name}:", QUIET), text_listing(field.value))
    return Hanging(exact(f"{field.name}: ", QUIET), text_listing(field.value))


# ---------------------------------------------------------------- around it


def _around(description: Description, asking: Asking) -> list[RenderableType]:
    rows = [*_purpose(description), *_reasons(description), *_place(description), *_who(asking, description.agent)]
    # Where nothing stood out, flags would only repeat what is plain to see.
    flags = description.flags if description.risk.level != "low" else ()
    return [*_spaced(rows), *_spaced([*_flags(flags), *_hidden(description)])]


def _spaced(rows: list[RenderableType]) -> list[RenderableType]:
    return [Text(), *rows] if rows else []


def _purpose(description: Description) -> Iterator[RenderableType]:
    said = description.purpose if description.kind != "budget" else ""
    # For tools on files the CLI's description is only the file's name again.
    path = description.paths[0].path if description.paths and isinstance(description.what, Change | Call) else ""
    if said and said != description.tool and not (path and path.endswith(said)):
        yield _row("What for", prose(said))


def _reasons(description: Description) -> Iterator[RenderableType]:
    for reason in description.reasons:
        if is_any_hook(reason):
            continue
        said = prose(reason.words) if reason.code == "decision_reason" else exact(reason.words)
        yield _row(_REASONS.get(reason.code, reason.code), said)


def _place(description: Description) -> Iterator[RenderableType]:
    if isinstance(description.what, Command) and description.cwd:
        yield _row("Runs in", exact(_from_home(description.cwd)))
    if isinstance(description.what, PlanReview) and description.what.path:
        yield _row("File", exact(description.what.path))


def _from_home(path: str) -> str:
    home = os.path.expanduser("~").rstrip("/")
    return f"~{path.removeprefix(home)}" if home and (path + "/").startswith(home + "/") else path


def _who(asking: Asking, agent: str = "") -> Iterator[RenderableType]:
    if who := asking.who or agent:
        yield _row("Asked by", exact(who))


def _flags(flags: Iterable[Flag]) -> Iterator[RenderableType]:
    for flag in flags:
        sign, style = SIGNS[flag.level]
        yield Hanging(Text(f"{sign} ", style=style), exact(flag.words, style))


def _hidden(description: Description) -> Iterator[RenderableType]:
    count = hidden_characters("\n".join(_shown_exactly(description)))
    if count:
        noun = "hidden character is" if count == 1 else "hidden characters are"
        yield Text(f"{MARKS[NEEDS_YOU]} {count} {noun} shown as <U+…>", style=f"bold {NEEDS_YOU}")


def _shown_exactly(description: Description) -> Iterator[str]:
    """The texts in which hidden characters are written out wherever they stand."""
    for field in description.fields:
        yield field.name
        yield field.value
    match description.what:
        case Command(text=text) | Fetch(url=text):
            yield text
        case Change(change=change):
            yield change.path
            yield from (line for hunk in change.hunks for line in hunk.lines)
            if not change.hunks:
                yield change.text or ""
                yield from (text for each in change.replacements for text in (each.old, each.new))


def _row(label: str, value: Text) -> RenderableType:
    return Hanging(Text(f"{label:<{LABEL}}", style=QUIET), value)


def _bold(text: str) -> Listing:
    return Listing([Line(text, style="bold")])


# ---------------------------------------------------------------- the frame around it


def _panel(title: str, body: Iterable[RenderableType], asking: Asking, colour: str, risk: Level) -> RenderableType:
    waiting = f" · {asking.waiting} more behind it" if asking.waiting else ""
    edited = " · edited by you" if asking.edited else ""
    danger = " · HIGH RISK" if risk == "high" else ""
    return _Framed(
        Group(*body), f"Needs you · {one_line(title)}{danger}{edited}{waiting}", FAILED if danger else colour
    )


class _Framed:
    """A panel; where there is little room, only lines above and below. A tall one says that all of it is there."""

    def __init__(self, body: RenderableType, title: str, colour: str) -> None:
        self._body = body
        self._title = title
        self._colour = colour

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrow = options.max_width < NARROW
        inside = options.update(width=options.max_width - (0 if narrow else 4))
        # A title that does not fit is cut by Rich, so it is shown in the panel, too.
        fits = cell_len(self._title) <= options.max_width - 6
        body = self._body if fits else Group(Text(self._title, style="bold", overflow="fold"), Text(), self._body)
        height = len(console.render_lines(body, inside, pad=False))
        yield Panel(
            body,
            title=Text(self._title, style=f"bold {self._colour}"),
            title_align="left",
            subtitle=Text(f"{height} lines, all shown: scroll up") if height > console.height - 6 else None,
            subtitle_align="left",
            border_style=self._colour,
            box=box.HORIZONTALS if narrow else box.ROUNDED,
            padding=(0, 0) if narrow else (0, 1),
        )
