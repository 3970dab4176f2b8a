"""Pictures for Claude: read from files, checked, and put beside the prompt."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from handrail.errors import InvalidOptions

__all__ = ["LARGEST_IMAGE", "content_with_images"]

LARGEST_IMAGE = 5 * 1024 * 1024
"""What the API takes of one picture."""
MOST_IMAGES = 20

_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def content_with_images(prompt: str, paths: Sequence[Path]) -> str | list[dict[str, Any]]:
    """The content of a message: the pictures, then the prompt. Raises `InvalidOptions` for what is no picture."""
    if not paths:
        return prompt
    if len(paths) > MOST_IMAGES:
        raise InvalidOptions(f"{len(paths)} pictures are too many for one message: at most {MOST_IMAGES}")
    return [*map(_image_block, paths), {"type": "text", "text": prompt}]


def _image_block(path: Path) -> dict[str, Any]:
    data = _read(path)
    kind = _kind_of(data)
    if kind is None:
        raise InvalidOptions(f"{path} is no png, jpeg, gif or webp: convert it to one of them")
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode("ascii")}
    return {"type": "image", "source": source}


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_IMAGE + 1)
    except OSError as error:
        raise InvalidOptions(f"the picture {path} cannot be read: {error.strerror or error}") from None
    if len(data) > LARGEST_IMAGE:
        raise InvalidOptions(
            f"{path} is larger than {LARGEST_IMAGE // 1024 // 1024} MB, which the API refuses: shrink it"
        )
    return data


def _kind_of(data: bytes) -> str | None:
    """By what is in it: names lie, and the API refuses a picture that is not what it is said to be."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begins, kind in _KINDS if data.startswith(begins)), None)
