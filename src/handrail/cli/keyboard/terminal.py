"""The terminal as an input: single keys without holding up the event loop, and the person's editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from handrail.cli.keyboard.keys import Key, KeyParser

__all__ = ["Terminal"]

_CHUNK = 4096
_LOCAL_FLAGS = 3
_SPECIAL = 6
ESCAPE_SECONDS = 0.05
"""What a key sends comes at once; the Escape key is one byte, and nothing follows it for so long."""


class Terminal:
    """Keys that a person presses on a terminal's file descriptor.

    Between `take` and `give_back` each key counts at once and is not echoed; Ctrl-C and Ctrl-Z are signals as ever.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._found: list[Any] | None = None
        self._waiting: asyncio.Future[None] | None = None
        self.is_lent = False

    # ------------------------------------------------------------ its mode

    def take(self) -> None:
        """Have every key at once."""
        if self._found is None:
            self._found = termios.tcgetattr(self._fd)
            termios.tcsetattr(self._fd, termios.TCSADRAIN, _key_by_key(self._found))

    def give_back(self) -> None:
        """Leave the terminal as it was found. What was typed and not read is nobody's."""
        if self._found is None:
            return
        found, self._found = self._found, None
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(self._fd, termios.TCSAFLUSH, found)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """While another program has the terminal, and its keys."""
        self.is_lent = True
        self._stop_looking()
        self.give_back()
        try:
            yield
        finally:
            self.is_lent = False
            self.take()
            self._look()

    # ------------------------------------------------------------ keys

    async def keys(self) -> AsyncIterator[Key]:
        """Each key as it is pressed. Ends when the terminal is gone."""
        parser = KeyParser()
        while True:
            if parser.undecided and not await self._more_within(ESCAPE_SECONDS):
                pressed = parser.flush()
            else:
                await self._readable()
                data = _read(self._fd)
                if not data:
                    return
                pressed = parser.feed(data)
            for key in pressed:
                yield key

    async def _more_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._readable()
        except TimeoutError:
            return False
        return True

    async def _readable(self) -> None:
        self._waiting = asyncio.get_running_loop().create_future()
        self._look()
        try:
            await self._waiting
        finally:
            self._stop_looking()
            self._waiting = None

    def _look(self) -> None:
        if self._waiting is not None and not self.is_lent:
            asyncio.get_running_loop().add_reader(self._fd, _resolve, self._waiting)

    def _stop_looking(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)

    # ------------------------------------------------------------ the editor

    async def edit(self, text: str, suffix: str) -> str:
        """`text` as the person changed it in their editor. Raises OSError if that fails."""
        with tempfile.TemporaryDirectory(prefix="handrail-") as directory:
            path = Path(directory) / f"ask{suffix}"
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
            with self.lent():
                await _run_editor(path)
            return path.read_text(encoding="utf-8", errors="replace")


def _key_by_key(found: list[Any]) -> list[Any]:
    """These attributes, changed so that keys come one by one, all but those that send signals."""
    changed = [*found[:_SPECIAL], list(found[_SPECIAL])]
    changed[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
    changed[_SPECIAL][termios.VMIN] = 1
    changed[_SPECIAL][termios.VTIME] = 0
    return changed


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
