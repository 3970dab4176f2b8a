"""`handrail telegram setup`: the bot's token, who sits here, what they may do, and all of it written down."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from handrail.cli.commands.failures import ExitCode
from handrail.cli.commands.wording import from_home
from handrail.cli.inside_session import refuse_inside_session
from handrail.cli.named_hub import is_named
from handrail.cli.serving.announcing import qr_code
from handrail.cli.showing.style import OutputConsole, make_console
from handrail.cli.telegramming import asking_telegram
from handrail.cli.telegramming.dialogue import Dialogue
from handrail.cli.telegramming.pairing import Pairing, Person
from handrail.cli.telegramming.pausing import paused
from handrail.cli.telegramming.places import bridge_database
from handrail.config import Config, TelegramUser, load_config
from handrail.config.bot_token import BotToken, find_token, is_token, remember_token
from handrail.config.editing import add_telegram_user
from handrail.config.keys import TOKEN_VARIABLE
from handrail.errors import ConfigError, HandrailError
from handrail.places import Places
from handrail.remote.hub_file import running_hub
from handrail.telegram.bot import BotUser
from handrail.telegram.bot_errors import Blocked, BotError, Conflict, TokenInvalid, Unreachable
from handrail.telegram.state import BridgeState

__all__ = ["GivenSetup", "Setup", "start"]

Role: TypeAlias = Literal["viewer", "approver", "owner"]

ROLES: Final[Mapping[Role, str]] = {
    "owner": "starts and stops sessions, answers everything, adds rules",
    "approver": "answers what is asked, sends messages, interrupts",
    "viewer": "only looks",
}
TRIES: Final = 3
PATIENCE: Final = 600.0
LETTING_GO: Final = 10.0
"""How long a bridge that runs here may take to let go of the bot."""


@dataclass(frozen=True, kw_only=True)
class GivenSetup:
    """The options of `handrail telegram setup`."""

    api_url: str | None = None
    role: Role | None = None
    user: int | None = None
    name: str | None = None
    new_bot: bool = False
    seconds: float = PATIENCE


def start(given: GivenSetup) -> int:
    """Set the bridge up; returns the exit code. Raises `HandrailError`."""
    refuse_inside_session()
    places = Places.of_user(os.environ)
    config = load_config(places, os.environ)
    console: OutputConsole = make_console(sys.stdout, colour=config.terminal.colour)
    try:
        return Setup(given, config, places, os.environ, Dialogue(console)).run()
    except KeyboardInterrupt:
        console.print("\nGiven up: nothing was changed.")
        return ExitCode.INTERRUPTED


class Setup:
    """One conversation. Nothing is written before its end."""

    def __init__(
        self, given: GivenSetup, config: Config, places: Places, environ: Mapping[str, str], dialogue: Dialogue
    ) -> None:
        self._given = given
        self._config = config
        self._places = places
        self._environ = environ
        self._dialogue = dialogue
        self._api_url = given.api_url or config.telegram.api_url

    def run(self) -> int:
        """The conversation; returns the exit code. Raises `HandrailError`."""
        token, bot = self._bot()
        person = self._person(token, bot)
        user = self._user(person)
        self._write(token, user)
        self._welcome(token, user)
        self._say_what_now(bot)
        return ExitCode.OK

    # ------------------------------------------------------------ the bot

    def _bot(self) -> tuple[BotToken, BotUser]:
        return (None if self._given.new_bot else self._known_bot()) or self._new_bot()

    def _known_bot(self) -> tuple[BotToken, BotUser] | None:
        """The bot that was set up before, if it can still be used. Raises for a token that is not ours to replace."""
        try:
            known = find_token(self._places, self._config.telegram, self._environ)
            if known is None:
                return None
            bot = self._look_up(known.value)
        except (ConfigError, TokenInvalid) as error:
            if self._environ.get(TOKEN_VARIABLE):
                raise ConfigError(f"the token in {TOKEN_VARIABLE} is no good: {error}") from None
            self._dialogue.warn(f"the token that is there is no good any more: {error}")
            return None
        self._dialogue.done(f"the bot is {_named(bot)}, as before")
        return known, bot

    def _new_bot(self) -> tuple[BotToken, BotUser]:
        self._dialogue.say("In Telegram, open a chat with @BotFather, send /newbot, and copy the token that it gives.")
        for _ in range(TRIES if self._dialogue.has_person else 1):
            text = self._dialogue.secret("Token, which is not shown")
            if not is_token(text):
                self._dialogue.warn("that is no token: it looks like 123456789:AAF-x… and stands alone on its line")
                continue
            try:
                bot = self._look_up(text)
            except TokenInvalid:
                self._dialogue.warn("Telegram does not know this token: copy all of it, or ask @BotFather for another")
                continue
            self._dialogue.done(f"the bot is {_named(bot)}")
            return BotToken(text, ""), bot
        raise ConfigError("without the token of a bot there is nothing to set up: @BotFather shows it with /mybots")

    def _look_up(self, token: str) -> BotUser:
        """The bot of a token. Raises `TokenInvalid`, or `HandrailError` that says what to do."""
        try:
            return asyncio.run(asking_telegram.bot_of(token, self._api_url))
        except Unreachable as error:
            raise HandrailError(f"{error}: check the network, and the address {self._api_url}") from None

    # ------------------------------------------------------------ who

    def _person(self, token: BotToken, bot: BotUser) -> Person:
        if self._given.user is not None:
            return Person(self._given.user, self._given.name or self._known_name(self._given.user))
        try:
            with paused(self._places, bot.id, patience=LETTING_GO):
                return self._paired(token, bot)
        except Conflict as error:
            raise HandrailError(
                f"another program reads the messages of {_named(bot)} ({error}): end it first"
            ) from None

    def _paired(self, token: BotToken, bot: BotUser) -> Person:
        pairing = Pairing()
        self._show_code(pairing, bot)
        waiting = asking_telegram.paired(
            token.value,
            self._api_url,
            pairing,
            seconds=self._given.seconds,
            warn=self._dialogue.warn,
            keep=lambda raw: self._keep(bot.id, raw),
            known={user.id for user in self._config.telegram.users},
            own_webhook=self._config.telegram.webhook_url,
        )
        if self._dialogue.console.is_terminal:
            with self._dialogue.console.status("waiting for the code …"):
                person = asyncio.run(waiting)
        else:
            person = asyncio.run(waiting)
        self._dialogue.done(f"{person} sent the code")
        return person

    def _show_code(self, pairing: Pairing, bot: BotUser) -> None:
        link = pairing.link(bot.username)
        self._dialogue.say(f"Now send this code to {_named(bot)}, from the account that may use it:")
        self._dialogue.say()
        self._dialogue.show(pairing.shown)
        self._dialogue.say()
        self._dialogue.say("Or open this, and press Start:")
        self._dialogue.show(link)
        if self._dialogue.console.is_terminal:
            self._dialogue.say(qr_code(link))
        minutes = max(1, round(self._given.seconds / 60))
        self._dialogue.remark(f"It is good for {minutes} min. Ctrl-C gives up; nothing is written before the end.")

    async def _keep(self, bot_id: int, raw: dict[str, Any]) -> None:
        async with BridgeState(bridge_database(self._places, bot_id)) as state:
            await state.write(lambda tables: tables.keep([(raw["update_id"], msgspec.json.encode(raw))]))

    def _known_name(self, user_id: int) -> str:
        known = self._known(user_id)
        return known.name if known is not None else f"user {user_id}"

    def _known(self, user_id: int) -> TelegramUser | None:
        return next((user for user in self._config.telegram.users if user.id == user_id), None)

    def _user(self, person: Person) -> TelegramUser:
        known = self._known(person.id)
        usual: Role = known.role if known is not None else "approver" if self._config.telegram.users else "owner"
        role = self._given.role or self._dialogue.choice(f"What may {person.name} do?", ROLES, usual)
        name = self._given.name or self._dialogue.text("Name in the hub", known.name if known else person.name)
        try:
            return msgspec.convert({"id": person.id, "name": name, "role": role}, TelegramUser)
        except msgspec.ValidationError as error:
            raise ConfigError(f"this cannot be written: {error}") from None

    # ------------------------------------------------------------ the end

    def _write(self, token: BotToken, user: TelegramUser) -> None:
        """The token first: a file of settings that names people is of no use without it."""
        where = token.origin or remember_token(self._places, self._config.telegram, token.value)
        add_telegram_user(self._places, user, api_url=self._given.api_url)
        kept = f"the token is in {from_home(where)}" + (", for you alone to read" if not token.origin else "")
        self._dialogue.done(f"{user.name} is written to {from_home(self._places.config_file)}; {kept}")

    def _welcome(self, token: BotToken, user: TelegramUser) -> None:
        words = f"You may use this bot as {user.role}: /start says how."
        try:
            asyncio.run(asking_telegram.tell(token.value, self._api_url, user.id, words))
        except Blocked:
            self._dialogue.remark(f"{user.name} has to write to the bot first: bots cannot begin a chat")
        except BotError as error:
            self._dialogue.remark(f"nothing could be written to {user.name}: {error}")
        except KeyboardInterrupt:  # it was only politeness, and all that matters is done
            self._dialogue.say()

    def _say_what_now(self, bot: BotUser) -> None:
        hub = running_hub(self._places)
        if is_named():
            self._dialogue.say("For the hub that HANDRAIL_HUB names, run it here: handrail telegram")
        elif hub is not None:
            self._dialogue.say(f"The hub that runs here (process {hub.pid}) takes it over within a few seconds.")
        else:
            self._dialogue.say(f"Start the hub, and write to {_named(bot)}: handrail serve")
        self._dialogue.remark("somebody else may use it, too: handrail telegram setup again")


def _named(bot: BotUser) -> str:
    return f"@{bot.username}"
