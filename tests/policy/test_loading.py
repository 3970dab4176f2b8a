"""A session's policy follows its files: changes, mistakes, vanished files, grants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from handrail.errors import InvalidPolicy, InvalidRule, PolicyError
from handrail.policy import Asked, GrantStore, Places, PolicySource, TrustStore
from handrail.policy.trust import digest_of

SEARCH = ("WebSearch", {"query": "q"})


class Session:
    """A project with a policy source, and what it reported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.project = path / "project"
        self.project.mkdir(exist_ok=True)
        self.places = Places(*(str(path / name) for name in ("config", "state", "cache", "runtime")))
        self.common = Path(self.places.policy_file)
        self.own = self.project / ".handrail" / "policy.toml"
        self.errors: list[PolicyError] = []
        self.source: PolicySource | None = None

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        temporary.write_text(text)
        os.replace(temporary, path)

    def start(self, **asked: Any) -> None:
        self.source = PolicySource(str(self.project), self.places, Asked(**asked), on_error=self.errors.append)

    def behavior(self, tool: str = "WebSearch", given: dict[str, Any] | None = None, mode: str = "default") -> str:
        assert self.source is not None
        given = {"query": "q"} if given is None else given
        return self.source.judge(tool, given, home=str(self.path), mode=mode).behavior

    def remember(self, *updates: dict[str, Any], actor: str = "alice") -> None:
        assert self.source is not None
        self.source.remember(updates, actor=actor, at=1000.0)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def add(rule: str, destination: str, behavior: str = "allow") -> dict[str, Any]:
    tool, _, content = rule.partition("(")
    named = {"toolName": tool, **({"ruleContent": content.removesuffix(")")} if content else {})}
    return {"type": "addRules", "rules": [named], "behavior": behavior, "destination": destination}


def test_a_changed_file_counts_at_once(session: Session) -> None:
    session.start()
    assert session.behavior() == "ask"
    session.write(session.common, 'allow = ["WebSearch"]')
    assert session.behavior() == "allow"
    session.write(session.own, 'deny = ["WebSearch"]')
    assert session.behavior() == "deny"
    assert session.errors == []


def test_trusting_and_changing_count_at_once(session: Session) -> None:
    text = 'allow = ["WebSearch"]'
    session.write(session.own, text)
    session.start()
    assert session.behavior() == "ask"
    TrustStore(session.places.trust_file).trust(str(session.own), digest_of(text.encode()))
    assert session.behavior() == "allow"
    session.write(session.own, text + "\nask = []")
    assert session.behavior() == "ask"


def test_a_mistake_keeps_the_last_good_policy_and_is_reported_once(session: Session) -> None:
    session.write(session.common, 'deny = ["WebSearch"]')
    session.start()
    session.write(session.common, "deny = [")
    assert [session.behavior(), session.behavior()] == ["deny", "deny"]
    assert [str(session.common) in str(error) for error in session.errors] == [True]
    assert session.source is not None
    assert session.source.error is session.errors[0]
    session.write(session.common, "deny = []")
    assert session.behavior() == "ask"
    assert session.source.error is None


@pytest.mark.parametrize("name", ["common", "own"])
def test_a_vanished_file_takes_nothing_back(session: Session, name: str) -> None:
    path: Path = getattr(session, name)
    session.write(path, 'deny = ["WebSearch"]')
    session.start()
    path.unlink()
    path.parent.rmdir()
    assert session.behavior() == "deny"
    assert "is gone" in str(session.errors[0])
    session.write(path, "")
    assert session.behavior() == "ask"


def test_without_a_good_policy_nothing_starts(session: Session) -> None:
    session.write(session.common, "allow = 3")
    with pytest.raises(InvalidPolicy, match=r"policy.toml, line 1, allow"):
        session.start()


# ---------------------------------------------------------------- grants


def test_always_for_this_session_is_for_this_session(session: Session) -> None:
    session.start()
    session.remember(add("WebSearch", "session"))
    assert session.behavior() == "allow"
    session.start()
    assert session.behavior() == "ask"


@pytest.mark.parametrize("destination", ["localSettings", "projectSettings"])
def test_always_for_this_project_is_for_this_project(session: Session, destination: str, tmp_path: Path) -> None:
    session.start()
    session.remember(add("WebSearch", destination))
    session.start()
    assert session.behavior() == "allow"
    other = Session(tmp_path)
    other.project = tmp_path / "other"
    other.project.mkdir()
    other.start()
    assert other.behavior() == "ask"


def test_always_for_the_user_is_for_every_project(session: Session, tmp_path: Path) -> None:
    session.start()
    session.remember(add("WebSearch", "userSettings"))
    other = Session(tmp_path)
    other.project = tmp_path / "other"
    other.project.mkdir()
    other.start()
    assert other.behavior() == "allow"


def test_another_process_granting_is_seen(session: Session) -> None:
    session.start()
    store = GrantStore(session.places.grants_file)
    store.update([add("WebSearch", "userSettings")], project="/p", actor="bob", at=1.0)
    assert session.behavior() == "allow"
    store.revoke(store.read())
    assert session.behavior() == "ask"


def test_a_damaged_store_allows_nothing_and_is_reported(session: Session) -> None:
    session.start()
    session.remember(add("WebSearch", "userSettings"))
    Path(session.places.grants_file).write_text("nonsense")
    assert session.behavior() == "ask"
    assert session.places.grants_file in str(session.errors[0])
    with pytest.raises(InvalidPolicy, match=r"grants\.json is damaged"):
        session.remember(add("WebSearch", "userSettings"))
    assert session.behavior() == "ask"


def test_a_malformed_rule_changes_nothing(session: Session) -> None:
    session.start()
    with pytest.raises(InvalidRule):
        session.remember(add("WebSearch", "session"), {**add("x", "session"), "rules": [{"toolName": "Bash("}]})
    assert session.behavior() == "ask"


def test_granted_rules_go_when_they_are_removed(session: Session) -> None:
    session.start()
    session.remember(add("WebSearch", "session"), add("WebSearch", "localSettings"))
    session.remember({**add("WebSearch", "session"), "type": "removeRules"})
    assert session.behavior() == "allow"
    session.remember({**add("WebSearch", "localSettings"), "type": "removeRules"})
    assert session.behavior() == "ask"


def test_a_repository_that_appears_below_takes_no_rules_out_of_force(tmp_path: Path) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    package = tmp_path / "repository" / "package"
    package.mkdir()
    policy = tmp_path / "repository" / ".handrail" / "policy.toml"
    policy.parent.mkdir()
    policy.write_text('deny = ["Bash(curl:*)"]\n')
    names = ("config", "state", "cache", "runtime")
    source = PolicySource(str(package), Places(*(str(tmp_path / name) for name in names)), Asked(profile="trusted"))

    def verdict() -> str:
        return source.judge("Bash", {"command": "curl x"}, home=str(tmp_path), mode="default").behavior

    assert verdict() == "deny"
    (package / ".git").mkdir()
    (package / ".handrail").mkdir()
    (package / ".handrail" / "policy.toml").write_text('profile = "trusted"\n')
    assert verdict() == "deny"


def test_what_is_asked_of_all_and_of_one_adds_up() -> None:
    standing = Asked(profile="edits", deny=("Bash(rm *)",), expire_after=60.0)
    asked = Asked(profile="careful", allow=("Bash(make)",), deny=("WebFetch", "Bash(rm *)"))
    assert asked.beside(standing) == Asked(
        profile="careful", allow=("Bash(make)",), deny=("Bash(rm *)", "WebFetch"), expire_after=60.0
    )
    assert Asked().beside(standing) == standing
