"""Where an update goes: to a command, to an ask, to a file, or as a message to a session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from handrail.errors import HandrailError, StoreError
from handrail.events.resume import RESUME_LINE, find_resume_token
from handrail.remote.errors import HubUnreachable
from handrail.remote.hub import Hub
from handrail.telegram import projects
from handrail.telegram.addressing import Addressed, addressed, nameless_command
from handrail.telegram.asks.desk import AskDesk, Toast
from handrail.telegram.bot import TelegramBot
from handrail.telegram.bot_errors import BotError
from handrail.telegram.commands.context import BridgeReport, CommandContext, lacking, may
from handrail.telegram.commands.desk import Commands
from handrail.telegram.commands.parsing import CommandLine, command_line
from handrail.telegram.files.desk import FilesDesk
from handrail.telegram.incoming import CallbackQuery, Message, Update
from handrail.telegram.model import Content, Place, Press, Priority, SentMessage, User, WantedMessage
from handrail.telegram.people import People
from handrail.telegram.session_notes import choice_note
from handrail.telegram.sessions import ChatSessions
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.show.notices import explained
from handrail.telegram.state import BridgeState
from handrail.telegram.text.rich import RichText, plain

__all__ = ["ELSEWHERE", "Router"]

logger = logging.getLogger("handrail.telegram")

AWAY: Final = "The hub cannot be reached now. Your message is kept, and goes there as soon as it is back."
FAILED: Final = "Something went wrong in the bridge; its log says what. Your message was not handled."
TOO_LATE: Final = "It is too late to change this message: write what is to be different as a new one."
NOT_HERE: Final = "I do not work in this group yet: add {chat} to groups of [telegram] in the configuration."
ELSEWHERE: Final = "elsewhere:"
"""Begins the keys of messages that say where the bridge does not work."""
OLD_BUTTON: Final = Toast("This button is too old.", True)
NOT_YOURS: Final = Toast("You may not use this bot.", True)


@dataclass
class Router:
    """Handles updates. Of what goes wrong with one, only that hub or database cannot be reached leaves it."""

    bot: TelegramBot
    state: BridgeState
    people: People
    sessions: ChatSessions
    asks: AskDesk
    commands: Commands
    report: BridgeReport
    settings: Callable[[], TelegramSettings]
    bot_id: int
    bot_username: str
    files: FilesDesk
    typing: Callable[[Place], None]
    """Shows that something is being done for what was written."""
    revive: Callable[[int], Awaitable[None]]
    """Has a chat written to again that took nothing."""
    moved: Callable[[int, int], Awaitable[None]]
    """Has it known that a group has another number now."""
    _toasts: set[asyncio.Task[None]] = field(default_factory=set)
    _promised: set[str] = field(default_factory=set)
    """Presses of which somebody was told what they answer."""

    # ------------------------------------------------------------ at once

    def hear(self, update: Update) -> None:
        """Something came: a button is answered before anything else is done for it."""
        if update.callback_query is not None:
            task = asyncio.ensure_future(self._answer_callback(update.callback_query))
            self._toasts.add(task)
            task.add_done_callback(self._toasts.discard)

    async def close(self) -> None:
        for task in self._toasts:
            task.cancel()
        await asyncio.gather(*self._toasts, return_exceptions=True)

    async def _answer_callback(self, query: CallbackQuery) -> None:
        try:
            toast = await self._toast(query)
            await self.bot.answer_callback(query.id, toast.text, alert=toast.alert)
        except BotError as error:  # it is too old, as a rule: the work behind it is done all the same
            logger.info("a button was pressed, and its answer not taken: %s", error)
        except Exception:  # nobody waits for this
            logger.exception("a button could not be answered")

    async def _toast(self, query: CallbackQuery) -> Toast:
        user, press = self.people.user(query.sender.id), await self._press(query)
        if user is None:
            return NOT_YOURS
        if press is None:
            return OLD_BUTTON
        if press.action.startswith("ask:"):
            toast = await self.asks.toast(press, user)
            if toast.text and toast.goes_on:
                self._promised.add(query.id)
            return toast
        return Toast(self.commands.toast(press, user))

    async def _press(self, query: CallbackQuery) -> Press | None:
        """What a button stands for: of a message that is in this very chat, if the bridge works there."""
        press = await self.state.read(lambda tables: tables.press(query.data))
        chat = query.message.chat.id if query.message is not None else None
        is_here = press is not None and press.place.chat == chat and self.people.serves(press.place)
        return press if is_here else None

    # ------------------------------------------------------------ in order

    async def handle(self, updates: Sequence[Update]) -> None:
        """Do what an update, or an album, is for."""
        update = updates[0]
        if await self._is_about_chat(update):
            return
        sender = update.sender
        if sender is None or sender.is_bot:
            return
        user = self.people.user(sender.id)
        if user is None:
            self.people.turn_away(sender.id, sender.name)
            return
        try:
            await self._handle(updates, user)
        except HubUnreachable:
            if update.callback_query is None:
                raise
            await self._tell(update, "The hub cannot be reached now: press again when it is back.")
        except StoreError:
            raise
        except HandrailError as error:
            await self._tell(update, explained(error))
        except Exception:  # whatever is wrong with one update must not hold up the others
            logger.exception("an update of Telegram's could not be handled")
            await self._tell(update, FAILED)

    async def _is_about_chat(self, update: Update) -> bool:
        """Whether Telegram only says something about a chat: that holds whoever caused it."""
        message, membership = update.message, update.my_chat_member
        move = message.move if message is not None else None
        if move is not None:
            await self.moved(*move)
        elif membership is not None and membership.is_back:
            await self.revive(membership.chat.id)
        return membership is not None or move is not None

    async def away(self, updates: Sequence[Update]) -> None:
        """The hub is away, and a message waits for it."""
        await self._tell(updates[0], AWAY)

    async def _handle(self, updates: Sequence[Update], user: User) -> None:
        update = updates[0]
        if update.callback_query is not None:
            await self._pressed(update.callback_query, user)
        elif update.message is not None:
            await self._message([each.message for each in updates if each.message is not None], user)
        elif update.edited_message is not None:
            await self._edited(update.edited_message, user)

    # ------------------------------------------------------------ buttons

    async def _pressed(self, query: CallbackQuery, user: User) -> None:
        press = await self._press(query)
        if press is None or query.message is None:
            return
        await self.revive(press.place.chat)
        await self._remove_double(press, query.message)
        hub, was_promised = self.people.hub_for(user), query.id in self._promised
        self._promised.discard(query.id)
        if not press.action.startswith("ask:"):
            await self.commands.pressed(self._context(user, hub, query.message, press.place), press)
        elif was_promised or (await self.asks.toast(press, user)).goes_on:
            # What was promised is tried in any case: the hub says why it cannot be, unless it was this very press.
            await self.asks.carry_out(press, user, hub)

    async def _remove_double(self, press: Press, message: Message) -> None:
        """Take away a message that was sent twice, because the answer to the first sending was lost."""
        known = await self.state.read(lambda tables: tables.sent(press.key)) if press.key else None
        if known is not None and known.message_id not in (0, message.message_id):
            await self.state.write(lambda tables: tables.stray(press.place, message.message_id))

    # ------------------------------------------------------------ messages

    async def _message(self, messages: Sequence[Message], user: User) -> None:
        message = next((each for each in messages if each.words), messages[0])
        to_us = addressed(message, bot_id=self.bot_id, bot_username=self.bot_username)
        to_us = to_us or await self._command_for_us(message)
        if to_us is None:
            return
        await self.revive(message.chat.id)
        if not self.people.serves(message.place):
            await self._say(message, NOT_HERE.format(chat=message.chat.id), key=f"{ELSEWHERE}{message.place}")
            return
        hub = self.people.hub_for(user)
        replied = await self._replied(message)
        line = command_line(to_us.text, self.bot_username)
        if line is not None:
            if line.is_for_us:
                context = self._context(user, hub, message, message.place, replied)
                await self.commands.run(replace(context, album=messages), line)
        elif not await self._is_answer(replied, to_us, user, hub, message, messages):
            try:
                await self._to_session(messages, message, to_us.text, user, replied)
            except projects.NoProject:
                await self._without_project(message, user, hub)

    async def _command_for_us(self, message: Message) -> Addressed | None:
        """A command that names no bot, where this one is at work: elsewhere it may well be meant for another."""
        found = nameless_command(message, bot_id=self.bot_id)
        line = command_line(found.text) if found is not None else None
        if line is None or not self.commands.knows(line.name) or not self.people.serves(message.place):
            return None
        return found if await self._is_at_work(message.place) else None

    async def _is_at_work(self, place: Place) -> bool:
        """Whether a place has a project of its own, or has or had a session."""
        chat, chosen = await self.state.read(lambda tables: (tables.chat(place), tables.noted(choice_note(place))))
        return bool(chat.cwd or chat.session_id or chosen)

    async def _without_project(self, message: Message, user: User, hub: Hub) -> None:
        """Nothing can be started here yet: whoever may choose where does so now."""
        if may(user, "owner"):
            await self.commands.run(self._context(user, hub, message, message.place), CommandLine("project"))
        else:
            starting = lacking(user, "owner", "Starting a session")
            await self._say(message, f"{starting}. /sessions chooses one to go on with.")

    async def _replied(self, message: Message) -> SentMessage | None:
        """The message of ours that this one is a reply to."""
        replied = message.answers
        if replied is None:
            return None
        return await self.state.read(lambda tables: tables.message_at(message.chat.id, replied.message_id))

    async def _is_answer(
        self,
        replied: SentMessage | None,
        to_us: Addressed,
        user: User,
        hub: Hub,
        message: Message,
        messages: Sequence[Message],
    ) -> bool:
        """Whether a message was written as the answer to an ask, or to what a command asked."""
        if replied is None:
            return False
        if replied.purpose.startswith("command:"):
            context = self._context(user, hub, message, message.place, replied)
            return await self.commands.replied(context, replied, to_us.text)
        if not replied.ask_id:
            return False
        file = partial(self.files.answer, messages) if message.has_media else None
        return await self.asks.replied(replied, to_us.text, user, hub, message_id=message.message_id, file=file)

    async def _to_session(
        self, messages: Sequence[Message], message: Message, text: str, user: User, replied: SentMessage | None
    ) -> None:
        place, hub = message.place, self.people.hub_for(user)
        branch, text = projects.branch_at_start(text, self.bot_username)
        if refusal := _refusal(user, branch):
            await self._say(message, refusal)
            return
        if branch:
            await self._take_branch(hub, place, branch)
        session_id, text = await self._named_session(hub, message, text, replied)
        if session_id and not text and not message.has_media:
            await self.sessions.take(hub, place, session_id)
            await self._say(message, "This chat goes on with that session: write what is to be done.")
            return
        if not text and not message.has_media:
            if message.words:  # of what nobody wrote (that something was pinned, say) there is nothing to say
                await self._say(message, f"Now on {branch}." if branch else "Write what is to be done.")
            return
        self.typing(place)
        said = await self.files.received(messages, text) if any(each.has_media for each in messages) else text
        await self.sessions.send(hub, place, said, message_id=message.message_id, session_id=session_id)

    async def _take_branch(self, hub: Hub, place: Place, branch: str) -> None:
        chat = await projects.bind_branch(hub, self.state, self.settings(), place, branch)
        if chat.session_id:
            await self.sessions.take(hub, place, chat.session_id)

    async def _named_session(
        self, hub: Hub, message: Message, text: str, replied: SentMessage | None
    ) -> tuple[str, str]:
        """The session that a message names with a resume line, or by what it is a reply to; and the rest of it."""
        token = find_resume_token(text)
        if token is not None:
            return (await hub.get(token, adopt=True)).id, RESUME_LINE.sub("", text).strip()
        if replied is not None and replied.session_id:
            return replied.session_id, text
        quoted = find_resume_token(message.answers.words) if message.answers is not None else None
        if quoted is not None:
            return (await hub.get(quoted, adopt=True)).id, text
        return "", text

    async def _edited(self, message: Message, user: User) -> None:
        """A message was changed after it was sent. Of what nobody can see, Telegram says so without a date."""
        if not message.edit_date:
            return
        to_us = addressed(message, bot_id=self.bot_id, bot_username=self.bot_username)
        is_ours = to_us is not None and self.people.serves(message.place)
        if to_us is None or not is_ours or not to_us.text or command_line(to_us.text, self.bot_username) is not None:
            return
        hub = self.people.hub_for(user)
        # What was sent with a file is not put together a second time.
        if message.has_media or not await self.sessions.edited(
            hub, message.place, message.message_id, to_us.text, edit=message.edit_date
        ):
            await self._say(message, TOO_LATE, key=f"edited:{message.place}:{message.message_id}")

    # ------------------------------------------------------------ answers

    def _context(
        self, user: User, hub: Hub, message: Message, place: Place, replied: SentMessage | None = None
    ) -> CommandContext:
        return CommandContext(
            user=user,
            place=place,
            message_id=message.message_id,
            hub=hub,
            state=self.state,
            settings=self.settings(),
            sessions=self.sessions,
            bridge=self.report,
            bot_username=self.bot_username,
            replied_session=replied.session_id if replied is not None else "",
            message=message,
            files=self.files,
        )

    async def _tell(self, update: Update, words: RichText | str) -> None:
        """Say what went wrong, where it did."""
        query = update.callback_query
        message = query.message if query is not None else update.message or update.edited_message
        if message is not None:
            key = f"trouble:{message.place}:{update.update_id}"
            await self._say(message, words, key=key)

    async def _say(self, message: Message, words: RichText | str, *, key: str = "") -> None:
        wanted = WantedMessage(
            key=key or f"told:{message.place}:{message.message_id}",
            place=message.place,
            content=Content(plain(words) if isinstance(words, str) else words, reply_to=message.message_id),
            priority=Priority.REPLY,
        )
        await self.state.write(lambda tables: tables.want(wanted))


def _refusal(user: User, branch: str) -> str:
    """Why somebody may not write to Claude. The hub says so only at the end, and the bridge does much before that."""
    if not may(user, "approver"):
        return lacking(user, "approver", "Writing to Claude")
    return lacking(user, "owner", "Choosing a branch") if branch and not may(user, "owner") else ""
