"""What is wrong with a rule is said, with what to write instead, and never passed over."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import InvalidRule
from handrail.policy import Rules


def only_problem(**lists: list[str]) -> tuple[str, str, str | None]:
    (problem,) = Rules(**lists).problems
    return problem.kind, problem.wrong, problem.instead


@pytest.mark.parametrize(
    "text",
    [
        "Bash",
        "Bash(git status)",
        "Bash(npm run test:*)",
        "Bash(python -c 'print(1)')",
        "Bash(echo \\()",
        "Read(src/**)",
        "Read(~/notes/*.txt)",
        "Edit(//tmp/**)",
        "Edit(./docs)",
        "WebFetch(domain:*.example.com)",
        "WebFetch(*)",
        "WebSearch",
        "mcp__github",
        "mcp__github__get_*",
        "Skill(review:*)",
        "Agent",
        "SomeNewTool",
    ],
)
def test_good_rules_have_no_problems(text: str) -> None:
    assert Rules(allow=[text]).problems == ()


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("", None),
        ("   ", None),
        ("Bash(foo", "Bash(…) with both parentheses, or Bash for every call"),
        ("Bash(foo))", "Bash(…) with both parentheses, or Bash for every call"),
        ("Bash(foo)x", "Bash(…) with both parentheses, or Bash for every call"),
        ("Bash(\\)", "Bash(…) with both parentheses, or Bash for every call"),
        ("Edit()", "Edit for every call"),
        ("Edit( )", "Edit for every call"),
        ("(foo)", None),
        ("Bash foo", "Bash(foo)"),
        ("Bash{foo}", "Bash(foo)"),
        ("Bash:*", "Bash"),
        ("Bash(foo:*)\n", "Bash(foo:*)"),
    ],
)
def test_malformed_rules(text: str, instead: str | None) -> None:
    rules = Rules(deny=[text])
    (problem,) = rules.problems
    assert (problem.rule, problem.behavior, problem.kind, problem.instead) == (text, "deny", "malformed", instead)
    assert rules.deny == ()


@pytest.mark.parametrize(
    ("behavior", "text", "instead"),
    [
        ("allow", "Bash(foo:*bar)", "Bash(foo *bar)"),
        ("allow", "Bash(:*)", "Bash for every command"),
        ("allow", "Bash(run_in_background:true)", None),
        ("deny", "Write(src/**)", "Edit(src/**)"),
        ("deny", "Grep(secrets/**)", "Read(secrets/**)"),
        ("allow", "mcp__github__get(*)", "mcp__github__get"),
        ("deny", "mcp__github__get(id:1)", "mcp__github__get"),
        ("allow", "mcp__*", "mcp__server__* for each server"),
        ("deny", "mcp__github__", "mcp__github__*"),
        ("allow", "W*", "one rule for each tool"),
        ("deny", "E*(src/**)", "E*"),
        ("deny", "Rea?", "Rea*"),
        ("deny", "write", "Write"),
        ("deny", "get_issue", "mcp__server__get_issue for the tool of an MCP server"),
        ("ask", "Agent(Explore)", "Agent(subagent_type:Explore)"),
        ("deny", "Agent(Ex*)", "Agent(subagent_type:Ex*)"),
        ("allow", "Skill(pr*)", "Skill(pr:*)"),
        ("deny", "WebFetch(example.com)", "WebFetch(domain:example.com)"),
        ("deny", "WebFetch(https://example.com/x)", "WebFetch(domain:example.com)"),
        ("allow", "WebFetch(domain:https://example.com)", "WebFetch(domain:example.com)"),
        ("allow", "WebFetch(domain:example.com:443)", "WebFetch(domain:example.com)"),
        ("deny", "WebSearch(secret*)", "WebSearch"),
        ("deny", "Read(/etc/**)", "Read(//etc/**) for an absolute path, Read(etc/**) below the working directory"),
        ("allow", "Edit(../other/**)", "Edit(//absolute/path)"),
        ("allow", "Edit($HOME/x)", "Edit(~/…)"),
        ("allow", "Edit({a,b}/**)", "one rule for each alternative"),
        ("deny", "Edit(!src/**)", "Edit(\\!src/**) if the name begins with !"),
        ("allow", "Edit(src/**:*)", "Edit(src/**)"),
        ("allow", "Edit(replace_all:true)", "Edit"),
        ("deny", "Read(limit:*)", "Read for every call"),
        ("deny", "Read(file_path:x)", "Read(x)"),
        ("deny", "Edit(~)", "Edit(~/**)"),
    ],
)
def test_dead_rules(behavior: str, text: str, instead: str | None) -> None:
    kind, wrong, advice = only_problem(**{behavior: [text]})
    assert (kind, advice) == ("dead", instead)
    assert wrong


@pytest.mark.parametrize(
    "text",
    ["Read(offset:1)", "Edit(replace_all:true)", "Bash(description:*)", "Agent(model:o*)", "WebSearch(query:abc)", "*"],
)
def test_what_is_alive_only_in_ask_and_deny(text: str) -> None:
    assert Rules(ask=[text], deny=[text]).problems == ()


def test_a_value_that_is_no_string_is_reported_and_the_others_stand() -> None:
    rules = Rules(allow=["Read", 5, None, ["Bash"]])  # type: ignore[list-item]
    assert [problem.rule for problem in rules.problems] == ["5", "None", "['Bash']"]
    assert [rule.text for rule in rules.allow] == ["Read"]


@pytest.mark.parametrize("lists", [{"allow": "Bash"}, {"deny": 5}, {"ask": None}, {"deny": {"Bash": True}}])
def test_a_list_that_is_no_list_is_refused(lists: dict[str, object]) -> None:
    with pytest.raises(InvalidRule, match="is a list of rules"):
        Rules(**lists)  # type: ignore[arg-type]


def test_check_names_every_rule_that_does_nothing() -> None:
    with pytest.raises(InvalidRule) as refused:
        Rules(allow=["Read", "Bash(foo"], deny=["Write(src/**)"]).check()
    assert "2 rules do nothing" in str(refused.value)
    assert "allow rule 'Bash(foo' is malformed" in str(refused.value)
    assert "write Edit(src/**)" in str(refused.value)
    Rules(allow=["Read"]).check()


def test_problems_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "handrail.policy"):
        Rules(allow=["Read"])
        Rules(allow=["Bash(foo"], deny=["Write(src/**)"])
    (record,) = caplog.records
    assert "Bash(foo" in record.getMessage()
    assert "Write(src/**)" in record.getMessage()


@pytest.mark.slow
@given(st.lists(st.text() | st.from_regex(r"[A-Z][a-z]+\(.*\)|mcp__[a-z_*]+", fullmatch=True)))
def test_every_text_is_a_rule_or_a_problem(texts: list[str]) -> None:
    rules = Rules(deny=texts)
    malformed = [problem.rule for problem in rules.problems if problem.kind == "malformed"]
    assert sorted([rule.text for rule in rules.deny] + malformed) == sorted(texts)
