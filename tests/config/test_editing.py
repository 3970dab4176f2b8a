"""Changing settings: comments survive, what is not valid is never written, and nobody's change is lost."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.config import load_config
from handrail.config.editing import edit_settings, set_value, unset_value
from handrail.config.keys import KEYS, Key
from handrail.config.reading import parse_config, value_of
from handrail.config.template import template
from handrail.config.values import shown, typed
from handrail.errors import ConfigError
from handrail.places import Places

from .support import places_in

WRITTEN = """\
# my settings
[claude]   # how it starts
model = "sonnet"   # good enough

# money
[limits]
daily_budget_usd = 20
"""


def text_of(places: Places) -> str:
    return Path(places.config_file).read_text()


# ---------------------------------------------------------------- set and unset


def test_setting_keeps_everything_around(tmp_path: Path) -> None:
    places = places_in(tmp_path, WRITTEN)
    set_value(places, "claude.model", ["opus"])
    set_value(places, "limits.restarts", ["5"])
    expected = WRITTEN.replace('"sonnet"', '"opus"') + "restarts = 5\n"
    assert text_of(places) == expected
    assert unset_value(places, "limits.restarts")
    assert not unset_value(places, "limits.restarts")
    assert text_of(places) == WRITTEN.replace('"sonnet"', '"opus"')


@pytest.mark.parametrize(
    ("name", "texts", "value"),
    [
        ("claude.model", ["opus"], "opus"),
        ("claude.model", ['"opus"'], "opus"),
        ("claude.model", ["true"], "true"),
        ("claude.allowed_tools", ['["Read", "Bash(ls *)"]'], ("Read", "Bash(ls *)")),
        ("claude.allowed_tools", ["Read", "Bash(ls *)"], ("Read", "Bash(ls *)")),
        ("claude.allowed_tools", ["Read"], ("Read",)),
        ("claude.allowed_tools", ["[]"], ()),
        ("claude.dangerously_skip_permissions", ["false"], False),
        ("claude.env", ['{ A = "1", B = "x" }'], {"A": "1", "B": "x"}),
        ("claude.env.LANG", ["C"], {"LANG": "C"}),
        ("claude.env.NUMBER", ["1"], {"NUMBER": "1"}),
        ("limits.daily_budget_usd", ["20"], 20),
        ("storage.frames_days", ["forever"], "forever"),
        ("storage.frames_days", ["7.5"], 7.5),
        ("policy.profile", ["readonly"], "readonly"),
    ],
)
def test_what_was_typed_is_what_holds(tmp_path: Path, name: str, texts: list[str], value: Any) -> None:
    places = places_in(tmp_path)
    set_value(places, name, texts)
    key = KEYS[".".join(name.split(".")[:2])]
    assert value_of(load_config(places, {}), key) == value


def test_a_notification_can_be_set_at_once(tmp_path: Path) -> None:
    places = places_in(tmp_path, WRITTEN)
    set_value(places, "notify", ['[{ on = ["ask"], command = ["say", "Claude"] }]'])
    assert load_config(places, {}).notify[0].command == ("say", "Claude")


@pytest.mark.parametrize(
    ("name", "texts", "message"),
    [
        ("claude.permission_mode", ["plna"], r"claude.permission_mode: must be one of .* did you mean 'plan'\?"),
        ("limits.restarts", ["x"], 'limits.restarts: must be a whole number, at least 0, not "x"'),
        ("limits.restarts", ["1", "2"], "limits.restarts: must be a whole number, at least 0, not 2 values"),
        ("claude.modell", ["x"], "there is no 'modell' in claude: did you mean 'model'"),
        ("claude.env.X", ["a", "b"], "claude.env.X: must be one text"),
        ("claude.fallback_model", ["sonnet"], "must be another model"),
        ("notify", ['[{ on = ["ask"] }]'], "needs a command or a webhook"),
    ],
)
def test_what_is_wrong_is_not_written(tmp_path: Path, name: str, texts: list[str], message: str) -> None:
    places = places_in(tmp_path, WRITTEN)
    with pytest.raises(ConfigError, match=message):
        set_value(places, name, texts)
    assert text_of(places) == WRITTEN


def test_a_value_cannot_smuggle_in_another_key(tmp_path: Path) -> None:
    places = places_in(tmp_path, WRITTEN)
    smuggled = '"x"\ndangerously_skip_permissions = true'
    set_value(places, "claude.model", [smuggled])
    claude = load_config(places, {}).claude
    assert (claude.model, claude.dangerously_skip_permissions) == (smuggled, False)


def test_a_broken_file_is_left_alone_unless_the_change_mends_it(tmp_path: Path) -> None:
    places = places_in(tmp_path, "[limits]\nrestarts = 'x'\n")
    with pytest.raises(ConfigError, match=r"line 2, limits.restarts"):
        set_value(places, "claude.model", ["opus"])
    set_value(places, "limits.restarts", ["2"])
    assert load_config(places, {}).limits.restarts == 2
    Path(places.config_file).write_text("[limits\n")
    with pytest.raises(ConfigError, match=r"line 1.*repair it first: handrail config edit"):
        set_value(places, "claude.model", ["opus"])
    assert text_of(places) == "[limits\n"


def test_the_file_is_private_and_a_link_stays_one(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    set_value(places, "claude.model", ["opus"])
    assert stat.S_IMODE(os.stat(places.config_file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(places.config).st_mode) == 0o700
    elsewhere = tmp_path / "dotfiles.toml"
    Path(places.config_file).rename(elsewhere)
    Path(places.config_file).symlink_to(elsewhere)
    set_value(places, "claude.model", ["haiku"])
    assert Path(places.config_file).is_symlink()
    assert 'model = "haiku"' in elsewhere.read_text()


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file where the directory should be")
    with pytest.raises(ConfigError, match="cannot be"):
        set_value(places_in(tmp_path), "claude.model", ["opus"])


@pytest.mark.slow
def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    places = places_in(tmp_path, WRITTEN)
    program = (
        "import sys\nfrom handrail.config.editing import set_value\nfrom handrail.places import Places\n"
        "places = Places(*sys.argv[1:5])\n"
        "for number in range(15):\n    set_value(places, f'claude.env.{sys.argv[5]}{number}', ['x'])\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, *places.all, name]) for name in ("A", "B")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(load_config(places, {}).claude.env) == 30
    assert text_of(places).startswith("# my settings\n[claude]   # how it starts\n")


values = st.text(max_size=20)


@pytest.mark.slow
@given(values, st.sampled_from([key for key in KEYS.values() if key.is_text]))
def test_any_text_survives_being_typed_in_quotes(text: str, key: Key) -> None:
    import tomlkit

    try:
        quoted = tomlkit.item(text).as_string()
    except ValueError:
        return  # not to be written in TOML at all
    assert typed(quoted, key) == text


def test_what_is_shown_can_be_typed_again() -> None:
    for key in KEYS.values():
        if key.default not in (None, (), {}):
            assert parse_config(f"{key.name} = {shown(key.default, key)}".encode(), "c") is not None


# ---------------------------------------------------------------- the editor


def never_again(error: ConfigError) -> bool:
    raise AssertionError(error)


def test_editing_replaces_the_file_once_it_is_valid(tmp_path: Path) -> None:
    places = places_in(tmp_path, WRITTEN)
    versions = ["[claude]\nmodel = 3\n", "[claude]\nmodel = '3'\n"]
    seen: list[str] = []

    def editor(path: str) -> None:
        seen.append(Path(path).read_text())
        assert text_of(places) == WRITTEN
        assert path != places.config_file
        Path(path).write_text(versions.pop(0))

    assert edit_settings(places, editor, lambda error: "line 2, claude.model" in str(error))
    assert text_of(places) == "[claude]\nmodel = '3'\n"
    assert seen == [WRITTEN, "[claude]\nmodel = 3\n"]
    assert sorted(os.listdir(places.config)) == ["config.toml", "config.toml.lock"]


def test_giving_up_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    places = places_in(tmp_path, WRITTEN)
    assert not edit_settings(places, lambda path: Path(path).write_text("[") and None, lambda error: False)
    assert text_of(places) == WRITTEN
    assert os.listdir(places.config) == ["config.toml"]


def test_a_first_file_offers_every_key(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    offered = []
    assert not edit_settings(places, lambda path: offered.append(Path(path).read_text()), never_again)
    assert offered == [template()]
    assert not os.path.exists(places.config_file)


def test_every_line_of_the_first_file_is_valid() -> None:
    text = template()
    assert parse_config(text.encode(), "c") is not None
    uncommented = "\n".join(
        line.removeprefix("#") if line.startswith("#") and not line.startswith("# ") else line
        for line in text.replace("# [[notify]]", "[[notify]]").splitlines()
        if not line.startswith("#webhook")
    )
    config = parse_config(uncommented.encode(), "c")
    assert config.claude.model == "sonnet"
    assert config.notify[0].command == ("notify-send", "Claude")


def test_a_change_by_somebody_else_meanwhile_is_not_lost(tmp_path: Path) -> None:
    places = places_in(tmp_path, WRITTEN)

    def editor(path: str) -> None:
        Path(path).write_text("[claude]\nmodel = 'mine'\n")
        set_value(places, "claude.model", ["theirs"])

    with pytest.raises(ConfigError, match=r"was changed meanwhile: yours is kept in (\S+), put") as raised:
        edit_settings(places, editor, never_again)
    assert load_config(places, {}).claude.model == "theirs"
    kept = str(raised.value).split("kept in ")[1].split(",")[0]
    assert Path(kept).read_text() == "[claude]\nmodel = 'mine'\n"
