"""What tests of the terminal share: a typist with prepared lines, and `handrail run` on a terminal of its own."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from rich.console import Console, RenderableType
from typer.testing import CliRunner

from handrail.cli.app import app
from handrail.cli.ask_view import Asking
from handrail.cli.prompts import Asker
from handrail.cli.style import make_console
from handrail.protocol.asks import Ask, ask_from
from handrail.sessions.asks import AnyAnswer

DEADLINE = 30.0
NOT_INHERITED = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "EDITOR", "VISUAL")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def plain(renderable: RenderableType, width: int = 80) -> str:
    """What is printed for something, without colours."""
    console = make_console(io.StringIO(), width=width)
    console.print(renderable)
    return printed(console)


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class PreparedTypist:
    """Types these lines; an exception among them is raised. `edits` replaces what it is given to edit."""

    def __init__(self, lines: Iterable[str | type[Exception]], edited: str | OSError | None = None) -> None:
        self._lines = list(lines)
        self._edited = edited
        self.given = ""

    async def line(self) -> str:
        line = self._lines.pop(0) if self._lines else EOFError
        if isinstance(line, str):
            return line
        raise line

    async def edit(self, text: str, suffix: str) -> str:
        self.given = text
        if isinstance(self._edited, str):
            return self._edited
        raise self._edited or OSError("there is no editor")


async def answered(
    ask: Ask, *lines: str | type[Exception], asking: Asking | None = None, edited: str | OSError | None = None
) -> tuple[AnyAnswer, str]:
    """The answer that these lines give to an ask, and what the person saw."""
    console = make_console(io.StringIO(), width=100)
    answer = await Asker(console, PreparedTypist(lines, edited)).answer(ask, asking or Asking())
    return answer, printed(console)


def permission(tool: str, given: Mapping[str, Any], **fields: Any) -> Ask:
    """An ask as the CLI makes it for a tool."""
    return ask_from("r1", {"subtype": "can_use_tool", "tool_name": tool, "input": dict(given), **fields})


def child_env(**extra: str) -> dict[str, str]:
    """An environment without what would change how things look."""
    return {name: value for name, value in os.environ.items() if name not in NOT_INHERITED} | extra


@dataclass(frozen=True)
class Done:
    """How a run of `handrail` ended."""

    returncode: int
    stdout: str
    stderr: str


def handrail(*arguments: str, stdin: str = "", **env: str) -> Done:
    """Run `handrail` in this process, without a terminal."""
    changes: dict[str, str | None] = {**dict.fromkeys(NOT_INHERITED), **env}
    result = CliRunner().invoke(app, arguments, input=stdin, env=changes, catch_exceptions=False)
    return Done(result.exit_code, result.stdout, result.stderr)


def handrail_process(
    *arguments: str, stdin: str = "", timeout: float = DEADLINE, reader: str = "cat", **env: str
) -> Done:
    """Run `handrail` in a process of its own, without a terminal; `reader` is the program that reads its output."""
    command = shlex.join([sys.executable, "-m", "handrail", *arguments])
    done = subprocess.run(
        ["bash", "-c", f"{command} | {reader}; exit ${{PIPESTATUS[0]}}"],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
        env=child_env(**env),
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


class OnTerminal:
    """`handrail` with a terminal of its own, as a context manager."""

    def __init__(self, *arguments: str, columns: int = 80, rows: int = 40, **env: str) -> None:
        self._arguments = arguments
        self._size = struct.pack("HHHH", rows, columns, 0, 0)
        self._env = child_env(TERM="xterm-256color", **env)
        self._raw = b""

    def __enter__(self) -> Self:
        self._master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, self._size)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "handrail", *self._arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=self._env,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        self._terminal = terminal
        self._open: tuple[int, ...] = (terminal, self._master)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        self._process.wait(DEADLINE)
        self.hang_up()

    @property
    def raw(self) -> bytes:
        """Every byte written so far."""
        return self._raw

    @property
    def text(self) -> str:
        """What was written so far, without escape sequences."""
        return "".join(self.pieces()).replace("\r", "")

    def pieces(self) -> list[str]:
        """The same, cut where the cursor went to the start of a line."""
        return re.split(r"(?=[\r\n])", ESCAPES.sub("", self._raw.decode("utf-8", "replace")))

    def wait_for(self, text: str, *, times: int = 1) -> str:
        """Wait until this text has been written (so many times)."""
        deadline = time.monotonic() + DEADLINE
        while self.text.count(text) < times:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{text!r} was not written; so far:\n{self.text}")
            self._read(0.1)
        return self.text

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._master, text.encode() + b"\n")

    def press(self, key: bytes) -> None:
        """Press a key, such as b"\\x03"."""
        os.write(self._master, key)

    def kill(self, number: int) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def hang_up(self) -> None:
        """Take the terminal away, as closing its window does."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open = ()

    def exit_code_after_hanging_up(self) -> int:
        """Wait for the end, with nothing left to read from."""
        return self._process.wait(DEADLINE)

    def exit_code(self) -> int:
        """Wait for the end."""
        deadline = time.monotonic() + DEADLINE
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"it did not end; so far:\n{self.text}")
            self._read(0.1)
        while self._read(0):
            pass
        return self._process.returncode

    def echoes(self) -> bool:
        """Whether the terminal echoes what is typed."""
        return bool(termios.tcgetattr(self._terminal)[3] & termios.ECHO)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        data = os.read(self._master, 65536)
        self._raw += data
        return bool(data)


def _take_terminal() -> None:
    """Make standard input the controlling terminal, so that Ctrl-C reaches the process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
