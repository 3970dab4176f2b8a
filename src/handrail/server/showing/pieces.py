"""Pieces of HTML, each made once for as long as there is room to keep it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.protocol.descriptions import Hunk
from handrail.rendering.cache import RenderedCache
from handrail.rendering.code import code_html
from handrail.rendering.diffs import diff_html
from handrail.rendering.output import output_html
from handrail.rendering.prose import prose_html
from handrail.rendering.review import Block, review_blocks

__all__ = ["Pieces"]

KEPT_BYTES = 32 * 1024 * 1024
OUTPUT_LINES = 60
CODE_LINES = 120
"""What comes after so many lines is folded, but for what is to be approved."""

_read_blocks = msgspec.json.Decoder(list[Block]).decode


class Pieces:
    """Makes HTML of text. Nothing is kept with `kept_bytes=0`."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self.cache = RenderedCache(kept_bytes)

    def prose(self, text: str) -> str:
        """Markdown that Claude wrote."""
        return self.cache.get(lambda: prose_html(text), "prose", text)

    def typed(self, text: str) -> str:
        """Markdown that a person typed."""
        return self.cache.get(lambda: prose_html(text, as_typed=True), "typed", text)

    def code(self, text: str, language: str = "", file_name: str = "", *, shown: int | None = CODE_LINES) -> str:
        """Code, folded after so many lines."""
        return self.cache.get(
            lambda: code_html(text, language, file_name, shown=shown), "code", language, file_name, str(shown), text
        )

    def output(self, text: str) -> str:
        """What a program printed."""
        return self.cache.get(lambda: output_html(text, shown=OUTPUT_LINES), "output", text)

    def diff(self, hunks: Sequence[Hunk], *, numbered: bool = True) -> str:
        """A change of a file."""
        content = [line for hunk in hunks for line in (hunk.header, *hunk.lines)]
        return self.cache.get(lambda: diff_html(hunks, numbered=numbered), "diff", str(numbered), *content)

    def review(self, text: str) -> list[Block]:
        """Markdown that is to be approved, part by part."""
        return _read_blocks(self.cache.get(lambda: _written(review_blocks(text)), "review", text))


def _written(blocks: list[Block]) -> str:
    return msgspec.json.encode(blocks).decode()
