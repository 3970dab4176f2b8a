"""The settings of Telegram, and the token of the bot, which is none of them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from handrail.config import Telegram, TelegramUser, load_config
from handrail.config.bot_token import find_token, is_token, remember_token, token_path
from handrail.config.editing import add_telegram_user, set_value
from handrail.config.keys import KEYS, TOKEN_VARIABLE, unknown_variables
from handrail.config.reading import load_settings
from handrail.config.values import shown
from handrail.errors import ConfigError
from handrail.places import Places
from handrail.protocol.launch import child_environment
from handrail.protocol.options import Options

TOKEN = "123456:TEST-token-of-a-bot-that-does-not-exist"
ANN = TelegramUser(id=1001, name="Ann Lee")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))


def write(places: Places, text: str) -> None:
    os.makedirs(places.config, exist_ok=True)
    Path(places.config_file).write_text(text, encoding="utf-8")


def test_people_groups_and_projects_are_read(places: Places) -> None:
    write(
        places,
        """
        [telegram]
        groups = [-1001]
        [[telegram.users]]
        id = 1001
        name = "Ann Lee"
        [[telegram.users]]
        id = 1002
        name = "Bob"
        role = "viewer"
        [telegram.projects]
        site = "~/src/site"
        """,
    )
    telegram = load_config(places, {}).telegram
    assert telegram.users == (ANN, TelegramUser(id=1002, name="Bob", role="viewer"))
    assert (telegram.groups, telegram.projects, telegram.enabled) == ((-1001,), {"site": "~/src/site"}, True)
    users = KEYS["telegram.users"]
    assert shown(telegram.users[:1], users) == '[{id = 1001, name = "Ann Lee", role = "owner"}]'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[telegram.users]]\nid = "me"\nname = "Ann"\n', r"line 1, telegram.users\[0\]: must be a table of id"),
        ("[[telegram.users]]\nid = 1\n", "must be a table of id"),
        ('[[telegram.users]]\nid = 1\nname = " "\n', "must be a table of id"),
        ('[[telegram.users]]\nid = 1\nname = "a\\u0007b"\n', "must be a table of id"),
        ('[[telegram.users]]\nid = 1\nname = "\\u202eAnn"\n', "must be a table of id"),
        ('[[telegram.users]]\nid = 1\nname = "Ann"\nrole = "king"\n', "role .viewer, approver or owner"),
        ('[[telegram.users]]\nid = 1\nname = "A"\n[[telegram.users]]\nid = 1\nname = "B"\n', "has 1 twice"),
        ("[telegram]\ngroups = [5]\n", r"telegram.groups\[0\]: must be the number of a group, which is below zero"),
        ('[telegram]\napi_url = "api.telegram.org"\n', "must be an http or https address"),
        ('[telegram]\ntoken = "x"\n', "there is no such key"),
    ],
)
def test_what_is_wrong_is_said(places: Places, text: str, said: str) -> None:
    write(places, text)
    with pytest.raises(ConfigError, match=said):
        load_config(places, {})


@pytest.mark.parametrize(
    "before",
    [
        "",
        "# mine\n[telegram]\nsound = false\n\n[terminal]\nverbose = true\n",
        "[telegram]\nusers = [{ id = 7, name = 'Eve' }]\n",
        "[telegram.projects]\nsite = '/srv/site'\n",
        "[telegram]\n# who may\n[[telegram.users]]\nid = 7\nname = 'Eve'\n\n[terminal]\n",
    ],
)
def test_somebody_is_let_in_and_all_else_stays(places: Places, before: str) -> None:
    write(places, before)
    known = load_config(places, {})
    add_telegram_user(places, ANN, api_url="http://127.0.0.1:1")
    add_telegram_user(places, TelegramUser(id=1002, name="Bob", role="viewer"))
    add_telegram_user(places, TelegramUser(id=1001, name="Ann", role="approver"))
    after = load_config(places, {})
    assert after.telegram.users == (
        *known.telegram.users,
        TelegramUser(id=1001, name="Ann", role="approver"),
        TelegramUser(id=1002, name="Bob", role="viewer"),
    )
    assert after.telegram.api_url == "http://127.0.0.1:1"
    assert (after.terminal, after.telegram.projects) == (known.terminal, known.telegram.projects)
    written = Path(places.config_file).read_text()
    assert all(line in written for line in before.splitlines() if line.startswith("#"))


def test_a_project_is_set_by_its_name(places: Places) -> None:
    set_value(places, "telegram.projects.site", ["gpu-box:/srv/site"])
    settings = load_settings(places, {"HANDRAIL_TELEGRAM_SOUND": "false"})
    assert settings.config.telegram.projects == {"site": "gpu-box:/srv/site"}
    assert settings.config.telegram.sound is False


# ---------------------------------------------------------------- the token


def test_a_token_has_a_file_that_only_its_owner_reads(places: Places) -> None:
    assert find_token(places, Telegram(), {}) is None
    path = remember_token(places, Telegram(), TOKEN)
    assert path == token_path(places, Telegram()) == os.path.join(places.config, "telegram-token")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    found = find_token(places, Telegram(), {})
    assert found is not None
    assert (found.value, found.bot_id, found.origin, found.others_can_read) == (TOKEN, 123456, path, False)
    assert TOKEN not in repr(found)
    os.chmod(path, 0o644)
    assert (again := find_token(places, Telegram(), {})) is not None
    assert again.others_can_read


def test_the_environment_and_a_file_elsewhere_count_more(places: Places, tmp_path: Path) -> None:
    elsewhere = Telegram(token_file=str(tmp_path / "secret"))
    remember_token(places, Telegram(), TOKEN)
    remember_token(places, elsewhere, "2:two")
    assert (found := find_token(places, elsewhere, {})) is not None
    assert found.bot_id == 2
    assert (found := find_token(places, elsewhere, {TOKEN_VARIABLE: "3:three"})) is not None
    assert found.bot_id == 3
    assert unknown_variables({TOKEN_VARIABLE: "3:three"}) == []


@pytest.mark.parametrize("text", ["", "secret", "12:", ":x", "1:a b", "1:a\n2:b", "x" * 500])
def test_what_is_no_token_is_not_repeated(places: Places, text: str) -> None:
    assert not is_token(text)
    remember_token(places, Telegram(), text)
    with pytest.raises(ConfigError, match="is no token of a bot") as caught:
        find_token(places, Telegram(), {})
    assert not text or text not in str(caught.value)


def test_claude_does_not_inherit_it() -> None:
    assert TOKEN_VARIABLE not in child_environment(Options(), {TOKEN_VARIABLE: TOKEN, "PATH": "/bin"})


def test_what_cannot_be_the_name_of_a_file_is_said(places: Places) -> None:
    Path(places.config).mkdir()
    Path(places.config_file).write_text('[telegram]\ntoken_file = "a\\u0000b"\n')
    with pytest.raises(ConfigError, match=r"telegram\.token_file.*the path of a file"):
        load_config(places, {})
