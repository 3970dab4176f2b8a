"""What the bridge is told, from the configuration and from where the bot's token is."""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.config import Config
from handrail.config.bot_token import find_token
from handrail.places import Places
from handrail.telegram.model import User
from handrail.telegram.settings import TelegramSettings

__all__ = ["is_set_up", "telegram_settings"]


def is_set_up(config: Config, places: Places, environ: Mapping[str, str]) -> bool:
    """Whether anything of Telegram is configured, right or wrong."""
    return bool(config.telegram.users) or find_token(places, config.telegram, environ) is not None


def telegram_settings(config: Config, places: Places, environ: Mapping[str, str]) -> TelegramSettings:
    """The settings of the bridge. Raises `ConfigError` if it cannot run with them: without a token, or for nobody."""
    telegram = config.telegram
    token = find_token(places, telegram, environ)
    return TelegramSettings(
        token=token.value if token is not None else "",
        users=tuple(User(id=each.id, name=each.name, role=each.role) for each in telegram.users),
        api_url=telegram.api_url,
        groups=telegram.groups,
        projects={name: _from_home(path) for name, path in telegram.projects.items()},
        cwd=_from_home(telegram.cwd or ""),
        sound=telegram.sound,
        webhook_url=telegram.webhook_url or "",
        webhook_listen=telegram.webhook_listen or "",
    ).check()


def _from_home(path: str) -> str:
    """`~` is this user's home; that of another machine is left to it."""
    return os.path.expanduser(path)
