"""Markdown as Telegram shows it: text with entities. Nothing that was written is lost or taken for HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from handrail.policy.describing.visible import legible
from handrail.rendering.prose import tables_fit
from handrail.telegram.text.building import RichTextBuilder
from handrail.telegram.text.rich import EntityKind, RichText, plain
from handrail.telegram.text.tables import table_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["LONGEST_MARKDOWN", "from_markdown", "is_link"]

LONGEST_MARKDOWN = 20_000
MOST_BRACKETS = 2_000
"""There are texts whose Markdown takes time that grows with their square: such are shown as they were typed."""
DEEPEST = 60
"""The parser leaves out what is nested deeper: such a text is shown as it was typed."""
LONGEST_ADDRESS = 2_048
_SCHEMES = frozenset({"http", "https"})
_HOST = re.compile(r"[\w.-]+")
_LANGUAGE = re.compile(r"[\w.+#-]{1,32}", re.ASCII)
_TASK = re.compile(r"\A\[([ xX])\] ")
_BOXES = {" ": "☐ ", "x": "☑ ", "X": "☑ "}
_NO_LETTERS = re.compile(r"[\W_]+")
_BULLET = "• "
_QUOTE = "│ "
_RULE = "———"
_TAB = 4
_MAIL = "mailto:"
_INDENTED = "   "
_EMPHASES: Mapping[str, EntityKind] = {"strong": "bold", "em": "italic", "s": "strikethrough"}


def from_markdown(source: str) -> RichText:
    """The text that this Markdown stands for. Hidden characters are written out as everywhere."""
    # Telegram makes one space of a tab.
    shown = legible(source.replace("\r\n", "\n")).expandtabs(_TAB)
    if len(shown) > LONGEST_MARKDOWN or shown.count("[") > MOST_BRACKETS:
        return plain(shown)
    tokens = _parser(tables_fit(shown)).parse(shown)
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return plain(shown)
    return _Writer(shown).written(tokens)


def is_link(address: str) -> bool:
    """Whether Telegram takes this as the address of a link: it refuses a whole message for one that it does not."""
    if len(address) > LONGEST_ADDRESS or re.search(r"\s", address):
        return False
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.scheme == "tg":
        return len(address) > len("tg://")
    named = parts.scheme in _SCHEMES and "@" not in parts.netloc and port != 0
    return named and "." in host and _HOST.fullmatch(host) is not None


@cache
def _parser(tables: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # slow to import, and not everything that is sent is Markdown

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    made.disable("reference")  # definitions would not be seen
    return made.enable(["table", "strikethrough"] if tables else ["strikethrough"])


class _Writer:
    """Writes the tokens of one text."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._text = RichTextBuilder()
        self._numbers: list[int | None] = []
        """The next number of each list around; None for bullets."""
        self._quotes = 0
        self._addresses: list[str] = []
        """Of the links around: empty for one that is an entity."""
        self._blocks: Mapping[str, Callable[[Token], None]] = {
            "paragraph_close": self._end_paragraph,
            "heading_open": lambda _: self._text.open("bold"),
            "heading_close": self._end_heading,
            "bullet_list_open": self._begin_list,
            "ordered_list_open": self._begin_list,
            "bullet_list_close": self._end_list,
            "ordered_list_close": self._end_list,
            "list_item_close": self._end_item,
            "blockquote_open": self._begin_quote,
            "blockquote_close": self._end_quote,
            "fence": self._code,
            "code_block": self._code,
            "hr": self._rule,
        }
        self._inlines: Mapping[str, Callable[[Token], None]] = {
            "text": lambda token: self._text.write(legible(token.content)),  # `&#8238;` has become a character
            "softbreak": lambda _: self._text.end_line(),
            "hardbreak": lambda _: self._text.end_line(),
            "code_inline": lambda token: self._text.write_code(token.content),
            "link_open": self._begin_link,
            "link_close": self._end_link,
            "image": self._image,
        }

    def written(self, tokens: Sequence[Token]) -> RichText:
        rest = iter(tokens)
        for token in rest:
            match token.type:
                case "table_open":
                    self._table(token, rest)
                case "list_item_open":
                    self._begin_item(token)
                case "inline":
                    self._inline(token)
                case name if name in self._blocks:
                    self._blocks[name](token)
        return self._text.built()

    # ------------------------------------------------------------ blocks

    def _gap(self) -> int:
        """How many lines end behind a list: inside of another one, no empty line follows."""
        return 1 if self._numbers else 2

    def _end_paragraph(self, token: Token) -> None:
        self._text.end_line(1 if token.hidden else 2)

    def _end_heading(self, _token: Token) -> None:
        self._text.close("bold")
        self._text.end_line()

    def _code(self, token: Token) -> None:
        language, label = _language(token.info) if token.content.strip() else ("", token.info.strip())
        if label:
            self._text.write(label)
            self._text.end_line()
        self._text.write_block(token.content, language)

    def _rule(self, _token: Token) -> None:
        self._text.write(_RULE)
        self._text.end_line(2)

    def _begin_quote(self, _token: Token) -> None:
        self._quotes += 1
        if self._quotes == 1 and not self._numbers:
            self._text.close_up()
            self._text.open("blockquote")
        else:
            self._text.indent(_QUOTE, _QUOTE)

    def _end_quote(self, _token: Token) -> None:
        self._quotes -= 1
        if self._quotes == 0 and not self._numbers:
            self._text.close("blockquote")
        else:
            self._text.outdent()
        self._text.end_line()
        self._text.close_up()

    def _table(self, opening: Token, rest: Iterator[Token]) -> None:
        rows: list[list[str]] = []
        sides: list[str] = []
        for token in rest:
            match token.type:
                case "table_close":
                    break
                case "tr_open":
                    rows.append([])
                case "th_open":
                    sides.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
                case "inline":
                    rows[-1].append("".join(_words(token.children or [])))
        start, end = opening.map or (0, 0)
        source = "\n".join(self._source.split("\n")[start:end])
        # A row may have cells for which there is no column: nobody would see them.
        whole = _letters(source) == _letters("".join(cell for row in rows for cell in row))
        self._text.write_block(table_text(rows, sides) if whole else source)

    # ------------------------------------------------------------ lists

    def _begin_list(self, token: Token) -> None:
        start = token.attrGet("start")
        first = 1 if start is None else int(start)
        self._numbers.append(first if token.type == "ordered_list_open" else None)

    def _end_list(self, _token: Token) -> None:
        self._numbers.pop()
        self._text.end_line(self._gap())

    def _begin_item(self, _token: Token) -> None:
        number = self._numbers[-1]
        self._text.indent(_BULLET if number is None else f"{number}. ", _INDENTED)
        if number is not None:
            self._numbers[-1] = number + 1

    def _end_item(self, _token: Token) -> None:
        self._text.outdent()
        self._text.end_line()

    # ------------------------------------------------------------ inside of a paragraph

    def _inline(self, token: Token) -> None:
        children = token.children or []
        if self._numbers and children and children[0].type == "text":
            children[0].content = _TASK.sub(lambda match: _BOXES[match[1]], children[0].content, count=1)
        for child in children:
            if child.tag in _EMPHASES:
                (self._text.open if child.nesting > 0 else self._text.close)(_EMPHASES[child.tag])
            elif child.type in self._inlines:
                self._inlines[child.type](child)
            else:
                self._text.write(child.content)

    def _begin_link(self, token: Token) -> None:
        address = str(token.attrGet("href") or "")
        if token.info == "auto":
            self._addresses.append("")  # Telegram finds it by itself
        elif is_link(address):
            self._addresses.append("")
            self._text.open("text_link", address)
        else:
            self._addresses.append(address.removeprefix(_MAIL))

    def _end_link(self, _token: Token) -> None:
        self._text.close("text_link")
        address = self._addresses.pop()
        if address:
            self._text.write(f" ({address})")

    def _image(self, token: Token) -> None:
        """What would be fetched is a link."""
        address = str(token.attrGet("src") or "")
        words = f"🖼 {token.content or address}"
        if is_link(address) and not self._addresses:
            self._text.open("text_link", address)
            self._text.write(words)
            self._text.close("text_link")
        else:
            self._text.write(words if words.endswith(address) else f"{words} ({address})")


def _language(info: str) -> tuple[str, str]:
    """The language of a block of code, and what else stands where it does."""
    word, _, label = info.strip().partition(" ")
    return (word, label.strip()) if _LANGUAGE.fullmatch(word) else ("", info.strip())


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", unescape(text))


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    """What a cell of a table says."""
    addresses: list[str] = []
    for token in tokens:
        match token.type:
            case "softbreak" | "hardbreak":
                yield " "
            case "link_open":
                addresses.append("" if token.info == "auto" else str(token.attrGet("href") or ""))
            case "link_close":
                address = addresses.pop()
                yield f" ({address})" if address else ""
            case "image":
                yield f"🖼 {token.content} ({token.attrGet('src') or ''})"
            case _:
                yield token.content
