"""Filling in an MCP server's form at the terminal: one value after another, each checked, back with Esc."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.asking.forms import Field, form_fields, read_value
from handrail.cli.asking.sheet import Sheet
from handrail.cli.showing.style import NEEDS_YOU, prose
from handrail.errors import UnfitAnswer
from handrail.policy.answers.forms import check_elicited
from handrail.protocol.asks import Ask, Elicited

__all__ = ["fill_in"]


async def fill_in(sheet: Sheet, ask: Ask) -> Elicited | None:
    """The filled-in form, asked again from the start while it does not fit its schema; None if the person goes back."""
    fields = form_fields(ask.request)
    values: dict[str, Any] = {}
    position = 0
    while position < len(fields):
        if await _take_value(sheet, fields[position], values):
            position += 1
        elif position == 0:
            return None
        else:
            position -= 1
        if position == len(fields) and (problem := _problem(ask, values)):
            sheet.hint(f"Sorry, {problem}.")
            position = 0
    return _answer(values)


def _answer(values: dict[str, Any]) -> Elicited:
    return Elicited("accept", {name: value for name, value in values.items() if value is not None})


def _problem(ask: Ask, values: dict[str, Any]) -> str:
    try:
        check_elicited(ask, _answer(values))
    except UnfitAnswer as error:
        return str(error)
    return ""


async def _take_value(sheet: Sheet, field: Field, values: dict[str, Any]) -> bool:
    """Ask for one value; whether there is one, and not a step back."""
    sheet.show(_heading(field))
    while True:
        typed = await sheet.line("› ")
        if typed is None:
            return False
        if not typed and (field.default is not None or not field.required):
            values[field.name] = field.default
            return True
        try:
            values[field.name] = read_value(field, typed)
        except ValueError as error:
            sheet.hint(f"Sorry, {error}.")
        else:
            return True


def _heading(field: Field) -> RenderableType:
    choices = (
        Text.assemble((f"  {number}  ", f"bold {NEEDS_YOU}"), prose(shown))
        for number, (_, shown) in enumerate(field.choices, start=1)
    )
    notes = [field.description] if field.description else []
    if field.default is not None:
        notes.append(f"Enter for {field.default}")
    elif not field.required:
        notes.append("Enter to leave it out")
    if field.kind == "boolean":
        notes.append("y or n")
    if field.several:
        notes.append("several with commas")
    return Group(Text.assemble(prose(field.title, "bold"), prose(f"  {'; '.join(notes)}", "dim")), *choices)
