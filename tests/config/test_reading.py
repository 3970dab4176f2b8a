"""Settings: the file, the environment, what holds, and messages that name file, line, key and what would be right."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.config import Config, danger_notice, load_config
from handrail.config.keys import KEYS, SECTIONS, key_named, unknown_variables
from handrail.config.model import Effort, Notify, PermissionMode, SettingSource
from handrail.config.reading import load_settings, parse_config, value_of
from handrail.errors import ConfigError
from handrail.policy.profiles import PROFILES
from handrail.protocol import options

from .support import places_in

FULL = """\
# mine
[claude]
model = "sonnet"
allowed_tools = [
  "Read",
  "Bash(git log *)",
]
use_api_billing = false
permission_mode = "plan"
env = { LANG = "C" }

[limits]
daily_budget_usd = 20
on_stall = "interrupt"

[storage]
frames_days = "forever"

[[notify]]
on = ["ask"]
command = ["notify-send", "Claude"]

[[notify]]
webhook = "https://example.com/hook"
"""


def error_of(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        parse_config(text.encode(), "c.toml")
    return str(raised.value)


# ---------------------------------------------------------------- what holds


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load_config(places_in(tmp_path), {}) == Config()


def test_a_whole_file() -> None:
    config = parse_config(FULL.encode(), "c.toml")
    assert (config.claude.model, config.claude.permission_mode) == ("sonnet", "plan")
    assert config.claude.allowed_tools == ("Read", "Bash(git log *)")
    assert config.claude.env == {"LANG": "C"}
    assert (config.limits.daily_budget_usd, config.limits.on_stall) == (20, "interrupt")
    assert config.storage.frames_days == "forever"
    assert [each.on for each in config.notify] == [("ask",), ("ask", "finished", "failed")]


def test_the_environment_counts_more_than_the_file(tmp_path: Path) -> None:
    environ = {"HANDRAIL_CLAUDE_MODEL": "opus", "HANDRAIL_LIMITS_RESTARTS": "5", "HANDRAIL_TERMINAL_VERBOSE": "true"}
    settings = load_settings(places_in(tmp_path, FULL), environ)
    assert (settings.config.claude.model, settings.config.limits.restarts) == ("opus", 5)
    assert settings.config.terminal.verbose is True
    assert settings.origins["claude.model"] == "environment"
    assert settings.origins["claude.permission_mode"] == "file"
    assert "claude.effort" not in settings.origins


def test_an_empty_variable_is_none(tmp_path: Path) -> None:
    assert load_config(places_in(tmp_path, FULL), {"HANDRAIL_CLAUDE_MODEL": ""}).claude.model == "sonnet"


def test_text_that_looks_like_something_else_is_text(tmp_path: Path) -> None:
    environ = {"HANDRAIL_CLAUDE_MODEL": "4", "HANDRAIL_CLAUDE_APPEND_SYSTEM_PROMPT": "true"}
    claude = load_config(places_in(tmp_path), environ).claude
    assert (claude.model, claude.append_system_prompt) == ("4", "true")


def test_a_project_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project" / ".handrail"
    project.mkdir(parents=True)
    (project / "config.toml").write_text("[claude]\ndangerously_skip_permissions = true\n")
    monkeypatch.chdir(project.parent)
    assert load_config(places_in(tmp_path), {}) == Config()


# ---------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[claude]\n\npermision_mode = "plan"',
            "c.toml, line 3, claude.permision_mode: there is no such key: did you mean 'permission_mode'?",
        ),
        (
            '[claude]\npermission_mode = "plna"',
            "c.toml, line 2, claude.permission_mode: must be one of \"default\", \"acceptEdits\", \"plan\", "
            "\"bypassPermissions\", \"dontAsk\", \"auto\", not \"plna\": did you mean 'plan'?",
        ),
        (
            "[limits]\nrestarts = 1.5",
            "c.toml, line 2, limits.restarts: must be a whole number, at least 0, not 1.5",
        ),
        ("[limits]\nrestarts = -1", "c.toml, line 2, limits.restarts: must be a whole number, at least 0, not -1"),
        (
            "[limits]\ndaily_budget_usd = inf",
            "c.toml, line 2, limits.daily_budget_usd: must be a number, more than 0, not inf",
        ),
        (
            '[storage]\nframes_days = "never"',
            'c.toml, line 2, storage.frames_days: must be a number, at least 0, or "forever", not "never"',
        ),
        (
            '[claude]\nallowed_tools = [\n  "Read",\n  3,\n]',
            'c.toml, line 4, claude.allowed_tools[1]: must be text, not 3',
        ),
        ("[clade]\n", "c.toml, line 1, clade: there is no such table: did you mean 'claude'?"),
        ('model = "x"', "c.toml, line 1, model: there is no such key here: it belongs into [claude]"),
        ("claude = 3", "c.toml, line 1, claude: must be a table: write [claude] on a line of its own, its keys below"),
        (
            "[[notify]]\non = ['ask']\n",
            "c.toml, line 1, notify[0]: needs a command or a webhook, and not both: write one [[notify]] for each",
        ),
        (
            "[[notify]]\ncommand = ['x']\n\n[[notify]]\ncommand = ['x']\non = ['asks']\n",
            'c.toml, line 6, notify[1].on[0]: must be one of "ask", "finished", "failed", "stalled", "probe", '
            "not \"asks\": did you mean 'ask'?",
        ),
        ("[notify]\n", "c.toml, line 1, notify: must be [[notify]], in two pairs of brackets"),
        ("[claude]\nmodel = \n", "c.toml, line 2, column 9: this is not TOML: Invalid value"),
        (
            '[claude]\ncli_path = "bin/claude"',
            "c.toml, line 2, claude.cli_path: must be an absolute path, one from ~/, or a name on PATH, not "
            '"bin/claude": that is another file in each directory',
        ),
        (
            '[claude]\ndangerously_skip_permissions = true\npermission_mode = "plan"',
            "c.toml: claude.dangerously_skip_permissions starts sessions in bypassPermissions, not in plan: unset it, "
            "or claude.permission_mode",
        ),
        (
            '[claude]\nmodel = "a"\nfallback_model = "a"',
            "c.toml: claude.fallback_model must be another model than claude.model: unset it",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place_and_what_would_be_right(text: str, message: str) -> None:
    assert error_of(text) == message


def test_everything_that_is_wrong_is_said_at_once() -> None:
    lines = error_of('[limits]\nrestarts = "x"\n[claude]\nmodell = "y"\n').splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "c.toml, line 2, limits.restarts",
        "c.toml, line 4, claude.modell",
    ]


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^HANDRAIL_CLAUDE_EFFORT in the environment \(claude.effort\): must be one"):
        load_config(places_in(tmp_path), {"HANDRAIL_CLAUDE_EFFORT": "huge"})


def test_what_may_be_secret_is_not_told() -> None:
    for text in ("[claude]\nenv = { TOKEN = 12345 }", "[[notify]]\nwebhook = '12345'", "[[notify]]\ncommand = '12345'"):
        assert "12345" not in error_of(text)
    config = parse_config(b"[claude.env]\nT = '12345'\n[[notify]]\nwebhook = 'https://x.y/12345'", "c")
    assert "12345" not in repr(config)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    os.makedirs(places.config_file)
    with pytest.raises(ConfigError, match=r"config.toml cannot be read: Is a directory"):
        load_config(places, {})


def test_a_file_that_is_far_too_large(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="larger than 1024 KiB"):
        load_config(places_in(tmp_path, "#" * (1024 * 1024 + 1)), {})


@pytest.mark.slow
@given(st.text(max_size=80))
def test_any_text_is_a_config_or_an_error_that_names_the_file(text: str) -> None:
    message = "c.toml, line 0"
    try:
        parse_config(text.encode("utf-8", "replace"), "c.toml")
    except ConfigError as error:
        message = str(error)
    assert all(line.startswith("c.toml, line ") for line in message.split("\n"))


tables = st.dictionaries(
    st.sampled_from([*(key.last for key in KEYS.values()), "other"]),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.text(max_size=5))),
    max_size=4,
).map(lambda table: {name: value for name, value in table.items() if value is not None})


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from([*SECTIONS, "other"]), st.one_of(tables, st.lists(tables, max_size=2))))
def test_any_toml_is_a_config_or_an_error(document: dict[str, object]) -> None:
    import tomlkit

    text = tomlkit.dumps(document)
    message = "c.toml"
    try:
        parse_config(text.encode(), "c.toml")
    except ConfigError as error:
        message = str(error)
    assert all(line.startswith("c.toml") for line in message.split("\n"))


# ---------------------------------------------------------------- the keys


def test_every_key_has_a_value_and_a_description() -> None:
    for key in KEYS.values():
        assert value_of(Config(), key) == key.default
        assert key.description.endswith(".")


def test_words_of_other_parts_are_the_same_here() -> None:
    assert get_args(PermissionMode) == get_args(options.PermissionMode)
    assert get_args(Effort) == get_args(options.Effort)
    assert get_args(SettingSource) == get_args(options.SettingSource)
    assert set(KEYS["policy.profile"].choices) == set(PROFILES)


def test_settings_of_claude_are_options() -> None:
    fields = {field.name for field in msgspec.structs.fields(options.Options)}
    assert {key.last for key in KEYS.values() if key.section == "claude"} <= fields


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("claude.permision_mode", "there is no 'permision_mode' in claude: did you mean 'permission_mode'?"),
        ("permission_mode", "there is no setting 'permission_mode': did you mean 'claude.permission_mode'?"),
        ("claude", "claude is a table: name one of its keys, such as claude.model"),
        ("zzz", "there is no setting 'zzz': handrail config list shows them all"),
    ],
)
def test_an_unknown_name_gets_the_nearest(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        key_named(name)
    assert str(raised.value) == message


def test_mistyped_variables_are_found() -> None:
    environ = {"HANDRAIL_CLAUDE_MODLE": "x", "HANDRAIL_CLAUDE_MODEL": "x", "HANDRAIL_STATE_DIR": "/x", "PATH": "/"}
    assert unknown_variables(environ) == ["HANDRAIL_CLAUDE_MODLE"]


def test_danger_is_told() -> None:
    assert danger_notice(Config()) is None
    for text in ("dangerously_skip_permissions = true", 'permission_mode = "bypassPermissions"'):
        notice = danger_notice(parse_config(f"[claude]\n{text}".encode(), "c"))
        assert notice is not None
        assert notice.startswith("DANGER: ")
        assert notice.endswith(f"handrail config unset claude.{text.split()[0]}")


def test_a_notification_needs_no_more_than_one_way() -> None:
    assert Notify(command=("x",)).on == ("ask", "finished", "failed")
