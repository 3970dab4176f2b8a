"""Texts as a call gives them: with entities, or with a parse mode; checked, cleaned and cut as the server does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from handrail.testing.telegram.api_errors import bad_request
from handrail.testing.telegram.detecting import detected
from handrail.testing.telegram.entities import MOST_ENTITIES, Entity, nested, tidied
from handrail.testing.telegram.fields import needed_number, needed_object, needed_text, object_of, text_in
from handrail.testing.telegram.links import checked_link
from handrail.testing.telegram.parsing_html import parse_html
from handrail.testing.telegram.parsing_markdown import parse_markdown, parse_markdown_v2
from handrail.testing.telegram.requests import Parameters

__all__ = ["FormattedText", "formatted", "read_formatted"]

_LONGEST = 1 << 15
_MOST_ENTITY_BYTES = 9500
"""Counted with their addresses and languages."""
_PARSERS: dict[str, Callable[[str], tuple[str, list[Entity]]]] = {
    "html": parse_html,
    "markdown": parse_markdown,
    "markdownv2": parse_markdown_v2,
}
_BARE = frozenset(
    ("bold", "italic", "underline", "strikethrough", "spoiler", "code", "blockquote", "expandable_blockquote")
)
_FOUND_BY_TELEGRAM = frozenset(
    ("mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number")
)
"""Nobody can mark these by hand: the server finds them itself, and leaves out what a bot says of them."""


class FormattedText(NamedTuple):
    """A text and what is marked in it."""

    text: str
    entities: list[Entity]
    dropped: int = 0
    """How many entities were too many: the server leaves them out without a word."""


def read_formatted(parameters: Parameters, words: str, marks: str) -> FormattedText:
    """The text of a call, from the parameters of these names."""
    try:
        raw = parameters.json(marks, [])
    except ValueError:
        raw = []  # the real server does not mind entities that are not JSON
    return formatted(parameters.text(words), parameters.text("parse_mode"), raw)


def formatted(text: str, parse_mode: str, raw_entities: Any) -> FormattedText:
    """A text as it will stand in the chat. Raises `ApiError` in the words of the real server."""
    if len(text.encode("utf-8", "surrogatepass")) > _LONGEST:
        raise bad_request("text is too long")
    mode = parse_mode.lower()
    if text and mode not in ("", "none"):
        if mode not in _PARSERS:
            raise bad_request("unsupported parse_mode")
        text, entities = _parsed(text, mode)
    else:
        entities = _read_entities(raw_entities)
    text, entities = tidied(text, entities)
    return _limited(text, entities)


def _parsed(text: str, mode: str) -> tuple[str, list[Entity]]:
    try:
        return _PARSERS[mode](text)
    except ValueError as error:
        raise bad_request(f"can't parse entities: {error}") from error


def _read_entities(raw: Any) -> list[Entity]:
    if not isinstance(raw, list):
        return []
    try:
        read = [_read_entity(entity) for entity in raw]
    except ValueError as error:
        raise bad_request(f"can't parse MessageEntity: {error}") from error
    return [_with_link(entity) for entity in read if entity is not None]


def _read_entity(given: Any) -> Entity | None:
    raw = object_of(given)
    offset, length = needed_number(raw, "offset"), needed_number(raw, "length")
    kind = needed_text(raw, "type")
    if kind in _FOUND_BY_TELEGRAM:
        return None
    entity = Entity(kind, offset, length)
    match kind:
        case "text_link":
            return msgspec.structs.replace(entity, url=needed_text(raw, "url"))
        case "text_mention":
            user = needed_object(raw, "user")
            needed_number(user, "id")
            return msgspec.structs.replace(entity, user=user)
        case "custom_emoji":
            return msgspec.structs.replace(entity, custom_emoji_id=str(needed_number(raw, "custom_emoji_id")))
        case "date_time":
            unix_time, form = needed_number(raw, "unix_time"), text_in(raw, "date_time_format")
            return msgspec.structs.replace(entity, unix_time=unix_time, date_time_format=form)
        case "pre":
            return msgspec.structs.replace(entity, language=text_in(raw, "language"))
    if kind not in _BARE:
        raise ValueError("Unsupported type specified" if kind else "Type is not specified")
    return entity


def _with_link(entity: Entity) -> Entity:
    if entity.type != "text_link":
        return entity
    try:
        return msgspec.structs.replace(entity, url=checked_link(entity.url))
    except ValueError as error:
        raise bad_request(f"entity {error}") from error


def _limited(text: str, entities: list[Entity]) -> FormattedText:
    if sum(12 + len(entity.url.encode()) + len(entity.language.encode()) for entity in entities) > _MOST_ENTITY_BYTES:
        raise bad_request("ENTITIES_TOO_LONG")
    kept = _most_important(entities)
    found = [entity for entity in detected(text) if not any(_hides(own, entity) for own in kept)]
    return FormattedText(text, nested([*kept, *found]), len(entities) - len(kept))


def _most_important(entities: list[Entity]) -> list[Entity]:
    """At most as many as the server takes: styles go first."""
    styles = ("bold", "italic", "underline", "strikethrough", "spoiler")
    ranked = sorted(entities, key=lambda entity: entity.type in styles)
    return nested(ranked[:MOST_ENTITIES])


def _hides(own: Entity, found: Entity) -> bool:
    """Links and commands are not looked for in code and links."""
    solid = own.type in ("code", "pre", "text_link", "text_mention", "custom_emoji")
    return solid and own.offset < found.end and found.offset < own.end
