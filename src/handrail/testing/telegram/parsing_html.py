"""The parse mode HTML: a handful of tags, and every mistake refused in the words of the real server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape

import msgspec

from handrail.testing.telegram.entities import Entity, units
from handrail.testing.telegram.links import checked_link

__all__ = ["parse_html"]

_STYLES = {
    **dict.fromkeys(("b", "strong"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("s", "strike", "del"), "strikethrough"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("tg-spoiler", "span"), "spoiler"),
}
_TAGS = {*_STYLES, "a", "pre", "code", "blockquote", "tg-emoji"}
_REFERENCE = re.compile(r"&(?:#[0-9]+|#x[0-9a-fA-F]+|lt|gt|amp|quot);?")
_NAME = re.compile(r"[^\s>]*")
_SPACE = re.compile(r"\s*")
_ATTRIBUTE_NAME = re.compile(r"[^\s=>/\"']*")
_NAME_TOKEN = re.compile(r"[A-Za-z0-9.\-]*")


@dataclass
class _Open:
    tag: str
    argument: str
    offset: int
    at: int
    """Where in the plain text it began."""


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
            if self._source[self._at] != "<":
                self._take_text()
            elif self._source.startswith("</", self._at):
                self._take_end_tag()
            else:
                self._take_start_tag()
        if self._open:
            raise ValueError(f'Can\'t find end tag corresponding to start tag "{self._open[-1].tag}"')
        return "".join(self._plain), self._entities

    def _take_text(self) -> None:
        reference = _REFERENCE.match(self._source, self._at)
        found = reference[0] if reference else self._source[self._at]
        self._at += len(found)
        text = _dereferenced(found)
        self._plain.append(text)
        self._offset += units(text)

    def _take_start_tag(self) -> None:
        begin = self._at
        tag = self._match(_NAME, begin + 1).lower()
        if self._ended:
            raise ValueError(f"Unclosed start tag at byte offset {self._byte(begin)}")
        if tag not in _TAGS:
            raise ValueError(f'Unsupported start tag "{tag}" at byte offset {self._byte(begin)}')
        argument = self._take_attributes(tag, begin)
        if tag == "span" and argument != "spoiler":
            raise ValueError(f'Tag "span" must have class "tg-spoiler" at byte offset {self._byte(begin)}')
        self._open.append(_Open(tag, argument, self._offset, len(self._plain)))

    def _take_attributes(self, tag: str, begin: int) -> str:
        """The one value that matters of a tag, up to and including its closing bracket."""
        argument = ""
        while True:
            self._match(_SPACE, self._at)
            if self._source.startswith(">", self._at):
                self._at += 1
                return argument
            name, value = self._take_attribute(tag, begin)
            argument = _argument(tag, name, value) or argument

    def _take_attribute(self, tag: str, begin: int) -> tuple[str, str]:
        name = self._match(_ATTRIBUTE_NAME, self._at)
        if not name:
            raise ValueError(f'Empty attribute name in the tag "{tag}" at byte offset {self._byte(begin)}')
        self._match(_SPACE, self._at)
        if self._ended:
            raise ValueError(f'Unclosed start tag "{tag}" at byte offset {self._byte(begin)}')
        if self._source[self._at] != "=":
            return name, ""
        self._match(_SPACE, self._at + 1)
        if self._ended:
            raise ValueError(f'Unclosed start tag "{tag}" at byte offset {self._byte(begin)}')
        value = self._take_value()
        if self._ended:
            raise ValueError(f"Unclosed start tag at byte offset {self._byte(begin)}")
        return name, value

    def _take_value(self) -> str:
        quote = self._source[self._at]
        if quote in "'\"":
            end = self._source.find(quote, self._at + 1)
            raw = self._source[self._at + 1 : end if end >= 0 else None]
            self._at = end + 1 if end >= 0 else len(self._source)
            return _REFERENCE.sub(lambda found: _dereferenced(found[0]), raw)
        start = self._at
        value = self._match(_NAME_TOKEN, start)
        if not self._ended and self._source[self._at] not in " \t\r\n>":
            raise ValueError(f"Unexpected end of name token at byte offset {self._byte(start)}")
        return value.lower()

    def _take_end_tag(self) -> None:
        begin = self._at
        if not self._open:
            raise ValueError(f"Unexpected end tag at byte offset {self._byte(begin)}")
        tag = self._match(_NAME, begin + 2).lower()
        self._match(_SPACE, self._at)
        if self._ended:
            raise ValueError(f"Unclosed end tag at byte offset {self._byte(begin)}")
        self._at += 1
        opened = self._open.pop()
        if tag and tag != opened.tag:
            where = f"Unmatched end tag at byte offset {self._byte(begin)}"
            raise ValueError(f'{where}, expected "</{opened.tag}>", found "</{tag}>"')
        if self._offset > opened.offset:
            self._close(opened)

    def _close(self, opened: _Open) -> None:
        entity = Entity("", opened.offset, self._offset - opened.offset)
        if opened.tag in _STYLES:
            self._add(entity, type=_STYLES[opened.tag])
        elif opened.tag == "a":
            self._add_link(entity, opened.argument or "".join(self._plain[opened.at :]))
        elif opened.tag == "blockquote":
            self._add(entity, type="expandable_blockquote" if opened.argument else "blockquote")
        elif opened.tag == "tg-emoji":
            if not opened.argument.isdigit():
                raise ValueError("Invalid custom emoji identifier specified")
            self._add(entity, type="custom_emoji", custom_emoji_id=opened.argument)
        else:
            self._add_code(entity, opened)

    def _add_code(self, entity: Entity, opened: _Open) -> None:
        """`<pre><code class="language-x">` is one block with a language, whichever of the two is outside."""
        last = self._entities[-1] if self._entities else None
        same = last is not None and (last.offset, last.length) == (entity.offset, entity.length)
        if same and last is not None and {last.type, opened.tag} == {"pre", "code"}:
            self._entities.pop()
            self._add(entity, type="pre", language=last.language or opened.argument)
        else:
            self._add(entity, type=opened.tag, language=opened.argument)

    def _add_link(self, entity: Entity, url: str) -> None:
        try:
            self._add(entity, type="text_link", url=checked_link(url))
        except ValueError:
            return  # what is no link is shown as text, without a word

    def _add(self, entity: Entity, **fields: str) -> None:
        self._entities.append(msgspec.structs.replace(entity, **fields))

    @property
    def _ended(self) -> bool:
        return self._at >= len(self._source)

    def _match(self, pattern: re.Pattern[str], at: int) -> str:
        found = pattern.match(self._source, at)
        text = found[0] if found else ""
        self._at = at + len(text)
        return text

    def _byte(self, at: int) -> int:
        return len(self._source[:at].encode())


def parse_html(source: str) -> tuple[str, list[Entity]]:
    """The text without tags, and what they say. Raises `ValueError` in the words of the real server."""
    text, entities = _Parser(source).run()
    return text, [_without_stray_language(entity) for entity in entities]


def _without_stray_language(entity: Entity) -> Entity:
    return msgspec.structs.replace(entity, language="") if entity.type == "code" else entity


def _argument(tag: str, name: str, value: str) -> str:
    match tag, name:
        case ("a", "href") | ("tg-emoji", "emoji-id"):
            return value
        case "code", "class":
            return value.removeprefix("language-") if value.startswith("language-") else ""
        case "span", "class":
            return value.removeprefix("tg-") if value.startswith("tg-") else ""
        case "blockquote", "expandable":
            return "1"
    return ""


def _dereferenced(found: str) -> str:
    return unescape(found if found.endswith(";") else f"{found};") if len(found) > 1 else found
