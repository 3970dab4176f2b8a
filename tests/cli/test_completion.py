"""The Tab key: what is offered, how quickly, and that shells do with it what they should."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from handrail.cli.app import COMMANDS, app
from handrail.cli.candidates import MODELS, ask_ids, one_line, session_ids
from handrail.cli.complete_words import candidates
from handrail.cli.completion_scripts import SCRIPTS, installed
from handrail.config.keys import KEYS
from handrail.places import Places
from handrail.policy.profiles import PROFILES
from handrail.store.base import AskRow, Batch, SessionRow
from handrail.store.place import store_path
from handrail.store.sqlite import SqliteStore

from .support import child_env, handrail

ROOT = get_command(app)
SESSION = "0123456789abcdef0123456789abcdef"


def offered(*words: str) -> list[str]:
    return [value for value, _ in candidates(ROOT, words)]


# ---------------------------------------------------------------- what is offered


def test_commands() -> None:
    assert offered("") == [entry.name for entry in COMMANDS if not entry.hidden]
    assert offered("conf") == ["config"]
    assert offered("config", "un") == ["unset"]
    assert offered("nonsense", "") == []


def test_options() -> None:
    assert offered("completion", "bash", "--in") == ["--install"]
    assert offered("config", "list", "--") == ["--json", "--help"]
    assert offered("config", "list", "--json", "--") == ["--help"]
    assert offered("config", "list", "--", "--") == []


def test_settings_and_their_values() -> None:
    assert offered("config", "get", "") == list(KEYS)
    assert offered("config", "get", "claude.mo") == ["claude.model"]
    assert offered("config", "set", "claude.permission_mode", "") == list(KEYS["claude.permission_mode"].choices)
    assert offered("config", "set", "claude.use_api_billing", "t") == ["true"]
    assert offered("config", "set", "claude.model", "") == [name for name, _ in MODELS]
    assert set(offered("config", "set", "policy.profile", "")) == set(PROFILES)
    assert offered("config", "set", "there.is.none", "") == []


def test_shells() -> None:
    assert offered("completion", "") == ["bash", "zsh", "fish"]
    assert list(SCRIPTS) == ["bash", "zsh", "fish"]


def test_titles_cannot_give_orders_to_the_terminal() -> None:
    assert one_line("a\x1b]0;b\x07\n\tc\u202ed") == "a ]0;b c d"


# ---------------------------------------------------------------- what is stored


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HANDRAIL_STATE_DIR", str(tmp_path))

    async def fill() -> None:
        store = SqliteStore(store_path(Places.of_user(os.environ)))
        await store.open()
        row = SessionRow(id=SESSION, cwd="/project", created_at=1, updated_at=1, title="Fix it")
        await store.create_session(row)
        lease = await store.acquire(SESSION, "me", now=1)
        ask = AskRow(
            session_id=SESSION, id="ask-1", kind="permission", digest="d", title="Bash", body=b"{}", opened_at=1
        )
        await store.append(lease, Batch(asks=[ask]))
        await store.close()

    asyncio.run(fill())
    return tmp_path


def test_sessions_and_asks(stored: Path) -> None:
    assert SESSION[:8] in offered("show", "")
    assert offered("answer", "as") == ["ask-1"]
    assert session_ids("") == [("@", "the latest session of this directory"), (SESSION[:8], "Fix it")]
    assert session_ids("0123") == [(SESSION[:8], "Fix it")]
    assert session_ids("0123456789") == [(SESSION, "Fix it")]
    assert session_ids("f") == []
    assert ask_ids("") == [("ask-1", "Bash")]


def test_a_damaged_database_offers_nothing_and_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANDRAIL_STATE_DIR", str(tmp_path))
    assert session_ids("0") == []
    (tmp_path / "handrail.db").write_bytes(b"this is not a database at all" * 100)
    assert session_ids("0") == []
    assert sorted(os.listdir(tmp_path)) == ["handrail.db"]


# ---------------------------------------------------------------- in a shell


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """A directory with a `handrail` and the script for bash."""
    program = tmp_path / "handrail"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m handrail "$@"\n')
    program.chmod(0o755)
    (tmp_path / "script").write_text(SCRIPTS["bash"])
    return tmp_path


def in_bash(command: Path, *words: str) -> list[str]:
    """What bash would offer after these words, the last of which is unfinished."""
    script = (
        f'source {command}/script; COMP_WORDS=(handrail "$@"); COMP_CWORD=$#\n'
        '_handrail handrail; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *words],
        env=child_env(PATH=f"{command}:{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes(command: Path) -> None:
    assert in_bash(command, "config", "get", "claude.mo") == ["claude.model"]
    assert in_bash(command, "config", "set", "terminal.verbose", "") == ["true", "false"]


@pytest.mark.slow
def test_bash_evaluates_nothing_of_what_is_typed_or_offered(command: Path, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    assert in_bash(command, f"$(touch {trap})", "") == []
    assert in_bash(command, "config", "get", f"claude.`touch {trap}`") == []
    assert not trap.exists()


@pytest.mark.slow
def test_completing_imports_neither_rich_nor_pydantic() -> None:
    check = (
        "import sys\nfrom handrail.cli import main\n"
        "sys.argv = ['handrail', 'complete-words', '--', 'config', 'get', 'claude.m']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert "claude.model\t" in done.stdout
    loaded = done.stderr.split()
    for slow in ("rich", "pydantic", "asyncio", "tomlkit", "handrail.store.sqlite", "handrail.sessions"):
        assert slow not in loaded


# ---------------------------------------------------------------- installing


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", ".local/share/bash-completion/completions/handrail"),
        ("zsh", ".local/share/zsh/site-functions/_handrail"),
        ("fish", ".config/fish/completions/handrail.fish"),
    ],
)
def test_installing(shell: str, place: str, tmp_path: Path) -> None:
    path, remark = installed(shell, {"HOME": str(tmp_path)})
    assert path == str(tmp_path / place)
    assert Path(path).read_text() == SCRIPTS[shell] == handrail("completion", shell).stdout
    assert remark


def test_installing_from_the_command_line(tmp_path: Path) -> None:
    done = handrail("completion", "fish", "--install", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "c"))
    assert done.returncode == 0
    assert (tmp_path / "c/fish/completions/handrail.fish").exists()
    assert handrail("completion", "tcsh").returncode == 2
