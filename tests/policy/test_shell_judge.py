"""One shell command before the rules: what is allowed, asked and denied, and why."""

from __future__ import annotations

import pytest

from handrail.policy.rules.ruleset import Rules
from handrail.policy.shell.judge import judge_command
from handrail.policy.situation import Situation
from handrail.policy.verdict import Verdict

from .support import HOME, PROJECT, SomeFiles

FILES = SomeFiles(
    {
        f"{PROJECT}/main.py": b"",
        f"{PROJECT}/src/app.py": b"",
        f"{PROJECT}/secrets/key.pem": b"",
        "/elsewhere/o.txt": b"",
    },
    {f"{PROJECT}/way_out": "/elsewhere", f"{PROJECT}/way_in": f"{PROJECT}/src"},
)


def judge(
    command: str,
    *,
    allow: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    mode: str = "default",
    add_dirs: tuple[str, ...] = (),
) -> Verdict:
    return judge_command(command, Rules(allow, ask, deny), Situation(PROJECT, HOME, mode, add_dirs, files=FILES))


def behaviors(commands: list[str], **rules: tuple[str, ...] | str) -> dict[str, str]:
    return {command: judge(command, **rules).behavior for command in commands}  # type: ignore[arg-type]


def all_of(behavior: str, commands: list[str]) -> dict[str, str]:
    return dict.fromkeys(commands, behavior)


