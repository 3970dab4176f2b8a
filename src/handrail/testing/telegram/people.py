"""Who is there: the bot under test, and the people that a test lets write and press."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.testing.telegram.chats import Chat
    from handrail.testing.telegram.world import World

__all__ = ["BotAccount", "User"]


class User:
    """A person, or a bot that is not under test. Made by `TelegramServer.user` and `TelegramServer.other_bot`."""

    def __init__(
        self,
        world: World,
        id: int,
        first_name: str,
        *,
        last_name: str = "",
        username: str = "",
        language: str = "en",
        is_bot: bool = False,
    ) -> None:
        self._world = world
        self.id = id
        self.first_name = first_name
        self.last_name = last_name
        self.username = username
        self.language = language
        self.is_bot = is_bot
        self.has_blocked = False
        """Whether they have blocked the bot."""

    def __repr__(self) -> str:
        return f"<User {self.id} {self.name}>"

    @property
    def name(self) -> str:
        """As Telegram shows it."""
        return f"{self.first_name} {self.last_name}".strip()

    def private_chat(self, *, started: bool = True) -> Chat:
        """Their chat with the bot. Not `started`, the bot may not write first, as with people who never spoke to it."""
        return self._world.private_chat(self, started=started)

    def block(self) -> None:
        """Block the bot: it cannot write to them, and learns it from a `my_chat_member` update."""
        self._set_blocked(True)

    def unblock(self) -> None:
        """Take the bot back."""
        self._set_blocked(False)

    def as_json(self) -> dict[str, Any]:
        """As the API describes them."""
        optional = {"last_name": self.last_name, "username": self.username, "language_code": self.language}
        given = {name: value for name, value in optional.items() if value}
        return {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name, **given}

    def _set_blocked(self, blocked: bool) -> None:
        if self.has_blocked == blocked:
            return
        self.has_blocked = blocked
        statuses = ("member", "kicked") if blocked else ("kicked", "member")
        self._world.bot_membership_changed(self.private_chat(), self, *statuses)


class BotAccount:
    """The bot under test."""

    is_bot = True

    def __init__(self, token: str, *, first_name: str, username: str, reads_all_groups: bool) -> None:
        number, colon, secret = token.partition(":")
        if not (number.isdigit() and colon and secret):
            raise ValueError(f"{token!r} is not the token of a bot: it must be a number, a colon and a secret")
        self.id = int(number)
        self.first_name = first_name
        self.username = username
        self.reads_all_groups = reads_all_groups
        """Whether its privacy mode is off: otherwise it sees in groups only its commands and replies to itself."""
        self.commands: dict[str, list[dict[str, str]]] = {}
        """What `setMyCommands` set, by scope and language (written as JSON)."""
        self.menu_button: dict[str, Any] = {"type": "commands"}
        self.profile: dict[str, str] = {}
        """Name and descriptions that the bot gave itself."""

    @property
    def name(self) -> str:
        """As Telegram shows it."""
        return self.profile.get("name") or self.first_name

    def as_json(self) -> dict[str, Any]:
        """As the API describes it in messages."""
        return {"id": self.id, "is_bot": True, "first_name": self.name, "username": self.username}

    def about_itself(self) -> dict[str, Any]:
        """As `getMe` describes it."""
        return {
            **self.as_json(),
            "can_join_groups": True,
            "can_read_all_group_messages": self.reads_all_groups,
            "supports_inline_queries": False,
            "can_connect_to_business": False,
            "has_main_web_app": False,
            "has_topics_enabled": False,
            "allows_users_to_create_topics": False,
        }
