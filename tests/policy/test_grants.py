"""Grants: from an answer's `updatedPermissions`, kept in a file that processes share."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import InvalidPolicy, InvalidRule
from handrail.policy import Grant, Grants, GrantStore

GIVEN: dict[str, Any] = {"project": "/p", "actor": "alice", "at": 5.0}


def rules(*texts: tuple[str, str | None], kind: str = "addRules", behavior: str = "allow", to: str = "session") -> Any:
    named = [{"toolName": tool, **({} if content is None else {"ruleContent": content})} for tool, content in texts]
    return {"type": kind, "rules": named, "behavior": behavior, "destination": to}


def test_what_an_answer_adds() -> None:
    grants = Grants().updated(
        [
            rules(("Bash", "npm test *"), ("WebSearch", None), to="localSettings"),
            rules(("Read", ".env"), behavior="deny", to="userSettings"),
            {"type": "addDirectories", "directories": ["/data"], "destination": "session"},
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            {"type": "somethingNew"},
            "nonsense",
        ],
        **GIVEN,
    )
    assert list(grants) == [
        Grant(rule="Bash(npm test *)", scope="project", project="/p", actor="alice", at=5.0),
        Grant(rule="WebSearch", scope="project", project="/p", actor="alice", at=5.0),
        Grant(rule="Read(.env)", behavior="deny", scope="user", actor="alice", at=5.0),
        Grant(directory="/data", scope="session", actor="alice", at=5.0),
    ]
    assert [grant.what for grant in grants.holding_in("/other")] == ["Read(.env)", "work in /data"]


def test_the_same_grant_twice_is_one() -> None:
    grants = Grants()
    for actor in ("alice", "bob"):
        grants = grants.updated([rules(("WebSearch", None))], project="/p", actor=actor, at=1.0)
    assert [grant.actor for grant in grants] == ["bob"]


def test_replacing_and_removing() -> None:
    before = Grants().updated([rules(("A", None), ("B", None)), rules(("C", None), behavior="deny")], **GIVEN)
    replaced = before.updated([rules(("D", None), kind="replaceRules")], **GIVEN)
    assert [grant.rule for grant in replaced] == ["C", "D"]
    removed = before.updated([rules(("A", None), kind="removeRules")], **GIVEN)
    assert [grant.rule for grant in removed] == ["B", "C"]
    directories = Grants().updated([{"type": "addDirectories", "directories": ["/a", "/b"]}], **GIVEN)
    assert len(directories.updated([{"type": "removeDirectories", "directories": ["/a"]}], **GIVEN)) == 1


def test_a_path_from_one_slash_is_written_out_from_the_project() -> None:
    (grant,) = Grants().updated([rules(("Edit", "/src/**"), to="localSettings")], **GIVEN)
    assert grant.rule == "Edit(//p/src/**)"


@pytest.mark.parametrize(
    "update",
    [
        rules(("Bash(", None)),
        {"type": "addRules", "rules": [{"ruleContent": "x"}]},
        {"type": "addRules", "rules": ["Bash"]},
        rules(("Bash", None), behavior="permit"),
    ],
)
def test_a_malformed_rule_is_an_error(update: Any) -> None:
    with pytest.raises(InvalidRule):
        Grants().updated([update], **GIVEN)


def test_the_store_keeps_what_outlives_the_session(tmp_path: Path) -> None:
    path = tmp_path / "state" / "grants.json"
    store = GrantStore(str(path))
    assert len(store.read()) == 0
    store.update([rules(("A", None)), rules(("B", None), to="userSettings")], **GIVEN)
    assert [grant.rule for grant in GrantStore(str(path)).read()] == ["B"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "{}", '[{"rule": 3}]', "[[[["])
def test_a_damaged_store_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "grants.json"
    path.write_text(content)
    store = GrantStore(str(path))
    for action in (store.read, lambda: store.update([rules(("B", None), to="userSettings")], **GIVEN)):
        with pytest.raises(InvalidPolicy, match=str(path)):
            action()
    assert path.read_text() == content


GRANT_MANY = """
import sys
from handrail.policy import GrantStore
for number in range(20):
    rule = {"toolName": f"{sys.argv[2]}{number}"}
    update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "userSettings"}
    GrantStore(sys.argv[1]).update([update], project="/p", actor="alice", at=0.0)
"""


@pytest.mark.slow
def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "grants.json")
    workers = [subprocess.Popen([sys.executable, "-c", GRANT_MANY, path, name]) for name in ("One", "Two")]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert len(GrantStore(path).read()) == 40
