"""What the bridge is told: which bot, who may use it, where it works, and how it hears of messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from handrail.errors import ConfigError
from handrail.telegram.model import User

__all__ = ["API_URL", "TelegramSettings"]

API_URL = "https://api.telegram.org"


@dataclass(frozen=True, kw_only=True)
class TelegramSettings:
    """Everything that can be set about the bridge. `check` says what is wrong with it."""

    token: str = field(repr=False)
    users: tuple[User, ...]
    """Who may use it. Nobody else gets an answer."""
    api_url: str = API_URL
    groups: tuple[int, ...] = ()
    """The groups that it works in: what it writes there, everybody there can read."""
    projects: Mapping[str, str] = field(default_factory=dict)
    """Names of directories: `/path`, or `host:/path` on another machine of the hub."""
    cwd: str = ""
    """The directory of chats that have chosen none."""
    sound: bool = True
    """Whether phones make themselves heard for what needs a person."""
    webhook_url: str = ""
    """Where Telegram reaches us. Without it, we ask Telegram."""
    webhook_listen: str = ""
    """The address that we listen on for it, such as `127.0.0.1:8443`."""
    webhook_secret: str = field(default="", repr=False)
    """What Telegram must know; without one the bridge makes one up and keeps it."""

    def check(self) -> TelegramSettings:
        """Itself. Raises `ConfigError` for what cannot work."""
        if not self.token:
            raise ConfigError("the bridge needs the token of a bot: run `handrail telegram setup`")
        if not self.users:
            raise ConfigError(
                "nobody may use the bridge: name the people in [[telegram.users]], or run `handrail telegram setup`"
            )
        if self.webhook_url and urlsplit(self.webhook_url).scheme not in ("https", "http"):
            raise ConfigError(f"webhook_url is such as https://hub.example.org/telegram, not {self.webhook_url!r}")
        if self.webhook_url and not self.webhook_listen:
            raise ConfigError("webhook_url needs webhook_listen: the address to listen on, such as 127.0.0.1:8443")
        if self.webhook_listen:
            self.webhook_address  # noqa: B018  says what is wrong with it
        return self

    @property
    def webhook_address(self) -> tuple[str, int]:
        """Host and port to listen on. Raises `ConfigError`."""
        host, _, port = self.webhook_listen.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65535:
            raise ConfigError(f"webhook_listen is an address such as 127.0.0.1:8443, not {self.webhook_listen!r}")
        return host.strip("[]"), int(port)

    def works_like(self, other: TelegramSettings) -> bool:
        """Whether a bridge that runs with these settings can go on with the others."""
        return self._bot() == other._bot()

    def _bot(self) -> tuple[str, ...]:
        return (self.token, self.api_url, self.webhook_url, self.webhook_listen, self.webhook_secret)
