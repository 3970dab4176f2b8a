"""Where the grammar is misled, or a shell reads something else than a person: for a person to answer, one by one."""

from __future__ import annotations

import pytest

from handrail.policy.rules.ruleset import Rules
from handrail.policy.shell.judge import judge_command
from handrail.policy.shell.parse import parse
from handrail.policy.situation import Situation

from .support import HOME, PROJECT, SomeFiles

ALLOW = ("Bash(foo:*)", "Bash(bar:*)", "Bash(cat:*)", "Bash(echo:*)")

BLIND_SPOTS = {
    "an escaped line break inside a word": "foo x\\\ny",
    "an escaped line break inside the command word": "fo\\\no x",
    "an escaped line break before a pipe": "foo \\\n| bar",
    "backticks in a here-document that expands": "cat <<EOF\n`baz`\nEOF",
    "a substitution in a here-document that expands": "cat <<EOF\n$(baz)\nEOF",
    "a null character": "foo\0bar",
    "a carriage return": "foo\rbaz",
    "an escape code": "foo \x1b[2K",
    "a here-document that never ends": "foo <<'EOF'\nx",
    "a here-document that ends inside a substitution": "foo \"$(cat <<'EOF'\nx\nEOF)\"",
    "text behind the start of a here-document": "foo <<'EOF' && bar\nx\nEOF",
    "a pipe behind the start of a here-document": "foo <<'EOF' | bar\nx\nEOF",
    "time with an option": "time -p foo",
    "coproc": "coproc foo",
    "sudo": "sudo foo",
    "env": "env foo",
    "eval": "eval foo",
    "bash -c": "bash -c foo",
    "trap": "trap foo EXIT",
    "source": "source foo",
    "a path to the command": "./foo",
    "a no-break space": "foo\u00a0x",
    "a zero-width space": "foo\u200b x",
    "a letter that looks like another": "f\u043eo x",
    "text that reverses its direction": "foo \u202eabc",
    "escaped white space": "foo a\\ b",
    "escape codes in quotes": "foo $'x'",
    "translated text": 'foo $"x"',
    "a variable": "foo $X",
    "a variable in quotes": 'foo "$X"',
    "a variable with a default": "foo ${X:-y}",
    "a lone dollar sign": "foo $",
    "a command substitution": "foo $(bar)",
    "a command substitution in quotes": 'foo "$(bar)"',
    "backticks": "foo `bar`",
    "a process substitution": "foo <(bar)",
    "an arithmetic expansion with a name": "foo $((X))",
    "a brace expansion": "foo {a,b}",
    "an escaped brace expansion": "foo \\{a,b\\}",
    "a range in braces": "foo {1..3}",
    "a word that zsh replaces": "foo =bar",
    "a quoted line that looks like a comment": "foo 'a\n# b'",
    "a comment in the middle of a list": "foo && # x\nbar",
    "the background": "foo &",
    "a subshell": "(foo)",
    "a group": "{ foo; }",
    "a case": "case x in x) foo;; esac",
    "a function": "foo() { bar; }",
    "a counting loop": "for ((i=0;i<3;i++)); do foo; done",
    "select": "select x in a; do foo; done",
    "a loop over a special variable": "for PATH in a; do foo; done",
    "a special variable": "PATH=/x; foo",
    "an array": "X=(a b); foo",
    "an element of an array": "X[0]=1; foo",
    "several assignments": "X=1 Y=2",
    "a redirect in front": "> /dev/null foo",
    "two targets of one redirect": "foo > /dev/null bar",
    "a redirect of a loop": "for x in a; do foo; done > /dev/null",
    "a descriptor that is closed": "foo 2>&-",
    "a file opened both ways": "foo <> x",
    "quotes that never end": 'foo "x',
    "single quotes that never end": "foo 'x",
    "a pipe into nothing": "foo |",
    "a keyword without its end": "if foo",
    "a parenthesis behind a word": "foo a(b)",
    "a pattern as command": "fo* x",
    "two exclamation marks": "! ! foo",
    "a line that starts with a backslash": "foo x\n\\bar y",
    "a redirect inside a test": "[ a>b ] && foo",
}

