"""Messages to Claude as rows of the conversation."""

from __future__ import annotations

from typing import Any

from handrail.events.view import PromptItem
from handrail.policy.describing.json_text import json_text
from handrail.server.showing.images import image_reference, images_in
from handrail.server.showing.pieces import Pieces
from handrail.server.showing.strings import line, words

__all__ = ["prompt_row"]


def prompt_row(item: PromptItem, *, session_id: str, pieces: Pieces | None = None) -> dict[str, Any]:
    """The row of a message, but for its key and parent."""
    made = pieces or Pieces(0)
    return {
        "type": "prompt",
        "seq": item.seq,
        "at": item.at,
        "run": item.run,
        "text": words(item.text),
        "html": (made.typed(item.text) if item.text.strip() else "") + _others(item.content, made),
        "images": [image_reference(image, item.seq, session_id) for image in images_in(item.content)],
        "uuid": item.uuid,
        "state": item.state,
        "by": line(item.by),
        "surface": line(item.surface),
        "reason": words(item.reason),
    }


def _others(content: Any, pieces: Pieces) -> str:
    """Blocks that are neither text nor an image that is shown, such as documents."""
    blocks = content if isinstance(content, list | tuple) else ()
    others = [block for block in blocks if not _is_shown(block)]
    return "".join(pieces.code(json_text(block), "json", shown=5) for block in others)


def _is_shown(block: Any) -> bool:
    if isinstance(block, str):
        return False
    text = isinstance(block, dict) and isinstance(block.get("text"), str)
    return text or any(images_in([block]))
