"""The demo: on the simulated CLI, and on the real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.testing.cli_cache import CLIUnavailable, claude_cli
from handrail.testing.cli_sandbox import cli_slot

from .support import OnTerminal, handrail_process

pytestmark = pytest.mark.slow

STEPS = ("⏺ Read  greet.sh", "How should it greet?", '- echo "Hello, $1."', "sh greet.sh World", "✓ done", "🏷 ")


@pytest.fixture
def without_claude(tmp_path: Path) -> dict[str, str]:
    """An environment in which no Claude Code can be found."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": _hidden_sdk(tmp_path)}


def _hidden_sdk(directory: Path) -> str:
    """A place on the module path where claude-agent-sdk has no CLI inside."""
    package = directory / "path" / "claude_agent_sdk"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    return str(package.parent)


def test_without_a_terminal_it_answers_itself_and_says_so(without_claude: dict[str, str]) -> None:
    done = handrail_process("run", "--demo", **without_claude)
    assert done.returncode == 0, done.stderr
    assert "simulated" in done.stdout
    for step in STEPS:
        assert step in done.stdout
    assert done.stdout.count("by the demo itself: there is no terminal to ask you on") == 3


def test_on_a_terminal_it_asks(without_claude: dict[str, str]) -> None:
    with OnTerminal("run", "--demo", **without_claude) as terminal:
        terminal.wait_to_see("own words")
        terminal.press("2")
        for key in ("y", "n"):
            terminal.wait_to_see("? help")
            terminal.press(key)
            terminal.wait_until_gone("? help")
        assert terminal.exit_code() == 0
    assert "✓ How should it greet? → Briefly" in terminal.screen
    assert "✓ allowed once: Edit" in terminal.screen
    assert "✗ denied: Bash" in terminal.screen
    assert "That was the demo" in terminal.screen
    assert "--resume" not in terminal.text, "its session is gone"


def test_yes_answers_on_a_terminal_too(without_claude: dict[str, str]) -> None:
    with OnTerminal("run", "--demo", "--yes", **without_claude) as terminal:
        assert terminal.exit_code() == 0
    assert terminal.text.count("by the demo itself: you said --yes") == 3


def test_a_claude_that_does_not_start_is_replaced(without_claude: dict[str, str], tmp_path: Path) -> None:
    broken = tmp_path / "bin" / "claude"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'please log in' >&2\nexit 7\n")
    broken.chmod(0o755)
    done = handrail_process("run", "--demo", **{**without_claude, "PATH": f"{broken.parent}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert "please log in" in " ".join(done.stdout.split())
    assert "simulated" in done.stdout


def test_a_claude_that_was_named_must_be_there(tmp_path: Path) -> None:
    done = handrail_process("run", "--demo", "--cli", str(tmp_path / "none"))
    assert done.returncode == 2
    assert "pip install claude-agent-sdk" in " ".join(done.stderr.split())


@pytest.fixture(scope="module")
def real_cli() -> str:
    try:
        return str(claude_cli().path)
    except CLIUnavailable as error:
        if os.environ.get("HANDRAIL_REQUIRE") == "all":
            raise
        pytest.skip(str(error))


@pytest.mark.real_cli
def test_on_the_real_cli(real_cli: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with cli_slot():
        done = handrail_process("run", "--demo", "--cli", real_cli, timeout=110, HOME=str(home), ANTHROPIC_API_KEY="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "simulated" not in done.stdout
    for step in (*STEPS, "✓ Hello, World! Good to see you."):
        assert step in done.stdout
    assert list(home.iterdir()) == [], "nothing of the user's is touched"


@pytest.mark.real_cli
def test_on_the_real_cli_with_a_person_who_says_no(real_cli: str) -> None:
    with cli_slot(), OnTerminal("run", "--demo", "--cli", real_cli) as terminal:
        terminal.wait_to_see("own words")
        terminal.press("o")
        terminal.wait_to_see("Your answer")
        terminal.type("Briefly")
        terminal.wait_to_see("? help")
        assert 'echo "Hi, $1!"' in terminal.screen
        terminal.press("n")
        assert terminal.exit_code() == 0
    assert "All right, I leave it there." in terminal.text
