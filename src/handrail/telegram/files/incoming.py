"""What people send, as Claude takes it: pictures as image blocks, short texts as they are, other files by path."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

import msgspec

from handrail.errors import HandrailError
from handrail.telegram.incoming import NOT_FOR_CLAUDE, Message

__all__ = ["LARGEST_DOWNLOAD", "Incoming", "UnusableFile", "incoming_of", "picture_kind", "safe_name", "text_of"]

LARGEST_DOWNLOAD: Final = 20 * 1024 * 1024
"""What a bot may download; a Bot API server of one's own allows more, and the hub does not."""
LARGEST_PICTURE: Final = 5 * 1024 * 1024
LARGEST_TEXT: Final = 64 * 1024
"""What is put into the message itself."""

Kind: TypeAlias = Literal["photo", "document"]

_PICTURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_NOT_IN_NAMES: Final = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


class UnusableFile(HandrailError):
    """What was sent cannot be given to Claude; the message says why, and what to do."""


class Incoming(msgspec.Struct, frozen=True):
    """A file that waits to be downloaded. `size` is 0 if Telegram did not say."""

    kind: Kind
    file_id: str
    name: str
    size: int = 0


def incoming_of(message: Message) -> Incoming:
    """The file of a message. Raises `UnusableFile`."""
    if message.photo:
        largest = max(message.photo, key=lambda size: size.width * size.height)
        found = Incoming("photo", largest.file_id, f"photo-{message.message_id}.jpg", largest.file_size)
    elif message.document is not None:
        document = message.document
        found = Incoming("document", document.file_id, safe_name(document.file_name), document.file_size)
    else:
        what = next((words for kind, words in NOT_FOR_CLAUDE.items() if getattr(message, kind) is not None), "this")
        raise UnusableFile(f"Claude cannot be sent {what}: send text, a photo or a document.")
    if found.size > LARGEST_DOWNLOAD:
        megabytes = f"{found.size / 1024 / 1024:.0f} MB"
        raise UnusableFile(f"{found.name} has {megabytes}: a bot can fetch 20 MB at most. Put it there another way.")
    return found


def safe_name(name: str) -> str:
    """A file's name that is nothing but a name: no path, nothing hidden, nothing that turns writing round."""
    cleaned = _NOT_IN_NAMES.sub("-", re.split(r"[/\\]", name)[-1]).strip(" .")
    if len(cleaned.encode()) > 120:
        stem, dot, ending = cleaned.rpartition(".")
        kept = (stem or ending).encode()[:100].decode(errors="ignore")
        cleaned = f"{kept}{dot}{ending[:15]}" if stem else kept
    return cleaned or "file"


def picture_kind(data: bytes) -> str | None:
    """The media type of a picture that Claude can see, by its first bytes: names and claims do not count."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _PICTURES if data.startswith(beginning)), None)


def text_of(data: bytes) -> str | None:
    """A short file as text, if it is that."""
    if len(data) > LARGEST_TEXT or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def picture_block(data: bytes, media_type: str) -> dict[str, Any]:
    """A picture as a part of a message."""
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()},
    }


def text_block(name: str, text: str) -> dict[str, Any]:
    """A short file as a part of a message, between fences that its text does not contain."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return {"type": "text", "text": f"The file {name}:\n{fence}\n{text}\n{fence}"}


def path_blocks(paths: list[str]) -> Iterator[dict[str, Any]]:
    """Files that were put into the project, as a part of a message."""
    if paths:
        listed = "\n".join(f"- {path}" for path in paths)
        yield {"type": "text", "text": f"The user sent these files. They are in your working directory:\n{listed}"}
