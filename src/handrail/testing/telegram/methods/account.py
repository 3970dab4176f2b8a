"""Methods about the bot itself."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from handrail.testing.telegram.api_errors import bad_request
from handrail.testing.telegram.fields import needed_text, object_of
from handrail.testing.telegram.methods.calling import Call, Method, json_of

__all__ = ["METHODS"]

_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
_MOST_COMMANDS = 100
_MOST_DESCRIPTION = 256
_SCOPES = frozenset(("default", "all_private_chats", "all_group_chats", "all_chat_administrators"))
_CHAT_SCOPES = frozenset(("chat", "chat_administrators", "chat_member"))
_PROFILE = {"Name": "name", "Description": "description", "ShortDescription": "short_description"}


def get_me(call: Call) -> dict[str, Any]:
    """Who the bot is."""
    return call.world.bot.about_itself()


def set_my_commands(call: Call) -> bool:
    """The menu of commands, for a scope and language."""
    commands = json_of(call, "commands", "can't parse commands JSON object", [])
    if not isinstance(commands, list):
        raise bad_request("expected an Array of BotCommand")
    read = [_command(command) for command in commands]
    scope = _scope(call)
    if len(commands) > _MOST_COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    call.world.bot.commands[scope] = read
    call.world.notify()
    return True


def get_my_commands(call: Call) -> list[dict[str, str]]:
    """The menu of commands of a scope and language."""
    return call.world.bot.commands.get(_scope(call), [])


def delete_my_commands(call: Call) -> bool:
    """No menu for a scope and language."""
    call.world.bot.commands.pop(_scope(call), None)
    return True


def set_profile(call: Call) -> bool:
    """The bot's name or one of its descriptions."""
    name = _PROFILE[call.method.removeprefix("setMy")]
    call.world.bot.profile[name] = call.parameters.text(name)
    return True


def get_profile(call: Call) -> dict[str, str]:
    """The bot's name or one of its descriptions."""
    name = _PROFILE[call.method.removeprefix("getMy")]
    return {name: call.world.bot.profile.get(name, call.world.bot.name if name == "name" else "")}


def set_menu_button(call: Call) -> bool:
    """What the button beside the input opens."""
    button = json_of(call, "menu_button", "can't parse menu button JSON object", {"type": "default"})
    if not isinstance(button, dict):
        raise bad_request("can't parse menu button: MenuButton must be an Object")
    call.world.bot.menu_button = button
    return True


def get_menu_button(call: Call) -> dict[str, Any]:
    """What the button beside the input opens."""
    return call.world.bot.menu_button


def _scope(call: Call) -> str:
    """The scope and language of a call, in one word."""
    scope = json_of(call, "scope", "can't parse BotCommandScope JSON object", {"type": "default"})
    try:
        _check_scope(scope)
    except ValueError as error:
        raise bad_request(f"can't parse BotCommandScope: {error}") from error
    key = {"language": call.parameters.text("language_code"), "scope": scope}
    return msgspec.json.encode(key, order="sorted").decode()


def _check_scope(given: Any) -> None:
    scope = object_of(given, "BotCommandScope must be an Object")
    kind = needed_text(scope, "type")
    if kind not in _SCOPES | _CHAT_SCOPES:
        raise ValueError("Unsupported type specified")
    if kind in _CHAT_SCOPES and not needed_text(scope, "chat_id"):
        raise ValueError("Empty chat_id specified")


def _command(given: Any) -> dict[str, str]:
    try:
        raw = object_of(given)
        command, description = needed_text(raw, "command").removeprefix("/"), needed_text(raw, "description")
    except ValueError as error:
        raise bad_request(f"can't parse BotCommand: {error}") from error
    if not _COMMAND.fullmatch(command):
        raise bad_request("BOT_COMMAND_INVALID")
    if not 1 <= len(description) <= _MOST_DESCRIPTION:
        raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    return {"command": command, "description": description}


METHODS: dict[str, Method] = {
    "getMe": get_me,
    "setMyCommands": set_my_commands,
    "getMyCommands": get_my_commands,
    "deleteMyCommands": delete_my_commands,
    **{f"setMy{name}": set_profile for name in _PROFILE},
    **{f"getMy{name}": get_profile for name in _PROFILE},
    "setChatMenuButton": set_menu_button,
    "getChatMenuButton": get_menu_button,
}
