"""Directories cannot be looked at outside of the roots, whatever stands in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.server.problems import Problem
from handrail.server.roots import Roots
from handrail.sessions import roots as module


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("home/project/.git", "home/project/src", "home/.config", "home/plain", "outside/secret"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home" / "file.txt").write_text("x")
    return tmp_path / "home"


@pytest.fixture
def roots(home: Path) -> Roots:
    return Roots(["~"], home=str(home))


def names(roots: Roots, path: str, *, hidden: bool = False) -> list[str]:
    return [each.name for each in roots.listing(path, hidden=hidden).directories]


def code(roots: Roots, path: str) -> str:
    with pytest.raises(Problem) as refused:
        roots.listing(path)
    return refused.value.code


def test_directories_are_listed_by_name_and_hidden_ones_on_demand(roots: Roots) -> None:
    assert names(roots, "~") == ["plain", "project"]
    assert names(roots, "~", hidden=True) == [".config", "plain", "project"]


def test_a_repository_is_marked(roots: Roots) -> None:
    assert {each.name: each.git for each in roots.listing("~").directories} == {"plain": False, "project": True}


@pytest.mark.parametrize("path", ["/", "/etc", "~/..", "~/../outside", "~/project/../../outside/secret"])
def test_what_is_outside_is_refused(roots: Roots, path: str) -> None:
    assert code(roots, path) == "outside_roots"


@pytest.mark.parametrize("path", ["", "project", "~/plain\0", "\0", "./project", "~root"])
def test_what_is_no_whole_path_is_refused(roots: Roots, path: str) -> None:
    assert code(roots, path) == "invalid"


@pytest.mark.parametrize("path", ["~/nothing", "~/file.txt", "~/" + "x" * 5000, "~/plain/" + "a/" * 3000])
def test_what_is_no_directory_is_not_found(roots: Roots, path: str) -> None:
    assert code(roots, path) == "not_found"


def test_a_neighbour_with_the_same_beginning_is_outside(tmp_path: Path) -> None:
    for name in ("root", "root-2"):
        (tmp_path / name).mkdir()
    assert code(Roots([str(tmp_path / "root")], home="/"), str(tmp_path / "root-2")) == "outside_roots"


def test_links_are_judged_by_where_they_lead(roots: Roots, home: Path) -> None:
    (home / "inside").symlink_to(home / "project")
    (home / "out").symlink_to(home.parent / "outside")
    (home / "loop").symlink_to(home / "loop")
    assert names(roots, "~") == ["inside", "plain", "project"]
    assert roots.check("~/inside") == str(home / "project")
    assert code(roots, "~/out/secret") == "outside_roots"
    assert code(roots, "~/loop") == "not_found"


def test_a_link_that_is_put_in_the_way_later_leads_nowhere(
    roots: Roots, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Roots.check

    def swapped(self: Roots, path: str) -> str:
        found = check(self, path)
        os.rename(home / "plain", home / "moved")
        (home / "plain").symlink_to(home.parent / "outside")
        return found

    monkeypatch.setattr(Roots, "check", swapped)
    assert code(roots, "~/plain") == "not_found"


def test_names_that_are_not_utf8_are_left_out_and_counted(roots: Roots, home: Path) -> None:
    try:
        os.mkdir(os.fsencode(home) + b"/caf\xe9")
    except OSError:  # macOS takes no such names, so there is nothing to leave out
        return
    listing = roots.listing("~")
    assert ([each.name for each in listing.directories], listing.left_out) == (["plain", "project"], 1)


def test_there_is_a_limit(roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 1)
    listing = roots.listing("~")
    assert (len(listing.directories), listing.left_out) == (1, 1)


def test_a_directory_that_may_not_be_read_is_told(roots: Roots, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.os, "open", refuse)
    with pytest.raises(Problem, match="Permission denied"):
        roots.listing("~/plain")


PARTS = st.sampled_from(["..", ".", "project", "src", "out", "up", "inside", "~", "secret", "", "é", "\0", "x" * 300])


@given(st.lists(PARTS, max_size=8))
def test_nothing_leads_out(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    base = tmp_path_factory.getbasetemp() / "nothing-leads-out"
    if not base.exists():
        (base / "home" / "project" / "src").mkdir(parents=True)
        (base / "outside" / "secret").mkdir(parents=True)
        (base / "home" / "out").symlink_to(base / "outside")
        (base / "home" / "up").symlink_to("..")
        (base / "home" / "inside").symlink_to("project")
    roots = Roots([str(base / "home")], home=str(base / "home"))
    try:
        listing = roots.listing("/".join([str(base / "home"), *parts]))
    except Problem:
        return
    resolved = os.path.realpath(listing.path)
    assert f"{resolved}/".startswith(f"{base}/home/")
    assert all(f"{os.path.realpath(each.path)}/".startswith(f"{base}/home/") for each in listing.directories)


def test_of_further_roots_nobody_is_told(home: Path) -> None:
    outside = home.parent / "outside"
    roots = Roots(["~"], home=str(home), further=[str(outside)])
    assert names(roots, str(outside)) == ["secret"]
    with pytest.raises(Problem, match=rf"/etc is not inside {home}: the setting"):
        roots.listing("/etc")
