"""What Telegram tells the bridge, as far as it matters: updates, decoded leniently from what came over the wire."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from handrail.telegram.model import Place

__all__ = [
    "ALLOWED_UPDATES",
    "NOT_FOR_CLAUDE",
    "CallbackQuery",
    "Chat",
    "Document",
    "Membership",
    "MembershipChange",
    "Message",
    "PhotoSize",
    "Sender",
    "Update",
    "decode_update",
]

ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")
"""The kinds of updates that the bridge asks for."""


NOT_FOR_CLAUDE: Final = {
    "voice": "a voice message",
    "audio": "a sound",
    "video": "a video",
    "video_note": "a video message",
    "sticker": "a sticker",
    "contact": "a contact",
    "location": "a place",
    "poll": "a poll",
    "dice": "dice",
}
"""What people may send besides text, pictures and documents, by the names of the fields."""


class Sender(msgspec.Struct, frozen=True):
    """Who wrote it."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.first_name, self.last_name))) or self.username or str(self.id)


class Chat(msgspec.Struct, frozen=True):
    """Where it was written."""

    id: int
    type: str = "private"
    title: str = ""


class MessageEntity(msgspec.Struct, frozen=True):
    """How a part of a text is meant: offsets count UTF-16 units."""

    type: str
    offset: int
    length: int
    user: Sender | None = None


class PhotoSize(msgspec.Struct, frozen=True):
    """A picture in one of its sizes."""

    file_id: str
    file_unique_id: str = ""
    width: int = 0
    height: int = 0
    file_size: int = 0


class Document(msgspec.Struct, frozen=True):
    """A file."""

    file_id: str
    file_unique_id: str = ""
    file_name: str = ""
    mime_type: str = ""
    file_size: int = 0


class Message(msgspec.Struct, frozen=True):
    """Something that was written or sent in a chat."""

    message_id: int
    chat: Chat
    sender: Sender | None = msgspec.field(default=None, name="from")
    date: int = 0
    edit_date: int = 0
    text: str = ""
    caption: str = ""
    entities: tuple[MessageEntity, ...] = ()
    caption_entities: tuple[MessageEntity, ...] = ()
    message_thread_id: int = 0
    is_topic_message: bool = False
    reply_to_message: Message | None = None
    media_group_id: str = ""
    photo: tuple[PhotoSize, ...] = ()
    document: Document | None = None
    voice: dict[str, Any] | None = None
    audio: dict[str, Any] | None = None
    video: dict[str, Any] | None = None
    video_note: dict[str, Any] | None = None
    sticker: dict[str, Any] | None = None
    contact: dict[str, Any] | None = None
    location: dict[str, Any] | None = None
    poll: dict[str, Any] | None = None
    dice: dict[str, Any] | None = None
    forum_topic_created: dict[str, Any] | None = None
    migrate_to_chat_id: int = 0
    """The group became a supergroup, which has this number."""
    migrate_from_chat_id: int = 0
    """The supergroup was a group before, which had this number."""

    @property
    def place(self) -> Place:
        """A topic is a place of its own; a thread of replies in an ordinary group is not."""
        return Place(self.chat.id, self.message_thread_id if self.is_topic_message else 0)

    @property
    def words(self) -> str:
        """What was written, or what was written under a file."""
        return self.text or self.caption

    @property
    def marks(self) -> tuple[MessageEntity, ...]:
        """The entities of `words`."""
        return self.entities if self.text else self.caption_entities

    @property
    def move(self) -> tuple[int, int] | None:
        """Which number a group had and which it has, if this says that it got another one.

        It is said under both numbers, and what was written since may be handled before what was written until then.
        """
        if self.migrate_to_chat_id:
            return self.chat.id, self.migrate_to_chat_id
        return (self.migrate_from_chat_id, self.chat.id) if self.migrate_from_chat_id else None

    @property
    def has_media(self) -> bool:
        """Whether it is more than text."""
        return bool(self.photo) or any(getattr(self, kind) is not None for kind in ("document", *NOT_FOR_CLAUDE))

    @property
    def answers(self) -> Message | None:
        """The message that it replies to. The first message of a topic is none: every message there points to it."""
        replied = self.reply_to_message
        return None if replied is None or replied.forum_topic_created is not None else replied


class CallbackQuery(msgspec.Struct, frozen=True):
    """Somebody pressed a button."""

    id: str
    sender: Sender = msgspec.field(name="from")
    data: str = ""
    message: Message | None = None


class Membership(msgspec.Struct, frozen=True):
    """What somebody is in a chat."""

    status: str


class MembershipChange(msgspec.Struct, frozen=True):
    """The bot was blocked or thrown out, or taken back."""

    chat: Chat
    sender: Sender = msgspec.field(name="from")
    new_chat_member: Membership

    @property
    def is_back(self) -> bool:
        """Whether the bot may write there now."""
        return self.new_chat_member.status not in ("left", "kicked")


class Update(msgspec.Struct, frozen=True):
    """One piece of news."""

    update_id: int
    message: Message | None = None
    edited_message: Message | None = None
    callback_query: CallbackQuery | None = None
    my_chat_member: MembershipChange | None = None

    @property
    def sender(self) -> Sender | None:
        """Whoever caused it."""
        if self.callback_query is not None:
            return self.callback_query.sender
        written = self.message or self.edited_message
        return written.sender if written is not None else None

    @property
    def place(self) -> Place | None:
        """Where it happened."""
        if self.my_chat_member is not None:
            return Place(self.my_chat_member.chat.id)
        written = self.message or self.edited_message
        if self.callback_query is not None:
            written = self.callback_query.message
        return written.place if written is not None else None


_decoder = msgspec.json.Decoder(Update)


def decode_update(body: bytes) -> Update:
    """An update. Raises `msgspec.ValidationError` if it is none that the bridge understands."""
    return _decoder.decode(body)