class TestAllowRules:
    def test_a_prefix_ends_at_a_word(self) -> None:
        allowed = ["foo", "foo x", "foo  x", "foo\tx", '"foo" x', "f\\oo x"]
        assert behaviors(allowed, allow=("Bash(foo:*)",)) == all_of("allow", allowed)
        asked = ["foobar", "foo-bar", "./foo", "/usr/bin/foo", "FOO x", "x foo", '"foo x"', "foo:x"]
        assert behaviors(asked, allow=("Bash(foo:*)",)) == all_of("ask", asked)

    def test_a_trailing_star_is_a_word_boundary_only_behind_a_space(self) -> None:
        assert judge("foo", allow=("Bash(foo *)",)).behavior == "allow"
        assert judge("foobar", allow=("Bash(foo *)",)).behavior == "ask"
        assert judge("foobar", allow=("Bash(foo*)",)).behavior == "allow"
        assert judge("foo", allow=("Bash(foo **)",)).behavior == "ask"
        assert judge("foo x baz", allow=("Bash(foo * baz)",)).behavior == "allow"
        assert judge("foo *", allow=(r"Bash(foo \*)",)).behavior == "ask"

    def test_an_exact_rule_compares_the_text(self) -> None:
        allowed = ["foo bar", " foo bar ", "foo bar 2>&1", "NODE_ENV=test foo bar", "timeout 5 foo bar", "foo \\\nbar"]
        assert behaviors(allowed, allow=("Bash(foo bar)",)) == all_of("allow", allowed)
        asked = ["foo  bar", 'foo "bar"', "foo bar baz", "FOO=1 foo bar", "(foo bar)", "foo bar &"]
        assert behaviors(asked, allow=("Bash(foo bar)",)) == all_of("ask", asked)

    def test_an_exact_rule_unlocks_what_cannot_be_followed_but_not_what_leaves_it(self) -> None:
        assert judge("foo $(bar)", allow=("Bash(foo $(bar))",)).behavior == "allow"
        assert judge("{ foo; }", allow=("Bash({ foo; })",)).behavior == "allow"
        assert judge("foo $X | baz", allow=("Bash(foo $X | baz)",)).behavior == "ask"
        assert judge("foo > out", allow=("Bash(foo > out)",)).behavior == "ask"

    def test_an_empty_prefix_matches_nothing(self) -> None:
        assert judge("foo", allow=("Bash(:*)",)).behavior == "ask"

    def test_every_part_needs_a_rule(self) -> None:
        rules = ("Bash(foo:*)", "Bash(bar:*)")
        allowed = ["foo && bar", "foo; bar", "foo | bar", "foo || bar", "foo\nbar", "if foo; then bar; fi", "! foo"]
        assert behaviors(allowed, allow=rules) == all_of("allow", allowed)
        asked = ["foo && baz", "foo | baz", "foo\nbaz", "if foo; then baz; fi", "while foo; do baz; done"]
        assert behaviors(asked, allow=rules) == all_of("ask", asked)

    def test_the_reason_names_the_part_that_is_missing_a_rule(self) -> None:
        verdict = judge("foo && rm -rf build", allow=("Bash(foo:*)",))
        assert verdict == Verdict("ask", "`rm -rf build` is not covered by any allow rule")

    def test_a_verdict_names_its_rule(self) -> None:
        assert judge("foo x", allow=("Bash(foo:*)",)).rule == "Bash(foo:*)"
        assert judge("foo x", allow=("Bash",), deny=("Bash(foo x)",)).rule == "Bash(foo x)"

    def test_wrappers_are_seen_through(self) -> None:
        allowed = [
            "timeout 5 foo",
            "timeout -s KILL 5s foo",
            "time foo",
            "nice -n 5 foo",
            "nohup foo",
            "stdbuf -oL foo",
        ]
        allowed += ["command foo", "builtin foo", "noglob foo", "xargs foo", "nohup timeout 5 foo"]
        assert behaviors(allowed, allow=("Bash(foo:*)",)) == all_of("allow", allowed)
        asked = [
            "sudo foo",
            "env foo",
            "exec foo",
            "xargs -n1 foo",
            "timeout foo",
            "nice -- foo",
            "watch foo",
            "sh -c foo",
        ]
        assert behaviors(asked, allow=("Bash(foo:*)",)) == all_of("ask", asked)

    def test_some_commands_need_an_exact_rule(self) -> None:
        for command in ("watch foo", "setsid foo", "flock x foo", "find . -delete", r"find . -exec foo {} \;"):
            name = command.partition(" ")[0]
            assert judge(command, allow=(f"Bash({name} *)",)).behavior == "ask", command
            assert judge(command, allow=(f"Bash({command})",)).behavior == "allow", command

    def test_only_harmless_variables_may_come_first(self) -> None:
        allowed = ["LANG=C foo", "NODE_ENV=test foo", "NO_COLOR=1 FORCE_COLOR=0 foo"]
        assert behaviors(allowed, allow=("Bash(foo:*)",)) == all_of("allow", allowed)
        asked = ["X=1 foo", "PATH=/x foo", "LD_PRELOAD=x foo", "LANG=$(x) foo", "LANG=../x foo", "NODE_ENV=a X=1 foo"]
        assert behaviors(asked, allow=("Bash(foo:*)",)) == all_of("ask", asked)

    def test_a_rule_on_the_whole_tool_allows_nearly_everything(self) -> None:
        allowed = [
            "foo",
            "foo $(bar) &",
            "rm -rf build",
            'echo "unbalanced',
            f"echo {'a' * 20_000}",
            "cd /elsewhere && x",
        ]
        assert behaviors(allowed, allow=("Bash",)) == all_of("allow", allowed)

    def test_ten_thousand_characters_are_read(self) -> None:
        at_the_limit = "foo " + "a" * 9996
        assert judge(at_the_limit, allow=("Bash(foo:*)",)).behavior == "allow"
        assert judge(at_the_limit + "a", allow=("Bash(foo:*)",)).behavior == "ask"


class TestWhatIsAlwaysForAPerson:
    @pytest.mark.parametrize(
        "command",
        [
            "rm -rf /", "rm -rf /*", "rm -rf ~", "rm -rf ~/", "rm -rf .", "rm -rf *", "rm -rf ..", "rmdir /etc",
            "rm /x",
            "sudo rm -rf /", "env rm -rf ~", "bash -c 'rm -rf /'", "eval rm -rf /", "(rm -rf /)", "echo $(rm -rf /)",
            'rm -rf "$X/"', "rm -rf $X/*", "rm -rf $(foo)", "cd src && rm -rf *", "if true; then rm -rf $HOME; fi",
        ],
    )  # fmt: skip
    def test_critical_removals(self, command: str) -> None:
        assert judge(command, allow=("Bash",)).behavior == "ask"

    def test_other_removals_are_not_critical(self) -> None:
        allowed = ["rm -rf build", "rm src/*.pyc", "rm -rf /tmp/x", 'rm -rf "$X"', "rmdir src"]
        assert behaviors(allowed, allow=("Bash",)) == all_of("allow", allowed)

    @pytest.mark.parametrize("path", [".git/hooks/x", ".claude/settings.json", ".bashrc", "src/.git/x", "way_out/x"])
    def test_files_that_decide_what_runs_next_and_links_that_lead_out(self, path: str) -> None:
        for command in (f"touch {path}", f"foo > {path}", f"tee {path}", f"timeout 5 touch {path}"):
            assert judge(command, allow=("Bash",)).behavior == "ask", command

    def test_control_characters(self) -> None:
        assert judge("foo\x1b[2Kbar", allow=("Bash",)).behavior == "ask"


