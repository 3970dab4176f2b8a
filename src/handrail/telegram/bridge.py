"""The bridge: Telegram on one side, a hub on the other, and a memory of its own between them.

Everything that it does can be cut off at any moment and taken up again: what came is kept before it is acknowledged,
what is to be said is kept before it is sent, and how far each session was told of is kept with that.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from handrail.errors import HandrailError
from handrail.remote.hub import Hub
from handrail.remote.pauses import Pauses
from handrail.telegram.afterwards import Afterwards
from handrail.telegram.asks.desk import AskDesk
from handrail.telegram.bot import BotUser, TelegramBot
from handrail.telegram.bot_errors import BotError, TokenInvalid
from handrail.telegram.commands.desk import Commands
from handrail.telegram.files.desk import FilesDesk
from handrail.telegram.follower import Follower
from handrail.telegram.following import Following
from handrail.telegram.forgetting import Forgetting
from handrail.telegram.inbox import Inbox
from handrail.telegram.intake import Intake
from handrail.telegram.lease import BotLease
from handrail.telegram.model import RANKS, Content, Place, Role, WantedMessage
from handrail.telegram.names import Names
from handrail.telegram.outbox.pacing import Pace
from handrail.telegram.outbox.worker import Outbox
from handrail.telegram.people import People
from handrail.telegram.polling import Polling
from handrail.telegram.reporting import Report
from handrail.telegram.rhythm import Rhythm
from handrail.telegram.routing import ELSEWHERE, Router
from handrail.telegram.sessions import ChatSessions
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.state import BridgeState, Tables
from handrail.telegram.text.rich import plain
from handrail.telegram.webhook import Webhook

__all__ = ["Bridge"]

logger = logging.getLogger("handrail.telegram")

LONGEST_PAUSE: Final = 60.0
MOVED: Final = (
    "Telegram made a supergroup of this group, which has another number. Nothing else changes; put {new} in the place "
    "of {old} in groups of [telegram] in the configuration."
)


class Bridge:
    """Serves the people of the settings, in Telegram, with the sessions of a hub.

    `hub` must be connected as an owner: the bridge acts for its people, with the role that each has. `on_ready` is told
    once that nobody else serves the bot, and that Telegram gives us its messages.
    """

    def __init__(
        self,
        hub: Hub,
        bot: TelegramBot,
        state: BridgeState,
        settings: TelegramSettings,
        *,
        rhythm: Rhythm | None = None,
        pace: Pace | None = None,
        clock: Callable[[], float] = time.time,
        on_ready: Callable[[TelegramSettings], None] = lambda settings: None,
    ) -> None:
        self._on_ready = on_ready
        self._hub = hub
        self._bot = bot
        self._state = state
        self._settings = settings.check()
        self._files = FilesDesk(hub, bot, state)
        self._rhythm = rhythm or Rhythm()
        self._clock = clock
        self._people = People(hub, self._current)
        self._report = Report(clock)
        self._outbox = Outbox(
            state,
            bot,
            pace=pace,
            on_trouble=self._report.remember,
            on_moved=self._group_moved,
            may_write=self._may_write,
        )
        self._asks = AskDesk(state, hub, role_at=self._role_at, sound=settings.sound)
        self._commands = Commands()

    # ------------------------------------------------------------ settings

    def take(self, settings: TelegramSettings) -> bool:
        """Go on with other settings. False if they are of another bot or webhook: that needs another bridge."""
        if not settings.check().works_like(self._settings):
            return False
        self._settings = settings
        self._asks.sound = settings.sound
        return True

    def _current(self) -> TelegramSettings:
        return self._settings

    def _role_at(self, place: Place) -> Role:
        """The most that anybody may do who can press buttons there."""
        if place.is_private:
            user = self._people.user(place.chat)
            return user.role if user is not None else "viewer"
        return max((user.role for user in self._settings.users), key=RANKS.index)

    def _may_write(self, key: str, place: Place) -> bool:
        """Nothing is written where the bridge does not work, or does not any more; but that it does not may be said."""
        return self._people.serves(place) or key.startswith(ELSEWHERE)

    async def _group_moved(self, old: int, new: int) -> None:
        """A group has got another number: it goes on as before, and its people hear what to change."""
        self._people.moved(old, new)
        words = Content(plain(MOVED.format(old=old, new=new)))
        notice = WantedMessage(key=f"number:{new}", place=Place(new), content=words)
        is_to_be_changed = old in self._settings.groups and new not in self._settings.groups

        def move(tables: Tables) -> None:
            tables.move_chat(old, new)
            if is_to_be_changed:
                tables.want(notice)

        await self._state.write(move)

    # ------------------------------------------------------------ how it is

    @property
    def started_at(self) -> float:
        return self._report.started_at

    @property
    def last_error(self) -> str:
        """What goes wrong now, or went wrong last."""
        return self._report.last_error

    @property
    def last_error_at(self) -> float:
        return self._report.last_error_at

    @property
    def troubles(self) -> tuple[str, ...]:
        """What is wrong now, in words."""
        return (*self._report.troubles, *([self._outbox.trouble] if self._outbox.trouble else []))

    @property
    def hub_connected(self) -> bool:
        return self._hub.is_connected

    @property
    def poller(self) -> str:
        return "webhook" if self._settings.webhook_url else "polling"

    async def backlog(self) -> int:
        """How many messages are wanted and not sent yet."""
        return await self._state.read(lambda tables: tables.waiting())

    # ------------------------------------------------------------ life

    async def run(self) -> None:
        """Serve, until cancelled. Raises `TokenInvalid`, or `BotInUse` if another process serves this bot."""
        me = await self._introduced()
        with BotLease(os.path.dirname(self._state.path), me.id):
            logger.info("the Telegram bot @%s is served", me.username)
            parts = self._assembled(me)
            for old, new in (await self._state.read(lambda tables: tables.moved_chats())).items():
                self._people.moved(old, new)
            try:
                await self._serve(parts)
            except BaseExceptionGroup as group:
                raise _alone(group) from None
            finally:
                await parts.intake.close()
                await parts.router.close()

    async def _introduced(self) -> BotUser:
        """Who the bot is, as soon as Telegram can be reached."""
        pauses = Pauses(first=1.0, longest=LONGEST_PAUSE)
        while True:
            try:
                return await self._bot.me()
            except TokenInvalid:
                raise
            except BotError as error:
                self._report.on("Telegram")(f"Telegram cannot be reached: {error}")
            await asyncio.sleep(pauses.next())

    async def _serve(self, parts: _Parts) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._outbox.run())
            group.create_task(parts.following.run())
            group.create_task(self._offer_commands())
            group.create_task(Forgetting(self._state, self._report.on("what is old")).run())
            await parts.intake.take_up()
            group.create_task(parts.source.run())

    async def _offer_commands(self) -> None:
        try:
            await self._bot.set_commands(self._commands.menu())
        except TokenInvalid:
            raise
        except BotError as error:  # only the menu is missing
            self._report.on("the menu")(f"the menu of commands could not be set: {error}")

    # ------------------------------------------------------------ its parts

    def _assembled(self, me: BotUser) -> _Parts:
        async def afterwards(session_id: str, is_done: bool) -> None:
            await after.take_over(session_id, is_done=is_done)

        following = Following(
            hub=self._hub,
            state=self._state,
            inbox=Inbox(self._state, self._people),
            follower=lambda session_id: self._follower(session_id, following.over),
            afterwards=afterwards,
            report=self._report,
        )
        sessions = ChatSessions(
            hub=self._hub,
            state=self._state,
            people=self._people,
            settings=self._current,
            names=Names(me.id),
            instructions=self._files.instructions,
            wake=following.wake,
            changed=self._outbox.nudge,
            clock=self._clock,
        )
        after = Afterwards(self._hub, self._state, sessions, self._files)
        router = self._router(me, sessions)
        intake = Intake(self._state, router.handle, router.hear, on_away=router.away)
        return _Parts(following=following, router=router, intake=intake, source=self._source(intake))

    def _router(self, me: BotUser, sessions: ChatSessions) -> Router:
        return Router(
            bot=self._bot,
            state=self._state,
            people=self._people,
            sessions=sessions,
            asks=self._asks,
            commands=self._commands,
            report=self,
            settings=self._current,
            bot_id=me.id,
            bot_username=me.username,
            typing=self._outbox.action,
            revive=self._outbox.revive,
            moved=self._group_moved,
            files=self._files,
        )

    def _source(self, intake: Intake) -> Polling | Webhook:
        """Where updates come from."""
        if self._settings.webhook_url:
            return Webhook(
                self._bot, self._state, self._settings, intake.keep, self._report.on("Telegram"), on_ready=self._ready
            )
        return Polling(self._bot, self._state, intake.keep, self._report.on("Telegram"), on_ready=self._ready)

    def _ready(self) -> None:
        self._on_ready(self._settings)

    def _follower(self, session_id: str, on_over: Callable[[str, bool], None]) -> Follower:
        return Follower(
            session_id=session_id,
            hub=self._hub,
            state=self._state,
            outbox=self._outbox,
            desk=self._asks,
            people=self._people,
            on_over=on_over,
            rhythm=self._rhythm,
            clock=self._clock,
        )


def _alone(group: BaseExceptionGroup) -> BaseException:
    """An error of ours without the group that it came in, unless it came with others."""
    ours, others = group.split(HandrailError)
    first: BaseException | None = ours
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return group if others is not None or first is None else first


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """What works together while the bridge runs."""

    following: Following
    router: Router
    intake: Intake
    source: Polling | Webhook
