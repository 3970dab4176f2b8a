"""Chats, seen from the people's side: what stands in them, and what a person can do there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from handrail.testing.telegram.entities import Entity
from handrail.testing.telegram.messages import Media, Message
from handrail.testing.telegram.people import BotAccount, User

if TYPE_CHECKING:
    from handrail.testing.telegram.world import World

__all__ = ["Chat", "Draft", "Topic"]

_T = TypeVar("_T")
_DRAFT_SECONDS = 30.0
_CHAT_NAMES: tuple[str, ...] = ("first_name", "last_name", "username")


@dataclass(frozen=True)
class Draft:
    """A message while it is being written, as a private chat shows it."""

    id: int
    text: str
    entities: list[Entity]
    thread: int = 0
    at: float = field(default_factory=time.monotonic)


class Chat:
    """A private chat or a group. Made by `User.private_chat` and `TelegramServer.group`."""

    def __init__(
        self,
        world: World,
        id: int,
        kind: str,
        *,
        title: str = "",
        members: Sequence[User] = (),
        is_forum: bool = False,
        bot_is_admin: bool = False,
    ) -> None:
        self.world = world
        self.id = id
        self.kind = kind
        """`private`, `group` or `supergroup`."""
        self.title = title
        self.members = list(members)
        self.is_forum = is_forum
        self.bot_is_admin = bot_is_admin
        self.bot_is_member = True
        self.upgraded_to: Chat | None = None
        """The supergroup that it became."""
        self.topics: dict[int, Topic] = {}
        self.drafts: list[Draft] = []
        """Every draft that was shown, in order."""
        self.draft_is_over = True
        """The next message of the bot ends what is shown now."""
        self.actions: list[str] = []
        """Every chat action: `typing`, `upload_document` …"""
        self.acted_at = 0.0
        """When the last of them came, by `time.monotonic()`."""
        self.log: dict[int, Message] = {}
        """Every message by id, also those that are gone."""

    def __repr__(self) -> str:
        return f"<Chat {self.id} {self.name}>"

    @property
    def name(self) -> str:
        """What is written above it."""
        return self.title or ", ".join(member.name for member in self.members)

    @property
    def is_private(self) -> bool:
        """Whether it is between the bot and one person."""
        return self.kind == "private"

    @property
    def person(self) -> User:
        """Whoever the bot talks to in a private chat."""
        return self.members[0]

    # Looking

    @property
    def messages(self) -> list[Message]:
        """The messages that stand in it now."""
        return [message for message in self.log.values() if not message.is_deleted]

    @property
    def bot_messages(self) -> list[Message]:
        """Those of the bot."""
        return [message for message in self.messages if message.by_bot]

    def message(self, id: int) -> Message | None:
        """The message of this id, if it stands there."""
        found = self.log.get(id)
        return None if found is None or found.is_deleted else found

    @property
    def draft(self) -> Draft | None:
        """The draft that is shown now: for half a minute, unless a message of the bot comes."""
        last = self.drafts[-1] if self.drafts and not self.draft_is_over else None
        return last if last and time.monotonic() - last.at < _DRAFT_SECONDS else None

    async def wait(self, condition: Callable[[list[Message]], _T | None], timeout: float = 10) -> _T:
        """Wait until a condition on the messages holds, and return what it returned.

        Raises `TimeoutError` that says what stands there instead.
        """
        return await self.world.wait(lambda: condition(self.messages), timeout, self._seen)

    async def wait_for_text(self, part: str, timeout: float = 10) -> Message:
        """Wait for a message of the bot with this in its text."""
        return await self.wait(lambda messages: _with_text(messages, part), timeout)

    # Doing

    async def send(
        self,
        text: str,
        *,
        by: User | None = None,
        reply_to: Message | None = None,
        thread: Topic | int = 0,
        entities: Sequence[Entity] | None = None,
        quote: str = "",
    ) -> Message:
        """Write a message. In a private chat nobody else can, so `by` may be left out.

        Commands, mentions and links are marked as Telegram's apps mark them, unless `entities` are given.
        """
        return self.world.post(
            self, by or self.person, text, reply_to=reply_to, thread=int(thread), entities=entities, quote=quote
        )

    async def send_photo(self, data: bytes, caption: str = "", **options: Any) -> Message:
        """Send a picture."""
        return self._send_media(self.world.media("photo", data, "photo.jpg", "image/jpeg"), caption, **options)

    async def send_document(
        self, data: bytes, name: str = "file.txt", mime: str = "", caption: str = "", **options: Any
    ) -> Message:
        """Send a file."""
        return self._send_media(self.world.media("document", data, name, mime), caption, **options)

    async def send_album(
        self, files: Sequence[bytes | tuple[str, bytes]], caption: str = "", **options: Any
    ) -> list[Message]:
        """Send several pictures (bytes) or files (name and bytes) together; the caption stands under the first."""
        album = self.world.next_album()
        captions = [caption, *[""] * (len(files) - 1)]
        every = [self._media_of(file) for file in files]
        return [
            self._send_media(media, words, album=album, **options) for media, words in zip(every, captions, strict=True)
        ]

    async def edit(self, message: Message, text: str) -> None:
        """Change a message that a person wrote."""
        self.world.change_text(message, text)

    async def delete(self, message: Message) -> None:
        """Take a message away, for everybody. The bot is not told, as with the real one."""
        self.world.remove(message)

    async def pin(self, message: Message, *, by: User | None = None) -> Message:
        """Pin a message. Returns the message that says so, which nobody wrote."""
        message.is_pinned = True
        return self.world.announce(self, by or self.person, {"pinned_message": message.as_json(with_reply=False)})

    def topic(self, name: str) -> Topic:
        """The topic of this name; made if it is not there."""
        found = next((topic for topic in self.topics.values() if topic.name == name), None)
        return found or self.world.make_topic(self, name, by=self.members[0])

    def remove_bot(self) -> None:
        """Throw the bot out of the group."""
        self.bot_is_member = False
        self.world.bot_membership_changed(self, self.members[0], "member", "kicked")

    def upgrade(self, id: int) -> Chat:
        """Make a supergroup of a group, as turning on topics does: it gets another id, and its messages stay behind."""
        return self.world.upgrade(self, id)

    # For the API

    def as_json(self) -> dict[str, Any]:
        """As the API describes it."""
        if self.is_private:
            person = self.person.as_json()
            names: dict[str, Any] = {name: person[name] for name in _CHAT_NAMES if name in person}
            return {"id": self.id, "type": "private", **names}
        forum = {"is_forum": True} if self.is_forum else {}
        return {"id": self.id, "type": self.kind, "title": self.title, **forum}

    def _send_media(self, media: Media, caption: str, *, by: User | None = None, **options: Any) -> Message:
        options["thread"] = int(options.get("thread", 0))
        return self.world.post(self, by or self.person, caption, media=media, **options)

    def _media_of(self, file: bytes | tuple[str, bytes]) -> Media:
        if isinstance(file, bytes):
            return self.world.media("photo", file, "photo.jpg", "image/jpeg")
        name, data = file
        return self.world.media("document", data, name, "")

    def _seen(self) -> str:
        lines = [f"  {message!r}" for message in self.messages[-20:]]
        return "\n".join([f"in {self!r}:", *(lines or ["  nothing"])])


class Topic:
    """A topic of a forum: a view of its group that keeps to one thread."""

    def __init__(self, chat: Chat, id: int, name: str) -> None:
        self.chat = chat
        self.id = id
        self.name = name
        self.is_closed = False

    def __int__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<Topic {self.id} {self.name} of {self.chat!r}>"

    @property
    def messages(self) -> list[Message]:
        """The messages that stand in it now."""
        return [message for message in self.chat.messages if message.thread == self.id]

    @property
    def bot_messages(self) -> list[Message]:
        """Those of the bot."""
        return [message for message in self.messages if isinstance(message.sender, BotAccount)]

    async def wait(self, condition: Callable[[list[Message]], _T | None], timeout: float = 10) -> _T:
        """Wait until a condition on the topic's messages holds, and return what it returned."""
        return await self.chat.wait(lambda _: condition(self.messages), timeout)

    async def wait_for_text(self, part: str, timeout: float = 10) -> Message:
        """Wait for a message of the bot with this in its text."""
        return await self.wait(lambda messages: _with_text(messages, part), timeout)

    async def send(self, text: str, **options: Any) -> Message:
        """Write a message here; see `Chat.send`."""
        return await self.chat.send(text, thread=self, **options)

    async def send_photo(self, data: bytes, caption: str = "", **options: Any) -> Message:
        """Send a picture here."""
        return await self.chat.send_photo(data, caption, thread=self, **options)

    async def send_document(self, data: bytes, name: str = "file.txt", **options: Any) -> Message:
        """Send a file here."""
        return await self.chat.send_document(data, name, thread=self, **options)


def _with_text(messages: list[Message], part: str) -> Message | None:
    return next((message for message in reversed(messages) if message.by_bot and part in message.text), None)
