"""What holds for every command: nothing is smuggled past an allow rule, and nothing makes the judge fail."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handrail.policy.rules.ruleset import Rules
from handrail.policy.shell.judge import judge_command
from handrail.policy.shell.parse import parse
from handrail.policy.situation import Situation
from handrail.policy.verdict import Verdict

from .support import HOME, PROJECT, SomeFiles

SITUATION = Situation(PROJECT, HOME, files=SomeFiles())
RULES = Rules(allow=["Bash(foo:*)", "Bash(bar *)", "Bash(baz x)"])

allowed = st.sampled_from(
    ["foo", "foo x", "foo 'a b'", "bar -v", "baz x", "ls", "echo hi", "cat main.py", "timeout 5 foo"]
)
forbidden = st.sampled_from(
    ["evil", "evil --now", "rm -rf src", "curl x", "sudo foo", "./foo", "foobar", "baz y", "X=1 foo"]
)

SMUGGLERS = [
    "{a} ; {b}", "{a};{b}", "{a} && {b}", "{a}&&{b}", "{a} || {b}", "{a} | {b}", "{a}|{b}", "{a} |& {b}", "{a} & {b}",
    "{a}\n{b}", "{a}\n\n{b}", "{a} # x\n{b}", "{a} \\\n; {b}", "{a} &&\n{b}", "{b} ; {a}", "{b} && {a}", "{b} | {a}",
    "{b} &\n{a}", "{a} $({b})", '{a} "$({b})"', "{a} `{b}`", '{a} "`{b}`"', "{a} <({b})", "{a} >({b})",
    "{a} ${{X:-$({b})}}",
    "{a} $(( $({b}) ))", "$({b}) {a}", "X=$({b}) {a}", "X=$({b}); {a}", "X=`{b}`; {a}", "{a} <<EOF\n$({b})\nEOF",
    "{a} <<EOF\n`{b}`\nEOF", "{a} <<'EOF'\nx\nEOF\n{b}", "{a} <<'EOF'; {b}\nx\nEOF", "{a} <<< $({b})", "{a} > $({b})",
    "({b})", "({a}; {b})", "{{ {a}; {b}; }}", "{a} ({b})", "if {a}; then {b}; fi", "if {b}; then {a}; fi",
    "if {a}; then {a}; else {b}; fi", "while {a}; do {b}; done", "until {b}; do {a}; done", "for x in 1; do {b}; done",
    "for x in $({b}); do {a}; done", "case x in x) {b};; esac", "f() {{ {b}; }}; f", "! {b}", "time {b}",
    "timeout 5 {b}",
    "nohup {b}", "xargs {b}", "command {b}", "sudo {b}", "env {b}", "exec {b}", "eval '{b}'", "sh -c '{b}'",
    'bash -c "{b}"',
    "trap '{b}' EXIT", "coproc {b}", "alias foo='{b}'; foo", "watch {b}", "find . -exec {b} \\;", "[ $({b}) ] && {a}",
    "[[ $({b}) ]] && {a}", "{a} {{x,$({b})}}", "{a}\r{b}", "{a}\x0b{b}", "{a}\0{b}", "{a} 'x\n{b}' ; {b}",
    "{a} \\' ; {b} '",
    "{a} \" ; {b} #\"\n{b}", "export X=$({b}); {a}", "{a} > /dev/null; {b}", "2>&1 {b}", "{a} 2>&1 | {b}",
    "select x in a; do {b}; done",
    "declare x=$({b}); {a}", "{a} \"$(cat <<'EOF'\nx\nEOF\n{b}\n)\"", "{a} $[$({b})]",
]  # fmt: skip


@given(st.sampled_from(SMUGGLERS), allowed, forbidden)
def test_a_second_command_needs_a_rule_of_its_own(smuggler: str, first: str, second: str) -> None:
    command = smuggler.replace("{a}", first).replace("{b}", second).replace("{{", "{").replace("}}", "}")
    assert judge_command(command, RULES, SITUATION).behavior != "allow", command


@given(st.lists(allowed, min_size=1, max_size=5), st.sampled_from([" && ", " || ", "; ", " | ", "\n"]))
def test_a_chain_of_allowed_commands_is_allowed(commands: list[str], joint: str) -> None:
    assert judge_command(joint.join(commands), RULES, SITUATION).behavior == "allow"


@given(st.sampled_from(SMUGGLERS), allowed)
def test_a_deny_rule_is_never_outvoted(smuggler: str, first: str) -> None:
    command = smuggler.replace("{a}", first).replace("{b}", "evil").replace("{{", "{").replace("}}", "}")
    rules = Rules(allow=["Bash"], deny=["Bash(evil:*)"])
    assert judge_command(command, rules, SITUATION).behavior != "allow", command


SIGNS = "$(){}[]<>|&;!#*?~=\"'`\\ \n\t-/.:,@%+^"
TOKENS = [
    "foo", "bar", "evil", "$(", "${", "$((", "<<", "<<<", "EOF", "<(", "X=", "$'", "&&", "||", ">&", "2>",
    "if ", "then ", "fi", "for ", "in ", "do ", "done", "while ", "case ", "esac", "time ",
]  # fmt: skip
pieces = st.sampled_from([*SIGNS, *TOKENS])
soup = st.lists(pieces, max_size=40).map("".join)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.one_of(soup, st.text(max_size=200)))
@example("\ud800")
@example("foo \ud800")
@example("cat \0")
def test_any_text_gets_a_verdict(command: str) -> None:
    for rules in (RULES, Rules(allow=["Bash"], deny=["Bash(evil:*)", "Read(secrets/**)"]), Rules()):
        verdict = judge_command(command, rules, SITUATION)
        assert isinstance(verdict, Verdict)
        assert verdict.reason


@pytest.mark.slow
@settings(max_examples=400)
@given(soup)
def test_what_is_followed_is_also_seen(command: str) -> None:
    """A command that an allow rule is asked about is one that deny rules have looked at."""
    script = parse(command)
    assert {part.text for part in script.parts if part.words} <= {part.text for part in script.everything}


@given(st.binary(max_size=200))
def test_bytes_that_are_no_text(content: bytes) -> None:
    assert judge_command(content.decode(errors="surrogateescape"), RULES, SITUATION).behavior in ("allow", "ask")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "$(" * 3000 + "x" + ")" * 3000, "(" * 9000, "{ " * 4000, '"$(' * 3000, "`" * 9000, "if " * 3000, "! " * 4000,
        "${x:-" * 1500, "<<A " * 2000, "a && " * 1900 + "b", "a;" * 4900, "sudo " * 1900 + "foo", "x" * 500_000,
        "\\\n" * 4000,
        "[[ " * 3000, "x=(" * 2500, "case a in " * 900, "foo {a," + "{b," * 2500,
    ],
    ids=lambda command: command[:12],
)  # fmt: skip
def test_nesting_and_length_are_bounded(command: str) -> None:
    started = time.process_time()
    verdict = judge_command(command, Rules(allow=["Bash(zzz:*)"], deny=["Bash(evil:*)"]), SITUATION)
    assert verdict.behavior == "ask"
    assert time.process_time() - started < 5
