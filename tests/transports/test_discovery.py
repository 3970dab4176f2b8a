"""Where the CLI is looked for, what is said if it is not there, and what old versions cannot do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import CLINotFound
from handrail.transports import discovery
from handrail.transports.discovery import find_cli, parse_version, version_warnings


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing installed."""
    monkeypatch.setattr(discovery, "_SYSTEM_PLACES", ())
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if "editable" not in repr(finder)])
    return tmp_path / "home"


@pytest.fixture
def env(home: Path, tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": str(tmp_path / "bin")}


class TestWhereItIs:
    def test_where_it_is_said_to_be(self, tmp_path: Path, env: dict[str, str]) -> None:
        path = program(tmp_path / "elsewhere" / "my-claude")
        program(tmp_path / "bin" / "claude")
        assert find_cli(path, env=env) == ((str(path),), "cli_path")

    def test_a_name_is_looked_up_on_path(self, tmp_path: Path, env: dict[str, str]) -> None:
        path = program(tmp_path / "bin" / "claude-next")
        assert find_cli("claude-next", env=env).argv == (str(path),)

    def test_a_tilde_is_the_home_directory(self, home: Path, env: dict[str, str]) -> None:
        path = program(home / "tools" / "claude")
        assert find_cli("~/tools/claude", env=env).argv == (str(path),)

    @pytest.mark.parametrize("suffix", [".js", ".mjs", ".cjs"])
    def test_a_script_is_run_with_node(self, tmp_path: Path, env: dict[str, str], suffix: str) -> None:
        node = program(tmp_path / "bin" / "node")
        script = tmp_path / f"cli{suffix}"
        script.touch()
        assert find_cli(script, env=env).argv == (str(node), str(script))

    def test_on_path(self, tmp_path: Path, home: Path, env: dict[str, str]) -> None:
        path = program(tmp_path / "bin" / "claude")
        program(home / ".local/bin/claude")
        assert find_cli(env=env) == ((str(path),), "PATH")

    def test_in_the_environment_of_this_process(
        self, tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = program(tmp_path / "bin" / "claude")
        monkeypatch.setenv("PATH", env["PATH"])
        assert find_cli().argv == (str(path),)

    @pytest.mark.parametrize(
        "place",
        [
            ".local/bin/claude",
            ".claude/local/claude",
            ".claude/local/node_modules/.bin/claude",
            ".npm-global/bin/claude",
            ".bun/bin/claude",
            ".volta/bin/claude",
            "node_modules/.bin/claude",
            ".nvm/versions/node/v22.1.0/bin/claude",
        ],
    )
    def test_where_installers_put_it(self, home: Path, env: dict[str, str], place: str) -> None:
        path = program(home / place)
        assert find_cli(env=env) == ((str(path),), "known place")

    def test_with_the_newest_node(self, home: Path, env: dict[str, str]) -> None:
        program(home / ".nvm/versions/node/v9.9.0/bin/claude")
        newest = program(home / ".nvm/versions/node/v22.1.0/bin/claude")
        assert find_cli(env=env).argv == (str(newest),)

    def test_node_beside_it_is_used_if_there_is_none_on_path(self, home: Path, env: dict[str, str]) -> None:
        binaries = home / ".nvm/versions/node/v22.1.0/bin"
        node = program(binaries / "node")
        script = program(binaries.parent / "lib" / "cli.js")
        (binaries / "claude").symlink_to(script)
        assert find_cli(env=env).argv == (str(node), str(binaries / "claude"))

    def test_in_the_system(self, tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        path = program(tmp_path / "opt" / "claude")
        monkeypatch.setattr(discovery, "_SYSTEM_PLACES", (str(path),))
        assert find_cli(env=env) == ((str(path),), "known place")

    def test_inside_the_agent_sdk_which_is_not_imported(
        self, tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "site" / "claude_agent_sdk"
        path = program(package / "_bundled" / "claude")
        (package / "__init__.py").write_text("raise AssertionError('imported')")
        monkeypatch.setattr(sys, "path", [str(package.parent)])
        assert find_cli(env=env) == ((str(path),), "claude-agent-sdk")

    def test_an_agent_sdk_without_it(
        self, tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "site" / "claude_agent_sdk"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        monkeypatch.setattr(sys, "path", [str(package.parent)])
        with pytest.raises(CLINotFound):
            find_cli(env=env)

    def test_what_may_not_be_executed_is_passed_over(self, home: Path, env: dict[str, str]) -> None:
        program(home / ".local/bin/claude").chmod(0o644)
        with pytest.raises(CLINotFound):
            find_cli(env=env)


class TestWhatIsSaidIfItIsNotThere:
    def message(self, cli_path: Path | str | None, env: dict[str, str]) -> str:
        with pytest.raises(CLINotFound) as caught:
            find_cli(cli_path, env=env)
        return str(caught.value)

    def test_nowhere(self, env: dict[str, str]) -> None:
        message = self.message(None, env)
        assert "npm install -g @anthropic-ai/claude-code" in message
        assert "pip install claude-agent-sdk" in message
        assert "Options(cli_path=" in message
        assert "--cli" in message

    def test_not_where_it_was_said_to_be(self, tmp_path: Path, env: dict[str, str]) -> None:
        program(tmp_path / "bin" / "claude")
        assert str(tmp_path / "gone") in self.message(tmp_path / "gone", env)

    def test_a_directory(self, tmp_path: Path, env: dict[str, str]) -> None:
        assert "is a directory" in self.message(tmp_path, env)

    def test_not_executable(self, tmp_path: Path, env: dict[str, str]) -> None:
        path = program(tmp_path / "claude")
        path.chmod(0o644)
        assert "chmod +x" in self.message(path, env)

    def test_a_script_without_node(self, tmp_path: Path, env: dict[str, str]) -> None:
        script = tmp_path / "cli.js"
        script.touch()
        assert "no `node` on PATH" in self.message(script, env)


class TestVersions:
    @pytest.mark.parametrize(
        ("text", "version"),
        [
            ("2.1.325 (Claude Code)", (2, 1, 325)),
            ("2.1.37", (2, 1, 37)),
            ("claude v2.1.62-beta.1\n", (2, 1, 62)),
            ("no version", None),
            ("", None),
        ],
    )
    def test_reading_one(self, text: str, version: tuple[int, int, int] | None) -> None:
        assert parse_version(text) == version

    def test_the_newest_can_do_everything(self) -> None:
        assert version_warnings("2.1.325 (Claude Code)") == []

    @pytest.mark.parametrize(
        ("version", "words"),
        [
            ("2.1.37", "never answered"),
            ("2.1.37", "ends it"),
            ("2.1.52", "notes and previews"),
            ("2.1.62", "end_session"),
            ("2.1.100", "edited plan"),
            ("2.1.100", "elicitations"),
            ("2.1.100", "defer"),
            ("2.1.120", "background agents"),
        ],
    )
    def test_what_an_old_one_cannot_do(self, version: str, words: str) -> None:
        assert any(words in warning and version in warning for warning in version_warnings(version))

    @pytest.mark.parametrize(
        ("version", "words"), [("2.1.62", "notes and previews"), ("2.1.120", "edited plan"), ("2.1.52", "ends it")]
    )
    def test_what_a_newer_one_can(self, version: str, words: str) -> None:
        assert not any(words in warning for warning in version_warnings(version))

    @given(st.tuples(*[st.integers(0, 400)] * 3), st.tuples(*[st.integers(0, 400)] * 3))
    def test_a_newer_one_never_lacks_more(self, one: tuple[int, ...], other: tuple[int, ...]) -> None:
        older, newer = sorted([one, other])
        lacking = [
            {warning.partition(": ")[2] for warning in version_warnings(".".join(map(str, version)))}
            for version in (older, newer)
        ]
        assert lacking[1] <= lacking[0]

    def test_one_that_cannot_be_read(self) -> None:
        (warning,) = version_warnings("unknown")
        assert "'unknown'" in warning
