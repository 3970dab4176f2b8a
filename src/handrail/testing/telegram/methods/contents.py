"""What messages are made of: texts, captions and files, checked as the real server checks them."""

from __future__ import annotations

from typing import Any

from handrail.testing.telegram.api_errors import ApiError, bad_request
from handrail.testing.telegram.entities import MOST_CAPTION, MOST_TEXT, units
from handrail.testing.telegram.fields import needed_text, object_of, text_in
from handrail.testing.telegram.files import MOST_TO_UPLOAD, image_size
from handrail.testing.telegram.formatting import FormattedText, formatted, read_formatted
from handrail.testing.telegram.messages import Media
from handrail.testing.telegram.methods.calling import Call
from handrail.testing.telegram.requests import Upload

__all__ = ["KINDS", "caption_of", "input_media", "media_of", "text_of"]

KINDS = ("photo", "document", "video", "audio", "voice", "animation")
_MOST_PHOTO = 10 << 20
_MOST_SIDES = 10_000
_MOST_RATIO = 20


def text_of(call: Call) -> FormattedText:
    """The text of a message."""
    if not call.parameters.text("text"):
        raise bad_request("message text is empty")
    text = read_formatted(call.parameters, "text", "entities")
    if not text.text:
        raise bad_request("text must be non-empty")
    if units(text.text) > MOST_TEXT:
        raise bad_request("message is too long")
    return text


def caption_of(call: Call) -> FormattedText:
    """The caption of a file."""
    return _checked_caption(read_formatted(call.parameters, "caption", "caption_entities"))


def media_of(call: Call, kind: str) -> Media:
    """The file of a call: uploaded with it, or one that the server has already."""
    given = call.parameters.text(kind)
    uploaded = call.parameters.files.get(_attached(given) or kind)
    if uploaded is not None:
        return _uploaded(call, kind, uploaded)
    if not given or _attached(given):
        raise bad_request(f"there is no {kind} in the request")
    return Media(kind, call.world.files.by_id(given))


def input_media(call: Call, raw: Any, *, in_album: bool) -> tuple[Media, FormattedText]:
    """One file of an album, or one that takes another's place, with its caption."""
    try:
        return _input_media(call, raw, in_album=in_album)
    except ValueError as error:
        raise bad_request(f"can't parse InputMedia: {error}") from error


def _input_media(call: Call, entry: Any, *, in_album: bool) -> tuple[Media, FormattedText]:
    raw = object_of(entry)
    caption = formatted(text_in(raw, "caption"), text_in(raw, "parse_mode"), raw.get("caption_entities"))
    given = text_in(raw, "media")
    uploaded = call.parameters.files.get(_attached(given))
    if not given or (_attached(given) and uploaded is None):
        raise ValueError("media not found")
    kind = needed_text(raw, "type")
    if in_album and kind == "animation":
        raise ValueError(f'type "{kind}" can\'t be used in sendMediaGroup')
    if kind not in KINDS or kind == "voice":
        raise ValueError(f'type "{kind}" is unsupported')
    media = _uploaded(call, kind, uploaded) if uploaded else Media(kind, call.world.files.by_id(given))
    return media, _checked_caption(caption)


def _attached(given: str) -> str:
    """The name of the part of the form that a file is in."""
    return given.removeprefix("attach://") if given.startswith("attach://") else ""


def _checked_caption(caption: FormattedText) -> FormattedText:
    if units(caption.text) > MOST_CAPTION:
        raise bad_request("message caption is too long")
    return caption


def _uploaded(call: Call, kind: str, upload: Upload) -> Media:
    size = len(upload.data)
    if size == 0:
        raise bad_request("file must be non-empty")
    if size > MOST_TO_UPLOAD:
        raise ApiError(413, "Request Entity Too Large")
    if kind == "photo":
        _check_photo(upload)
    return call.world.media(kind, upload.data, upload.name, upload.mime)


def _check_photo(upload: Upload) -> None:
    size = len(upload.data)
    if size > _MOST_PHOTO:
        raise bad_request(f'file "{upload.name}" of size {size} bytes is too big for a photo')
    sides = image_size(upload.data)
    if sides is None:
        raise bad_request("IMAGE_PROCESS_FAILED")
    if sum(sides) > _MOST_SIDES or max(sides) > _MOST_RATIO * max(min(sides), 1):
        raise bad_request("PHOTO_INVALID_DIMENSIONS")
