"""Markdown as the terminal shows it: at the left, and without the empty lines that Rich adds around blocks."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.syntax import Syntax
from rich.table import Table

__all__ = ["SafeMarkdown"]


class _PlainHeading(Heading):
    """A heading at the left, where reading goes on."""

    LEVEL_ALIGN: ClassVar = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _CloseTable(TableElement):
    """A table without the empty lines that Rich has in place of an edge: one stands around every block already."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                part.show_edge = False
            yield part


class _CloseCode(CodeBlock):
    """Code without empty lines above and below it, likewise."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Syntax):
                part.padding = (0, 1)
            yield part


class SafeMarkdown(Markdown):
    """What `markdown` of `style` prints; made of text that is legible already."""

    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "table_open": _CloseTable,
        "fence": _CloseCode,
        "code_block": _CloseCode,
    }
