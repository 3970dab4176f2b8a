"""How things look: one meaning per colour, and never colour alone.

Text from elsewhere enters the screen only through `exact`, `prose` and `markdown`, which make it safe to print.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import IO, Any, Literal

from rich.console import Console, RenderableType
from rich.text import Text
from rich.theme import Theme

from handrail.cli.showing.layout import Trimmed
from handrail.policy.describing.visible import legible, visible

__all__ = [
    "DONE",
    "FAILED",
    "MARKS",
    "NEEDS_YOU",
    "PLAN",
    "QUIET",
    "RUNNING",
    "OutputConsole",
    "exact",
    "make_console",
    "markdown",
    "prose",
]

NEEDS_YOU = "yellow"
RUNNING = "blue"
DONE = "green"
FAILED = "red"
PLAN = "magenta"
QUIET = "dim"

READING_WIDTH = 100

MARKS: dict[str, str] = {
    RUNNING: "⏺",
    DONE: "✓",
    FAILED: "✗",
    NEEDS_YOU: "⚠",
    QUIET: "·",
    PLAN: "▤",
}
"""Each colour's sign, so that the meaning is there without the colour."""

_THEME = Theme(
    {
        # Rich's own have a black background, which stands out on light terminals.
        "markdown.code": "cyan",
        "markdown.code_block": "",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "italic",
        "markdown.block_quote": "dim",
        "markdown.list": "",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)
_WRITTEN_OUT = re.compile(r"<U\+[0-9A-F]{4,6}>")


class OutputConsole(Console):
    """A console that falls silent when nobody reads it any more, and says so to `when_broken`."""

    when_broken: Callable[[], None] | None = None

    def on_broken_pipe(self) -> None:
        """Rich would end the process here, in the middle of whatever it is doing."""
        self.quiet = True
        _write_nowhere(self.file)
        if self.when_broken is not None:
            self.when_broken()


def _write_nowhere(file: IO[Any]) -> None:
    """Let what is still written to `file`, whose reader is gone, vanish: Python itself flushes it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, file.fileno())
    os.close(nowhere)


def make_console(
    file: IO[str], *, width: int | None = None, colour: Literal["auto", "always", "never"] = "auto"
) -> OutputConsole:
    """A console for `file`, without guessing at the text it prints.

    Colours are automatic (only on a terminal, none with NO_COLOR), or as it is said.
    """
    return OutputConsole(
        no_color=True if colour == "never" else False if colour == "always" else None,
        color_system="standard" if colour == "always" and not file.isatty() else "auto",
        file=file,
        theme=_THEME,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        width=width or _width_without_terminal(file),
    )


def _width_without_terminal(file: IO[str]) -> int | None:
    """A pipe has no width: take the reading width, unless COLUMNS says another, and not nonsense."""
    columns = os.environ.get("COLUMNS")
    if columns is not None:
        return None if columns.isdecimal() and int(columns) > 0 else READING_WIDTH
    return None if file.isatty() else READING_WIDTH


def exact(text: str, style: str = "") -> Text:
    """What would run, or a name: everything hidden is shown, and stands out."""
    return _marked(Text(visible(text), style=style))


def prose(text: str, style: str = "") -> Text:
    """What somebody wrote for reading."""
    return _marked(Text(legible(text), style=style))


def _marked(text: Text) -> Text:
    text.highlight_regex(_WRITTEN_OUT, "reverse")
    return text


def markdown(text: str, style: str = "none") -> RenderableType:
    """What the model wrote. Links show where they lead, instead of hiding it behind their text."""
    from handrail.cli.showing.safe_markdown import SafeMarkdown  # slow to import, and most commands show none

    body = SafeMarkdown(legible(text), hyperlinks=False, code_theme="ansi_dark", style=style, justify="default")
    return Trimmed(body)
