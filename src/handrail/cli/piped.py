"""What is piped into a command: added to its prompt, or the prompt itself."""

from __future__ import annotations

import io
import os
import select
import stat
import sys

import typer

__all__ = ["prompt_with_piped_text"]

STANDARD_INPUT = "-"
PATIENCE_SECONDS = 3.0
"""How long to wait for the first piped byte if there is a prompt: a pipe that nobody writes to may never end."""


def prompt_with_piped_text(given: str | None) -> str:
    """The prompt: what was `given`, then what is piped in. Without the one, or with `-`, it is the other."""
    if given is None or given == STANDARD_INPUT:
        explicit = given == STANDARD_INPUT
        return _text() if explicit or not _is_terminal() else ""
    if _is_terminal() or not _comes_soon():
        return given
    piped = _text()
    return f"{given}\n\n{piped}" if piped.strip() else given


def _is_terminal() -> bool:
    return sys.stdin is None or sys.stdin.isatty()


def _text() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin is not None else ""


def _comes_soon() -> bool:
    """Whether there is something to read, or an end. Only a pipe can keep us waiting."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, io.UnsupportedOperation):
        return True
    if stat.S_ISREG(mode):
        return True
    if select.select([descriptor], [], [], PATIENCE_SECONDS)[0]:
        return True
    typer.echo(
        f"Nothing came on standard input within {PATIENCE_SECONDS:g} s: going on without it. "
        "Redirect it from /dev/null if there is nothing to come.",
        err=True,
    )
    return False
