"""Markdown that somebody is to approve: rendered, part by part, with nothing of what was written left out.

Markdown leaves things out of sight: where a link leads, the title of a link, definitions, a cell too many in a table, a
comment in the first line of a block of code. Here addresses are shown, and a part of which anything else would not be
seen is followed by its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cache
from html import escape, unescape
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from handrail.policy.describing.visible import legible
from handrail.rendering.code import code_html
from handrail.rendering.marks import text_html
from handrail.rendering.prose import LONGEST_MARKDOWN, new_parser, render_fence, sanitised, tables_fit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token

__all__ = ["Block", "review_blocks", "review_html"]

SOURCE_FOLLOWS = '<p class="quiet">Not all of this is seen when it is rendered. As it was written:</p>'
_NOT_SEEN = re.compile(r"[\W_]+")


class Block(NamedTuple):
    """A paragraph, a heading, an item of a list …: as HTML, and as it was written."""

    html: str
    text: str


def review_html(text: str) -> str:
    """The whole text."""
    return "".join(block.html for block in review_blocks(text))


def review_blocks(text: str) -> list[Block]:
    """The text in parts, in order."""
    source = text.replace("\r\n", "\n")
    if len(source) > LONGEST_MARKDOWN:
        return [Block(text_html(part), part) for part in re.split(r"\n{2,}", source) if part.strip()]
    shown = legible(source)
    parser = _parser(tables_fit(shown))
    blocks = _Blocks(source.split("\n"), shown.split("\n"), parser)
    return list(blocks.of(parser.parse(shown)))


class _Blocks:
    """The parts of one text. `given` are its lines, `shown` the same with hidden characters written out."""

    def __init__(self, given: Sequence[str], shown: Sequence[str], parser: MarkdownIt) -> None:
        self._given = given
        self._shown = shown
        self._parser = parser
        self._line = 0

    def of(self, tokens: Sequence[Token]) -> Iterator[Block]:
        for group, start, end in _groups(tokens):
            yield from self._between(start)
            yield self._block(group, start, end)
            self._line = max(self._line, end)
        yield from self._between(len(self._given))

    def _between(self, end: int) -> Iterator[Block]:
        """Lines of which nothing would be seen."""
        text = "\n".join(self._given[self._line : end])
        if text.strip():
            yield Block(code_html(text.strip("\n")), text.strip("\n"))
        self._line = max(self._line, end)

    def _block(self, group: Sequence[Token], start: int, end: int) -> Block:
        text = "\n".join(self._given[start:end]).rstrip("\n")
        rendered = self._parser.renderer.render(group, self._parser.options, {})
        html = f'<div class="prose">{sanitised(rendered)}</div>'
        if not _shows_all("\n".join(self._shown[start:end]), group):
            html += SOURCE_FOLLOWS + code_html(text)
        return Block(html, text)


def _groups(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], int, int]]:
    """Tokens that make a part, with the lines they come from. A list is as many parts as it has items."""
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield from _items(group) if group[0].type.endswith("list_open") else [(group, *_lines(group[0]))]
            group = []


def _items(group: list[Token]) -> Iterator[tuple[list[Token], int, int]]:
    opening, closing = group[0], group[-1]
    item: list[Token] = []
    for token in group[1:-1]:
        item.append(token)
        if token.type == "list_item_close" and token.level == 1:
            yield [_numbered(opening, item[0]), *item, closing], *_lines(item[0])
            item = []


def _numbered(opening: Token, item: Token) -> Token:
    """The beginning of a list that has this item only."""
    if opening.type != "ordered_list_open":
        return opening
    alone = copy(opening)
    alone.attrs = {"start": int(item.info)}
    return alone


def _lines(token: Token) -> tuple[int, int]:
    start, end = token.map or (0, 0)
    return start, end


# ---------------------------------------------------------------- what is seen


def _shows_all(source: str, group: Sequence[Token]) -> bool:
    return _letters(source) == _letters("".join(_seen(group)))


def _letters(text: str) -> str:
    return _NOT_SEEN.sub("", unquote(unescape(text)))


def _seen(tokens: Sequence[Token]) -> Iterator[str]:
    """Every letter that the HTML of `tokens` shows, in the order of the source."""
    addresses: list[str] = []
    for token in tokens:
        match token.type:
            case "inline":
                yield from _seen(token.children or [])
            case "list_item_open":
                yield token.info
            case "fence":
                yield token.info + token.content
            case "link_open":
                addresses.append(_address(token, "href"))
            case "link_close":
                yield addresses.pop()
            case "image":
                yield token.content + _address(token, "src")
            case _:
                yield token.content


def _address(token: Token, attribute: str) -> str:
    if token.info == "auto":
        return ""  # it is the text
    return f"{token.attrGet(attribute) or ''} {token.attrGet('title') or ''}"


# ---------------------------------------------------------------- the parser


@cache
def _parser(tables: bool) -> MarkdownIt:
    """As for any prose, but for what would not be seen."""
    made = new_parser(tables=tables)
    made.disable("reference")
    made.add_render_rule("link_open", _link_open)
    made.add_render_rule("link_close", _link_close)
    made.add_render_rule("image", _image)
    made.add_render_rule("fence", _fence)
    return made


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    # The closing token knows nothing of the address.
    closing = next(
        token for token in tokens[index:] if token.type == "link_close" and token.level == tokens[index].level
    )
    closing.meta = {"address": _address(tokens[index], "href")}
    return renderer.renderToken(tokens, index, options, env)


def _link_close(_renderer: RendererHTML, tokens: Sequence[Token], index: int, *_rest: Any) -> str:
    return f"</a>{_shown_address(tokens[index].meta.get('address', ''))}"


def _image(_renderer: RendererHTML, tokens: Sequence[Token], index: int, *_rest: Any) -> str:
    return f"🖼 {escape(tokens[index].content)}{_shown_address(_address(tokens[index], 'src'))}"


def _shown_address(address: str) -> str:
    return f' <span class="address">({escape(address.strip())})</span>' if address.strip() else ""


def _fence(renderer: RendererHTML, tokens: Sequence[Token], index: int, *_rest: Any) -> str:
    info = tokens[index].info.strip()
    label = f'<p><span class="address">{escape(info)}</span></p>' if info else ""
    return label + render_fence(renderer, tokens, index)
