"""Writes the part of reference/cli.md about the commands, from the commands themselves: python docs/generate_cli.py"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from handrail.cli.app import COMMANDS, app

PAGE = Path(__file__).parent / "reference" / "cli.md"

BEGIN = "<!-- Written by docs/generate_cli.py: begin -->"
END = "<!-- end -->"


def page(written: str) -> str:
    """The page with its generated part made anew."""
    before, _, rest = written.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n" + "\n".join(commands()) + f"\n{END}{after}"


def commands() -> Iterator[str]:
    """Every command, under the headings of `handrail --help`."""
    root = typer.Context(get_command(app), info_name="handrail")
    section = ""
    for entry in COMMANDS:
        if entry.hidden:
            continue
        if entry.section != section:
            section = entry.section
            yield f"## {section}\n"
        yield from described(entry.load(), root, entry.name)


def described(command: Any, parent: typer.Context, name: str) -> Iterator[str]:
    """A command: what it does, its arguments and options, and its own commands."""
    context = typer.Context(command, info_name=name, parent=parent)
    yield f"### `{context.command_path}`\n"
    if not hasattr(command, "commands") or command.invoke_without_command:
        yield f"```\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    yield f"{prose(command.help or '')}\n"
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [record for record in records if record is not None]
    if rows:
        yield "| argument or option | |\n|---|---|"
        yield from (f"| `{cell(shown)}` | {cell(text)} |" for shown, text in rows)
        yield ""
    for each_name, each in getattr(command, "commands", {}).items():
        if not each.hidden:
            yield from described(each, context, each_name)


def prose(text: str) -> str:
    """A docstring, with its examples as code."""
    return "\n\n".join(_paragraph(paragraph) for paragraph in text.split("\n\n"))


def _paragraph(text: str) -> str:
    if text.startswith("\b"):
        label, *lines = [line.strip() for line in text.removeprefix("\b").strip().splitlines()]
        return f"{label}\n\n```\n" + "\n".join(lines) + "\n```"
    joined = " ".join(text.split())
    if joined.startswith("Example: "):
        return f"Example: `{joined.removeprefix('Example: ')}`"
    return joined


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
