"""The four profiles, through the policy: what each allows, asks and denies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import InvalidPolicy
from handrail.policy import PROFILES, Policy
from handrail.policy.profiles import profile_named, stricter
from handrail.policy.self_approval import Own

MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")
TEN_TOOLS = ["Bash", "BashOutput", "Glob", "Grep", "LS", "Read", "TodoRead", "TodoWrite", "WebFetch", "WebSearch"]

Judge = Callable[..., str]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """What a profile says about a call in a small project."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "app.py").write_text("x\n")
    (project / ".git").mkdir()

    def behavior(profile: str, tool: str, given: dict[str, Any], mode: str = "default", **rules: list[str]) -> str:
        filled = {key: value.replace("$P", str(project)) for key, value in given.items()}
        policy = Policy.of(profile, own=Own(), **rules)
        return policy.judge(tool, filled, cwd=str(project), home=str(tmp_path), mode=mode).behavior

    return behavior


READ = ("Read", {"file_path": "$P/src/app.py"})
EDIT = ("Edit", {"file_path": "$P/src/app.py", "old_string": "x", "new_string": "y"})
WRITE = ("Write", {"file_path": "$P/new.txt", "content": "x"})
OUTSIDE = ("Write", {"file_path": "/elsewhere/new.txt", "content": "x"})
IN_GIT = ("Write", {"file_path": "$P/.git/hooks/x", "content": "x"})
LS = ("Bash", {"command": "ls"})
TOUCH = ("Bash", {"command": "touch x"})
PUSH = ("Bash", {"command": "git push"})
FETCH = ("WebFetch", {"url": "https://example.com/", "prompt": "p"})
SEARCH = ("WebSearch", {"query": "q"})
MCP = ("mcp__srv__do", {"a": "1"})
PASSWD = ("Read", {"file_path": "/etc/passwd"})


@pytest.mark.parametrize(
    ("profile", "allowed", "asked", "denied"),
    [
        ("careful", [READ, LS], [EDIT, WRITE, OUTSIDE, IN_GIT, TOUCH, PUSH, FETCH, SEARCH, MCP, PASSWD], []),
        ("edits", [READ, LS, EDIT, WRITE], [OUTSIDE, IN_GIT, TOUCH, PUSH, FETCH, SEARCH, MCP, PASSWD], []),
        ("readonly", [READ, LS], [FETCH, SEARCH, PASSWD], [EDIT, WRITE, OUTSIDE, IN_GIT, TOUCH, PUSH, MCP]),
        ("trusted", [READ, LS, PASSWD, TOUCH, PUSH, FETCH, SEARCH], [EDIT, WRITE, OUTSIDE, IN_GIT, MCP], []),
    ],
)
def test_each_profile(judge: Judge, profile: str, allowed: list[Any], asked: list[Any], denied: list[Any]) -> None:
    for expected, calls in (("allow", allowed), ("ask", asked), ("deny", denied)):
        assert {str(call): judge(profile, *call) for call in calls} == {str(call): expected for call in calls}


def test_trusted_is_exactly_the_ten_tools() -> None:
    assert sorted(PROFILES["trusted"].allow) == sorted(TEN_TOOLS)


def test_accepted_edits_count_unless_the_profile_is_readonly(judge: Judge) -> None:
    for profile in ("careful", "edits", "trusted"):
        assert judge(profile, *EDIT, mode="acceptEdits") == "allow"
        assert judge(profile, *OUTSIDE, mode="acceptEdits") == "ask"


@pytest.mark.parametrize("mode", MODES)
def test_readonly_denies_in_every_mode(judge: Judge, mode: str) -> None:
    for call in (EDIT, WRITE, TOUCH, PUSH, MCP):
        assert judge("readonly", *call, mode=mode, allow=["Bash", "Edit(**)", "mcp__srv__*"]) == "deny"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("profile", PROFILES)
def test_deny_and_ask_rules_hold_in_every_mode(judge: Judge, profile: str, mode: str) -> None:
    assert judge(profile, *LS, mode=mode, deny=["Bash(ls *)"]) == "deny"
    assert judge(profile, *LS, mode=mode, ask=["Bash(ls *)"]) != "allow"
    assert judge(profile, *READ, mode=mode, deny=["Read(src/**)"]) == "deny"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("tool", ["ExitPlanMode", "EnterPlanMode", "AskUserQuestion"])
def test_questions_to_a_person_are_never_answered(judge: Judge, profile: str, tool: str, mode: str) -> None:
    assert judge(profile, tool, {}, mode=mode) == "ask"
    assert judge(profile, tool, {}, mode=mode, allow=[tool]) == "ask"


@pytest.mark.parametrize("tool", ["StructuredOutput", "BashOutput", "TaskOutput", "ToolSearch"])
def test_what_touches_only_the_session_is_allowed(judge: Judge, tool: str) -> None:
    for profile in PROFILES:
        for mode in MODES:
            assert judge(profile, tool, {}, mode=mode) == "allow"
        assert judge(profile, tool, {}, deny=[tool]) == "deny"
        assert judge(profile, tool, {}, ask=[tool]) == "ask"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_plan_may_be_written_while_planning(judge: Judge, profile: str, tmp_path: Path) -> None:
    plans = tmp_path / ".claude" / "plans"
    plans.mkdir(parents=True)
    (plans / "link.md").symlink_to(tmp_path / "elsewhere.md")
    plan = {"file_path": str(plans / "a-b-c.md"), "content": "# Plan"}
    assert judge(profile, "Write", plan, mode="plan") == "allow"
    assert judge(profile, "Write", plan, mode="plan", deny=["Edit(~/.claude/**)"]) == "deny"
    assert judge(profile, "Write", plan) != "allow"
    for other in ("link.md", "x.sh", "../settings.md", "sub/x.md"):
        assert judge(profile, "Write", {**plan, "file_path": str(plans / other)}, mode="plan") != "allow"


@pytest.mark.parametrize("tool", ["CronCreate", "EnterWorktree", "ScheduleWakeup"])
def test_what_does_something_is_not_allowed_by_itself(judge: Judge, tool: str) -> None:
    for profile in ("careful", "edits", "trusted"):
        assert judge(profile, tool, {}) == "ask"
        assert judge(profile, tool, {}, allow=[tool]) == "allow"
    assert judge("readonly", tool, {}) == "deny"


def test_a_mode_that_nobody_knows_allows_nothing(judge: Judge) -> None:
    assert judge("careful", *EDIT, mode="yolo") == "ask"


def test_a_profile_that_does_not_exist_names_a_near_one() -> None:
    with pytest.raises(InvalidPolicy, match="did you mean 'careful'"):
        profile_named("carefull")
    with pytest.raises(InvalidPolicy, match="careful, edits, readonly and trusted"):
        profile_named("x")


def test_stricter_is_a_partial_order() -> None:
    for one in PROFILES:
        assert not stricter(one, one)
        for other in PROFILES:
            assert not (stricter(one, other) and stricter(other, one))
    assert stricter("readonly", "careful")
    assert not stricter("edits", "trusted")
    assert not stricter("trusted", "edits")


def test_every_profile_is_explained_in_words() -> None:
    for profile in PROFILES.values():
        assert profile.summary
        assert profile.explained
