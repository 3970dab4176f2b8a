"""Keyboards: read, checked, and described again."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.testing.telegram.api_errors import bad_request
from handrail.testing.telegram.fields import needed_text, object_of, text_in
from handrail.testing.telegram.links import checked_link
from handrail.testing.telegram.requests import Parameters

__all__ = ["Button", "Markup", "keyboard_json", "read_markup"]

_STYLES = frozenset({"", "primary", "success", "danger"})
_MOST_DATA = 64
_MOST_BUTTONS = 100
_MOST_BYTES = 10_000
_OTHER_KINDS = frozenset(
    ("callback_game", "pay", "switch_inline_query", "switch_inline_query_chosen_chat", "login_url", "web_app")
) | {"switch_inline_query_current_chat", "copy_text"}
_OTHER_MARKUP = frozenset({"keyboard", "remove_keyboard", "force_reply"})


class Button(msgspec.Struct, frozen=True):
    """A button under a message."""

    text: str
    data: str = ""
    url: str = ""
    style: str = ""
    raw: dict[str, Any] = {}
    """All of it as the API describes it."""


class Markup(msgspec.Struct, frozen=True):
    """What a `reply_markup` asks for: buttons under the message, or something that happens to the chat's input."""

    buttons: list[list[Button]] = []
    other: dict[str, Any] = {}


def read_markup(parameters: Parameters) -> Markup:
    """The keyboard of a call. Raises `ApiError` in the words of the real server."""
    try:
        raw = parameters.json("reply_markup", {})
    except ValueError as error:
        raise bad_request("can't parse reply keyboard markup JSON object") from error
    if not isinstance(raw, dict):
        raise bad_request("object expected as reply markup")
    if raw.get("inline_keyboard") is None:
        return Markup(other=raw if _OTHER_MARKUP & raw.keys() else {})
    return Markup(buttons=_inline(raw["inline_keyboard"]))


def keyboard_json(rows: list[list[Button]]) -> list[list[dict[str, Any]]]:
    """As the API describes a keyboard."""
    return [[button.raw for button in row] for row in rows]


def _inline(rows: Any) -> list[list[Button]]:
    if not isinstance(rows, list):
        raise bad_request('field "inline_keyboard" must be of type Array')
    if not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    try:
        read = [[_button(raw) for raw in row] for row in rows]
    except ValueError as error:
        raise bad_request(f"can't parse inline keyboard button: {error}") from error
    # A button without a text is left out, and so is a row that has no other: the real server says nothing of it.
    keyboard = [shown for row in read if (shown := [_checked(button) for button in row if button.text])]
    if sum(map(len, keyboard)) > _MOST_BUTTONS or len(msgspec.json.encode(rows)) > _MOST_BYTES:
        raise bad_request("REPLY_MARKUP_TOO_LONG")
    return keyboard


def _button(given: Any) -> Button:
    raw = object_of(given, "InlineKeyboardButton must be an Object")
    text = needed_text(raw, "text")
    url, data = text_in(raw, "url"), text_in(raw, "callback_data")
    if not url and not data and not _OTHER_KINDS & raw.keys():
        raise ValueError("Text buttons are unallowed in the inline keyboard")
    return Button(text, "" if url else data, url, text_in(raw, "style"), raw)


def _checked(button: Button) -> Button:
    """What only the servers behind the Bot API look at."""
    if len(button.data.encode()) > _MOST_DATA:
        raise bad_request("BUTTON_DATA_INVALID")
    if button.style not in _STYLES:
        raise bad_request("can't parse inline keyboard button: invalid button style specified")
    if not button.url:
        return button
    try:
        url = checked_link(button.url)
    except ValueError as error:
        raise bad_request(f"inline keyboard button {error}") from error
    return msgspec.structs.replace(button, url=url, raw={**button.raw, "url": url})
