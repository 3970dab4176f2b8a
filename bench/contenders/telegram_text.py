"""Handrail's Markdown for Telegram."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handrail.telegram.text.markdown import from_markdown


def converter() -> Callable[[str], Any]:
    return from_markdown
