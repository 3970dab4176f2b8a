"""Text as the model writes it: which part is finished and can be shown for good, and which part still grows.

A block of Markdown is finished at the blank line behind it, unless that line is inside a code block.
"""

from __future__ import annotations

import re

__all__ = ["StreamedText"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_PREVIEWED = 4000


class StreamedText:
    """One text while it is written. `feed` and `finish` return what can be shown for good."""

    def __init__(self) -> None:
        self._finished = ""
        self._block = ""
        self._line = ""
        self._fence = ""
        self._opening = ""
        self._length = 0

    def __bool__(self) -> bool:
        return bool(self._finished or self._block or self._line)

    def place(self, offset: int, piece: str) -> str:
        """Add a piece that belongs at `offset`, as far as it is new. Behind a gap, the whole text is waited for."""
        return "" if offset > self._length else self.feed(piece[self._length - offset :])

    def feed(self, piece: str) -> str:
        """Add a piece; returns the blocks that it finishes, or an empty string."""
        self._length += len(piece)
        *ended, self._line = (self._line + piece).split("\n")
        done = ""
        for line in ended:
            self._block += line + "\n"
            self._follow_fence(line)
            if not line.strip() and not self._fence:
                done += self._block
                self._block = ""
        self._finished += done
        return done if done.strip() else ""

    def finish(self, whole: str | None = None) -> str:
        """The text has ended; `whole` is all of it, if that is known. Returns what was not shown yet."""
        rest = self._block + self._line
        if whole is not None:
            # The whole text is the truth; what was streamed may have gaps.
            rest = whole[len(self._finished) :] if whole.startswith(self._finished) else whole
        return rest if rest.strip() else ""

    def preview(self) -> str:
        """The part that still grows; of a long one, the end."""
        growing = self._block + self._line
        if len(growing) <= _PREVIEWED:
            return growing
        tail = growing[-_PREVIEWED:].partition("\n")[2] or growing[-_PREVIEWED:]
        return f"{self._opening}\n{tail}" if self._fence else tail

    def _follow_fence(self, line: str) -> None:
        match = _FENCE.match(line)
        if match is None:
            return
        if not self._fence:
            self._fence, self._opening = match[1], line
        elif match[1].startswith(self._fence) and line.strip() == match[1]:
            self._fence = self._opening = ""
