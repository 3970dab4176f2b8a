"""What a command is given: who asks for it where, what it may use, and how it answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import msgspec

from handrail.errors import HandrailError, SessionNotFound
from handrail.remote.hub import Hub
from handrail.sessions.session import Session
from handrail.telegram.model import (
    Attachment,
    Button,
    ButtonStyle,
    Content,
    Keyboard,
    Place,
    Press,
    Priority,
    Role,
    User,
    WantedMessage,
    is_at_least,
)
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state.chats import Chat
from handrail.telegram.text.rich import RichText, plain
from handrail.telegram.text.splitting import LONGEST_CAPTION, LONGEST_MESSAGE, shortened

if TYPE_CHECKING:
    from handrail.telegram.files.parcel import Parcel, Said
    from handrail.telegram.incoming import Message
    from handrail.telegram.state import BridgeState, Tables

__all__ = [
    "BridgeReport",
    "ChatSessions",
    "Choice",
    "CommandContext",
    "FilesCommand",
    "NotSo",
    "Queued",
    "lacking",
    "may",
]

When: TypeAlias = Literal["", "steer", "after"]
LONGEST_BUTTON: Final = 60


class NotSo(HandrailError):
    """A command cannot be carried out as it was written; the message says what to write."""


class Queued(Protocol):
    """A message that waits until Claude is done."""

    @property
    def uuid(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def at(self) -> float: ...

    @property
    def session_id(self) -> str: ...


class ChatSessions(Protocol):
    """The sessions of chats, as far as commands need them."""

    async def start(self, hub: Hub, place: Place, said: Said = "", *, message_id: int) -> Session:
        """A new session of the chat, in its project and as it prefers, with its first message."""

    async def take(self, hub: Hub, place: Place, session_id: str) -> None:
        """The chat goes on with this session."""

    async def leave(self, place: Place) -> None:
        """The chat has no session any more: its next message starts one."""

    async def send(
        self, hub: Hub, place: Place, said: Said, *, message_id: int, session_id: str = "", when: When = ""
    ) -> None:
        """A message to this session, or to that of the chat."""

    async def queued(self, place: Place) -> Sequence[Queued]: ...

    async def take_back(self, hub: Hub, place: Place, uuid: str) -> bool: ...

    async def send_now(self, hub: Hub, place: Place, uuid: str) -> bool: ...

    async def watch(self, hub: Hub, place: Place, session_id: str, mode: Literal["all", "asks"]) -> None: ...

    async def unwatch(self, place: Place, session_id: str) -> None: ...


class BridgeReport(Protocol):
    """How the bridge itself is."""

    @property
    def started_at(self) -> float: ...

    @property
    def last_error(self) -> str: ...

    @property
    def last_error_at(self) -> float: ...

    @property
    def hub_connected(self) -> bool: ...

    @property
    def poller(self) -> str:
        """How updates come: `polling` or `webhook`."""

    async def backlog(self) -> int:
        """How many messages are wanted and not sent yet."""


class FilesCommand(Protocol):
    """What carries out /file, and makes of pictures and documents what Claude takes."""

    async def received(self, messages: Sequence[Message], text: str) -> Parcel: ...

    async def command(
        self, context: CommandContext, arguments: str, *, message: Message | None, replied: Message | None
    ) -> None: ...


class Choice(msgspec.Struct, frozen=True):
    """A button of a command: what it says, and what the command is told when it is pressed."""

    text: str
    data: dict[str, Any]
    style: ButtonStyle = ""


Choices: TypeAlias = Sequence[Sequence[Choice]]


@dataclass(kw_only=True)
class CommandContext:
    """One command of one person in one place: a line that was written, a button that was pressed, or a reply."""

    user: User
    place: Place
    message_id: int
    """The message with the command, or with the button."""
    hub: Hub
    """Acts for the person."""
    state: BridgeState
    settings: TelegramSettings
    sessions: ChatSessions
    bridge: BridgeReport
    files: FilesCommand | None = None
    message: Message | None = None
    """The message with the command as it came, if it is one."""
    album: Sequence[Message] = ()
    """All messages that were sent together with it."""
    bot_username: str = ""
    replied_session: str = ""
    """The session that the message speaks of to which this one is a reply."""
    now: Callable[[], float] = time.time
    changed: Callable[[], None] = field(default=lambda: None)
    """To be called once something new is wanted."""
    command: str = ""
    """Whose buttons and replies are meant: the desk sets it."""
    press: Press | None = None
    """The button that was pressed, if one was: what is said changes its message."""
    _said: int = 0

    # ------------------------------------------------------------ the chat

    async def chat(self) -> Chat:
        return await self.state.read(lambda tables: tables.chat(self.place))

    async def change_chat(self, **columns: Any) -> Chat:
        """Remember something else of this chat."""

        def change(tables: Tables) -> Chat:
            chat = msgspec.structs.replace(tables.chat(self.place), **columns)
            tables.set_chat(chat)
            return chat

        return await self.state.write(change)

    async def change_prefs(self, **prefs: Any) -> Chat:
        """Prefer something else in this chat."""

        def change(tables: Tables) -> Chat:
            chat = tables.chat(self.place)
            chat = msgspec.structs.replace(chat, prefs=msgspec.structs.replace(chat.prefs, **prefs))
            tables.set_chat(chat)
            return chat

        return await self.state.write(change)

    # ------------------------------------------------------------ what the person may do

    def check(self, role: Role, what: str) -> None:
        """Raise `NotSo` unless the person may do this. The hub looks at it again."""
        if not may(self.user, role):
            raise NotSo(lacking(self.user, role, what))

    # ------------------------------------------------------------ the session that is meant

    async def session_id(self, reference: str = "") -> str:
        """The session that was named, else that of the message replied to, else that of the chat."""
        if reference:
            return (await self.named_session(reference)).id
        chat = await self.chat()
        if found := self.replied_session or chat.session_id:
            return found
        raise NotSo("this chat has no session yet: write a message to start one, or choose one with /sessions")

    async def named_session(self, reference: str) -> Session:
        """The session with this id, also one that only Claude Code knows."""
        try:
            return await self.hub.get(reference, adopt=True)
        except SessionNotFound:
            raise NotSo(f"there is no session {reference!r}: /sessions all lists them") from None

    async def session(self, reference: str = "") -> Session:
        return self.hub.session(await self.session_id(reference))

    async def said(self, text: str) -> str | Parcel:
        """What a message with a command says to Claude: the words behind the command, and what is attached to it."""
        if self.files is None or self.message is None or not self.message.has_media:
            return text
        return await self.files.received(self.album or [self.message], text)

    # ------------------------------------------------------------ answers

    async def say(
        self,
        text: RichText | str,
        choices: Choices = (),
        *,
        attachment: Attachment | None = None,
        session_id: str = "",
        purpose: str = "",
        placeholder: str = "",
    ) -> None:
        """Answer: with a message, or, to a button, by changing the message that it is under.

        `purpose` is what a reply to it is told back as (`command:NAME` goes before it).
        """
        key = self._next_key(has_file=attachment is not None)
        limit = LONGEST_CAPTION if attachment is not None else LONGEST_MESSAGE
        shown = shortened(plain(text) if isinstance(text, str) else text, limit)

        def want(tables: Tables) -> None:
            if not choices:
                tables.retire(key)
            buttons = self._buttons(tables, key, choices)
            content = Content(
                shown, buttons, attachment, reply_to=self._answers(key), placeholder=placeholder if purpose else ""
            )
            tables.want(
                WantedMessage(
                    key=key,
                    place=self.place,
                    content=content,
                    priority=Priority.REPLY,
                    session_id=session_id,
                    purpose=f"command:{self.command}:{purpose}" if purpose else "",
                )
            )

        await self.state.write(want)
        self.changed()

    def _next_key(self, *, has_file: bool) -> str:
        """The first answer to a button changes its message; a file cannot be put into one that has none."""
        number, self._said = self._said, self._said + 1
        if self.press is not None and self.press.key and not number and not has_file:
            return self.press.key
        what = f"pressed:{self.press.key}" if self.press is not None else "reply"
        return f"{what}:{self.place}:{self.message_id}:{number}"

    def _answers(self, key: str) -> int:
        """In a group it must be seen which message is answered."""
        is_new = self.press is None or key != self.press.key
        return self.message_id if is_new and not self.place.is_private else 0

    def _buttons(self, tables: Tables, key: str, choices: Choices) -> Keyboard:
        return tuple(
            tuple(
                Button(
                    shortened(plain(choice.text), LONGEST_BUTTON).text,
                    self._minted(tables, key, choice),
                    "",
                    choice.style,
                )
                for choice in row
            )
            for row in choices
            if row
        )

    def _minted(self, tables: Tables, key: str, choice: Choice) -> str:
        press = Press(action=f"command:{self.command}", place=self.place, key=key, data=choice.data)
        return tables.mint(press)


def may(user: User, role: Role) -> bool:
    """Whether somebody may do what needs this role."""
    return is_at_least(user.role, role)


def lacking(user: User, role: Role, what: str) -> str:
    """Why somebody may not."""
    article = "an" if user.role[0] in "ao" else "a"
    return f"{what} needs the role {role}: you are {article} {user.role}"
