"""Whether the bridge is to run now, and how, as the files say: read again whenever they change."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.cli.telegramming.pausing import is_paused
from handrail.cli.telegramming.settings import is_set_up, telegram_settings
from handrail.cli.telegramming.watching import EVERY, Watch, stamp_of
from handrail.config import Config, load_config
from handrail.config.bot_token import find_token, token_path
from handrail.errors import ConfigError
from handrail.places import Places
from handrail.telegram.settings import TelegramSettings

__all__ = ["UnreadableConfig", "WantedBridge"]


class UnreadableConfig(ConfigError):
    """What stands in the files cannot be read, so that nobody knows what is wanted."""


class WantedBridge:
    """The settings of the bridge, as they are in the files now."""

    def __init__(self, places: Places, environ: Mapping[str, str], *, every: float = EVERY) -> None:
        self._places = places
        self._environ = environ
        self._config = Config()
        self._watch = Watch(self._look, every=every)

    def read(self) -> TelegramSettings | None:
        """What is wanted; None if no bridge is. Raises `ConfigError` for what is wrong."""
        self._watch.seen()
        try:
            self._config = load_config(self._places, self._environ)
        except ConfigError as error:
            raise UnreadableConfig(str(error)) from None
        self._watch.seen()  # the file with the token may be another one now
        if not self._config.telegram.enabled or not is_set_up(self._config, self._places, self._environ):
            return None
        if self.is_paused:
            return None
        return telegram_settings(self._config, self._places, self._environ)

    @property
    def is_paused(self) -> bool:
        """Whether somebody wants the bot for a moment."""
        try:
            token = find_token(self._places, self._config.telegram, self._environ)
        except ConfigError:
            return False
        return token is not None and is_paused(self._places, token.bot_id)

    async def changed(self, *, within: float | None = None) -> bool:
        """Wait until something is other than it was when it was read; False if that takes longer."""
        return await self._watch.changed(within=within)

    def _look(self) -> object:
        files = (self._places.config_file, token_path(self._places, self._config.telegram))
        return (*map(stamp_of, files), self.is_paused)
