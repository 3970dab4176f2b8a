"""The terminal as an input: lines read without holding up the event loop, and the person's editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from handrail.cli.prompts import PromptInterrupted

__all__ = ["Terminal"]

_CHUNK = 4096
_LOCAL_FLAGS = 3


class Terminal:
    """Lines that a person types on a terminal's file descriptor, which stays in its usual line-by-line mode.

    Implements `handrail.cli.prompts.Typist`. Between `mute` and `restore`, what is typed outside of `listening` is not
    echoed, since it would land in the middle of what is being written.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._typed = b""
        self._waiting: asyncio.Future[None] | None = None
        self._editing = False
        self._before: list[Any] | None = None

    def mute(self) -> None:
        """Echo only while somebody is asked."""
        if self._before is None:
            self._before = termios.tcgetattr(self._fd)
            self._echo(False)

    def restore(self) -> None:
        """Leave the terminal as it was found."""
        if self._before is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
            self._before = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While somebody is asked. What was typed before cannot be meant for what was not on the screen yet."""
        self._typed = b""
        termios.tcflush(self._fd, termios.TCIFLUSH)
        self._echo(True)
        try:
            yield
        finally:
            self._echo(False)

    def _echo(self, on: bool) -> None:
        if self._before is None:
            return
        attributes = termios.tcgetattr(self._fd)
        attributes[_LOCAL_FLAGS] &= ~termios.ECHO
        attributes[_LOCAL_FLAGS] |= self._before[_LOCAL_FLAGS] & termios.ECHO if on else 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, attributes)

    async def line(self) -> str:
        while b"\n" not in self._typed:
            await self._readable()
            data = _read(self._fd)
            if not data:
                raise EOFError
            self._typed += data
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace")

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        self._waiting = waiting = loop.create_future()
        loop.add_reader(self._fd, _resolve, waiting)
        try:
            await waiting
        finally:
            loop.remove_reader(self._fd)
            self._waiting = None

    def interrupt(self) -> bool:
        """Ctrl-C was pressed: whether it was meant for whoever reads here."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(PromptInterrupted())
            return True
        return self._editing

    async def edit(self, text: str, suffix: str) -> str:
        with tempfile.TemporaryDirectory(prefix="handrail-") as directory:
            path = Path(directory) / f"ask{suffix}"
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
            self._editing = True
            try:
                await _run_editor(path)
            finally:
                self._editing = False
            return path.read_text(encoding="utf-8", errors="replace")


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK)
    except OSError:
        return b""  # the terminal is gone


def _resolve(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


async def _run_editor(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        editor = await asyncio.create_subprocess_exec(*shlex.split(command), str(path))
    except OSError as error:
        raise OSError(f"the editor {command!r} could not be started ({error.strerror}); set EDITOR") from error
    try:
        code = await editor.wait()
    finally:
        if editor.returncode is None:
            # The ask was withdrawn meanwhile.
            editor.terminate()
            await editor.wait()
    if code != 0:
        raise OSError(f"the editor {command!r} ended with code {code}")