class TestDenyAndAskRules:
    @pytest.mark.parametrize(
        "command",
        [
            "foo", "foo x", "X=1 foo", "timeout 5 foo", "sudo -u x foo", "env -i X=1 foo", "exec foo", "./foo",
            "/bin/foo",
            '"foo"', "f\\oo", "bar && foo", "bar | foo", "bar & foo", "(foo)", "{ foo; }", "$(foo)", "echo `foo`",
            "<(foo)",
            'echo "${X:-$(foo)}"', "if foo; then bar; fi", "case x in x) foo;; esac", "f() { foo; }", "a=foo; $a",
            "export x=foo; $x", "x=o; fo$x", "! foo", "> out foo", "foo <<EOF\nx\nEOF", "bar; foo 'unbalanced",
            "if foo",
            "timeout -s KILL 5 foo", "setsid -w foo", "xargs foo", "while foo; do bar; done",
        ],
    )  # fmt: skip
    def test_deny_sees_through_everything_that_runs_the_command(self, command: str) -> None:
        assert judge(command, allow=("Bash",), deny=("Bash(foo:*)",)).behavior == "deny"
        assert judge(command, allow=("Bash",), ask=("Bash(foo:*)",)).behavior == "ask"

    def test_mentioning_is_not_running(self) -> None:
        allowed = ["echo foo", "ls # foo", "cat <<'EOF'\nfoo\nEOF", "foobar", "foo=1", "command -v foo", "bar 'foo; x'"]
        allowed += ["bar -m \"$(cat <<'EOF'\nsee `foo`\nEOF\n)\"", "bar <<'EOF'\n`foo`\nEOF"]
        assert behaviors(allowed, allow=("Bash",), deny=("Bash(foo:*)",)) == all_of("allow", allowed)

    def test_deny_comes_before_ask_and_ask_before_allow(self) -> None:
        assert judge("foo && bar", allow=("Bash",), ask=("Bash(foo)",), deny=("Bash(bar)",)).behavior == "deny"
        assert judge("foo", allow=("Bash(foo)",), ask=("Bash(foo)",)).behavior == "ask"
        assert judge("ls", deny=("Bash",)).behavior == "deny"
        assert judge("ls", ask=("B*",)).behavior == "ask"

    def test_a_denied_path_is_denied_to_commands_that_read_it(self) -> None:
        denied = ["cat secrets/key.pem", "head -n1 secrets/key.pem", "grep x secrets/key.pem", "foo < secrets/key.pem"]
        denied += [
            "cp secrets/key.pem x",
            "cd secrets && cat key.pem",
            "cat secrets/*",
            "timeout 5 cat secrets/key.pem",
        ]
        assert behaviors(denied, allow=("Bash",), deny=("Read(secrets/**)",)) == all_of("deny", denied)

    def test_a_denied_path_is_denied_to_commands_that_write_it(self) -> None:
        denied = [
            "touch src/n",
            "foo > src/n",
            "foo 2>> src/n",
            "rm src/x",
            "cp main.py src/n",
            "sed -i s/a/b/ src/app.py",
        ]
        assert behaviors(denied, allow=("Bash",), deny=("Edit(src/**)",)) == all_of("deny", denied)

    def test_a_denied_path_in_the_depth_of_a_command_is_asked_about(self) -> None:
        asked = ["echo $(cat secrets/key.pem)", "bash -c 'cat secrets/key.pem'", "xargs cat secrets/key.pem"]
        assert behaviors(asked, allow=("Bash",), deny=("Read(secrets/**)",)) == all_of("ask", asked)