UNSEEN = {
    "system() of awk": "awk 'BEGIN{system(\"foo\")}'",
    "a pipe of awk": "awk '{print | \"foo\"}' main.py",
    "a pipe into awk": "awk 'BEGIN{\"foo\" | getline x}'",
    "an extension of awk": "mawk '@load \"x\"'",
    "awk behind wrappers": "timeout 5 env awk 'BEGIN{system(\"foo\")}'",
    "a program of jq in a file": "jq -rf x y",
    "a module of jq": "jq 'include \"x\"; .'",
    "a command in an option of env": "env -S 'foo bar'",
    "another directory by env": "env -u X -C src foo",
    "an option of timeout that is not known": "timeout --foo 5 foo",
    "a time that is none": "timeout src/app.py",
    "an option of a wrapper that is not known": "nice --adjustment=5 foo",
    "a command word that is an option": "- foo",
    "an action of find": "find . -delete",
    "an option of command that is not known": "command -u foo",
    "a pattern behind a wrapper": "nohup *.py",
    "a script of sed that may be a file": "sed --from-file=x .git/config",
    "a test with too many operands": "[ -f a b ]",
    "a variable with another type": "declare -i X=1",
    "a declaration of a pattern": "declare src/*",
    "a declaration behind a wrapper": "time declare main.py",
    "an element that is unset": "unset X[0]",
    "a special variable that is unset": "unset PATH",
    "a special variable that is read": "read PATH",
    "an element that is read": "read -r X[0]",
    "a special variable that is printed to": "printf -v PATH a",
    "an element that is tested": "test -v X[0]",
    "an option of the shell": "shopt -s x",
    "an option of the shell among arguments": "set x --from-file=x",
    "an option that only some shells have": "export -r",
    "a special variable in front of a builtin": "PATH=x set a",
    "a stack of directories, then a write": "pushd src && mkdir x",
    "back in the stack of directories": "popd && mkdir x",
    "version control elsewhere": "pushd src && git status",
}


@pytest.mark.parametrize("command", [pytest.param(command, id=name) for name, command in UNSEEN.items()])
def test_a_wildcard_does_not_reach_what_it_cannot_see(command: str) -> None:
    verdict = judge_command(command, Rules(allow=["Bash(**)"]), Situation(PROJECT, HOME, files=SomeFiles()))
    assert verdict.behavior == "ask"


@pytest.mark.parametrize(
    "command",
    ["awk '/a|b/{print $1}' main.py", "jq -r .a x", "env -i X=1 foo", "timeout 5 foo", "export X=1", "unset -v X",
     "read -p x Y", "printf -v X a", "pushd src && foo", "nice -n 5 foo",
     "set -eu", "set -- -a", "set -o pipefail"],
)  # fmt: skip
def test_a_wildcard_reaches_what_is_plain(command: str) -> None:
    verdict = judge_command(command, Rules(allow=["Bash(**)"]), Situation(PROJECT, HOME, files=SomeFiles()))
    assert verdict.behavior == "allow"


HEREDOCS = [
    "cat <<EOF\n$(foo)\nEOF",
    "cat <<-EOF\n\t$(foo)\nEOF",
    "cat <<-EOF\n\tx $(echo $(foo)) y\n\tEOF",
    "cat <<-EOF\n\t`foo`\n\tEOF",
    "cat <<A <<B\nx\nA\n$(foo)\nB",
    "cat <<'A' <<B\nx\nA\n$(foo)\nB",
    "cat <<-EOF\n\t$(ls\n\tfoo)\n\tEOF",
]


@pytest.mark.parametrize("command", HEREDOCS)
def test_commands_in_here_documents_are_seen(command: str) -> None:
    rules = Rules(allow=["Bash"], deny=["Bash(foo:*)"])
    assert judge_command(command, rules, Situation(PROJECT, HOME, files=SomeFiles())).behavior == "deny"


def test_text_of_here_documents_is_not_taken_for_commands() -> None:
    rules = Rules(allow=["Bash"], deny=["Bash(foo:*)"])
    for command in ["cat <<-EOF\n\tfoo\n\tEOF", "cat <<-'EOF'\n\t$(foo)\n\tEOF"]:
        assert judge_command(command, rules, Situation(PROJECT, HOME, files=SomeFiles())).behavior == "allow"


VARIABLES = [
    "X=secrets; cat $X/key.pem",
    'X=a; X=secrets; cat "${X}/key.pem"',
    "X=secrets; Y=$X/key.pem; cat $Y",
    "export X=secrets; ls $X",
    "X=cat; $X secrets/key.pem",
    "for f in a secrets/key.pem; do cat $f; done",
    "X=secrets; cat < $X/key.pem",
    "X=secrets; bash -c 'cat $X/key.pem'",
]


