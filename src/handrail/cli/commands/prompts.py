"""The text of a message on a command line, or on standard input."""

from __future__ import annotations

import sys

import typer

__all__ = ["optional_prompt", "prompt_text"]

STANDARD_INPUT = "-"


def prompt_text(given: str) -> str:
    """The message; `-` stands for standard input. Raises if it is empty."""
    text = _read() if given == STANDARD_INPUT else given
    if not text.strip():
        raise typer.BadParameter("the message is empty", param_hint="TEXT")
    return text


def optional_prompt(given: str | None) -> str | None:
    """The message, if there is one."""
    return None if given is None else prompt_text(given)


def _read() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin is not None else ""
