"""Text with entities, as Telegram takes it: offsets and lengths are counted in UTF-16 code units."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

__all__ = [
    "EMPTY",
    "Entity",
    "EntityKind",
    "RichText",
    "bold",
    "code",
    "italic",
    "joined",
    "mention",
    "plain",
    "pre",
    "styled",
    "utf16_length",
]

EntityKind: TypeAlias = Literal[
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "code",
    "pre",
    "text_link",
    "text_mention",
    "blockquote",
    "expandable_blockquote",
]


def utf16_length(text: str) -> int:
    """How long Telegram finds a text."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class Entity(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a part of a text looks. `url` belongs to a `text_link`, `language` to a `pre`, `user` to a `text_mention`."""

    kind: EntityKind
    offset: int
    length: int
    url: str = ""
    language: str = ""
    user: int = 0


class RichText(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text and how its parts look. Added up, it stays what it was."""

    text: str = ""
    entities: tuple[Entity, ...] = ()

    @property
    def length(self) -> int:
        return utf16_length(self.text)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __add__(self, other: RichText | str) -> RichText:
        behind = plain(other) if isinstance(other, str) else other
        shift = self.length
        moved = tuple(msgspec.structs.replace(entity, offset=entity.offset + shift) for entity in behind.entities)
        return RichText(self.text + behind.text, self.entities + moved)


EMPTY = RichText()


def plain(text: str) -> RichText:
    """A text without any looks."""
    return RichText(text)


def styled(text: str, kind: EntityKind, *, url: str = "", language: str = "") -> RichText:
    """A text that looks the same all over; an empty one has no looks."""
    length = utf16_length(text)
    return RichText(text, (Entity(kind, 0, length, url, language),) if length else ())


def bold(text: str) -> RichText:
    return styled(text, "bold")


def italic(text: str) -> RichText:
    return styled(text, "italic")


def code(text: str) -> RichText:
    return styled(text, "code")


def pre(text: str, language: str = "") -> RichText:
    return styled(text, "pre", language=language)


def mention(name: str, user: int) -> RichText:
    """Somebody's name. Their phone shows that they are meant."""
    return RichText(name, (Entity("text_mention", 0, utf16_length(name), user=user),) if name else ())


def joined(parts: Iterable[RichText | str], between: str = "") -> RichText:
    """Several texts one behind the other."""
    texts: list[str] = []
    entities: list[Entity] = []
    length, gap = 0, utf16_length(between)
    for number, part in enumerate(parts):
        if number:
            texts.append(between)
            length += gap
        rich = plain(part) if isinstance(part, str) else part
        entities += (msgspec.structs.replace(entity, offset=entity.offset + length) for entity in rich.entities)
        texts.append(rich.text)
        length += rich.length
    return RichText("".join(texts), tuple(entities))
