"""telegramify-markdown: text and entities from Markdown that a parser in Rust has read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from telegramify_markdown import convert


def converter() -> Callable[[str], Any]:
    return convert