class TestReading:
    def test_reading_commands_need_no_rule(self) -> None:
        allowed = ["ls -la", "cat main.py", "grep -rn x src | head -5", "git status", "git log --oneline -5", "echo hi"]
        allowed += ["find . -name '*.py'", "sed -n 1,5p main.py", "cd src && ls", "X=$(cat main.py)", "ls > /dev/null"]
        allowed += ["[ -f main.py ] && cat main.py", "for f in *.py; do ls; done", "jq .a main.py", "sort -u main.py"]
        assert behaviors(allowed) == all_of("allow", allowed)

    def test_other_options_of_them_do(self) -> None:
        asked = [
            "sort -o out main.py",
            "find . -delete",
            "git log --output=x",
            "rg --pre foo x",
            "sed s/a/b/w x",
            "date -s 1",
        ]
        asked += [
            "sed 's/a/b/e' main.py",
            "git branch x",
            "uniq main.py out",
            "tree -o x",
            "xargs rm",
            "jq -f x main.py",
        ]
        assert behaviors(asked) == all_of("ask", asked)

    def test_reading_ends_at_the_project(self) -> None:
        asked = [
            "cat /etc/passwd",
            "cat ~/x",
            "cat $HOME/x",
            "ls ..",
            "cat way_out/o.txt",
            "cat src/../main.py",
            "cat ~root/x",
        ]
        asked += [
            "cat < /etc/passwd",
            "grep x /etc/passwd",
            "find / -name x",
            "cd /elsewhere",
            "cd",
            "cd src && cat ../../x",
        ]
        assert behaviors(asked) == all_of("ask", asked)
        assert judge("cat /elsewhere/o.txt", allow=("Read(//elsewhere/**)",)).behavior == "allow"
        assert judge("cat /elsewhere/o.txt", add_dirs=("/elsewhere",)).behavior == "allow"

    def test_a_pattern_is_not_a_path(self) -> None:
        assert judge("grep /etc/passwd main.py").behavior == "allow"
        assert judge("grep -e x /etc/passwd").behavior == "ask"
        assert judge("grep -f /etc/passwd main.py").behavior == "ask"

    def test_git_in_another_directory_reads_its_configuration(self) -> None:
        assert judge("cd src && git status").behavior == "ask"
        assert judge(f"cd {PROJECT} && git status").behavior == "allow"


class TestWriting:
    def test_redirects_are_edits(self) -> None:
        assert judge("echo hi > src/n").behavior == "ask"
        assert judge("echo hi > src/n", allow=("Edit(src/**)",)).behavior == "allow"
        assert judge("echo hi > main.py", allow=("Edit(src/**)",)).behavior == "ask"
        assert judge("echo hi > ~/x", allow=("Edit(//**)",)).behavior == "ask"

    def test_commands_that_write_stay_in_the_project(self) -> None:
        assert judge("touch x", allow=("Bash(touch:*)",)).behavior == "allow"
        asked = ["touch /elsewhere/x", "touch *.py", "touch way_out/x", "touch src/../x", "cd src && touch x"]
        assert behaviors(asked, allow=("Bash(touch:*)",)) == all_of("ask", asked)

    def test_accept_edits(self) -> None:
        allowed = [
            "mkdir -p a/b",
            "touch x",
            "rm -rf build",
            "mv a b",
            "cp a b",
            "sed -i s/a/b/ main.py",
            "echo hi > x",
        ]
        assert behaviors(allowed, mode="acceptEdits") == all_of("allow", allowed)
        asked = [
            "touch /elsewhere/x",
            "X=1 touch x",
            "timeout 5 touch x",
            "touch *.py",
            "chmod +x x",
            "tee x",
            "foo > x",
        ]
        asked += [
            "cp -r a b",
            "touch -r main.py x",
            "sed -i 1d main.py",
            "cd src && touch x",
            "rm -rf .git",
            '"touch" x',
        ]
        assert behaviors(asked, mode="acceptEdits") == all_of("ask", asked)

    def test_plan_mode_changes_nothing_here(self) -> None:
        assert judge("touch x", mode="plan").behavior == "ask"
        assert judge("ls", mode="plan").behavior == "allow"
