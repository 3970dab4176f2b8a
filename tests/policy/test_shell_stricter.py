"""Where we ask although the CLI would not: commands that hide in the arguments of others."""

from __future__ import annotations

import pytest

from handrail.policy.rules.ruleset import Rules
from handrail.policy.shell.judge import judge_command
from handrail.policy.shell.stricter import STRICTER
from handrail.policy.situation import Situation

from .support import HOME, PROJECT, SomeFiles

HIDING = {
    "sh -c": ["sh -c foo", "bash -xc 'ls; foo x'", "sudo zsh -c foo", "su root -c foo", "bash -c 'sh -c foo'"],
    "eval": ["eval foo", "eval 'foo x'", "x=foo; eval $x"],
    "trap": ["trap foo EXIT"],
    "alias": ["alias x=foo; x"],
    "coproc": ["coproc foo"],
    "find -exec": [r"find . -exec foo {} \;", "find . -execdir foo {} +", r"find . -ok foo \;"],
    "xargs with options": ["xargs -n1 foo", "ls | xargs -I {} foo {}", "xargs -0 -P 4 foo"],
    "$'…'": ["$'foo'", r"$'\x66oo' x", r"$'\146oo'"],
    "variables": ["x=foo; bash -c $x", "x=foo; bash -c '$x y'", "for x in a foo; do sh -c $x; done"],
    "lookalikes": ["f\u043eo x", "\uff46oo", "fo\u200bo", "foo\u00a0x"],
}


@pytest.mark.parametrize("behavior", ["deny", "ask"])
@pytest.mark.parametrize("command", [command for commands in HIDING.values() for command in commands])
def test_a_forbidden_command_in_hiding_is_for_a_person(command: str, behavior: str) -> None:
    rules = Rules(allow=["Bash"], **{behavior: ["Bash(foo:*)"]})  # type: ignore[arg-type]
    verdict = judge_command(command, rules, Situation(PROJECT, HOME, files=SomeFiles()))
    assert verdict.behavior == "ask"


@pytest.mark.parametrize(
    "command", [r"find . -exec bar {} \;", "bash -c 'bar foo'", "eval bar", "xargs -n1 bar", "alias x=bar; x", "bash x"]
)
def test_other_commands_are_not(command: str) -> None:
    rules = Rules(allow=["Bash"], deny=["Bash(foo:*)"])
    assert judge_command(command, rules, Situation(PROJECT, HOME, files=SomeFiles())).behavior == "allow"


def test_each_construction_is_in_the_table() -> None:
    assert set(HIDING) <= set(STRICTER)
