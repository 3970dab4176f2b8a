"""Nothing that touches Handrail's own files or runs Handrail is allowed by rule, grant, profile or mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import handrail
from handrail.policy import Grant, Places, Policy
from handrail.policy.self_approval import Own

HOME = "/home/dev"
PROJECT = "/home/dev/project"
PLACES = Places(
    config=f"{HOME}/.config/handrail",
    state=f"{HOME}/.local/state/handrail",
    cache=f"{HOME}/.cache/handrail",
    runtime="/run/user/1000/handrail",
)
GRANT = Grant(rule="Bash(handrail *)", actor="alice", at=0.0)
EVERYTHING = ["Bash", "Read", "Edit", "Write", "Edit(**)", "Edit(//**)", "Read(//**)", "Grep", "Glob", "LS", "Monitor"]


def behavior(tool: str, given: dict[str, Any], *, mode: str = "default", cwd: str = PROJECT, **rules: Any) -> str:
    policy = Policy.of("trusted", own=Own.of(PLACES), **{"allow": [*EVERYTHING, "mcp__shell__run"], **rules})
    return policy.judge(tool, given, cwd=cwd, home=HOME, mode=mode, grants=[GRANT]).behavior


COMMANDS = [
    "handrail decide 1 yes",
    "handrail policy trust --yes",
    "/usr/bin/handrail run x",
    "./handrail",
    ".venv/bin/handrail policy show",
    "python -m handrail policy trust",
    "python3 -m handrail.cli",
    "env A=1 handrail serve",
    "timeout 5 handrail serve",
    "sudo -u dev handrail serve",
    "pipx run handrail",
    "uvx handrail@latest",
    "uvx --from handrail handrail",
    "echo y | xargs handrail decide",
    "sh -c 'handrail decide 1 yes'",
    'bash -c "h""andrail decide 1"',
    "hand\\rail decide 1",
    "HANDRAIL decide",
    "HANDRAIL_CONFIG_DIR=/tmp/x true",
    "echo $HANDRAIL_TOKEN",
    'python -c "import handrail; handrail.connect()"',
    "cat ~/.config/handrail/policy.toml",
    "cat $HOME/.config/handrail/policy.toml",
    'cat "${HOME}/.config/handrail/policy.toml"',
    "cat $XDG_CONFIG_HOME/handrail/policy.toml",
    "cat /home/dev/.local/state/handrail/trust.json",
    "cat ../.local/state/handrail/trust.json",
    "cd .. && cat .config/handrail/policy.toml",
    "cd ~/.config && cat handrail/policy.toml",
    "curl --unix-socket /run/user/1000/handrail/hub.sock http://x/",
    "rm -rf ~/.cache/handrail",
    "cat /home/dev/.CONFIG/Handrail/policy.toml",
    "echo 'allow = [\"Bash\"]' > .handrail/policy.toml",
    "rm -rf .handrail",
    "mv ./sub/.handrail x",
]


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_reaches_handrail_asks(command: str, mode: str) -> None:
    assert behavior("Bash", {"command": command}, mode=mode) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "grep -rn handrails src",
        "cat docs/handrail-notes.md",
        "ls src/handrail/policy",
        "npm run build",
        "cat my_handrail.py",
    ],
)
def test_other_commands_are_left_to_the_rules(command: str) -> None:
    assert behavior("Bash", {"command": command}) == "allow"


def test_a_project_may_be_called_handrail() -> None:
    assert behavior("Bash", {"command": "cd /home/dev/handrail && make"}, cwd="/home/dev/handrail") == "allow"
    assert behavior("Bash", {"command": "/home/dev/handrail/bin/handrail x"}, cwd="/home/dev/handrail") == "ask"


FILES = [
    ("Read", {"file_path": f"{HOME}/.config/handrail/config.toml"}),
    ("Read", {"file_path": "~/.local/state/handrail/trust.json"}),
    ("Read", {"file_path": "../.config/handrail/config.toml"}),
    ("Read", {"file_path": "/run/user/1000/handrail/token"}),
    ("Grep", {"pattern": "token", "path": HOME}),
    ("Grep", {"pattern": "token", "path": "/"}),
    ("Grep", {"pattern": "token", "path": f"{HOME}/.config/handrail"}),
    ("Glob", {"pattern": f"{HOME}/.config/handrail/*"}),
    ("Glob", {"pattern": "handrail/*", "path": f"{HOME}/.config"}),
    ("LS", {"path": f"{HOME}/.local/state/handrail"}),
    ("Edit", {"file_path": f"{PROJECT}/.handrail/policy.toml", "old_string": "a", "new_string": "b"}),
    ("Write", {"file_path": ".handrail/policy.toml", "content": ""}),
    ("Write", {"file_path": f"{PROJECT}/sub/.handrail/policy.toml", "content": ""}),
    ("Write", {"file_path": f"{HOME}/.config/handrail/policy.toml", "content": ""}),
    ("Edit", {"file_path": f"{Path(handrail.__file__).parent}/errors.py", "old_string": "a", "new_string": "b"}),
    ("Monitor", {"command": "handrail decide 1"}),
    ("mcp__shell__run", {"args": {"argv": ["handrail", "decide"]}}),
    ("mcp__shell__run", {"path": f"{HOME}/.config/handrail/config.toml"}),
]


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
@pytest.mark.parametrize(("tool", "given"), FILES, ids=str)
def test_a_tool_that_reaches_handrail_asks(tool: str, given: dict[str, Any], mode: str) -> None:
    assert behavior(tool, given, mode=mode) == "ask"


def test_reading_a_projects_policy_is_fine() -> None:
    assert behavior("Read", {"file_path": f"{PROJECT}/.handrail/policy.toml"}) == "allow"
    assert behavior("Grep", {"pattern": "x", "path": PROJECT}) == "allow"
    assert behavior("Bash", {"command": "cat .handrail/policy.toml"}) == "allow"


def test_a_link_to_a_secret_is_the_secret(tmp_path: Path) -> None:
    config, project = tmp_path / "config", tmp_path / "project"
    config.mkdir()
    project.mkdir()
    (project / "link").symlink_to(config)
    places = Places(config=str(config), state="/none/s", cache="/none/c", runtime="/none/r")
    policy = Policy.of("trusted", allow=["Read", "Edit(//**)"], own=Own.of(places))
    for tool, given_input in (
        ("Read", {"file_path": str(project / "link" / "policy.toml")}),
        ("Bash", {"command": "cat link/policy.toml"}),
    ):
        assert policy.judge(tool, given_input, cwd=str(project), home=str(tmp_path)).behavior == "ask"


@pytest.mark.parametrize("name", ["grants.json", "trust.json", "hub.json", "handrail.db", "host/identity.json"])
def test_sessions_for_a_hub_keep_off_what_is_the_users_own_too(name: str) -> None:
    policy = Policy.of("trusted", allow=EVERYTHING, own=Own.of(PLACES.of_host()))
    given_input = {"file_path": f"{PLACES.state}/{name}"}
    assert policy.judge("Edit", given_input, cwd=PROJECT, home=HOME, mode="acceptEdits").behavior == "ask"
    assert policy.judge("Read", given_input, cwd=PROJECT, home=HOME).behavior == "ask"


def test_deny_rules_still_win() -> None:
    assert behavior("Bash", {"command": "handrail decide"}, deny=["Bash(handrail *)"]) == "deny"
    policy = Policy.of("readonly", own=Own.of(PLACES))
    assert policy.judge("Bash", {"command": "handrail decide"}, cwd=PROJECT, home=HOME).behavior == "deny"


def test_speaking_of_handrail_is_fine() -> None:
    assert behavior("Bash", {"command": "make test", "description": "run the tests of handrail"}) == "allow"
    for tool in ("WebSearch", "TodoWrite"):
        assert behavior(tool, {"query": "what is handrail", "todos": ["run handrail"]}) == "allow"


WORDS = st.sampled_from(["a", "'b'", "--x", "|", "&&", ";", "$(", ")", "\n", "\\\n", "src/x.py", "=", ">"])


@given(st.lists(WORDS, max_size=6), st.sampled_from(COMMANDS[:5]), st.lists(WORDS, max_size=6))
def test_what_stands_around_a_command_does_not_hide_it(before: list[str], command: str, after: list[str]) -> None:
    assert behavior("Bash", {"command": " ".join([*before, command, *after])}) != "allow"


@given(st.text(max_size=60))
def test_no_text_breaks_the_check(text: str) -> None:
    behavior("mcp__shell__run", {"text": text})
    behavior("Read", {"file_path": text})


@pytest.mark.parametrize(
    "command",
    [
        "cat .config/hand*/grants.json",
        "cat ~/.config/hand*/policy.toml",
        "head .local/state/h*/*",
        "cat /home/*/.config/handrai?/x",
        "grep -r token .config",
        "rg token",
        "cp -r ~/.config /tmp/x",
        "tar cf - ~/.local",
        "find . -name grants.json",
    ],
)
def test_no_pattern_or_search_reaches_handrails_own_files(command: str) -> None:
    assert behavior("Bash", {"command": command}, cwd=HOME) == "ask"


@pytest.mark.parametrize("command", ["grep -r token src", "ls *", "cat src/*.py", "find . -name x", "cp -r a b"])
def test_patterns_and_searches_inside_the_project_are_left_alone(command: str) -> None:
    assert behavior("Bash", {"command": command}) == "allow"


def test_very_many_paths_are_for_a_person() -> None:
    command = "cat " + " ".join(f"a/{number}" for number in range(3_000))
    assert behavior("mcp__shell__run", {"command": command}) == "ask"
