"""What holds for every command: help with an example, quick; messages instead of tracebacks; the reference page."""

from __future__ import annotations

import importlib.util
import re
import resource
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from handrail.cli.app import COMMANDS

from .support import Home

ROOT = Path(__file__).parents[3]
SHOWN = [entry for entry in COMMANDS if not entry.hidden]
OF_SESSIONS = [entry for entry in SHOWN if entry.where.startswith("handrail.cli.commands.")]


@pytest.mark.parametrize("entry", SHOWN, ids=lambda entry: entry.name)
def test_the_table_says_what_the_command_says(entry: object) -> None:
    from handrail.cli.lazy import Entry

    assert isinstance(entry, Entry)
    command = entry.load()
    assert (command.help or "").strip().splitlines()[0] == entry.help
    assert len(entry.help) <= 80 - len("  completion  ")


@pytest.mark.parametrize("entry", OF_SESSIONS, ids=lambda entry: entry.name)
def test_help_has_an_example(home: Home, entry: object) -> None:
    name = getattr(entry, "name", "")
    done = home.run(name, "--help")
    assert done.returncode == 0
    assert re.search(rf"Example: .*handrail {name}\b", " ".join(done.stdout.split()))


def test_every_section_is_in_the_help(home: Home) -> None:
    shown = home.run("--help").stdout
    for heading in ("Run:", "Sessions:", "Asks:", "Upkeep:", "Policy & config:"):
        assert f"\n{heading}\n" in shown
    for entry in SHOWN:
        assert re.search(rf"^  {entry.name} +\S", shown, re.M)


@pytest.mark.slow
def test_help_needs_nothing_slow() -> None:
    check = (
        "import sys\nfrom typer.testing import CliRunner\nfrom handrail.cli.app import app\n"
        "before = set(sys.modules)\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "assert CliRunner().invoke(app, ['ls', '--help']).exit_code == 0\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.split()
    for slow in (
        "handrail.sessions.manager",
        "handrail.store.sqlite",
        "rich.console",
        "asyncio",
        "sqlite3",
        "pydantic",
    ):
        assert slow not in loaded


@pytest.mark.slow
def test_help_answers_in_a_fifth_of_a_second() -> None:
    """In time of its own: how long it waited for a busy machine says nothing. The first try may compile modules."""
    took = []
    for _ in range(7):
        before = time_of_children()
        subprocess.run([sys.executable, "-m", "handrail", "--help"], check=True, capture_output=True)
        took.append(time_of_children() - before)
    assert min(took) < 0.2


def time_of_children() -> float:
    """Seconds of processor time that the processes this one started have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---------------------------------------------------------------- what goes wrong


def test_a_database_that_cannot_be_used_is_told_in_a_line(home: Home) -> None:
    state = Path(home.env["HANDRAIL_STATE_DIR"])
    state.mkdir()
    (state / "handrail.db").write_text("this is not a database, and long enough to be looked at as one" * 100)
    done = home.run("ls")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert "handrail.db" in done.stderr


def test_a_place_that_is_none_is_told_in_a_line(home: Home) -> None:
    (home.directory / "state").write_text("a file where a directory should be")
    done = home.run("ls")
    assert done.returncode in (1, 2)
    assert len(done.stderr.splitlines()) == 1


def test_an_unknown_command_is_told(home: Home) -> None:
    done = home.run("lss")
    assert done.returncode == 2
    assert "lss" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["ls"], ["ls", "--json"], ["show", "@"], ["show", "@", "--events"], ["export", "@"]]
)
async def test_a_reader_that_leaves_is_no_error(past: tuple[Home, str], arguments: list[str]) -> None:
    home, session_id = past
    named = [session_id if argument == "@" else argument for argument in arguments]
    done = await home.process(*named, reader="true")
    assert done.stderr == ""
    assert done.returncode in (0, 141)


# ---------------------------------------------------------------- the reference page


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_cli", ROOT / "docs" / "generate_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_reference_page_has_every_command_and_option() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert page == generator().page(page), "run: python docs/generate_cli.py"


def test_the_guide_names_every_command_about_sessions() -> None:
    guide = (ROOT / "docs" / "guides" / "commands.md").read_text(encoding="utf-8")
    assert [entry.name for entry in OF_SESSIONS if f"handrail {entry.name}" not in guide] == []
