"""What else there is: git, and the terminal."""

from __future__ import annotations

import locale
import shutil
import sys
from collections.abc import Iterator

from handrail.cli.checkup.finding import Finding, attention, good
from handrail.cli.checkup.surroundings import Surroundings

__all__ = ["check_git", "check_terminal"]

NARROW = 60


def check_git(around: Surroundings) -> Iterator[Finding]:
    """Git makes worktrees, and tells where a project begins."""
    answer = around.ask(["git", "--version"], seconds=5)
    if answer.code == 0:
        yield good("git", answer.output.partition("\n")[0])
    else:
        yield attention("git", f"git does not run ({answer.output}): --worktree needs it", "install git")


def check_terminal(around: Surroundings) -> Iterator[Finding]:
    """What the terminal can show."""
    encoding = locale.getpreferredencoding(False)
    if encoding.replace("-", "").lower() != "utf8":
        yield attention("terminal", f"its encoding is {encoding}: some signs become ?", "export LC_ALL=C.UTF-8")
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        yield good("terminal", "none here: without one nothing is asked, and the policy decides")
        return
    term = around.environ.get("TERM", "")
    if term in ("", "dumb"):
        yield attention(
            "terminal", f"TERM is {term or 'not set'}: no colours, no live view", "export TERM=xterm-256color"
        )
        return
    columns, rows = shutil.get_terminal_size()
    colours = "no colours, as NO_COLOR says" if around.environ.get("NO_COLOR") else "colours"
    text = f"{term}, {columns} by {rows}, {colours}"
    if columns < NARROW:
        yield attention("terminal", f"{text}: narrow, so much is cut", "make the window wider")
    else:
        yield good("terminal", text)
