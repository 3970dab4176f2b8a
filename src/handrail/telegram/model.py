"""The words of the bridge: where something is written, what a message is to show, and what a button stands for."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, Literal, TypeAlias

import msgspec

from handrail.telegram.text.rich import EMPTY, RichText
from handrail.telegram.text.splitting import LONGEST_CAPTION, LONGEST_MESSAGE

__all__ = [
    "GONE",
    "RANKS",
    "Attachment",
    "Button",
    "ButtonStyle",
    "Content",
    "Keyboard",
    "Place",
    "Press",
    "Priority",
    "Role",
    "SentMessage",
    "User",
    "WantedMessage",
    "is_at_least",
]

Role: TypeAlias = Literal["viewer", "approver", "owner"]
"""As the hub's own roles: reads; also answers and sends; also starts, stops, and changes how sessions run."""
RANKS: Final[tuple[Role, ...]] = ("viewer", "approver", "owner")
"""From the least to the most."""
ButtonStyle: TypeAlias = Literal["", "primary", "success", "danger"]


class Place(msgspec.Struct, frozen=True, order=True):
    """A chat, or one topic of it (`thread`, 0 if there is none)."""

    chat: int
    thread: int = 0

    @property
    def is_private(self) -> bool:
        """Telegram numbers people from 1 up, groups and channels from -1 down."""
        return self.chat > 0

    def __str__(self) -> str:
        return f"{self.chat}/{self.thread}" if self.thread else str(self.chat)


class User(msgspec.Struct, frozen=True):
    """Somebody who may use the bridge."""

    id: int
    name: str
    role: Role = "owner"


def is_at_least(role: Role, needed: Role) -> bool:
    """Whether a role may do what another one may."""
    return RANKS.index(role) >= RANKS.index(needed)


class Priority(IntEnum):
    """What goes first when not everything may go at once."""

    ASK = 0
    """What needs a person, and that it does not any more."""
    REPLY = 1
    """What somebody just asked for."""
    ANSWER = 2
    """What Claude said when it was done."""
    PROGRESS = 3
    """What goes on: only the latest counts."""


class Button(msgspec.Struct, frozen=True, omit_defaults=True):
    """A button under a message: it carries a token that the bridge knows the meaning of, or opens an address."""

    text: str
    token: str = ""
    url: str = ""
    style: ButtonStyle = ""


Keyboard: TypeAlias = tuple[tuple[Button, ...], ...]


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file to send: its bytes, which the outbox keeps until they are sent."""

    name: str
    data: bytes
    kind: Literal["document", "photo"] = "document"


class Content(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a message shows. With an attachment, the text is its caption."""

    text: RichText = EMPTY
    buttons: Keyboard = ()
    attachment: Attachment | None = None
    reply_to: int = 0
    """The message in the same chat that it answers: used when it is sent first."""
    sound: bool = False
    """Whether the phone makes itself heard: only for what needs a person."""
    placeholder: str = ""
    """If not empty, the chat's input is opened as a reply to this message, with these words in it."""

    @property
    def longest_text(self) -> int:
        """How many units of text Telegram takes with it."""
        return LONGEST_MESSAGE if self.attachment is None else LONGEST_CAPTION


GONE = Content()
"""Of a message that is not to be there any more."""


class WantedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What a message is to show from now on. The outbox sends it, edits it, or takes it away (`GONE`).

    `key` names it for ever: whoever wants something else of the same key wants the same message changed. What was
    wanted in between and not sent yet is never sent.
    """

    key: str
    place: Place
    content: Content
    priority: Priority = Priority.REPLY
    session_id: str = ""
    """The session it speaks of: a reply to it goes there."""
    ask_id: str = ""
    """The ask it shows: a reply to it is an answer, by `purpose`."""
    purpose: str = ""
    """What a reply means, if more than one thing could be meant: `deny`, `revise`, `answer`, `field:NAME` …"""
    after: str = ""
    """The key of a message that must have been sent before: progress is taken away once the answer is there."""


class SentMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it stands in a chat; `message_id` is 0 while it is not sent."""

    key: str
    place: Place
    message_id: int = 0
    session_id: str = ""
    ask_id: str = ""
    purpose: str = ""
    content: Content = GONE


class Press(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a button stands for. Of asks: exactly what was shown (`digest`), and what is answered to it.

    `action` says who handles it and how: `ask:decide`, `ask:deny`, `ask:show`, `ask:step`, … or `command:NAME`.
    """

    action: str
    place: Place
    key: str = ""
    """The message it is under."""
    session_id: str = ""
    ask_id: str = ""
    digest: str = ""
    data: dict[str, Any] = {}
    """For `ask:decide` the answer as `encode_answer` writes it, under `answer`."""
