"""Answers that are too long for a message: the text of a file that somebody sent as a reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.rendering.amounts import size
from handrail.telegram.asks.not_understood import NotUnderstood
from handrail.telegram.asks.words import in_short
from handrail.telegram.incoming import Document, Message

__all__ = ["LARGEST_ANSWER", "answer_file", "text_in"]

LARGEST_ANSWER: Final = 64 * 1024
ENDINGS: Final = (".md", ".markdown", ".txt")
TEXT_ONLY: Final = (
    "an answer is text: write it, or send it as a text file (.md or .txt) if it is long. "
    "What Claude is to see, send without replying to what it asked"
)


def answer_file(messages: Sequence[Message]) -> Document:
    """The file that is an answer. Raises `NotUnderstood` if it cannot be one."""
    documents = [message.document for message in messages if message.document is not None]
    if len(messages) > 1 and documents:
        raise NotUnderstood("an answer is one file: send one of them")
    if not documents or not documents[0].file_name.lower().endswith(ENDINGS):
        raise NotUnderstood(TEXT_ONLY)
    _check_size(documents[0].file_name, documents[0].file_size)
    return documents[0]


def text_in(name: str, data: bytes) -> str:
    """What is written in it. Raises `NotUnderstood` if that is nothing, too much, or no text."""
    _check_size(name, len(data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotUnderstood(f"{in_short(name, 60)} is no text in UTF-8: save it as that") from None
    if "\0" in text:
        raise NotUnderstood(f"{in_short(name, 60)} is no text")
    if not text.strip():
        raise NotUnderstood(f"{in_short(name, 60)} is empty")
    return text


def _check_size(name: str, length: int) -> None:
    if length > LARGEST_ANSWER:
        raise NotUnderstood(
            f"{in_short(name, 60)} has {size(length)}: a file with an answer has {size(LARGEST_ANSWER)} at most"
        )
