"""Messages to Claude: send them, take back or hurry those that wait."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from handrail.errors import ControlError
from handrail.server.api.wishes import image_block
from handrail.server.calls import Body, Call, Nothing
from handrail.server.hub import Hub
from handrail.server.problems import Problem
from handrail.server.roles import Role
from handrail.store.base import MessageState

__all__ = ["cancel", "role_for_message", "send", "send_now"]

WAITING: tuple[MessageState, ...] = ("queued", "sent")

_COMMAND: Final = re.compile(r"[\s\ufeff]*/([\w:-]+)(?:[\s\ufeff]|$)")
ABOUT_THE_CONVERSATION: Final = frozenset({"compact", "context", "cost", "usage"})
"""Commands that look at the conversation or shorten it. Others choose models and modes, write settings, switch servers
on and off, or bring permissions of their own along."""


class Message(Body, frozen=True):
    """A message. With the same `uuid` it is the same message, and is sent once."""

    content: Annotated[
        str | list[dict[str, Any]], Meta(description="Text, or content blocks of the types text and image.")
    ]
    uuid: (
        Annotated[
            str,
            Meta(pattern=r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"),
        ]
        | None
    ) = None
    resume: Annotated[bool, Meta(description="Whether a session that has ended is resumed for it.")] = True


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """The message is stored, and on its way."""

    uuid: str


async def send(hub: Hub, call: Call[Message, Nothing]) -> Sent:
    """Send a message to a session. One that has ended is resumed for it."""
    message = call.body
    content = _checked(message.content)
    call.note(message.uuid)
    call.caller.check(role_for_message(content), "this command")
    await hub.session(call.id).row()
    uuid = await hub.session(call.id).send(content, actor=call.caller.actor, uuid=message.uuid, resume=message.resume)
    return Sent(uuid=uuid)


def role_for_message(content: str | list[dict[str, Any]]) -> Role:
    """The least role that may send this: a command of Claude Code's can do what only an owner may do."""
    texts = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
    commands = (found[1] for text in texts if (found := _COMMAND.match(text)))
    return "approver" if all(command in ABOUT_THE_CONVERSATION for command in commands) else "owner"


def _checked(content: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Content that Claude Code takes: whatever else it would do with a block is not for a page to ask."""
    if isinstance(content, str):
        if not content.strip():
            raise Problem("invalid", "the message is empty: write something")
        return content
    blocks = [_block(block) for block in content]
    if not blocks:
        raise Problem("invalid", "the message is empty: write something")
    return blocks


def _block(block: dict[str, Any]) -> dict[str, Any]:
    match block:
        case {"type": "text", "text": str(text), **rest} if not rest:
            return {"type": "text", "text": text}
        case {"type": "image", "source": {"type": "base64", "media_type": str(media_type), "data": str(data)}}:
            if media_type not in ("image/png", "image/jpeg", "image/gif", "image/webp"):
                raise Problem("invalid", "an image is of the type png, jpeg, gif or webp")
            return image_block(media_type, data)
    raise Problem("invalid", "a content block is {type: text, text} or {type: image, source: {type: base64, …}}")


async def cancel(hub: Hub, call: Call[None, Nothing]) -> None:
    """Take back a message that Claude has not begun with."""
    await _check_waiting(hub, call)
    try:
        reply = await hub.session(call.id).control("cancel_async_message", message_uuid=call.path["uuid"])
    except ControlError as error:
        raise Problem("message_not_queued", f"this Claude Code cannot take a message back: {error}") from None
    if not reply.get("cancelled"):
        raise Problem("message_not_queued", "Claude has begun with this message: interrupt it instead")


async def send_now(hub: Hub, call: Call[None, Nothing]) -> None:
    """Interrupt what runs, so that Claude begins with what waits."""
    await _check_waiting(hub, call)
    await hub.session(call.id).interrupt()


async def _check_waiting(hub: Hub, call: Call[None, Nothing]) -> None:
    await hub.session(call.id).row()
    uuid = call.path["uuid"]
    call.note(uuid)
    if not any(row.uuid == uuid for row in await hub.store.messages(call.id, states=WAITING)):
        raise Problem("message_not_queued", "this message does not wait any more, or never did")
