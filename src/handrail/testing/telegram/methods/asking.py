"""Methods that answer people, and fetch what they sent."""

from __future__ import annotations

from typing import Any

from handrail.testing.telegram.api_errors import bad_request
from handrail.testing.telegram.entities import units
from handrail.testing.telegram.files import MOST_TO_DOWNLOAD
from handrail.testing.telegram.messages import CallbackAnswer
from handrail.testing.telegram.methods.calling import Call, Method, chat_of, json_of, message_of

__all__ = ["METHODS"]

_MOST_ANSWER = 200


def answer_callback_query(call: Call) -> bool:
    """A toast or an alert for whoever pressed a button."""
    text = call.parameters.text("text")
    if units(text) > _MOST_ANSWER:
        raise bad_request("MESSAGE_TOO_LONG")
    answer = CallbackAnswer(text, call.parameters.flag("show_alert"), call.parameters.text("url"))
    call.world.answer_press(call.parameters.text("callback_query_id"), answer)
    return True


def get_file(call: Call) -> dict[str, Any]:
    """Where a file can be had."""
    file_id = call.parameters.text("file_id")
    if not file_id:
        raise bad_request("file_id not specified")
    stored = call.world.files.find(file_id)
    if stored is None:
        raise bad_request("invalid file_id")
    if len(stored.data) > MOST_TO_DOWNLOAD:
        raise bad_request("file is too big")
    return {
        "file_id": stored.file_id,
        "file_unique_id": stored.unique_id,
        "file_size": len(stored.data),
        "file_path": stored.path,
    }


def set_message_reaction(call: Call) -> bool:
    """A small face under a message."""
    reaction = json_of(call, "reaction", "can't parse reaction types JSON object", [])
    if not isinstance(reaction, list):
        raise bad_request("expected an Array of ReactionType")
    message = message_of(call, chat_of(call), "message to react")
    message.reactions = [str(entry.get("emoji", "")) for entry in reaction if isinstance(entry, dict)]
    call.world.notify()
    return True


METHODS: dict[str, Method] = {
    "answerCallbackQuery": answer_callback_query,
    "getFile": get_file,
    "setMessageReaction": set_message_reaction,
}
