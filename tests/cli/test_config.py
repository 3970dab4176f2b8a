"""`handrail config`: reading and changing settings from the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from handrail.config.keys import KEYS
from handrail.transports.process_tree import MARKER_VARIABLE

from .support import Done, OnTerminal, handrail


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HANDRAIL_CONFIG_DIR", str(tmp_path))
    return tmp_path / "config.toml"


def config(*arguments: str, **env: str) -> Done:
    return handrail("config", *arguments, **env)


def test_path(file: Path) -> None:
    assert config("path").stdout == f"{file}\n"
    assert not file.exists()


@pytest.mark.slow
def test_set_get_unset(file: Path) -> None:
    assert config("get", "claude.model").returncode == 1
    done = config("set", "claude.model", "opus")
    assert (done.returncode, done.stderr) == (0, f'claude.model = "opus", in {file}\n')
    assert config("get", "claude.model").stdout == "opus\n"
    assert config("get", "claude.model", "--json").stdout == '"opus"\n'
    assert "its default holds" in config("unset", "claude.model").stderr
    assert config("get", "claude.model").returncode == 1
    assert "is not set in" in config("unset", "claude.model").stderr


def test_lists_and_negative_numbers_need_no_quoting(file: Path) -> None:
    assert config("set", "claude.allowed_tools", "Read", "Bash(git log *)").returncode == 0
    assert config("get", "claude.allowed_tools").stdout == '["Read", "Bash(git log *)"]\n'
    done = config("set", "limits.restarts", "-1")
    assert (done.returncode, "must be a whole number, at least 0, not -1" in done.stderr) == (2, True)


def test_what_is_wrong_gets_words_and_exit_code_2(file: Path) -> None:
    done = config("set", "claude.permission_mode", "plna")
    assert done.returncode == 2
    assert "did you mean 'plan'?" in done.stderr
    assert not file.exists()
    file.write_text("[claude]\npermision_mode = 'plan'\n")
    done = config("list")
    assert done.returncode == 2
    assert f"{file}, line 2, claude.permision_mode: there is no such key" in done.stderr.replace("\n", " ")


def test_list_shows_every_key_and_where_its_value_comes_from(file: Path) -> None:
    file.write_text('[claude]\nmodel = "opus"\n')
    done = config("list", HANDRAIL_LIMITS_RESTARTS="7")
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[2:]}
    assert set(rows) == set(KEYS)
    assert rows["claude.model"] == ['"opus"', "file"]
    assert rows["limits.restarts"] == ["7", "HANDRAIL_LIMITS_RESTARTS"]
    assert rows["limits.stall_minutes"] == ["15", "default"]
    listed = json.loads(config("list", "--json", HANDRAIL_LIMITS_RESTARTS="7").stdout)
    assert set(listed) == set(KEYS)
    assert listed["limits.restarts"] == {
        "value": 7,
        "from": "environment",
        "default": 3,
        "variable": "HANDRAIL_LIMITS_RESTARTS",
    }


def test_nothing_secret_is_printed(file: Path) -> None:
    secret = "hunter2"
    written = [
        config("set", "claude.env.TOKEN", secret),
        config("set", "notify", f'[{{ webhook = "https://example.com/{secret}" }}, {{ command = ["x", "{secret}"] }}]'),
        config("get", "claude.env"),
        config("get", "claude.env.TOKEN"),
        config("get", "claude.env.TOKEN", "--json"),
        config("get", "claude.env", "--json"),
        config("get", "notify"),
        config("get", "notify", "--json"),
        config("list"),
        config("list", "--json"),
    ]
    assert [done.returncode for done in written] == [0] * len(written)
    assert secret in file.read_text()
    assert not any(secret in done.stdout + done.stderr for done in written)


def test_what_counts_more_is_said(file: Path) -> None:
    done = config("set", "claude.model", "opus", HANDRAIL_CLAUDE_MODEL="haiku")
    assert "HANDRAIL_CLAUDE_MODEL in the environment counts more" in done.stderr


def test_danger_is_said(file: Path) -> None:
    assert "DANGER" in config("set", "claude.dangerously_skip_permissions", "true").stderr


@pytest.mark.parametrize("arguments", [("set", "claude.model", "x"), ("unset", "claude.model"), ("edit",)])
def test_claude_cannot_change_settings(file: Path, arguments: tuple[str, ...]) -> None:
    done = config(*arguments, **{MARKER_VARIABLE: "1"})
    assert done.returncode == 3
    assert "inside a session" in done.stderr
    assert not file.exists()


# ---------------------------------------------------------------- the editor


def editor_that_writes(directory: Path, *texts: str) -> str:
    """A command that replaces a file's content, by the next of these texts each time."""
    for number, text in enumerate(texts):
        (directory / f"text-{number}").write_text(text)
    program = directory / "editor"
    program.write_text(
        f"#!/bin/sh\ncd '{directory}'\n"
        'for each in text-*; do [ -e $each ] || break; cat $each > "$1"; rm $each; exit 0; done\nexit 9\n'
    )
    program.chmod(0o755)
    return str(program)


def test_edit_without_a_terminal(file: Path, tmp_path: Path) -> None:
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    editor = editor_that_writes(bin_directory, "[claude]\nmodel = 'opus'\n", "[claude]\nmodel = 3\n")
    assert config("edit", VISUAL=editor).returncode == 0
    assert file.read_text() == "[claude]\nmodel = 'opus'\n"
    done = config("edit", EDITOR=editor)
    assert done.returncode == 2
    assert "line 2, claude.model" in done.stderr
    assert "nothing was changed" in done.stderr
    assert file.read_text() == "[claude]\nmodel = 'opus'\n"
    assert "ended with code 9" in config("edit", EDITOR=editor).stderr
    assert "could not be started" in config("edit", EDITOR="/there/is/none").stderr
    assert sorted(os.listdir(tmp_path)) == ["bin", "config.toml", "config.toml.lock"]


@pytest.mark.slow
def test_edit_offers_to_edit_again(file: Path, tmp_path: Path) -> None:
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    editor = editor_that_writes(bin_directory, "[claude]\nmodel = 3\n", "[claude]\nmodel = '3'\n")
    with OnTerminal("config", "edit", EDITOR=editor) as terminal:
        terminal.wait_for("Edit again?")
        assert "line 2, claude.model" in terminal.text
        assert not file.exists()
        terminal.type("y")
        assert terminal.exit_code() == 0
    assert file.read_text() == "[claude]\nmodel = '3'\n"
