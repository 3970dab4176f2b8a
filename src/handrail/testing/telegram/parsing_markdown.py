"""The parse modes Markdown and MarkdownV2, and every mistake refused in the words of the real server."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from handrail.testing.telegram.entities import Entity, units
from handrail.testing.telegram.links import checked_link

__all__ = ["parse_markdown", "parse_markdown_v2"]

_RESERVED = frozenset("_*[]()~`>#+-=|{}.!")
_MARKERS = ("```", "__", "||", "![", "*", "_", "~", "`", "[")
"""What begins an entity, the longer ones first."""
_TYPES = {"```": "pre", "__": "underline", "||": "spoiler", "![": "custom_emoji", "*": "bold", "_": "italic"}
_TYPES |= {"~": "strikethrough", "`": "code", "[": "text_link", ">": "blockquote"}
_NAMES = {"pre": "Pre", "underline": "Underline", "spoiler": "Spoiler", "custom_emoji": "CustomEmoji", "bold": "Bold"}
_NAMES |= {"italic": "Italic", "strikethrough": "Strikethrough", "code": "Code", "text_link": "TextUrl"}
_NAMES |= {"blockquote": "BlockQuote"}
_ENDS = {"```": "```", "__": "__", "||": "||", "![": "]", "*": "*", "_": "_", "~": "~", "`": "`", "[": "]"}
_LANGUAGE = re.compile(r"([^\s`]*)(?=\s)")
_LINE_BREAK = re.compile(r"\r\n|\n\r|\n|\r")


@dataclass
class _Open:
    marker: str
    offset: int
    byte: int
    at: int
    """Where in the plain text it began."""
    language: str = ""

    @property
    def type(self) -> str:
        return _TYPES[self.marker]


class _Parser:
    """Walks over a text once. Positions in errors are counted in bytes."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._plain: list[str] = []
        self._offset = 0
        self._open: list[_Open] = []
        self._entities: list[Entity] = []

    def run(self) -> tuple[str, list[Entity]]:
        while self._at < len(self._source):
            self._step()
        self._end_quote()
        if self._open:
            raise self._unclosed()
        return "".join(self._plain), self._entities

    def _step(self) -> None:
        character = self._source[self._at]
        if character == "\\" and "\0" < self._source[self._at + 1 : self._at + 2] <= "~":
            self._take(self._source[self._at + 1], 2)
        elif self._in_code:
            self._step_in_code(character)
        elif character == "\n":
            self._take_line_break()
        elif character == ">" and self._at_line_start:
            self._take_quote()
        elif self._ends_open_entity():
            self._close()
        elif character in _RESERVED:
            self._begin(character)
        else:
            self._take(character, 1)

    def _step_in_code(self, character: str) -> None:
        if self._ends_open_entity():
            self._close()
        elif character == "`":
            raise _reserved(character)
        else:
            self._take(character, 1)

    def _take(self, text: str, width: int) -> None:
        self._plain.append(text)
        self._offset += units(text)
        self._at += width

    # Quotes go by lines

    def _take_line_break(self) -> None:
        if self._quote and not self._source.startswith(">", self._at + 1):
            self._end_quote()
        self._take("\n", 1)

    def _take_quote(self) -> None:
        if not self._quote:
            self._open.append(_Open(">", self._offset, self._byte(self._at), len(self._plain)))
        self._at += 1

    def _end_quote(self) -> None:
        """A quote that ends in a spoiler's marker is one that can be opened."""
        if not self._quote:
            return
        kind = "blockquote"
        if self._open[-1].marker == "||" and self._open[-1].at == len(self._plain):
            self._open.pop()
            kind = "expandable_blockquote"
        if self._open[-1].marker != ">":
            raise self._unclosed()
        self._add(kind, self._open.pop())

    # Everything else goes by markers

    def _begin(self, character: str) -> None:
        marker = next((marker for marker in _MARKERS if self._source.startswith(marker, self._at)), None)
        if marker is None:
            raise _reserved(character)
        opened = _Open(marker, self._offset, self._byte(self._at), len(self._plain))
        self._at += len(marker)
        if marker == "```":
            opened.language = self._take_language()
        self._open.append(opened)

    def _take_language(self) -> str:
        found = _LANGUAGE.match(self._source, self._at)
        language = found[1] if found else ""
        self._at += len(language)
        line_break = _LINE_BREAK.match(self._source, self._at)
        self._at += len(line_break[0]) if line_break else 0
        return language

    def _ends_open_entity(self) -> bool:
        if not self._open or self._open[-1].marker == ">":
            return False
        marker = self._open[-1].marker
        if marker == "_" and self._source.startswith("__", self._at):
            return False
        return self._source.startswith(_ENDS[marker], self._at)

    def _close(self) -> None:
        opened = self._open.pop()
        self._at += len(_ENDS[opened.marker])
        if opened.marker in ("[", "!["):
            self._close_link(opened)
        else:
            self._add(opened.type, opened, language=opened.language)

    def _close_link(self, opened: _Open) -> None:
        if self._source.startswith("(", self._at):
            url = self._take_url("a custom emoji URL" if opened.marker == "![" else "a URL")
        elif opened.marker == "![":
            raise ValueError("Custom emoji entity must contain a tg://emoji URL")
        else:
            url = "".join(self._plain[opened.at :])
        if opened.marker == "![":
            self._add("custom_emoji", opened, custom_emoji_id=url.rpartition("=")[2])
            return
        try:
            self._add("text_link", opened, url=checked_link(url))
        except ValueError:
            return  # what is no link is shown as text, without a word

    def _take_url(self, what: str) -> str:
        self._at += 1
        begin = self._at
        found = re.compile(r"((?:\\[\x01-\x7e]|[^)])*)\)").match(self._source, self._at)
        if found is None:
            raise ValueError(f"Can't find end of {what} at byte offset {self._byte(begin)}")
        self._at = found.end()
        return re.sub(r"\\([\x01-\x7e])", r"\1", found[1])

    def _add(self, kind: str, opened: _Open, *, url: str = "", language: str = "", custom_emoji_id: str = "") -> None:
        if self._offset > opened.offset:
            entity = Entity(kind, opened.offset, self._offset - opened.offset, url=url, language=language)
            self._entities.append(msgspec.structs.replace(entity, custom_emoji_id=custom_emoji_id))

    @property
    def _quote(self) -> bool:
        return any(opened.marker == ">" for opened in self._open)

    @property
    def _in_code(self) -> bool:
        return bool(self._open) and self._open[-1].marker in ("`", "```")

    @property
    def _at_line_start(self) -> bool:
        return self._at == 0 or self._source[self._at - 1] == "\n"

    def _unclosed(self) -> ValueError:
        opened = self._open[-1]
        return ValueError(f"Can't find end of {_NAMES[opened.type]} entity at byte offset {opened.byte}")

    def _byte(self, at: int) -> int:
        return len(self._source[:at].encode())


