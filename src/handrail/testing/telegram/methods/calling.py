"""What a method is given, and what most of them read from it: the chat, the topic, what is replied to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from handrail.testing.telegram.api_errors import bad_request
from handrail.testing.telegram.chats import Chat
from handrail.testing.telegram.fields import needed_number, object_of, text_in
from handrail.testing.telegram.messages import Message
from handrail.testing.telegram.requests import Parameters
from handrail.testing.telegram.world import World

__all__ = ["Call", "Method", "Reply", "chat_of", "json_of", "message_ids", "message_of", "reply_of", "thread_of"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method: what it says, and the world it is about."""

    method: str
    parameters: Parameters
    world: World


Method: TypeAlias = Callable[[Call], Any]
"""Does what a call asks and returns the result as JSON. Raises `ApiError` before anything is changed."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call replies to, as it says it."""

    message_id: int = 0
    may_be_absent: bool = False
    quote: str = ""

    def find(self, chat: Chat) -> Message | None:
        """The message. Raises `ApiError` if it is not there, unless that was allowed."""
        found = chat.message(self.message_id) if self.message_id > 0 else None
        if found is None and self.message_id > 0 and not self.may_be_absent:
            raise bad_request("message to be replied not found")
        if found is not None and self.quote not in found.text:
            raise bad_request("QUOTE_TEXT_INVALID")
        return found


def chat_of(call: Call, name: str = "chat_id") -> Chat:
    """The chat a call writes to."""
    given = call.parameters.text(name).strip()
    if not given:
        raise bad_request(f"{name} is empty" if name == "chat_id" else f'parameter "{name}" is required')
    return call.world.writable_chat(call.parameters.number(name))


def thread_of(call: Call, chat: Chat) -> int:
    """The topic a call writes to. The general topic of a forum has no number here, although it is topic 1."""
    thread = call.parameters.number("message_thread_id")
    if thread == 0:
        return 0
    topic = chat.topics.get(thread)
    if topic is None:
        raise bad_request("message thread not found")
    if topic.is_closed and not chat.bot_is_admin:
        raise bad_request("TOPIC_CLOSED")
    return thread


def json_of(call: Call, name: str, problem: str, default: Any = None) -> Any:
    """A parameter that is JSON; `problem` is what the real server says if it is not."""
    try:
        return call.parameters.json(name, default)
    except ValueError as error:
        raise bad_request(problem) from error


def reply_of(call: Call) -> Reply:
    """What a call replies to, in today's form or in the old one."""
    parameters = call.parameters
    if "reply_parameters" not in parameters:
        return Reply(parameters.number("reply_to_message_id"), parameters.flag("allow_sending_without_reply"))
    given = json_of(call, "reply_parameters", "can't parse reply parameters JSON object", {})
    try:
        return _reply(object_of(given, "Object expected as reply parameters"))
    except ValueError as error:
        words = str(error)
        raise bad_request(words[:1].lower() + words[1:]) from error


def _reply(raw: dict[str, Any]) -> Reply:
    if not raw:
        return Reply()
    may_be_absent = bool(raw.get("allow_sending_without_reply"))
    return Reply(needed_number(raw, "message_id"), may_be_absent, text_in(raw, "quote"))


def message_of(call: Call, chat: Chat, purpose: str) -> Message:
    """The message a call names; `purpose` says what for: `message to edit`, `message to delete` …"""
    found = chat.message(call.parameters.number("message_id"))
    if found is None:
        raise bad_request(f"{purpose} not found")
    return found


def message_ids(call: Call) -> list[int]:
    """The messages that a call names, 1 to 100 of them."""
    given = json_of(call, "message_ids", "can't parse message_ids JSON object", [])
    if not given:
        raise bad_request("message identifiers are not specified")
    if not isinstance(given, list):
        raise bad_request("expected an Array of message identifiers")
    if len(given) > 100:
        raise bad_request("too many message identifiers specified")
    return [_message_id(id) for id in given]


def _message_id(given: Any) -> int:
    if not isinstance(given, int | str):
        raise bad_request("message identifier must be a Number")
    try:
        number = int(given)
    except ValueError as error:
        raise bad_request("can't parse message identifier as Number") from error
    if number <= 0:
        raise bad_request("invalid message identifier specified")
    return number
