"""Everything that a server keeps: who is there, what stands in the chats, and what the bot has yet to hear of it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from handrail.testing.telegram.api_errors import bad_request, forbidden, upgraded
from handrail.testing.telegram.chats import Chat, Draft, Topic
from handrail.testing.telegram.detecting import command_in, detected
from handrail.testing.telegram.entities import Entity
from handrail.testing.telegram.faults import Faults
from handrail.testing.telegram.files import PIXEL, FileShelf
from handrail.testing.telegram.markup import Button
from handrail.testing.telegram.messages import CallbackAnswer, Media, Message
from handrail.testing.telegram.people import BotAccount, User
from handrail.testing.telegram.updates import UpdateQueue

__all__ = ["World"]

_T = TypeVar("_T")
_CALLBACK_SECONDS = 15.0
"""How long a pressed button waits for an answer before the person's app gives up."""


class World:
    """The state of one server. The API's methods change it for the bot, the drivers for the people."""

    def __init__(self, bot: BotAccount, faults: Faults) -> None:
        self.bot = bot
        self.users: dict[int, User] = {}
        self.chats: dict[int, Chat] = {}
        self.files = FileShelf()
        self.updates = UpdateQueue(faults)
        self._own_ids = itertools.count(1)
        """Numbers the messages of all private chats and basic groups together, as a real account does."""
        self._group_ids: dict[int, itertools.count[int]] = {}
        """Each supergroup has numbers of its own; 1 says that it was made, so no message of ours has it."""
        self._albums = itertools.count(13_500_000_000_000_001)
        self._queries = itertools.count(4_300_000_000_000_001)
        self._pressed: dict[str, tuple[float, asyncio.Future[CallbackAnswer]]] = {}
        self._changed = asyncio.Event()
        self.version = 0
        """Another number after each change."""

    # People and chats

    def add_user(self, user: User) -> User:
        """Somebody new, or with other names."""
        self.users[user.id] = user
        return user

    def add_group(self, chat: Chat) -> Chat:
        """A group, with the bot in it."""
        self.chats[chat.id] = chat
        return chat

    def upgrade(self, chat: Chat, id: int) -> Chat:
        """A group becomes a supergroup: the bot hears so in both, and may write only in the new one."""
        made = Chat(self, id, "supergroup", title=chat.title, members=chat.members, bot_is_admin=chat.bot_is_admin)
        chat.upgraded_to = self.add_group(made)
        self.announce(chat, chat.members[0], {"migrate_to_chat_id": id})
        self.announce(made, chat.members[0], {"migrate_from_chat_id": chat.id})
        return made

    def private_chat(self, user: User, *, started: bool) -> Chat:
        """The chat between somebody and the bot."""
        if user.id not in self.chats:
            self.chats[user.id] = Chat(self, user.id, "private", members=[user])
            self.chats[user.id].bot_is_member = started
        return self.chats[user.id]

    def writable_chat(self, chat_id: int) -> Chat:
        """A chat the bot may write to. Raises `ApiError` as the real server does."""
        chat = self.chats.get(chat_id)
        if chat is None:
            raise bad_request("chat not found")
        if chat.upgraded_to is not None:
            raise upgraded(chat.upgraded_to.id)
        if chat.is_private and chat.person.has_blocked:
            raise forbidden("bot was blocked by the user")
        if not chat.bot_is_member:
            where = (
                "can't initiate conversation with a user"
                if chat.is_private
                else f"was kicked from the {chat.kind} chat"
            )
            raise forbidden(f"bot {where}")
        return chat

    def bot_membership_changed(self, chat: Chat, by: User, old: str, new: str) -> None:
        """Somebody blocked or threw out the bot, or took it back."""
        bot = self.bot.as_json()
        change = {
            "chat": chat.as_json(),
            "from": by.as_json(),
            "date": int(time.time()),
            "old_chat_member": _membership(bot, old),
            "new_chat_member": _membership(bot, new),
        }
        self.updates.add("my_chat_member", change)
        self.notify()

    # Messages

    def add_message(self, chat: Chat, sender: User | BotAccount, **fields: Any) -> Message:
        """Put a message into a chat. It ends the draft that the bot showed there."""
        message = Message(self._next_id(chat), chat, sender, int(time.time()), **fields)
        chat.log[message.id] = message
        chat.draft_is_over = chat.draft_is_over or message.by_bot
        self.notify()
        return message

    def post(
        self,
        chat: Chat,
        by: User,
        text: str,
        *,
        reply_to: Message | None = None,
        entities: Sequence[Entity] | None = None,
        **fields: Any,
    ) -> Message:
        """What a person sends: it stands in the chat, and the bot hears of it unless it is not meant to.

        Whoever writes in a topic without replying to anything replies, says the API, to the topic's first message.
        """
        thread = fields.get("thread", 0)
        if reply_to is None and thread:
            reply_to = chat.message(thread)
        marked = detected(text) if entities is None else list(entities)
        message = self.add_message(chat, by, text=text, entities=marked, reply_to=reply_to, **fields)
        if chat.is_private:
            chat.bot_is_member = True
        if self._bot_hears(message):
            self.updates.add("message", message.as_json())
        return message

    def announce(self, chat: Chat, by: User, what: dict[str, Any]) -> Message:
        """A message that nobody wrote: it says what somebody did. Bots hear of it in every chat."""
        message = self.add_message(chat, by, service=what)
        self.updates.add("message", message.as_json())
        return message

    def change_text(self, message: Message, text: str) -> None:
        """A person edits what they wrote."""
        message.text, message.entities, message.edited_at = text, detected(text), int(time.time())
        if self._bot_hears(message):
            self.updates.add("edited_message", message.as_json())
        self.notify()

    def media(self, kind: str, data: bytes, name: str, mime: str) -> Media:
        """A file that somebody sends."""
        thumbnail = self.files.add(PIXEL, "thumbnail.gif", folder="thumbnails") if kind == "photo" else None
        return Media(kind, self.files.add(data, name, folder=f"{kind}s", mime=mime), thumbnail)

    def next_album(self) -> str:
        """The mark of messages that are sent together."""
        return str(next(self._albums))

    def make_topic(self, chat: Chat, name: str, *, by: User | BotAccount) -> Topic:
        """A topic; its id is that of the message that says it was made."""
        made = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
        message = self.add_message(chat, by, service=made)
        message.thread = message.id
        topic = chat.topics[message.id] = Topic(chat, message.id, name)
        if not message.by_bot:
            self.updates.add("message", message.as_json())
        return topic

    def remove(self, message: Message) -> None:
        """Take a message away for everybody. Bots are not told of it, as with the real server."""
        message.is_deleted = True
        self.notify()

    def show_draft(self, chat: Chat, draft: Draft) -> None:
        """What the bot is about to write."""
        chat.drafts.append(draft)
        chat.draft_is_over = False
        self.notify()

    def show_action(self, chat: Chat, action: str) -> None:
        """What the bot is doing."""
        chat.actions.append(action)
        chat.acted_at = time.monotonic()
        self.notify()

    # Buttons

    async def press(self, message: Message, button: Button, *, by: User, timeout: float) -> CallbackAnswer:
        """Somebody presses a button and waits for the bot's answer."""
        if not button.data:
            raise LookupError(f"the button {button.text!r} opens an address, so the bot does not hear of it")
        answered = asyncio.get_running_loop().create_future()
        query_id = str(next(self._queries))
        self._pressed[query_id] = (time.monotonic() + _CALLBACK_SECONDS, answered)
        query = {"id": query_id, "from": by.as_json(), "message": self._as_pressed(message)}
        chat_instance = str(-abs(hash(message.chat.id)) - 1)
        self.updates.add("callback_query", {**query, "chat_instance": chat_instance, "data": button.data})
        try:
            return await asyncio.wait_for(answered, timeout)
        except TimeoutError:
            raise TimeoutError(f"the bot did not answer the button {button.text!r} within {timeout:g} s") from None

    def answer_press(self, query_id: str, answer: CallbackAnswer) -> None:
        """The bot answers a pressed button, once and in time. Raises `ApiError` otherwise."""
        expires, answered = self._pressed.pop(query_id, (0.0, None))
        if answered is None or time.monotonic() > expires:
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        if not answered.done():
            answered.set_result(answer)
        self.notify()

    # Waiting

    def notify(self) -> None:
        """Something changed: those who wait look again."""
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, condition: Callable[[], _T | None], timeout: float, seen: Callable[[], str]) -> _T:
        """Wait until a condition holds. Raises `TimeoutError` with what is there instead."""
        try:
            async with asyncio.timeout(timeout):
                while not (result := condition()):
                    await self._changed.wait()
                return result
        except TimeoutError:
            raise TimeoutError(f"not so after {timeout:g} s; {seen()}") from None

    async def change(self) -> None:
        """Wait for the next change of anything."""
        await self._changed.wait()

    def _next_id(self, chat: Chat) -> int:
        if chat.kind != "supergroup":
            return next(self._own_ids)
        return next(self._group_ids.setdefault(chat.id, itertools.count(2)))

    def _bot_hears(self, message: Message) -> bool:
        """No bot hears another one. In groups, one in privacy mode does not even hear that it is mentioned.

        It hears replies to itself, commands with its name, and those without any if it was the last bot that wrote.
        """
        chat = message.chat
        if message.sender.is_bot:
            return False
        if chat.is_private or self.bot.reads_all_groups or chat.bot_is_admin:
            return True
        if message.reply_to is not None and message.reply_to.by_bot and not message.reply_to.service:
            return True
        command = command_in(message.text)
        return command is not None and (command.bot == self.bot.username.lower() if command.bot else _wrote_last(chat))

    def _as_pressed(self, message: Message) -> dict[str, Any]:
        """A message that is gone by now is described by its id alone."""
        if not message.is_deleted:
            return message.as_json()
        return {"chat": message.chat.as_json(), "message_id": message.id, "date": 0}


def _wrote_last(chat: Chat) -> bool:
    """Whether no other bot wrote in a chat since the one under test did."""
    return next((each.by_bot for each in reversed(chat.log.values()) if each.sender.is_bot), False)


def _membership(bot: dict[str, Any], status: str) -> dict[str, Any]:
    until = {"until_date": 0} if status == "kicked" else {}
    return {"user": bot, "status": status, **until}
