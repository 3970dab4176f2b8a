"""Markdown as HTML: rendered without any HTML of its own, then sanitised all the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from handrail.policy.describing.visible import legible
from handrail.rendering.code import highlighted
from handrail.rendering.marks import marked_prose, text_html

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

__all__ = ["LONGEST_MARKDOWN", "new_parser", "prose_html", "render_fence", "sanitised", "tables_fit"]

LONGEST_MARKDOWN = 40_000
"""There are texts whose Markdown takes time that grows with their square: longer ones are shown as they were typed."""
MOST_CELLS = 20_000
"""A table has as many cells in each row as in its head, so that a short text can become a very large one."""

_TEXT_TAGS = {"a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "s", "span", "strong", "ul"}
_TAGS = _TEXT_TAGS | {"h1", "h2", "h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"}
_ATTRIBUTES = {"a": {"href", "title"}, "span": {"class"}, "ol": {"start"}}
_ALIGNED = {"left", "right", "center"}
_BELOW_A_HEAD = re.compile(r"^[-|: \t>]*\|[-|: \t>]*$", re.MULTILINE)


def prose_html(text: str, *, as_typed: bool = False) -> str:
    """Markdown as HTML. `as_typed`: a line that the writer ended stays ended."""
    if len(text) > LONGEST_MARKDOWN:
        return text_html(text)
    shown = legible(text.replace("\r\n", "\n"))
    rendered = _parser(tables_fit(shown)).render(shown)
    kind = "prose as-typed" if as_typed else "prose"
    return f'<div class="{kind}">{sanitised(rendered)}</div>'


def sanitised(html: str) -> str:
    """`html` with nothing in it but the elements of prose, and hidden characters marked."""
    import nh3

    return marked_prose(
        nh3.clean(
            html,
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            allowed_classes={"th": _ALIGNED, "td": _ALIGNED, "pre": {"code"}},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer",
        )
    )


def tables_fit(text: str) -> bool:
    """Whether the tables of `text` are of a size that can be shown."""
    columns = max((line.count("|") + 1 for line in _BELOW_A_HEAD.findall(text)), default=0)
    return columns * text.count("\n") <= MOST_CELLS


@cache
def _parser(tables: bool) -> MarkdownIt:
    return new_parser(tables=tables)


def new_parser(*, tables: bool) -> MarkdownIt:
    """CommonMark with tables and struck text; what would fetch an image is a link."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False})
    made.enable(["table", "strikethrough"] if tables else ["strikethrough"])
    made.add_render_rule("image", _image_as_link)
    made.add_render_rule("fence", render_fence)
    made.add_render_rule("code_block", render_fence)
    for cell in ("th_open", "td_open"):
        made.add_render_rule(cell, _cell)
    return made


def _image_as_link(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    """A page that is opened must not tell anybody: what would be fetched is a link."""
    token = tokens[index]
    address = escape(str(token.attrGet("src") or ""))
    return f'<a href="{address}">🖼 {escape(token.content) or address}</a>'


def render_fence(_renderer: RendererHTML, tokens: Sequence[Token], index: int, *_rest: Any) -> str:
    """A block of code."""
    token = tokens[index]
    language = (token.info.split() or [""])[0]
    code = highlighted(token.content.removesuffix("\n"), language)
    return f'<pre class="code">\n{code}</pre>\n'


def _cell(_renderer: RendererHTML, tokens: Sequence[Token], index: int, *_rest: Any) -> str:
    """The alignment of a column is a class: a page may forbid style attributes."""
    token = tokens[index]
    style = str(token.attrGet("style") or "")
    aligned = style.removeprefix("text-align:")
    return f'<{token.tag} class="{aligned}">' if aligned in _ALIGNED else f"<{token.tag}>"
