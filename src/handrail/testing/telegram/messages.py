"""A message as it stands in a chat, the way people see it and the way the API describes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from handrail.testing.telegram.entities import Entity, units
from handrail.testing.telegram.files import StoredFile, image_size
from handrail.testing.telegram.markup import Button, keyboard_json
from handrail.testing.telegram.people import BotAccount, User

if TYPE_CHECKING:
    from handrail.testing.telegram.chats import Chat

__all__ = ["CallbackAnswer", "Media", "Message"]


@dataclass(frozen=True, slots=True)
class CallbackAnswer:
    """What the bot answered to a pressed button: a toast, or an alert that has to be closed."""

    text: str = ""
    show_alert: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class Media:
    """The file of a message, and how it is shown."""

    kind: str
    """`photo`, `document`, `video`, `audio`, `voice`, `animation` or `sticker`."""
    file: StoredFile
    thumbnail: StoredFile | None = None
    """The small size that a photo has besides its own."""

    def as_json(self) -> Any:
        """The value of the field of this kind; of a photo, all the sizes there are."""
        if self.kind == "photo":
            return [_photo_size(file) for file in (self.thumbnail, self.file) if file is not None]
        described = {**_file_json(self.file), "file_name": self.file.name, "mime_type": self.file.mime}
        return {**described, **_LACKING.get(self.kind, {})}


def _file_json(file: StoredFile) -> dict[str, Any]:
    return {"file_id": file.file_id, "file_unique_id": file.unique_id, "file_size": len(file.data)}


def _photo_size(file: StoredFile) -> dict[str, Any]:
    width, height = image_size(file.data) or (800, 600)
    return {**_file_json(file), "width": width, "height": height}


_LACKING: dict[str, dict[str, Any]] = {
    "video": {"width": 640, "height": 480, "duration": 1},
    "animation": {"width": 640, "height": 480, "duration": 1},
    "audio": {"duration": 1},
    "voice": {"duration": 1},
    "sticker": {"width": 512, "height": 512, "type": "regular", "is_animated": False, "is_video": False},
}
"""Fields that must be there, and that nobody can tell from the bytes alone."""


@dataclass(eq=False)
class Message:
    """A message. Look at its fields; `press` a button as a person would."""

    id: int
    chat: Chat
    sender: User | BotAccount
    date: int
    text: str = ""
    """Its text, or the caption of its file."""
    entities: list[Entity] = field(default_factory=list)
    buttons: list[list[Button]] = field(default_factory=list)
    """The keyboard under it, row by row."""
    media: Media | None = None
    reply_to: Message | None = None
    quote: str = ""
    """The part of that message that it answers."""
    thread: int = 0
    """The topic it is in; 0 if in none."""
    album: str = ""
    """The same for all messages that were sent together."""
    silent: bool = False
    protected: bool = False
    edited_at: int = 0
    edits: int = 0
    """How often it was changed."""
    service: dict[str, Any] = field(default_factory=dict)
    """What happened, in a message nobody wrote: a topic was made, something was pinned."""
    reply_markup: dict[str, Any] = field(default_factory=dict)
    """What opens the input of a chat: `force_reply` and reply keyboards, which do not stay under the message."""
    link_preview: dict[str, Any] = field(default_factory=dict)
    forwarded_from: dict[str, Any] = field(default_factory=dict)
    dropped_entities: int = 0
    """How many entities were more than Telegram takes: it leaves them out without a word."""
    reactions: list[str] = field(default_factory=list)
    """The bot's own."""
    is_pinned: bool = False
    is_deleted: bool = False

    def __repr__(self) -> str:
        return f"<Message {self.id} by {self.sender.name}: {self.text[:60]!r}>"

    @property
    def is_edited(self) -> bool:
        """Whether it was changed since it was sent."""
        return self.edited_at > 0

    @property
    def by_bot(self) -> bool:
        """Whether the bot under test sent it."""
        return isinstance(self.sender, BotAccount)

    @property
    def caption(self) -> str:
        """What is written under its file."""
        return self.text if self.media else ""

    @property
    def photo(self) -> bytes | None:
        """The picture, if it is one."""
        return self.media.file.data if self.media and self.media.kind == "photo" else None

    @property
    def document(self) -> bytes | None:
        """The file, if it is one."""
        return self.media.file.data if self.media and self.media.kind == "document" else None

    @property
    def file_name(self) -> str:
        """The name of its file."""
        return self.media.file.name if self.media else ""

    @property
    def placeholder(self) -> str:
        """The words in the chat's input, if this message opened it for a reply."""
        return str(self.reply_markup.get("input_field_placeholder", ""))

    def asks_reply_of(self, person: User) -> bool:
        """Whether it opens the input of a person's app for a reply.

        A `selective` one does so only for those whom it names, and for whoever wrote what it answers.
        """
        if not self.reply_markup.get("force_reply"):
            return False
        answered = self.reply_to.sender if self.reply_to is not None else None
        named = any(entity.user.get("id") == person.id for entity in self.entities)
        return not self.reply_markup.get("selective") or named or answered is person or self._calls(person)

    def _calls(self, person: User) -> bool:
        return bool(person.username) and f"@{person.username}".lower() in self.text.lower().split()

    def button(self, wanted: str) -> Button | None:
        """The button of this text or data."""
        every = [button for row in self.buttons for button in row]
        return next((button for button in every if wanted in (button.text, button.data)), None)

    async def press(self, button: str | Button, *, by: User, timeout: float = 10) -> CallbackAnswer:
        """Press a button, by its text or data, and wait for what the bot answers.

        A `Button` may be one that is gone by now: the person saw it when they reached for it.
        Raises `LookupError` if no such button is there.
        """
        found = button if isinstance(button, Button) else self.button(button)
        if found is None:
            raise LookupError(f"message {self.id} has no button {button!r}; it has {self._button_texts()}")
        return await self.chat.world.press(self, found, by=by, timeout=timeout)

    def as_json(self, *, with_reply: bool = True) -> dict[str, Any]:
        """As the API describes it. A message that is replied to is shown without what it replied to in turn."""
        described = {
            "message_id": self.id,
            "from": self.sender.as_json(),
            "chat": self.chat.as_json(),
            "date": self.date,
        }
        given = {name: value for name, value in self._optional(with_reply) if value}
        return {**described, **given, **self._body(), **self.service}

    def _optional(self, with_reply: bool) -> list[tuple[str, Any]]:
        reply = self.reply_to.as_json(with_reply=False) if with_reply and self.reply_to else None
        return [
            ("message_thread_id", self.thread),
            ("is_topic_message", bool(self.thread)),
            ("reply_to_message", reply),
            ("quote", self._quote_json()),
            ("edit_date", self.edited_at),
            ("media_group_id", self.album),
            ("forward_origin", self.forwarded_from),
            ("has_protected_content", self.protected),
            ("link_preview_options", self.link_preview),
            ("reply_markup", {"inline_keyboard": keyboard_json(self.buttons)} if self.buttons else None),
        ]

    def _quote_json(self) -> dict[str, Any] | None:
        if not self.quote or self.reply_to is None:
            return None
        before = self.reply_to.text.partition(self.quote)[0]
        return {"text": self.quote, "position": units(before)}

    def _body(self) -> dict[str, Any]:
        """Its text, or its file and caption."""
        entities = [entity.as_json() for entity in self.entities]
        words, marks = ("caption", "caption_entities") if self.media else ("text", "entities")
        body: dict[str, Any] = {words: self.text} if self.text else {}
        if entities:
            body[marks] = entities
        if self.media:
            body[self.media.kind] = self.media.as_json()
            if self.media.kind == "animation":
                body["document"] = body["animation"]
        return body

    def _button_texts(self) -> list[str]:
        return [button.text for row in self.buttons for button in row]
