"""Which path rule covers a file: patterns, anchors, links, and what lies in the project."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.policy import Rules, evaluate
from handrail.policy.rules.gitignore import matches
from handrail.policy.rules.paths import inside_project, path_rule
from handrail.policy.situation import Situation, Source


class Tree:
    """Files that exist only as links: `{"/p/link": "/elsewhere"}`."""

    def __init__(self, links: dict[str, str] | None = None) -> None:
        self.links = links or {}

    def resolve(self, path: str) -> str:
        """Name by name, as a system does."""
        done, waiting = "/", path.split("/")
        for _ in range(1000):
            if not waiting:
                break
            name = waiting.pop(0)
            done = posixpath.normpath(posixpath.join(done, name))
            if done in self.links:
                waiting = [*self.links[done].split("/"), *waiting]
                done = "/" if self.links[done].startswith("/") else posixpath.dirname(done)
        return done

    def is_link(self, path: str) -> bool:
        return path in self.links

    def link_target(self, path: str) -> str | None:
        return self.links.get(path)

    def is_directory(self, path: str) -> bool:
        return False

    def exists(self, path: str) -> bool:
        return False

    def read(self, path: str, at_most: int) -> bytes | None:
        return None


def situation(
    links: dict[str, str] | None = None, add_dirs: tuple[str, ...] = (), source: Source = "settings"
) -> Situation:
    return Situation("/p", "/home/u", add_dirs=add_dirs, source=source, files=Tree(links))


@pytest.mark.parametrize(
    ("pattern", "covered", "not_covered"),
    [
        ("src", ["src", "src/a", "docs/src/a"], ["srcx", "a"]),
        ("src/", ["src/a", "docs/src/a"], ["src"]),
        ("src/**", ["src/a", "src/b/c"], ["src", "docs/src/a"]),
        ("src/*", ["src/a", "src/b/c"], ["docs/src/a"]),
        ("/src", ["src/a"], ["docs/src/a"]),
        ("*.py", ["a.py", "src/a.py"], ["a.pyc"]),
        ("/*.py", ["a.py"], ["src/a.py"]),
        ("**", ["a", "b/c"], []),
        ("/**", ["a", "b/c"], []),
        ("**/deep/**", ["deep/a", "a/b/deep/c"], ["deep"]),
        ("src/**/*.py", ["src/a.py", "src/b/c/d.py"], ["a.py", "docs/src/a.py"]),
        ("docs/*.md", ["docs/a.md"], ["docs/b/a.md", "x/docs/a.md"]),
        ("a*b*c", ["abc", "q/axbxc"], ["a/b/c"]),
        ("n?.py", ["nx.py"], ["n/.py", "n.py"]),
        ("[ms]*.py", ["main.py", "x/s.py"], ["n.py"]),
        ("[!m]*.py", ["main.py", "!.py"], ["n.py"]),
        ("\\[odd\\].txt", ["[odd].txt"], ["o.txt"]),
        ("[odd].txt", ["o.txt"], ["[odd].txt"]),
        ("SRC/App.py", ["src/app.py"], []),
        ("*.py  ", ["a.py"], []),
        (" *.py", [], ["a.py"]),
        ("src//a.py", ["src/a.py"], []),
        ("{a,b}", ["{a,b}"], ["a"]),
        ("!src", [], ["src", "!src"]),
        ("#src", [], ["src", "#src"]),
        ("\\#src", ["#src"], []),
        ("src\\", [], ["src", "src\\"]),
        ("[z-a]", [], ["z"]),
        ("", [], ["a"]),
        ("/", [], ["a"]),
    ],
)
def test_patterns(pattern: str, covered: list[str], not_covered: list[str]) -> None:
    assert [path for path in (*covered, *not_covered) if matches(pattern, path)] == covered


@pytest.mark.slow
@given(st.text(), st.text(min_size=1))
def test_no_pattern_breaks_the_matcher(pattern: str, path: str) -> None:
    matches(pattern, path)
    matches(pattern, path, generous=True)


@given(st.text(alphabet="ab.py/*?[]!\\ -", max_size=12), st.text(alphabet="ab.py/", min_size=1, max_size=12))
def test_what_a_pattern_covers_it_covers_generously(pattern: str, path: str) -> None:
    assert matches(pattern, path, generous=True) or not matches(pattern, path)


@pytest.mark.parametrize(
    ("source", "spec", "path", "covered"),
    [
        ("settings", "//etc/**", "/etc/hosts", True),
        ("settings", "/etc/**", "/etc/hosts", False),
        ("settings", "~/x", "/home/u/x", True),
        ("settings", "~/*", "/home/u/docs/x", True),
        ("settings", "~", "/home/u/x", False),
        ("settings", "src/**", "/p/src/a", True),
        ("settings", "./src/**", "/p/src/a", True),
        ("settings", "./src/**", "src/a", True),
        ("settings", "src/**", "/p/docs/../src/a", True),
        ("settings", "src/**", "/q/src/a", False),
        ("settings", "../q/**", "/q/a", False),
        ("settings", "**", "/q/a", False),
        ("settings", "/src/**", "/p/src/a", False),
        ("allowedTools", "/src/**", "/p/src/a", True),
        ("allowedTools", "/src/**", "/p/docs/src/a", False),
        ("local", "/src/**", "/p/src/a", True),
        ("user", "/src/**", "/p/src/a", False),
        ("user", "/src/**", "/home/u/.claude/src/a", True),
        ("settings", "*", "/q/a", False),
    ],
)
def test_anchors(source: Source, spec: str, path: str, covered: bool) -> None:
    rules = Rules(allow=[f"Edit({spec})"])
    assert (path_rule(rules, "allow", "edit", path, situation(source=source)) is not None) is covered


def test_deny_and_ask_reach_deeper_than_allow() -> None:
    rules = Rules(allow=["Edit(src/**)"], ask=["Edit(src/**)"], deny=["Edit(src/**)"])
    deep = [path_rule(rules, behavior, "edit", "/p/docs/src/a", situation()) for behavior in ("allow", "ask", "deny")]
    assert [rule is not None for rule in deep] == [False, True, True]
    assert path_rule(rules, "deny", "edit", "/p/src", situation()) is not None


def test_read_and_edit_rules_are_apart() -> None:
    rules = Rules(allow=["Read(a)"])
    assert path_rule(rules, "allow", "edit", "/p/a", situation()) is None
    assert path_rule(rules, "allow", "read", "/p/a", situation()) == rules.allow[0]


def test_an_exception_takes_from_allow_only() -> None:
    rules = Rules(allow=["Edit(*.py)", "Edit(!n.py)"], deny=["Edit(*.txt)", "Edit(!n.txt)"])
    assert path_rule(rules, "allow", "edit", "/p/m.py", situation())
    assert path_rule(rules, "allow", "edit", "/p/n.py", situation()) is None
    assert path_rule(rules, "deny", "edit", "/p/n.txt", situation())


LINKS = {"/p/in": "src", "/p/out": "/q", "/p/src/secret": "../secrets/key", "/p/first": "second", "/p/second": "src/a"}


@pytest.mark.parametrize(
    ("rules", "path", "covered"),
    [
        (["Edit(in/**)"], "/p/in/a", False),
        (["Edit(src/**)"], "/p/in/a", False),
        (["Edit(in/**)", "Edit(src/**)"], "/p/in/a", True),
        (["Edit(out/**)"], "/p/out/a", False),
        (["Edit(**)"], "/p/out/a", False),
        (["Edit(out/**)", "Edit(//q/**)"], "/p/out/a", True),
        (["Edit(src/**)"], "/p/src/secret", False),
    ],
)
def test_allow_needs_both_ends_of_a_link(rules: list[str], path: str, covered: bool) -> None:
    assert (path_rule(Rules(allow=rules), "allow", "edit", path, situation(LINKS)) is not None) is covered


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("Edit(in)", "/p/in/a"),
        ("Edit(src/**)", "/p/in/a"),
        ("Edit(//q/**)", "/p/out/a"),
        ("Edit(secrets/**)", "/p/src/secret"),
        ("Edit(second)", "/p/first"),
    ],
)
def test_deny_needs_one_end_of_a_link(rule: str, path: str) -> None:
    assert path_rule(Rules(deny=[rule]), "deny", "edit", path, situation(LINKS)) is not None


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/p", True),
        ("/p/a", True),
        ("a", True),
        ("/p/in/a", True),
        ("/p/out/a", False),
        ("/p/../q", False),
        ("/px/a", False),
        ("/added/a", True),
        ("~/a", False),
    ],
)
def test_inside_the_project(path: str, inside: bool) -> None:
    assert inside_project(path, situation(LINKS, add_dirs=("/added",))) is inside


def test_a_project_reached_through_a_link_is_itself() -> None:
    linked = Situation("/link", "/home/u", files=Tree({"/link": "/p"}))
    assert inside_project("/link/a", linked)
    assert inside_project("/p/a", linked)
    assert not inside_project("/q/a", linked)


def test_a_step_up_behind_a_link_is_taken_both_ways() -> None:
    """`/p/out/../a` is `/p/a` to a tool that cleans up the text, and `/a` to the system."""
    assert not inside_project("/p/out/../a", situation(LINKS))
    assert path_rule(Rules(allow=["Edit(a)"]), "allow", "edit", "/p/out/../a", situation(LINKS)) is None
    assert path_rule(Rules(deny=["Edit(//a)"]), "deny", "edit", "/p/out/../a", situation(LINKS))
    assert path_rule(Rules(deny=["Edit(a)"]), "deny", "edit", "/p/out/../a", situation(LINKS))


def test_rules_hold_in_a_project_reached_through_a_link() -> None:
    linked = Situation("/link", "/home/u", files=Tree({"/link": "/p"}))
    assert path_rule(Rules(allow=["Edit(src/**)"]), "allow", "edit", "src/a", linked)
    assert path_rule(Rules(deny=["Edit(src/**)"]), "deny", "edit", "/p/src/a", linked)


names = st.sampled_from(["a", "b", "c", "src"])
places = st.lists(names, min_size=1, max_size=3).map("/".join)
targets = places.map("/p/".__add__) | places.map("/q/".__add__)


@pytest.mark.slow
@given(st.dictionaries(places.map("/p/".__add__), targets, max_size=4), places, st.sampled_from(["src", "a", "b"]))
def test_no_link_leads_out_of_what_is_allowed(links: dict[str, str], path: str, allowed: str) -> None:
    tree = Tree(links)
    rules = Rules(allow=[f"Edit({allowed}/**)", f"Read(//p/{allowed}/**)"])
    for tool in ("Write", "Edit"):
        verdict = evaluate(rules, tool, {"file_path": f"/p/{path}"}, cwd="/p", home="/home/u", files=tree)
        if verdict.behavior == "allow":
            assert tree.resolve(f"/p/{path}").startswith(f"/p/{allowed}/")
    read = evaluate(rules, "Read", {"file_path": f"/p/{path}"}, cwd="/p", home="/home/u", files=tree)
    if read.behavior == "allow":
        assert tree.resolve(f"/p/{path}").startswith("/p/")
