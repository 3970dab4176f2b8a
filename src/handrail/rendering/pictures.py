"""Images from elsewhere: only those that are what they say, and only kinds that hold no program."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from handrail.rendering.amounts import size
from handrail.rendering.marks import line_html

__all__ = ["IMAGE_TYPES", "decoded_image", "is_image", "not_shown_html", "picture_html"]

_STARTS: Mapping[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
"""The images that are shown, and how each begins. An SVG is a program, and is not among them."""
IMAGE_TYPES = frozenset(_STARTS)
_ENOUGH = 24
"""So many characters of base64 hold the beginning of any of these images."""


def is_image(media_type: str, data: str) -> bool:
    """Whether `data` (base64) begins as an image of this type does."""
    try:
        start = base64.b64decode(data[:_ENOUGH], validate=True)
    except (binascii.Error, ValueError):
        return False
    return start.startswith(_STARTS.get(media_type, ()))


def decoded_image(media_type: str, data: str) -> bytes | None:
    """The bytes of an image; None if it is none that can be shown."""
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if decoded.startswith(_STARTS.get(media_type, ())) else None


def picture_html(media_type: str, data: str) -> str:
    """An image inside of the page, if it is one."""
    decoded = decoded_image(media_type, data)
    if decoded is None:
        return not_shown_html(media_type, data)
    encoded = base64.b64encode(decoded).decode()
    return f'<img alt="{media_type}" src="data:{media_type};base64,{encoded}">'


def not_shown_html(media_type: str, data: str) -> str:
    """The words in place of what is not shown."""
    return f'<p class="quiet">({line_html(media_type)}, {size(len(data) * 3 // 4)}: not shown)</p>'
