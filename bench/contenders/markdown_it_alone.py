"""The parser that Handrail uses, and nothing done with what it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markdown_it import MarkdownIt


def converter() -> Callable[[str], Any]:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse
