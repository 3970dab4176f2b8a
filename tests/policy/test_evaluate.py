"""What rules, modes and Claude Code's own habits say about calls of each tool."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.errors import PolicyError
from handrail.policy import Rules, Verdict, evaluate

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(autouse=True)
def _quiet_about_bad_rules() -> Iterator[None]:
    logger = logging.getLogger("handrail.policy")
    logger.disabled = True
    yield
    logger.disabled = False


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("place").resolve()
    for name in ("project/src", "project/.git", "outside", "home"):
        (root / name).mkdir(parents=True)
    (root / "project/src/app.py").write_text("x\n")
    (root / "outside/o.txt").write_text("x\n")
    (root / "project/link.py").symlink_to("src/app.py")
    (root / "project/away").symlink_to(root / "outside")
    return root


def judge(
    place: Path,
    tool: str,
    given: dict[str, Any],
    *,
    allow: list[str] | None = None,
    ask: list[str] | None = None,
    deny: list[str] | None = None,
    **where: Any,
) -> Verdict:
    rules = Rules(allow=allow or [], ask=ask or [], deny=deny or [])
    return evaluate(rules, tool, given, cwd=str(place / "project"), home=str(place / "home"), **where)


def behavior(place: Path, tool: str, given: dict[str, Any], **rules: Any) -> str:
    return judge(place, tool, given, **rules).behavior


def test_deny_then_ask_then_allow(place: Path) -> None:
    search = {"query": "q"}
    assert behavior(place, "WebSearch", search) == "ask"
    assert behavior(place, "WebSearch", search, allow=["WebSearch"]) == "allow"
    assert behavior(place, "WebSearch", search, allow=["WebSearch"], ask=["WebSearch"]) == "ask"
    assert behavior(place, "WebSearch", search, allow=["WebSearch"], ask=["WebSearch"], deny=["WebSearch"]) == "deny"


def test_a_verdict_says_which_rule_and_why(place: Path) -> None:
    verdict = judge(place, "Write", {"file_path": "src/n.py"}, allow=["Edit(src/**)"])
    assert (verdict.behavior, verdict.rule) == ("allow", "Edit(src/**)")
    assert verdict.reason == "the allow rule Edit(src/**) covers src/n.py"


def test_reading(place: Path) -> None:
    outside = {"file_path": str(place / "outside/o.txt")}
    assert behavior(place, "Read", {"file_path": "src/app.py"}) == "allow"
    assert behavior(place, "Read", outside) == "ask"
    assert behavior(place, "Read", {"file_path": "away/o.txt"}) == "ask"
    assert behavior(place, "Read", outside, add_dirs=[str(place / "outside")]) == "allow"
    assert behavior(place, "Read", outside, allow=["Read"]) == "allow"
    assert behavior(place, "Read", outside, allow=["Read(*)"]) == "ask"
    assert behavior(place, "Read", outside, allow=[f"Read(/{place}/outside/**)"]) == "allow"
    assert behavior(place, "Read", outside, allow=[f"Edit(/{place}/outside/**)"]) == "allow"
    assert behavior(place, "Read", outside, allow=["Edit"]) == "ask"
    assert behavior(place, "Read", {"file_path": "~/.bashrc"}, allow=["Edit(//**)"]) == "ask"
    assert behavior(place, "Read", {"file_path": "src/app.py"}, ask=["Read(src/**)"]) == "ask"
    assert behavior(place, "Read", {"file_path": "link.py"}, deny=["Read(src/**)"]) == "deny"


def test_searching(place: Path) -> None:
    outside = str(place / "outside")
    assert behavior(place, "Grep", {"pattern": "x"}) == "allow"
    assert behavior(place, "Grep", {"pattern": "x", "path": outside}) == "ask"
    assert behavior(place, "Grep", {"pattern": "x", "path": outside}, allow=["Read"]) == "ask"
    assert behavior(place, "Grep", {"pattern": "x", "path": outside}, allow=["Grep"]) == "allow"
    assert behavior(place, "Grep", {"pattern": "x", "path": "src"}, deny=["Read(src/**)"]) == "deny"
    assert behavior(place, "Glob", {"pattern": f"{outside}/*"}) == "ask"
    assert behavior(place, "Glob", {"pattern": "../outside/*"}) == "ask"
    assert behavior(place, "Glob", {"pattern": "~/*"}) == "ask"
    assert behavior(place, "Glob", {"pattern": "src/*"}) == "allow"
    assert behavior(place, "Glob", {"pattern": "*", "path": 5}) == "ask"


def test_editing(place: Path) -> None:
    outside = {"file_path": str(place / "outside/n.txt")}
    inside = {"file_path": "n.txt"}
    assert behavior(place, "Write", inside) == "ask"
    assert behavior(place, "Write", inside, allow=["Write"]) == "allow"
    assert behavior(place, "Write", inside, allow=["Write(*)"]) == "allow"
    assert behavior(place, "Write", inside, allow=["Edit"]) == "ask"
    assert behavior(place, "Write", inside, allow=["Edit(**)"]) == "allow"
    assert behavior(place, "NotebookEdit", {"notebook_path": "n.ipynb"}, allow=["Edit(*.ipynb)"]) == "allow"
    assert behavior(place, "Write", outside, allow=["Write"]) == "allow"
    assert behavior(place, "Write", outside, allow=["Write(*)"]) == "ask"
    assert behavior(place, "Write", {"file_path": "away/n"}, allow=["Write"]) == "ask"
    assert behavior(place, "Write", inside, allow=["Write"], ask=["Edit(*.txt)"]) == "ask"
    assert behavior(place, "Write", inside, allow=["Write"], deny=["Edit(*.txt)"]) == "deny"
    assert behavior(place, "Write", inside, allow=["Write"], deny=["Read(*.txt)"]) == "deny"
    assert behavior(place, "Write", inside, allow=["Write"], deny=["Read"]) == "deny"


def test_editing_a_link_itself_is_denied(place: Path) -> None:
    assert behavior(place, "Edit", {"file_path": "link.py"}, allow=["Edit"], ask=["Edit(src/**)"]) == "deny"


@pytest.mark.parametrize(
    "path", [".git/hooks/x", "src/.GIT/x", ".claude/settings.json", ".bashrc", "a/.mcp.json", ".vscode/x"]
)
@pytest.mark.parametrize("rule", ["Write", "Write(*)", "Edit(**)", "Edit(//**)"])
def test_no_rule_allows_editing_what_decides_what_runs(place: Path, path: str, rule: str) -> None:
    assert behavior(place, "Write", {"file_path": path}, allow=[rule]) == "ask"
    assert behavior(place, "Write", {"file_path": path}, allow=[rule], mode="acceptEdits") == "ask"


def test_worktrees_are_not_protected_but_what_they_hold_may_be(place: Path) -> None:
    assert behavior(place, "Write", {"file_path": ".claude/worktrees/a/n.py"}, allow=["Write"]) == "allow"
    assert behavior(place, "Write", {"file_path": ".claude/worktrees/a/.git/n"}, allow=["Write"]) == "ask"


@pytest.mark.parametrize("path", ["a~1", "x...", ".../x", "a.", "a./b", "//host/share", "\\\\host\\x", "a\nb", ""])
def test_paths_that_systems_read_differently_are_asked_about(place: Path, path: str) -> None:
    assert behavior(place, "Read", {"file_path": path}, allow=["Read"]) == "ask"
    assert behavior(place, "Write", {"file_path": path}, allow=["Write"]) == "ask"
    assert behavior(place, "Write", {"file_path": path}, deny=["Write"]) == "deny"


@pytest.mark.parametrize("path", ["./src/app.py", "../project/src/app.py", "src/../src/app.py", "~x", "..x", "a.b"])
def test_plain_paths_are_not_mistaken_for_those(place: Path, path: str) -> None:
    assert behavior(place, "Read", {"file_path": path}) == "allow"


@pytest.mark.parametrize(
    ("mode", "rules", "verdict"),
    [
        ("default", {}, "ask"),
        ("manual", {}, "ask"),
        ("auto", {}, "ask"),
        ("acceptEdits", {}, "allow"),
        ("acceptEdits", {"ask": ["Edit(*.txt)"]}, "ask"),
        ("plan", {"allow": ["Write", "Edit(**)"]}, "ask"),
        ("plan", {"deny": ["Write"]}, "deny"),
        ("dontAsk", {}, "deny"),
        ("dontAsk", {"allow": ["Write"]}, "allow"),
        ("bypassPermissions", {}, "allow"),
        ("bypassPermissions", {"ask": ["Edit(*.txt)"]}, "ask"),
        ("bypassPermissions", {"deny": ["Edit(*.txt)"]}, "deny"),
    ],
)
def test_modes_and_edits(place: Path, mode: str, rules: dict[str, Any], verdict: str) -> None:
    assert behavior(place, "Write", {"file_path": "n.txt"}, mode=mode, **rules) == verdict


def test_accepting_edits_stops_at_the_project(place: Path) -> None:
    for path in (str(place / "outside/n"), "away/n", "~/n"):
        assert behavior(place, "Write", {"file_path": path}, mode="acceptEdits") == "ask"


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_questions_to_a_person_are_never_answered_by_rules(place: Path, tool: str) -> None:
    for mode in ("default", "acceptEdits", "plan", "bypassPermissions"):
        assert behavior(place, tool, {}, allow=[tool], mode=mode) == "ask"
    assert behavior(place, tool, {}, allow=[tool], mode="dontAsk") == "deny"
    assert behavior(place, tool, {}, deny=[tool]) == "deny"


@pytest.mark.parametrize(
    ("rule", "hosts"),
    [
        ("domain:example.com", {"example.com"}),
        ("domain:EXAMPLE.com", {"example.com"}),
        ("domain:*.example.com", {"www.example.com", "a.b.example.com"}),
        ("domain:*example.com", {"example.com", "notexample.com"}),
        ("domain:*.*.example.com", {"a.b.example.com"}),
        ("domain:**.example.com", {"www.example.com"}),
        ("domain:ex*mple.com", {"example.com"}),
        ("domain:example.*", {"example.com"}),
        ("domain:127.0.0.*", {"127.0.0.1"}),
        ("domain:https://example.com", set()),
        ("domain:example.com:443", set()),
        ("example.com", set()),
        ("url:https://example.com/", set()),
    ],
)
def test_domains(place: Path, rule: str, hosts: set[str]) -> None:
    tried = ["example.com", "www.example.com", "a.b.example.com", "notexample.com", "example.com.evil.org", "127.0.0.1"]
    allowed = {
        h
        for h in tried
        if behavior(place, "WebFetch", {"url": f"https://{h}/"}, allow=[f"WebFetch({rule})"]) == "allow"
    }
    assert allowed == hosts


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("https://EXAMPLE.com:8443/x?y#z", "deny"),
        ("http://user@example.com/", "deny"),
        ("https://example.com./", "deny"),
        ("https://example.com@evil.org/", "allow"),
        ("https://evil.org/@example.com", "allow"),
        ("https://evil.org?@example.com", "allow"),
        ("https://evil.org/a b", "allow"),
        ("https://evil.org\\@example.com/", "ask"),
        ("https://exam%70le.com/", "ask"),
        ("https:example.com", "ask"),
        (" https://example.com/", "ask"),
        ("https://ex\tample.com/", "ask"),
        ("https://ex\u0430mple.com/", "ask"),
        ("http://2130706433/", "ask"),
        ("http://127.1/", "ask"),
        ("file:///etc/passwd", "ask"),
        ("", "ask"),
    ],
)
def test_addresses_that_are_not_plain_are_asked_about(place: Path, url: str, verdict: str) -> None:
    rules = {"allow": ["WebFetch"], "deny": ["WebFetch(domain:example.com)"]}
    assert behavior(place, "WebFetch", {"url": url}, **rules) == verdict


def test_documentation_sites_are_fetched_unasked(place: Path) -> None:
    page = {"url": "https://docs.python.org/3/"}
    assert behavior(place, "WebFetch", page) == "allow"
    assert behavior(place, "WebFetch", page, ask=["WebFetch(domain:*)"]) == "ask"
    assert behavior(place, "WebFetch", page, deny=["WebFetch(domain:docs.python.org)"]) == "deny"
    assert behavior(place, "WebFetch", {"url": "https://docs.python.org.evil.org/"}) == "ask"
    assert behavior(place, "WebFetch", {"url": "https://docs.python.org./"}) == "ask"


@pytest.mark.parametrize(
    ("rule", "allowed", "denied"),
    [
        ("mcp__srv", {"mcp__srv__read", "mcp__srv__write"}, {"mcp__srv__read", "mcp__srv__write"}),
        ("mcp__srv__read", {"mcp__srv__read"}, {"mcp__srv__read"}),
        ("mcp__srv__r*", {"mcp__srv__read"}, {"mcp__srv__read"}),
        ("mcp__srv*", set(), {"mcp__srv__read", "mcp__srv__write", "mcp__srv2__read"}),
        ("mcp__*__read", set(), {"mcp__srv__read", "mcp__srv2__read"}),
        ("*__read", set(), {"mcp__srv__read", "mcp__srv2__read"}),
        ("mcp__srv__", set(), set()),
        ("mcp__SRV", set(), set()),
        ("mcp__srv(*)", set(), set()),
        ("mcp__srv__read(a:1)", set(), set()),
        ("read", set(), set()),
    ],
)
def test_mcp_names(place: Path, rule: str, allowed: set[str], denied: set[str]) -> None:
    tools = ["mcp__srv__read", "mcp__srv__write", "mcp__srv2__read"]
    assert {tool for tool in tools if behavior(place, tool, {"a": "1"}, allow=[rule]) == "allow"} == allowed
    assert {tool for tool in tools if behavior(place, tool, {"a": "1"}, deny=[rule]) == "deny"} == denied


def test_mcp_tools_are_asked_about_in_plan_mode(place: Path) -> None:
    assert behavior(place, "mcp__srv__read", {}, allow=["mcp__srv"], mode="plan") == "ask"


@pytest.mark.parametrize(
    ("rule", "given", "denied"),
    [
        ("Read(offset:1)", {"file_path": "a", "offset": 1}, True),
        ("Read(offset:1)", {"file_path": "a", "offset": 1.0}, True),
        ("Read(offset: 1)", {"file_path": "a", "offset": "1"}, True),
        ("Read(offset:1*)", {"file_path": "a", "offset": 12}, True),
        ("Read(offset:*)", {"file_path": "a", "offset": 1}, False),
        ("Read(file_path:a)", {"file_path": "a"}, False),
        ("Read(pages:[])", {"file_path": "a", "pages": []}, False),
        ("Edit(replace_all:true)", {"file_path": "a", "replace_all": True}, True),
        ("Edit(replace_all:true)", {"file_path": "a", "replace_all": False}, False),
        ("Agent(model:o*)", {"model": "opus"}, True),
        ("Agent(subagent_type:*)", {}, False),
        ("WebSearch(query:a*)", {"query": "abc"}, False),
        ("WebSearch(query:abc)", {"query": "abc"}, True),
        ("WebFetch(prompt:x)", {"url": "https://docs.python.org", "prompt": "x"}, False),
        ("Bash(run_in_background:true)", {"command": "ls", "run_in_background": True}, True),
    ],
)
def test_fields(place: Path, rule: str, given: dict[str, Any], denied: bool) -> None:
    tool = rule.partition("(")[0]
    assert (behavior(place, tool, given, deny=[rule]) == "deny") is denied
    if denied:
        assert behavior(place, tool, given, ask=[rule]) == "ask"


@pytest.mark.parametrize(
    ("rules", "agent", "verdict"),
    [
        ({}, "Explore", "allow"),
        ({"deny": ["Agent(Explore)"]}, "Explore", "deny"),
        ({"deny": ["Agent(Explore)"]}, "explore", "deny"),
        ({"deny": ["Task(Explore)"]}, "Explore", "deny"),
        ({"deny": ["Agent(Explore)"]}, "Plan", "allow"),
        ({"deny": ["Agent(general-purpose)"]}, None, "deny"),
        ({"ask": ["Agent(subagent_type:Explore)"]}, "Explore", "ask"),
        ({"ask": ["Task(subagent_type:Explore)"]}, "Explore", "ask"),
        ({"ask": ["Agent"]}, "Explore", "ask"),
        ({"deny": ["Agent(*)"]}, "Explore", "deny"),
    ],
)
def test_agents(place: Path, rules: dict[str, Any], agent: str | None, verdict: str) -> None:
    assert behavior(place, "Agent", {"subagent_type": agent} if agent else {}, **rules) == verdict


SKILLS = {
    "plain": ("---\nname: plain\ndescription: does little\n---\nText.\n", "allow"),
    "tools": ("---\nname: tools\nallowed-tools: Bash(foo:*)\n---\nText.\n", "ask"),
    "hooks": ("---\nname: hooks\nhooks:\n  PreToolUse: []\n---\nText.\n", "ask"),
    "bare": ("No front matter.\n", "ask"),
    "open": ("---\nname: open\n", "ask"),
}


def test_skills_without_tools_of_their_own_run_unasked(place: Path) -> None:
    for name, (text, _) in SKILLS.items():
        (place / f"project/.claude/skills/{name}").mkdir(parents=True, exist_ok=True)
        (place / f"project/.claude/skills/{name}/SKILL.md").write_text(text)
    verdicts = {name: behavior(place, "Skill", {"skill": name}) for name in SKILLS}
    assert verdicts == {name: verdict for name, (_, verdict) in SKILLS.items()}
    assert behavior(place, "Skill", {"skill": "../../x"}) == "ask"
    assert behavior(place, "Skill", {"skill": "plain"}, deny=["Skill(pl:*)"]) == "deny"


@pytest.mark.parametrize(
    ("rules", "skill", "verdict"),
    [
        ({"allow": ["Skill(priv)"]}, "priv", "allow"),
        ({"allow": ["Skill(priv)"]}, "/priv", "allow"),
        ({"allow": ["Skill(pr:*)"]}, "priv", "allow"),
        ({"allow": ["Skill(pr*)"]}, "priv", "ask"),
        ({"allow": ["Skill(skill:priv)"]}, "priv", "ask"),
        ({"allow": ["Skill(*)"]}, "priv", "allow"),
        ({"allow": ["Skill"], "deny": ["Skill(skill:priv)"]}, "/priv", "deny"),
        ({"allow": ["Skill"], "ask": ["Skill(priv)"]}, "priv", "ask"),
    ],
)
def test_skills(place: Path, rules: dict[str, Any], skill: str, verdict: str) -> None:
    assert behavior(place, "Skill", {"skill": skill}, **rules) == verdict


def test_tools_nobody_knows(place: Path) -> None:
    assert behavior(place, "Unheard", {}) == "ask"
    assert behavior(place, "Unheard", {}, allow=["Unheard"]) == "allow"
    assert behavior(place, "Unheard", {}, allow=["Un*"]) == "ask"
    assert behavior(place, "Unheard", {}, allow=["Unheard"], deny=["Un*"]) == "deny"


def test_a_repository_allows_itself_nothing(place: Path) -> None:
    rules = {"allow": ["WebSearch"], "deny": ["WebFetch"], "source": "project"}
    assert behavior(place, "WebSearch", {}, **rules) == "ask"
    assert behavior(place, "WebFetch", {"url": "https://docs.python.org"}, **rules) == "deny"


def test_an_unreadable_deny_rule_keeps_allow_rules_from_deciding(place: Path) -> None:
    verdict = judge(place, "WebSearch", {}, allow=["WebSearch"], deny=["WebSearch(query:x"])
    assert (verdict.behavior, verdict.rule) == ("ask", "WebSearch(query:x")
    assert behavior(place, "Read", {"file_path": "a"}, deny=["Read(x"]) == "allow"
    assert behavior(place, "WebSearch", {}, allow=["WebSearch"], deny=["WebFetch("]) == "allow"


def test_a_dead_deny_rule_is_mentioned(place: Path) -> None:
    verdict = judge(place, "Write", {"file_path": "src/n"}, allow=["Write"], deny=["Write(src/**)"])
    assert verdict.behavior == "allow"
    assert "write Edit(src/**)" in verdict.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"cwd": "relative"},
        {"home": ""},
        {"add_dirs": ["x"]},
        {"mode": "yolo"},
        {"source": "elsewhere"},
        {"tool_input": ["command"]},
        {"tool_name": 5},
        {"rules": ["Bash"]},
    ],
)
def test_arguments_that_make_no_sense(changes: dict[str, Any]) -> None:
    arguments = {"rules": Rules(), "tool_name": "Read", "tool_input": {}, "cwd": "/p", "home": "/h", **changes}
    with pytest.raises(PolicyError, match=f"`{next(iter(changes))}`"):
        evaluate(**arguments)


TOOLS = [
    *("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "WebFetch", "WebSearch", "Bash", "Agent"),
    *("Task", "Skill", "AskUserQuestion", "ExitPlanMode", "mcp__srv__read_x", "mcp__srv2__read_x", "Unheard"),
]
SPECS = [
    *("*", "**", "src/**", "src", "*.py", "//**", "~/**", "/src/**", "src/**:*", "offset:1", "content:x", "a:1", "("),
    *("domain:example.com", "domain:*", "Explore", "subagent_type:Explore", "demo", "de:*"),
    *("foo:*", "foo", "ls:*", "git push"),
]
tools = st.sampled_from(TOOLS)
specs = st.sampled_from(SPECS)
bare = tools | st.sampled_from(["*", "W*", "mcp__srv", "mcp__srv__*", "mcp__*", "Bash(", ""])
rule_texts = bare | st.builds("{}({})".format, tools, specs)
rule_lists = st.lists(rule_texts, max_size=4)
paths = st.sampled_from(
    ["a.py", "src/app.py", "link.py", "away/n", "../outside/o.txt", "~/x", ".git/config", "/etc/hosts", ""]
)
inputs = st.fixed_dictionaries(
    {},
    optional={
        "file_path": paths,
        "notebook_path": paths,
        "path": paths,
        "pattern": st.sampled_from(["*", "../*", "/etc/*"]),
        "url": st.sampled_from(["https://example.com/", "https://docs.python.org/", "https:example.com", ""]),
        "command": st.sampled_from(["foo", "ls", "foo && ls", "rm -rf /", "git push", "cat /etc/hosts"]),
        "subagent_type": st.sampled_from(["Explore", "Plan"]),
        "skill": st.sampled_from(["demo", "other"]),
        "offset": st.sampled_from([1, 2]),
        "content": st.sampled_from(["x", "y"]),
    },
)
modes = st.sampled_from(["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto"])
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


@given(tools, inputs, modes, rule_lists, rule_lists, rule_lists)
def test_what_is_denied_stays_denied_whatever_is_allowed(
    place: Path, tool: str, given: dict[str, Any], mode: str, allow: list[str], ask: list[str], deny: list[str]
) -> None:
    if behavior(place, tool, given, deny=deny) == "deny":
        assert behavior(place, tool, given, allow=allow, ask=ask, deny=deny, mode=mode) == "deny"


@pytest.mark.slow
@given(tools, inputs, modes, rule_lists, rule_lists, rule_lists, rule_texts, st.sampled_from(["ask", "deny"]))
def test_another_ask_or_deny_rule_never_permits_more(
    place: Path,
    tool: str,
    given: dict[str, Any],
    mode: str,
    allow: list[str],
    ask: list[str],
    deny: list[str],
    another: str,
    into: str,
) -> None:
    lists = {"allow": allow, "ask": ask, "deny": deny}
    before = behavior(place, tool, given, mode=mode, **lists)
    after = behavior(place, tool, given, mode=mode, **{**lists, into: [*lists[into], another]})
    assert STRICTNESS[after] >= STRICTNESS[before]


@given(tools, inputs, modes, rule_lists, rule_lists, rule_lists, rule_texts)
def test_another_allow_rule_never_permits_less(
    place: Path,
    tool: str,
    given: dict[str, Any],
    mode: str,
    allow: list[str],
    ask: list[str],
    deny: list[str],
    another: str,
) -> None:
    before = behavior(place, tool, given, mode=mode, allow=allow, ask=ask, deny=deny)
    after = behavior(place, tool, given, mode=mode, allow=[*allow, another], ask=ask, deny=deny)
    assert STRICTNESS[after] <= STRICTNESS[before]


fields = st.sampled_from(
    ["file_path", "notebook_path", "path", "pattern", "url", "command", "subagent_type", "skill", "x"]
)


@pytest.mark.slow
@settings(max_examples=300)
@given(tools | st.text(max_size=12), st.dictionaries(fields | st.text(max_size=6), JSON, max_size=4), modes, rule_lists)
def test_every_call_gets_a_verdict(place: Path, tool: str, given: dict[str, Any], mode: str, rules: list[str]) -> None:
    assert behavior(place, tool, given, allow=rules, mode=mode) in STRICTNESS
    assert behavior(place, tool, given, ask=rules, deny=rules, mode=mode) in STRICTNESS
