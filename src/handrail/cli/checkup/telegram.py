"""Telegram: whether the bot is set up rightly, and, if somebody asks for it, whether Telegram knows it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from handrail.cli.checkup.finding import Finding, attention, broken, good
from handrail.cli.checkup.surroundings import Surroundings
from handrail.cli.commands.wording import from_home
from handrail.config.bot_token import BotToken, find_token
from handrail.errors import ConfigError
from handrail.server.auth.addresses import stays_here

__all__ = ["check_telegram", "reached"]

AREA = "telegram"
SETUP = "handrail telegram setup"


def check_telegram(around: Surroundings) -> Iterator[Finding]:
    """The token, the people, and what keeps the bridge from running."""
    telegram = around.config.telegram
    try:
        token = find_token(around.places, telegram, around.environ)
    except ConfigError as error:
        yield broken(AREA, str(error), SETUP)
        return
    if token is None and not telegram.users:
        yield good(AREA, f"not set up: {SETUP} connects a bot")
        return
    yield from _wrong(around, token)
    if token is not None and telegram.users:
        yield _in_order(around)
        if around.online:
            yield reached(token, telegram.api_url)


def _wrong(around: Surroundings, token: BotToken | None) -> Iterator[Finding]:
    telegram = around.config.telegram
    if token is None:
        yield broken(AREA, "people may use a bot, and the token of it is missing", SETUP)
    elif not telegram.users:
        yield broken(AREA, "there is the token of a bot, and nobody may use it: it does not run", SETUP)
    if token is not None and token.others_can_read:
        yield attention(AREA, f"other users can read {from_home(token.origin)}", f"chmod 600 {token.origin}")
    if token is not None and _travels_in_the_open(telegram.api_url):
        yield attention(AREA, f"the token travels unencrypted to {telegram.api_url}", "use https, or a server here")
    if telegram.webhook_url and not telegram.webhook_listen:
        yield broken(
            AREA, "telegram.webhook_url needs telegram.webhook_listen", "handrail config set telegram.webhook_listen …"
        )


def _travels_in_the_open(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and not stays_here(parts.hostname or "")


def _in_order(around: Surroundings) -> Finding:
    telegram = around.config.telegram
    people = ", ".join(f"{user.name} ({user.role})" for user in telegram.users)
    if not telegram.enabled:
        return attention(AREA, f"set up for {people}, and switched off", "handrail config set telegram.enabled true")
    return good(AREA, f"set up for {people}; handrail serve runs it")


def reached(token: BotToken, api_url: str) -> Finding:
    """Whether Telegram knows the bot, asked now."""
    import asyncio

    from handrail.cli.telegramming.asking_telegram import bot_of
    from handrail.telegram.bot_errors import BotError, TokenInvalid

    try:
        bot = asyncio.run(bot_of(token.value, api_url))
    except TokenInvalid as error:
        return broken(AREA, str(error), f"{SETUP} --new-bot")
    except BotError as error:
        return broken(AREA, f"{api_url} cannot be reached: {error}", "check the network, or telegram.api_url")
    return good(AREA, f"Telegram knows the bot: @{bot.username}")