def parse_markdown_v2(source: str) -> tuple[str, list[Entity]]:
    """The text without markers, and what they say. Raises `ValueError` in the words of the real server."""
    return _Parser(source).run()


_OLD_ESCAPE = re.compile(r"\\([_*`\[])")
_OLD = re.compile(r"(?P<marker>```|[_*`\[])")


def parse_markdown(source: str) -> tuple[str, list[Entity]]:
    """The old Markdown: nothing nests. Raises `ValueError` in the words of the real server."""
    plain: list[str] = []
    entities: list[Entity] = []
    offset = at = 0
    while at < len(source):
        escape, found = _OLD_ESCAPE.match(source, at), _OLD.match(source, at)
        if not found:
            text, at = (escape[1], at + 2) if escape else (source[at], at + 1)
        else:
            text, entity, at = _old_entity(source, at, found["marker"], offset)
            entities += [entity] if entity else []
        plain.append(text)
        offset += units(text)
    return "".join(plain), entities


def _old_entity(source: str, at: int, marker: str, offset: int) -> tuple[str, Entity | None, int]:
    """The text of an entity, the entity unless it is empty, and where the source goes on."""
    begin = at + len(marker)
    language = ""
    if marker == "```":
        language, begin = _old_language(source, begin)
    closing = "]" if marker == "[" else marker
    end = source.find(closing, begin)
    if end < 0:
        raise ValueError(f"Can't find end of the entity starting at byte offset {len(source[:at].encode())}")
    text, after = source[begin:end], end + len(closing)
    if marker == "[":
        return _old_link(source, text, after, offset)
    entity = Entity(_TYPES[marker], offset, units(text), language=language) if text else None
    return text, entity, after


def _old_language(source: str, at: int) -> tuple[str, int]:
    found = _LANGUAGE.match(source, at)
    language = found[1] if found else ""
    at += len(language)
    line_break = _LINE_BREAK.match(source, at)
    return language, at + (len(line_break[0]) if line_break else 0)


def _old_link(source: str, text: str, after: int, offset: int) -> tuple[str, Entity | None, int]:
    url = text
    if source.startswith("(", after):
        end = source.find(")", after)
        url, after = (source[after + 1 : end], end + 1) if end >= 0 else (source[after + 1 :], len(source))
    try:
        return text, Entity("text_link", offset, units(text), url=checked_link(url)) if text else None, after
    except ValueError:
        return text, None, after


def _reserved(character: str) -> ValueError:
    return ValueError(f"Character '{character}' is reserved and must be escaped with the preceding '\\'")
