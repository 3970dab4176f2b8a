"""Characters that cannot be seen, made to stand out: `visible` and `legible` write them out, a mark is put around that.

`<U+202E>` in the text becomes `<mark title="RIGHT-TO-LEFT OVERRIDE">U+202E</mark>`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from html import escape

from handrail.policy.describing.visible import legible, one_line, visible

__all__ = ["exact_html", "line_html", "marked", "marked_prose", "text_html"]

_TAG = r'<[/a-zA-Z][^"<>]*+(?:"[^"]*+"[^"<>]*+)*+>'
_WRITTEN_OUT = re.compile(rf"(?:&lt;|<)U\+(?P<code>[0-9A-F]{{4,6}})(?:&gt;|>)|{_TAG}")


def exact_html(text: str) -> str:
    """Text that counts to the character, such as a command or a path."""
    return marked(escape(visible(text), quote=False))


def line_html(text: str) -> str:
    """Text on one line."""
    return marked(escape(one_line(text)))


def text_html(text: str) -> str:
    """Text that people wrote, without any markup of its own; its lines are kept by the class `plain`."""
    return f'<div class="plain">{marked(escape(legible(text), quote=False))}</div>'


def marked(html: str) -> str:
    """`html` with a mark around each character that was written out. What stands inside of tags is left alone."""
    return _WRITTEN_OUT.sub(_mark, html) if "U+" in html else html


def marked_prose(html: str) -> str:
    """`html`, with what can still not be seen in it: a character reference of Markdown may stand for anything."""
    return marked(legible(html))


def _mark(found: re.Match[str]) -> str:
    code = found["code"]
    return found[0] if code is None else f'<mark title="{_name(code)}">U+{code}</mark>'


@lru_cache(maxsize=512)
def _name(code: str) -> str:
    number = int(code, 16)
    name = unicodedata.name(chr(number), "") if number <= 0x10FFFF else ""
    return name or "a character that cannot be seen"
