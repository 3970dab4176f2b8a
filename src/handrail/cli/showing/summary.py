"""The end of a run: how it went, what it took, which files it changed, and how to go on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from handrail.cli.showing.amounts import context, cost, count, duration
from handrail.cli.showing.layout import Hanging
from handrail.cli.showing.remarks import notice
from handrail.cli.showing.style import DONE, FAILED, MARKS, NEEDS_YOU, QUIET, exact
from handrail.policy.describing.visible import one_line

__all__ = ["Ending", "FilesChanged", "render_ending", "render_footer", "render_resume"]

NOT_LOGGED_IN = (
    "log in once: start `claude` and type /login; or pass --use-api-billing, if ANTHROPIC_API_KEY is to be billed"
)
_SHOWN_FILES = 8


class FilesChanged:
    """Which files were changed, and how often."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}

    def note(self, changes: Sequence[Mapping[str, str]]) -> None:
        """A call changed these."""
        for change in changes:
            path, kind = change.get("path", ""), change.get("kind", "update")
            if path:
                self._files.setdefault(path, kind)

    def in_words(self, cwd: str) -> list[str]:
        """Each file, with a word for a new one."""
        return [
            one_line(_relative(path, cwd)) + (" (new)" if kind == "add" else "") for path, kind in self._files.items()
        ]


def _relative(path: str, cwd: str) -> str:
    inside = cwd and path.startswith(cwd.rstrip("/") + "/")
    return os.path.relpath(path, cwd) if inside else path


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What is known when it is over. `stopped`: by whoever runs it; `interrupted`: by somebody. `said`: the error was
    shown as Claude's words already."""

    ok: bool
    error: str = ""
    stopped: bool = False
    interrupted: bool = False
    said: bool = False
    duration_ms: float = 0.0
    turns: int = 0
    cost_usd: float = 0.0
    context_tokens: int = 0
    context_window: int | None = None
    files: Sequence[str] = ()
    denied: int = 0
    """How many things were denied because nobody could be asked."""


def render_ending(ending: Ending) -> RenderableType:
    """How it went, and what it took."""
    took = " · ".join(_took(ending))
    lines: list[RenderableType] = []
    if ending.ok:
        lines.append(Text.assemble((f"{MARKS[DONE]} ", DONE), "done", (f" · {took}", QUIET)))
    else:
        lines += [notice(FAILED, _failure(ending)), Text(f"  {took}", style=QUIET)]
    if ending.files:
        lines.append(Hanging(Text("  changed: ", style=QUIET), exact(_listed(ending.files))))
    if ending.denied:
        what = "something was" if ending.denied == 1 else f"{ending.denied} things were"
        lines.append(notice(NEEDS_YOU, f"{what} denied, because nobody could be asked"))
    if not ending.stopped and "/login" in ending.error:
        lines.append(notice(NEEDS_YOU, NOT_LOGGED_IN))
    return Group(*lines)


def _took(ending: Ending) -> list[str]:
    parts = [duration(ending.duration_ms)]
    if ending.turns:
        parts.append(count(ending.turns, "turn"))
    parts.append(cost(ending.cost_usd))
    if ending.context_tokens:
        parts.append(context(ending.context_tokens, ending.context_window))
    return parts


def _failure(ending: Ending) -> str:
    if ending.stopped:
        return "stopped by you"
    if ending.interrupted:
        return "interrupted"
    return "this error ended the turn" if ending.said else ending.error or "failed"


def _listed(files: Sequence[str]) -> str:
    more = len(files) - _SHOWN_FILES
    return ", ".join(files[:_SHOWN_FILES]) + (f" and {more} more" if more > 0 else "")


def render_resume(commands: Sequence[str]) -> list[Text]:
    """How to go on: each command on a line of its own."""
    labels = ["  go on with: ", *("          or: " for _ in commands[1:])]
    return [
        Text(label, style=QUIET).append_text(exact(command, "not dim"))
        for label, command in zip(labels, commands, strict=False)
    ]


def render_footer(model: str, mode: str) -> RenderableType | None:
    """Which model it was, in which mode."""
    parts = [part for part in (model, mode) if part]
    return exact(f"🏷 {' · '.join(parts)}", QUIET) if parts else None
