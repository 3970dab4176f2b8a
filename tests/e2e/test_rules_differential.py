"""The rule engine and the real CLI judge the same calls, so that a CLI that changes its mind is noticed.

The engine models the newest CLI, so older ones are not asked here. It may be stricter where the table says why; it is
never more lenient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from handrail.policy import evaluate
from handrail.policy.verdict import Behavior

from .rule_measuring import Call, Ground, Setting, measure
from .support import World

STRICTNESS: dict[Behavior, int] = {"allow": 0, "ask": 1, "deny": 2}

pytestmark = pytest.mark.usefixtures("newest_cli")


@dataclass(frozen=True, slots=True)
class Stricter:
    """A call on which the engine is stricter than the CLI, and the reason."""

    call: Call
    why: str


@dataclass(frozen=True, slots=True)
class Group:
    """Calls that are judged under the same rules."""

    setting: Setting
    calls: Sequence[Call | Stricter]


def bash(command: str, **more: object) -> Call:
    return Call("Bash", {"command": command, **more})


def read(path: str) -> Call:
    return Call("Read", {"file_path": path})


def write(path: str) -> Call:
    return Call("Write", {"file_path": path, "content": "new\n"})


def edit(path: str) -> Call:
    return Call("Edit", {"file_path": path, "old_string": "x", "new_string": "y"})


def fetch(url: str) -> Call:
    return Call("WebFetch", {"url": url, "prompt": "What is it?"})


def mcp(name: str) -> Call:
    return Call(f"mcp__srv__{name}", {"a": "1"})


def agent(kind: str) -> Call:
    return Call("Agent", {"description": "A job", "prompt": "Do it", "subagent_type": kind})


def skill(name: str) -> Call:
    return Call("Skill", {"skill": name})


INSIDE_TEXT = "the command is inside text, where the CLI does not look"

GROUPS = {
    "commands that every rule covers": Group(
        Setting(allow=["Bash(foo:*)", "Bash(bar one)", "Bash(git commit:*)"]),
        [
            bash("foo x | bar one && foo"),
            bash("foo; baz"),
            bash("foo\nbaz"),
            bash("bar one two"),
            bash("foo & bar one"),
            bash("foo $(bar one)"),
            bash("foo `baz`"),
            bash("foo <(baz)"),
            bash('foo "$OTHER"'),
            bash("foo {a,b}"),
            bash("foo a\\ b"),
            bash("foo '$(baz); `baz`'"),
            bash("foo # ; baz"),
            bash("foo 'a\n# b'"),
            bash("(foo)"),
            bash("f() { foo; }; f"),
            bash("for i in 1 2; do foo; done"),
            bash("if foo; then baz; fi"),
            bash("foo <<EOF\n$(baz)\nEOF"),
            bash("foo <<'EOF'\n$(baz)\nEOF"),
            bash("git commit -m \"$(cat <<'EOF'\nmessage\nEOF\n)\""),
            bash("foo > out.txt"),
            bash("foo 2>&1 > /dev/null"),
            bash("foo < ${OUTSIDE}/o.txt"),
            bash("LD_PRELOAD=x foo"),
            bash("NODE_ENV=test timeout 5 foo"),
            bash("sudo foo"),
            bash("cd src && foo"),
            bash("cd ${OUTSIDE} && foo"),
            bash("foo\u00a0x"),
        ],
    ),
    "commands that are forbidden or critical": Group(
        Setting(allow=["Bash"], deny=["Bash(foo:*)"]),
        [
            bash("ls && foo"),
            bash("X=1 sudo -u me foo"),
            bash("env -i X=1 foo"),
            bash('echo "$(foo)"'),
            bash("cat <<EOF\n$(foo)\nEOF"),
            bash("'f'oo x"),
            bash("/usr/bin/foo"),
            bash("x=foo; $x"),
            bash("ls | xargs foo"),
            bash("echo foo"),
            bash("foobar"),
            bash("baz $(bar) > ${OUTSIDE}/x"),
            bash("rm -rf nodir"),
            bash("rm -rf ~"),
            bash("rmdir /"),
            bash("touch .git/x"),
            Stricter(bash("cat <<EOF\n`foo`\nEOF"), "the CLI does not see backticks in a here-document"),
            Stricter(bash("bash -c 'ls; foo'"), INSIDE_TEXT),
            Stricter(bash("eval foo"), INSIDE_TEXT),
            Stricter(bash("trap foo EXIT"), INSIDE_TEXT),
            Stricter(bash("ls | xargs -n1 foo"), "the CLI does not read the options of xargs"),
            Stricter(bash("find . -exec foo {} \\;"), "the CLI does not look into the actions of find"),
            Stricter(bash("$'foo'"), "the shell decodes the word before it looks the command up"),
        ],
    ),
    "commands without a rule": Group(
        Setting(),
        [
            bash("git log --oneline -5 | head"),
            bash("git log --output=x"),
            bash("git push"),
            bash("find . -name x"),
            bash("find . -delete"),
            bash("sort -o x main.py"),
            bash("sed -n 1p main.py"),
            bash("sed -i s/a/b/ main.py"),
            bash("cat main.py"),
            bash("cat ${OUTSIDE}/o.txt"),
            bash("cat link_out.txt"),
            bash("rm -rf src"),
        ],
    ),
    "files that may not be read, or not be edited": Group(
        Setting(allow=["Edit", "Bash"], deny=["Read(secrets/**)", "Edit(src/**)"], ask=["Edit(*.md)"]),
        [
            read("${CWD}/secrets/key.pem"),
            read("${CWD}/link_secret.pem"),
            read("${CWD}/src/../secrets/sub/id.txt"),
            read("${CWD}/main.py"),
            write("${CWD}/secrets/new.pem"),
            Call("Grep", {"pattern": "x", "path": "${CWD}/secrets"}),
            Call("Glob", {"pattern": "*", "path": "${CWD}/secrets"}),
            bash("cat ./secrets/key.pem"),
            bash("head -1 < secrets/key.pem"),
            bash("cd secrets && cat key.pem"),
            edit("${CWD}/src/app.py"),
            edit("${CWD}/docs/src/nested.py"),
            edit("${CWD}/docs/guide.md"),
            edit("${CWD}/main.py"),
            write("${CWD}/.claude/settings.json"),
            bash("touch src/new.py"),
            bash("cp main.py link_dir_in/new.py"),
        ],
    ),
    "files that may be edited": Group(
        Setting(allow=["Edit(src/**)", "Edit(//${OUTSIDE}/**)", "Edit(~/docs/*.txt)"]),
        [
            write("${CWD}/src/new.py"),
            write("${CWD}/SRC/lib/new.py"),
            write("${CWD}/new.py"),
            write("${CWD}/docs/../src/new.py"),
            write("${CWD}/link_dir_in/new.py"),
            write("${CWD}/link_dir_out/new.py"),
            write("${OUTSIDE}/new.txt"),
            write("${HOME}/docs/new.txt"),
            write("${HOME}/new.txt"),
            write("${CWD}/src/.git/hooks/new"),
            edit("${CWD}/link_in.py"),
            edit("${CWD}/src/app.py"),
            edit("${CWD}/main.py"),
            bash("echo hi > src/new.py"),
            read("${OUTSIDE}/o.txt"),
        ],
    ),
    "the web, servers, agents, skills, and single inputs": Group(
        Setting(
            allow=["WebFetch(domain:*.example.com)", "mcp__srv__read_*", "Skill(pr:*)", "Bash(foo:*)"],
            ask=["Agent(subagent_type:Plan)", "mcp__srv__read_y", "Read(limit:5)"],
            deny=[
                "WebFetch(domain:evil.example.com)",
                "Agent(Explore)",
                "WebSearch(query:secret)",
                "Bash(run_in_background:true)",
            ],
        ),
        [
            bash("foo"),
            bash("foo", run_in_background=True),
            Call("Read", {"file_path": "${CWD}/main.py", "limit": 5}),
            Call("Read", {"file_path": "${CWD}/main.py", "limit": 6}),
            fetch("https://docs.example.com:8443/x"),
            fetch("https://example.com/"),
            fetch("https://EVIL.example.com/"),
            fetch("https://docs.example.com@evil.org/"),
            mcp("read_x"),
            mcp("read_y"),
            mcp("write_x"),
            agent("Explore"),
            agent("Plan"),
            agent("general-purpose"),
            skill("priv"),
            skill("demo"),
            Call("WebSearch", {"query": "secret"}),
            Call("WebSearch", {"query": "weather"}),
        ],
    ),
    "accepting edits": Group(
        Setting(mode="acceptEdits", deny=["Edit(secrets/**)"]),
        [
            write("${CWD}/new.txt"),
            write("${CWD}/secrets/new.txt"),
            write("${OUTSIDE}/new.txt"),
            write("${CWD}/.git/config"),
            bash("mkdir -p a/b && touch a/b/c"),
            bash("rm -rf nodir"),
            bash("X=1 touch x"),
            bash("touch *.txt"),
            bash("chmod +x main.py"),
            bash("echo hi > ${OUTSIDE}/x"),
        ],
    ),
    "planning": Group(
        Setting(mode="plan", allow=["Edit", "Bash(foo:*)"]),
        [read("${CWD}/main.py"), write("${CWD}/new.txt"), bash("ls"), bash("foo"), bash("touch x")],
    ),
    "asking nobody": Group(
        Setting(mode="dontAsk", allow=["Bash(foo:*)"], ask=["Bash(foo x)"]),
        [bash("foo"), bash("foo x"), bash("bar"), bash("ls"), write("${CWD}/new.txt"), read("${OUTSIDE}/o.txt")],
    ),
    "bypassing permissions": Group(
        Setting(mode="bypassPermissions", ask=["Bash(bar:*)"], deny=["Bash(foo:*)", "Read(secrets/**)"]),
        [bash("baz"), bash("bar"), bash("ls; foo"), bash("rmdir /"), write("${OUTSIDE}/new.txt"), read("${CWD}/.env")],
    ),
    "rules on the command line, and another directory": Group(
        Setting(
            source="allowedTools",
            allow=["Edit(/src/**)", "Bash(foo *)"],
            deny=["Bash(foo bar)"],
            add_dirs=["${OUTSIDE}"],
        ),
        [
            write("${CWD}/src/new.py"),
            write("${CWD}/docs/src/new.py"),
            bash("foo"),
            bash("foo bar"),
            bash("cat ${OUTSIDE}/o.txt"),
            read("${OUTSIDE}/o.txt"),
            write("${OUTSIDE}/new.txt"),
        ],
    ),
}


@pytest.mark.parametrize("name", GROUPS)
async def test_the_engine_judges_as_the_cli_does(world: World, name: str) -> None:
    group, ground = GROUPS[name], Ground(world)
    calls = [each.call if isinstance(each, Stricter) else each for each in group.calls]
    ours = [engine(ground, group.setting, call) for call in calls]
    theirs = await measure(ground, group.setting, calls)
    complaints = [complaint(each, our, their) for each, our, their in zip(group.calls, ours, theirs, strict=True)]
    assert not [line for line in complaints if line is not None]


def engine(ground: Ground, setting: Setting, call: Call) -> Behavior:
    return evaluate(
        ground.rules(setting),
        call.tool,
        ground.fill(call.input),
        cwd=str(ground.world.cwd),
        home=str(ground.world.home),
        mode=setting.mode,
        add_dirs=ground.fill(setting.add_dirs),
        source=setting.source,
    ).behavior


def complaint(each: Call | Stricter, ours: Behavior, theirs: Behavior) -> str | None:
    """What is wrong with a pair of verdicts, if anything is."""
    if isinstance(each, Stricter):
        expected = STRICTNESS[ours] > STRICTNESS[theirs]
        return None if expected else f"{each.call}: the engine says {ours}, no stricter than the CLI's {theirs}"
    if STRICTNESS[ours] < STRICTNESS[theirs]:
        return f"{each}: THE ENGINE IS TOO LENIENT: it says {ours}, the CLI {theirs}"
    return None if ours == theirs else f"{each}: the engine says {ours}, the CLI {theirs}; say why if that is meant"
