"""A policy as a value: where a ruling comes from, grants, a floor, and what the CLI's settings are told."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from handrail.errors import InvalidPolicy, InvalidRule
from handrail.policy import PROFILES, Grant, Origin, PlacedRule, Policy
from handrail.policy.documents import parse_document
from handrail.policy.self_approval import Own

CWD, HOME = "/home/dev/project", "/home/dev"


def test_a_ruling_says_where_its_rule_comes_from() -> None:
    placed = PlacedRule("Bash(git push *)", "deny", Origin("global", "/c/policy.toml", 7))
    policy = Policy.of("edits", placed=[placed], allow=["WebSearch"])
    denied = policy.judge("Bash", {"command": "git push origin"}, cwd=CWD, home=HOME)
    assert (denied.behavior, denied.rule) == ("deny", "Bash(git push *)")
    assert str(denied.origin) == "/c/policy.toml, line 7"
    search = policy.judge("WebSearch", {"query": "q"}, cwd=CWD, home=HOME)
    assert str(search.origin) == "given by the program or its settings"
    edit = policy.judge("Write", {"file_path": f"{CWD}/x", "content": ""}, cwd=CWD, home=HOME)
    assert (edit.behavior, str(edit.origin)) == ("allow", "profile edits")
    assert str(policy.judge("WebFetch", {"url": "https://x.y/"}, cwd=CWD, home=HOME).origin) == "built in"


def test_grants_allow_below_deny_and_ask() -> None:
    search = Grant(rule="WebSearch", actor="alice", at=0.0)
    call = ("WebSearch", {"query": "q"})
    granted = Policy.of().judge(*call, cwd=CWD, home=HOME, grants=[search])
    assert granted.behavior == "allow"
    assert granted.origin.kind == "grant"
    assert str(granted.origin).startswith("granted by alice at 19")
    for list_name, expected in (("ask", "ask"), ("deny", "deny")):
        policy = Policy.of(**{list_name: ["WebSearch"]})
        assert policy.judge(*call, cwd=CWD, home=HOME, grants=[search]).behavior == expected


def test_a_granted_directory_is_worked_in(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    read = ("Read", {"file_path": str(tmp_path / "f")})
    grant = Grant(directory=str(tmp_path), actor="alice", at=0.0)
    assert Policy.of().judge(*read, cwd=CWD, home=HOME).behavior == "ask"
    assert Policy.of().judge(*read, cwd=CWD, home=HOME, grants=[grant]).behavior == "allow"


def test_grants_do_not_widen_readonly() -> None:
    grant = Grant(rule="Bash(touch *)", actor="alice", at=0.0)
    policy = Policy.of("readonly")
    assert policy.judge("Bash", {"command": "touch x"}, cwd=CWD, home=HOME, grants=[grant]).behavior == "deny"


def test_otherwise_denies_what_no_rule_decides() -> None:
    policy = Policy.of(otherwise="deny", ask=["WebSearch"], allow=["WebFetch(domain:x.y)"])
    assert policy.judge("WebFetch", {"url": "https://a.b/"}, cwd=CWD, home=HOME).behavior == "deny"
    assert policy.judge("WebFetch", {"url": "https://x.y/"}, cwd=CWD, home=HOME).behavior == "allow"
    assert policy.judge("WebSearch", {"query": "q"}, cwd=CWD, home=HOME).behavior == "ask"


def test_a_floor_is_never_undercut() -> None:
    policy = dataclasses.replace(Policy.of("trusted"), floor=Policy.of("careful"))
    assert policy.judge("WebSearch", {"query": "q"}, cwd=CWD, home=HOME).behavior == "ask"
    grant = Grant(rule="WebSearch", actor="alice", at=0.0)
    assert policy.judge("WebSearch", {"query": "q"}, cwd=CWD, home=HOME, grants=[grant]).behavior == "allow"


def test_settings_only_tighten() -> None:
    policy = Policy.of("edits", allow=["WebSearch"], ask=["Bash(git push *)"], deny=["Read(.env)"], own=Own(("/s",)))
    permissions = policy.settings()["permissions"]
    assert set(permissions) == {"deny", "ask"}
    assert permissions["deny"] == ["Read(.env)"]
    assert permissions["ask"][0] == "Bash(git push *)"
    assert {"Read(//s/**)", "Edit(//s/**)", "Edit(.handrail/**)", "Bash(handrail:*)"} <= set(permissions["ask"])


def test_settings_of_readonly_take_the_editing_tools_away() -> None:
    assert Policy.of("readonly").settings()["permissions"]["deny"] == ["Edit", "MultiEdit", "NotebookEdit", "Write"]


def test_a_bad_rule_or_profile_is_refused() -> None:
    with pytest.raises(InvalidRule, match="Bash"):
        Policy.of(deny=["Bash(git push"])
    with pytest.raises(InvalidPolicy, match="readonly"):
        Policy.of("read-only")


def test_a_policy_is_a_value() -> None:
    one, other = (Policy.of("edits", deny=["Bash(x *)"], own=Own()) for _ in range(2))
    assert one == other
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.expire_after = 3.0  # type: ignore[misc]


def test_the_guide_is_right(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HANDRAIL_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("HANDRAIL_STATE_DIR", str(tmp_path))
    guide = (Path(__file__).parent.parent.parent / "docs" / "guides" / "policy.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", guide, re.S)
    exec(compile(program, "policy.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out.startswith("allow ")
    (document,) = re.findall(r"```toml\n(.*?)```", guide, re.S)
    assert parse_document(document.encode(), "policy.md").profile == "edits"
    for name, profile in PROFILES.items():
        row = next(line for line in guide.splitlines() if line.startswith(f"| `{name}`"))
        assert all(rule in row for rule in profile.allow)