@pytest.mark.parametrize("command", VARIABLES)
def test_values_that_the_command_sets_are_looked_through(command: str) -> None:
    rules = Rules(allow=["Bash"], deny=["Read(secrets/**)"])
    assert judge_command(command, rules, Situation(PROJECT, HOME, files=SomeFiles())).behavior in ("ask", "deny")
    rules = Rules(allow=["Bash"], deny=["Read(others/**)"])
    assert judge_command(command, rules, Situation(PROJECT, HOME, files=SomeFiles())).behavior == "allow"


def test_more_values_than_can_be_followed_are_asked_about() -> None:
    many = " ".join(f"x{number}" for number in range(100))
    command = f"for f in {many} secrets/key.pem; do cat $f; done"
    rules = Rules(allow=["Bash"], deny=["Read(secrets/**)"])
    assert judge_command(command, rules, Situation(PROJECT, HOME, files=SomeFiles())).behavior == "ask"


@pytest.mark.parametrize("command", ["cd src && cat x", "cd src && find", "pushd src && ls", "cd src; grep -r x"])
def test_reading_elsewhere_is_asked_about_where_something_must_not_be_read(command: str) -> None:
    rules = Rules(allow=["Bash(**)"], deny=["Read(.env)"])
    assert judge_command(command, rules, Situation(PROJECT, HOME, files=SomeFiles())).behavior == "ask"


def test_reading_in_the_background_is_asked_about_even_where_everything_is_allowed() -> None:
    situation = Situation(PROJECT, HOME, files=SomeFiles())
    assert judge_command("cat main.py &", Rules(allow=["Bash"]), situation).behavior == "ask"
    assert judge_command("foo &", Rules(allow=["Bash"]), situation).behavior == "allow"


@pytest.mark.parametrize("command", [pytest.param(command, id=name) for name, command in BLIND_SPOTS.items()])
def test_what_is_not_certain_is_asked_about(command: str) -> None:
    verdict = judge_command(command, Rules(allow=ALLOW), Situation(PROJECT, HOME, files=SomeFiles()))
    assert verdict.behavior == "ask"
    assert verdict.reason


CLEAR = {
    "quoted operators": "foo 'a && b | c > d; $(e) `f`'",
    "escaped operators": r"foo a\&b a\;b \$X \`x\`",
    "a here-document that does not expand": "foo <<'EOF'\n$(baz) `baz`\nEOF",
    "text from a here-document": "foo -m \"$(cat <<'EOF'\nfirst\nsecond $(baz)\nEOF\n)\"",
    "a line that goes on": "foo \\\n  --option \\\n  value",
    "the home": 'foo $HOME "$HOME/x"',
    "a pattern": "foo *.py",
    "a comment": "foo # it's a comment",
    "no redirect to a file": "foo > /dev/null 2>&1",
    "words of a here-string": 'foo <<< "a b"',
}


@pytest.mark.parametrize("command", [pytest.param(command, id=name) for name, command in CLEAR.items()])
def test_what_is_certain_is_not(command: str) -> None:
    assert parse(command).doubts == ()
    verdict = judge_command(command, Rules(allow=ALLOW), Situation(PROJECT, HOME, files=SomeFiles()))
    assert verdict.behavior == "allow"


def test_words_are_known_without_their_quotes() -> None:
    (command,) = parse(r"""fo"o" 'a b' "c\"d" e\ f""").parts
    assert command.values == ("foo", "a b", 'c"d', "e f")
    assert [word.doubt for word in command.words] == [None, None, None, "escaped white space"]


def test_a_line_that_starts_with_a_backslash_is_a_command_of_its_own() -> None:
    rules = Rules(allow=["Bash"], deny=["Bash(evil:*)"])
    assert judge_command("foo x\n\\evil y", rules, Situation(PROJECT, HOME, files=SomeFiles())).behavior == "deny"


def test_everything_is_seen_where_not_all_can_be_followed() -> None:
    script = parse("f() { one; }; case x in a) two $(three);; esac; four <(five) | (six)")
    assert {command.name for command in script.everything} == {"one", "two", "three", "four", "five", "six"}
    assert script.doubts
