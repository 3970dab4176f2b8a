"""What tests of the terminal share: a hand that presses prepared keys, and `handrail` on a terminal of its own."""

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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

from rich.cells import cell_len
from rich.console import Console, RenderableType
from typer.testing import CliRunner

from handrail.cli.app import app
from handrail.cli.asking.ask_view import Asking
from handrail.cli.asking.asker import Asker
from handrail.cli.keyboard.keys import Key
from handrail.cli.showing.screen import Screen
from handrail.cli.showing.style import make_console
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


Press: TypeAlias = str | type[Exception]
"""A key by its name; a line to type, then Enter, if it begins with `=`; or what waiting for a key raises."""


def keys_of(press: Press) -> list[Key | type[Exception]]:
    if not isinstance(press, str):
        return [press]
    if press.startswith("="):
        return [*(Key(character, character) for character in press[1:]), Key("enter")]
    return [Key(press, press if len(press) == 1 else "")]


class PreparedHand:
    """Presses these keys; when there are no more, the terminal is gone. `edited` replaces what it is given to edit."""

    def __init__(self, presses: Iterable[Press], edited: str | OSError | None = None) -> None:
        self._keys = [key for press in presses for key in keys_of(press)]
        self._edited = edited
        self.given = ""

    async def settled(self) -> None:
        pass

    def released(self) -> None:
        pass

    async def key(self) -> Key:
        key = self._keys.pop(0) if self._keys else EOFError
        if isinstance(key, Key):
            return key
        raise key

    async def edit(self, text: str, suffix: str) -> str:
        self.given = text
        if isinstance(self._edited, str):
            return self._edited
        raise self._edited or OSError("there is no editor")


async def answered(
    ask: Ask, *presses: Press, asking: Asking | None = None, edited: str | OSError | None = None
) -> tuple[AnyAnswer, str]:
    """The answer that these keys give to an ask, and what the person saw."""
    console = make_console(io.StringIO(), width=100)
    answer = await Asker(Screen(console), PreparedHand(presses, edited)).answer(ask, asking or Asking())
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


class Paper:
    """What a terminal shows after all that was written to it: enough of one to know what is left on the screen."""

    def __init__(self, columns: int = 80) -> None:
        self._columns = columns
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0

    def write(self, data: str) -> Self:
        for piece in re.findall(r"\x1b\[[0-9;?]*[a-zA-Z]|[^\x1b]|\x1b", data):
            self._sequence(piece) if piece.startswith("\x1b[") else self._character(piece)
        return self

    @property
    def lines(self) -> list[str]:
        """The rows from the first one, without what is empty at their ends."""
        shown = ["".join(row).rstrip() for row in self._rows]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def _sequence(self, piece: str) -> None:
        number = int(re.sub(r"\D", "", piece) or 1)
        match piece[-1]:
            case "A":
                self._row = max(0, self._row - number)
            case "C":
                self._column += number
            case "K":
                self._rows[self._row] = []

    def _character(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._go_down()
        else:
            if self._column + cell_len(character) > self._columns:
                self._go_down()
                self._column = 0
            row = self._rows[self._row]
            row += [" "] * (self._column - len(row))
            row[self._column : self._column + cell_len(character)] = [character, *[""] * (cell_len(character) - 1)]
            self._column += cell_len(character)

    def _go_down(self) -> None:
        self._row += 1
        self._column = 0
        if self._row == len(self._rows):
            self._rows.append([])


class OnTerminal:
    """`handrail` with a terminal of its own, as a context manager."""

    def __init__(
        self, *arguments: str, columns: int = 80, rows: int = 40, stdin: int | None = None, **env: str
    ) -> None:
        self._arguments = arguments
        self._stdin = stdin
        self._columns = columns
        self._size = struct.pack("HHHH", rows, columns, 0, 0)
        self._env = child_env(**{"TERM": "xterm-256color", **env})
        self._raw = b""

    def __enter__(self) -> Self:
        self._master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, self._size)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "handrail", *self._arguments],
            stdin=terminal if self._stdin is None else self._stdin,
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

    @property
    def screen(self) -> str:
        """What is to be seen now, from the first line on."""
        return "\n".join(Paper(self._columns).write(self._raw.decode("utf-8", "replace")).lines)

    def wait_to_see(self, text: str) -> str:
        """Wait until this text is on the screen, and still is."""
        return self._wait(lambda: text in self.screen, f"{text!r} is not to be seen")

    def wait_until_gone(self, text: str) -> str:
        """Wait until this text is not on the screen any more."""
        return self._wait(lambda: text not in self.screen, f"{text!r} is still to be seen")

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so."""
        self._wait(condition, "it did not become so")

    def _wait(self, condition: Callable[[], bool], what: str) -> str:
        deadline = time.monotonic() + DEADLINE
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}:\n{self.screen}")
            self._read(0.1)
        return self.screen

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
        os.write(self._master, text.encode() + b"\r")

    def press(self, key: str | bytes) -> None:
        """Press a key, such as "y" or b"\\x03"."""
        os.write(self._master, key.encode() if isinstance(key, str) else key)

    def resize(self, columns: int, rows: int = 40) -> None:
        """Make the window another size."""
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

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
    """Make the terminal the controlling one, so that Ctrl-C reaches the process."""
    fcntl.ioctl(1, termios.TIOCSCTTY, 0)
