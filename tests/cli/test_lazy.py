"""Commands are imported when they are called, and their lines in `--help` are those of the commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from handrail.cli.app import app
from handrail.cli.lazy import HELP_NAMES, Entry, lazy_group

ENTRIES: tuple[Entry, ...] = tuple(getattr(get_command(app), "entries", {}).values())
HERE = "tests_of_lazy_commands"


def greet(
    name: str,
    times: Annotated[int, typer.Option()] = 1,
    also: Annotated[list[str] | None, typer.Option()] = None,
    loud: Annotated[bool, typer.Option("--loud")] = False,
    where: Annotated[Path, typer.Option()] = Path(),
) -> None:
    """Greet somebody.

    In words.
    """
    typer.echo(f"{name} {times} {also} {loud} {where!r}")


group = typer.Typer(help="Do several things.", no_args_is_help=True)


@group.command()
def one(word: str = "nothing") -> None:
    """Do the first thing."""
    typer.echo(f"one {word}")


@group.command()
def two() -> None:
    """Do the second thing."""


TABLE = (
    Entry("greet", f"{HERE}:greet", "Greet somebody.", "People"),
    Entry("several", f"{HERE}:group", "Do several things.", "Things"),
    Entry("secret", f"{HERE}:greet", "Greet somebody.", hidden=True),
    Entry("missing", "handrail.cli.there_is_no_such_module:x", "Never imported.", "Things"),
)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, HERE, sys.modules[__name__])
    lazy = typer.Typer(
        cls=lazy_group(TABLE),
        rich_markup_mode=None,
        add_completion=False,
        context_settings={"help_option_names": list(HELP_NAMES)},
    )
    lazy.callback()(lambda: None)
    return lambda *arguments: CliRunner().invoke(lazy, arguments)


def test_help_lists_every_command_under_its_heading_and_imports_none(run: Any) -> None:
    output = run("--help").stdout
    assert output.endswith(
        "People:\n  greet    Greet somebody.\n\n"
        "Things:\n  several  Do several things.\n  missing  Never imported.\n"
    )  # fmt: skip


def test_a_command_is_called_with_its_values(run: Any) -> None:
    assert run("greet", "Ada").stdout == f"Ada 1 None False {Path()!r}\n"
    given = run("greet", "Ada", "--times", "3", "--also", "x", "--also", "y", "--loud", "--where", "/tmp")
    assert given.stdout == f"Ada 3 ['x', 'y'] True {Path('/tmp')!r}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["greet"], "Missing argument"),
        (["greet", "Ada", "--times", "often"], "--times"),
        (["grete"], "Did you mean 'greet'"),
        (["greet", "Ada", "--nothing"], "No such option"),
    ],
)
def test_what_is_wrong_is_still_said(run: Any, arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_group_of_commands_has_its_own_help(run: Any) -> None:
    assert "Do the second thing." in run("several", "-h").stdout
    assert run("several", "one", "--word", "w").stdout == "one w\n"
    assert "Do the first thing." in run("several", "one", "-h").stdout


def test_a_hidden_command_can_be_called(run: Any) -> None:
    assert run("secret", "Ada").exit_code == 0


def test_every_command_is_where_the_table_says_and_has_the_same_help_line() -> None:
    for entry in ENTRIES:
        command = entry.load()
        assert (command.help or "").strip().splitlines()[0] == entry.help
        assert len(entry.help) <= 78
        assert entry.help.endswith(".")


def test_the_help_of_an_argument_names_no_type_of_python() -> None:
    for entry in ENTRIES:
        command = entry.load()
        context = typer.Context(command, info_name=entry.name)
        for parameter in command.params:
            record = parameter.get_help_record(context)
            assert record is None or "<" not in record[0]


@pytest.mark.slow
def test_help_imports_nothing_heavy() -> None:
    check = (
        "import sys\nfrom handrail.cli import main\n"
        "sys.argv = ['handrail', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    for heavy in (
        "rich",
        "pydantic",
        "msgspec",
        "asyncio",
        "sqlite3",
        "tomllib",
        "tomlkit",
        "handrail.sessions.client",
    ):
        assert heavy not in loaded
