"""The token of the Telegram bot: in a file of its own, so that settings can be shown, or in the environment."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from handrail import whole_files
from handrail.config.keys import TOKEN_VARIABLE
from handrail.config.model import Telegram
from handrail.errors import ConfigError
from handrail.places import Places

__all__ = ["BotToken", "find_token", "is_token", "remember_token", "token_path"]

FILE: Final = "telegram-token"
LONGEST: Final = 200
_TOKEN: Final = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True)
class BotToken:
    """A token, and where it is from: a file, or the environment."""

    value: str = field(repr=False)
    origin: str
    others_can_read: bool = False

    @property
    def bot_id(self) -> int:
        """The bot's number, which its token begins with."""
        return int(self.value.partition(":")[0])


def is_token(text: str) -> bool:
    """Whether it looks like what @BotFather gives."""
    return _TOKEN.fullmatch(text) is not None


def token_path(places: Places, telegram: Telegram) -> str:
    """The file that the token is in."""
    return os.path.expanduser(telegram.token_file) if telegram.token_file else os.path.join(places.config, FILE)


def find_token(places: Places, telegram: Telegram, environ: Mapping[str, str]) -> BotToken | None:
    """The token, if there is one. Raises `ConfigError` for what cannot be one: never with what it is."""
    if given := environ.get(TOKEN_VARIABLE, "").strip():
        return BotToken(_checked(given, TOKEN_VARIABLE), TOKEN_VARIABLE)
    path = token_path(places, telegram)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text, mode = file.read(LONGEST).strip(), os.fstat(file.fileno()).st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    return BotToken(_checked(text, path), path, others_can_read=bool(stat.S_IMODE(mode) & 0o077))


def remember_token(places: Places, telegram: Telegram, token: str) -> str:
    """Put the token into its file, which only this user can read; returns where that is."""
    path = token_path(places, telegram)
    try:
        whole_files.write_whole(path, f"{token}\n".encode())
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None
    return path


def _checked(text: str, where: str) -> str:
    if not is_token(text):
        raise ConfigError(f"what stands in {where} is no token of a bot: run `handrail telegram setup`")
    return text
