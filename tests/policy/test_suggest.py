"""Rules drawn from recordings: they save asks and never allow more than was approved."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.policy import Origin, PlacedRule, Policy
from handrail.policy.recordings import RecordedCall, Then, replay
from handrail.policy.suggest import Suggested, suggest

CWD, HOME = "/home/dev/project", "/home/dev"


def call(tool: str, given: dict[str, Any], then: Then = "allowed", **fields: Any) -> RecordedCall:
    return RecordedCall(tool=tool, input=given, asked=True, then=then, cwd=CWD, **fields)


def bash(command: str, then: Then = "allowed") -> RecordedCall:
    return call("Bash", {"command": command, "description": "d"}, then)


def suggested(*calls: RecordedCall, policy: Policy | None = None) -> Suggested:
    chosen = policy or Policy.of()
    return suggest(chosen, replay(chosen, calls, home=HOME), home=HOME)


def proposals(*calls: RecordedCall, policy: Policy | None = None) -> dict[str, int]:
    return {each.rule: each.saved for each in suggested(*calls, policy=policy).rules}


def test_one_command_gets_an_exact_rule() -> None:
    assert proposals(bash("npm run build"), bash("npm run build")) == {"Bash(npm run build)": 2}


def test_several_forms_get_what_they_have_in_common() -> None:
    assert proposals(bash("npm run test a"), bash("npm run test b")) == {"Bash(npm run test *)": 2}
    assert proposals(bash("git add a.py"), bash("git add b.py"), bash("git add a.py")) == {"Bash(git add *)": 3}


def test_a_prefix_is_at_least_command_and_subcommand() -> None:
    assert proposals(bash("pytest a.py"), bash("pytest b.py")) == {"Bash(pytest a.py)": 1, "Bash(pytest b.py)": 1}
    assert proposals(bash("foo -q a"), bash("foo -q b")) == {"Bash(foo -q a)": 1, "Bash(foo -q b)": 1}


@pytest.mark.parametrize("then", ["denied", "cancelled", "unanswered"])
def test_a_prefix_with_something_not_approved_is_not_proposed(then: Then) -> None:
    found = proposals(bash("git add a"), bash("git add b"), bash("git add .env", then))
    assert found == {"Bash(git add a)": 1, "Bash(git add b)": 1}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git push origin a", "git push origin b"),
        ("python3 manage a", "python3 manage b"),
        ("docker run a", "docker run b"),
        ("npm install a", "npm install b"),
        ("make test", "make build"),
        ("node build a", "node build b"),
        ("uv run a", "uv run b"),
    ],
)
def test_what_destroys_or_runs_or_reaches_out_is_exact_only(one: str, other: str) -> None:
    assert proposals(bash(one), bash(other)) == {f"Bash({one})": 1, f"Bash({other})": 1}


def test_what_a_pattern_would_say_more_about_is_left() -> None:
    found = suggested(bash("frob *.py"))
    assert found.rules == ()
    assert "pattern" in found.left[0].why


@pytest.mark.parametrize("command", ["echo $HOME", "echo $(date)", "echo `date`"])
def test_what_may_run_differently_next_time_is_left(command: str) -> None:
    found = suggested(bash(command))
    assert found.rules == ()
    assert ["more than its text" in left.why for left in found.left] in ([True], [])


def test_files_get_rules_of_their_own() -> None:
    edit = call("Edit", {"file_path": f"{CWD}/src/app.py", "old_string": "a", "new_string": "b"})
    top = call("Write", {"file_path": f"{CWD}/w.txt", "content": "x"})
    outside = call("Read", {"file_path": "/etc/hosts"})
    found = proposals(edit, top, outside)
    assert set(found.values()) == {1}
    policy = Policy.of().with_rules([PlacedRule(rule, "allow", Origin("program")) for rule in found])
    for path, expected in (("src/app.py", "allow"), ("w.txt", "allow"), ("sub/w.txt", "ask"), ("src/b.py", "ask")):
        ruling = policy.judge("Write", {"file_path": f"{CWD}/{path}", "content": ""}, cwd=CWD, home=HOME)
        assert ruling.behavior == expected, path
    assert policy.judge("Read", {"file_path": "/etc/passwd"}, cwd=CWD, home=HOME).behavior == "ask"


def test_what_has_no_narrow_rule_is_left_with_the_reason() -> None:
    found = suggested(call("WebFetch", {"url": "https://x.y/a"}), call("mcp__srv__do", {"a": 1}))
    assert found.rules == ()
    assert ["whole host" in found.left[0].why, "every input" in found.left[1].why] == [True, True]


def test_changed_and_personal_answers_count_for_nothing() -> None:
    changed = call("Write", {"file_path": f"{CWD}/x", "content": ""}, changed=True)
    assert suggested(changed, call("ExitPlanMode", {}), call("AskUserQuestion", {})) == Suggested((), ())


def test_what_the_policy_settles_or_asks_by_rule_is_left_alone() -> None:
    write = call("Write", {"file_path": f"{CWD}/x", "content": ""})
    assert suggested(write, policy=Policy.of("edits")) == Suggested((), ())
    assert suggested(write, policy=Policy.of(ask=["Write"])) == Suggested((), ())
    assert suggested(write, policy=Policy.of("readonly")) == Suggested((), ())


def test_nothing_of_handrail_is_proposed() -> None:
    assert proposals(bash("handrail policy show"), call("Write", {"file_path": f"{CWD}/.handrail/policy.toml"})) == {}


COMMANDS = st.sampled_from(
    [
        *("git add a", "git add b", "git add -f .env", "git push", "npm run a", "npm run b", "npm run c d"),
        *("frob x; frob y", "a && b", "echo $(date)", "cat <<E\nx\nE", "foo > out", "foo *", "foo (x)", "x 'y z'"),
        *("touch a", "rm -rf x"),
    ]
)
ASKED = st.lists(st.tuples(COMMANDS, st.sampled_from(["allowed", "denied", "cancelled"])), max_size=8)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(ASKED)
def test_what_was_not_approved_is_never_allowed(asked: list[tuple[str, Then]]) -> None:
    approved = {command for command, then in asked if then == "allowed"}
    refused = {command for command, then in asked if then != "allowed"}
    found = suggested(*(bash(command, then) for command, then in asked))
    policy = Policy.of().with_rules([PlacedRule(each.rule, "allow", Origin("program")) for each in found.rules])
    for command in refused:
        before = Policy.of().judge("Bash", {"command": command}, cwd=CWD, home=HOME).behavior
        after = policy.judge("Bash", {"command": command}, cwd=CWD, home=HOME).behavior
        assert after == before, (command, found)
    assert sum(each.saved for each in found.rules) <= len([then for _, then in asked if then == "allowed"])
    assert bool(found.rules) <= bool(approved)
