"""Images of messages and of tools' results: named by the event they are in, served only if they are what they say."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from handrail.events.model import Action, Event, Prompt
from handrail.rendering.pictures import decoded_image, is_image

__all__ = ["Image", "image_in", "image_reference", "image_seq", "images_in"]

_NAME = re.compile(r"([1-9][0-9]{0,15})-[0-9a-f]{64}")


class Image(NamedTuple):
    """An image, in base64."""

    media_type: str
    data: str


def images_in(content: Any) -> Iterator[Image]:
    """The images of a message's or a result's content."""
    for block in content if isinstance(content, list | tuple) else ():
        if not isinstance(block, dict):
            continue
        source = block.get("source")
        if block.get("type") == "image" and isinstance(source, dict):
            media_type, data = source.get("media_type"), source.get("data")
            if isinstance(media_type, str) and isinstance(data, str) and is_image(media_type, data):
                yield Image(media_type, data)


def image_reference(image: Image, seq: int, session_id: str) -> dict[str, str]:
    """Where the page finds the image: an address of the API, or the image itself if there is no session."""
    if session_id:
        src = f"/api/sessions/{session_id}/images/{_name(image, seq)}"
    else:
        src = f"data:{image.media_type};base64,{image.data}"
    return {"src": src, "alt": f"Image ({image.media_type.removeprefix('image/').upper()})"}


def image_seq(name: str) -> int | None:
    """The number of the event that an image is in; None for what names no image."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found is not None else None


def image_in(event: Event, name: str) -> tuple[str, bytes] | None:
    """The type and the bytes of the image of this name; None if the event has none, or it is not what it says."""
    for image in images_in(_content(event)):
        if _name(image, event.seq) == name and (decoded := decoded_image(*image)) is not None:
            return image.media_type, decoded
    return None


def _content(event: Event) -> Any:
    match event:
        case Prompt(content=content):
            return content
        case Action(detail=detail):
            return detail.get("content")
    return None


def _name(image: Image, seq: int) -> str:
    return f"{seq}-{hashlib.sha256(image.data.encode()).hexdigest()}"
