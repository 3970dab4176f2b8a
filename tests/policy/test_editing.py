"""Rules in policy files are added and taken out, and everything around them stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.errors import InvalidPolicy
from handrail.places import Places
from handrail.policy import TrustStore, load_policy
from handrail.policy.editing import added_rules, without_rule
from handrail.policy.storage.editing import PolicyEditor
from handrail.policy.trust import digest_of

WRITTEN = """\
# mine
profile = "careful"
allow = [
  "Bash(ls)",  # harmless
]

[plan]
outline_cooldown = true
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".handrail").mkdir(parents=True)
    return tmp_path / "project"


def rules(places: Places, project: Path) -> list[tuple[str, str, str]]:
    loaded = load_policy(str(project), places)
    return [(rule.behavior, rule.text, rule.origin.kind) for rule in loaded.policy.rules]


def test_a_rule_comes_and_goes_and_the_rest_stays() -> None:
    after = added_rules(WRITTEN, ["Bash(rm *)"], "policy.toml", "deny")
    assert "# mine" in after
    assert "# harmless" in after
    assert (
        without_rule(after, "Bash(rm *)", "policy.toml", "deny").replace("deny = [\n]\n", "").strip() == WRITTEN.strip()
    )


def test_a_rule_that_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(InvalidPolicy, match="no rule WebSearch among those that allow"):
        without_rule(WRITTEN, "WebSearch", "policy.toml", "allow")


def test_a_malformed_rule_is_refused_and_nothing_is_written(places: Places) -> None:
    editor = PolicyEditor(places)
    editor.add("Bash(ls)", "allow")
    before = Path(places.policy_file).read_bytes()
    with pytest.raises(InvalidPolicy):
        editor.add("Bash(", "allow")
    assert Path(places.policy_file).read_bytes() == before


def test_rules_for_all_projects(places: Places, project: Path) -> None:
    editor = PolicyEditor(places)
    editor.add("Bash(make)", "allow")
    editor.add("Bash(make)", "allow")
    editor.add("Read(.env)", "deny")
    assert sorted(rules(places, project)) == [("allow", "Bash(make)", "global"), ("deny", "Read(.env)", "global")]
    editor.remove("Bash(make)", "allow")
    assert rules(places, project) == [("deny", "Read(.env)", "global")]


def test_a_trusted_file_stays_trusted_and_another_does_not_become_so(places: Places, project: Path) -> None:
    file = project / ".handrail" / "policy.toml"
    editor = PolicyEditor(places)
    editor.add("Bash(make)", "allow", project=str(project))
    assert rules(places, project) == []  # held back
    TrustStore(places.trust_file).trust(str(file), digest_of(file.read_bytes()))
    editor.add("Bash(ls)", "allow", project=str(project))
    assert rules(places, project) == [("allow", "Bash(make)", "project"), ("allow", "Bash(ls)", "project")]


def test_permissions_of_the_file_stay(places: Places, project: Path) -> None:
    file = project / ".handrail" / "policy.toml"
    file.write_text("")
    file.chmod(0o664)
    PolicyEditor(places).add("Bash(make)", "deny", project=str(project))
    assert file.stat().st_mode & 0o777 == 0o664
    assert sorted(path.name for path in file.parent.iterdir()) == ["policy.toml"]


def test_a_projects_file_behind_a_link_is_not_changed(places: Places, project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text("")
    (project / ".handrail" / "policy.toml").symlink_to(elsewhere)
    with pytest.raises(InvalidPolicy, match="symbolic link"):
        PolicyEditor(places).add("Bash(make)", "deny", project=str(project))
    assert elsewhere.read_text() == ""


def test_the_global_file_may_be_a_link_and_stays_one(places: Places, project: Path, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.toml"
    dotfiles.write_text("")
    Path(places.config).mkdir()
    Path(places.policy_file).symlink_to(dotfiles)
    PolicyEditor(places).add("Bash(make)", "deny")
    assert Path(places.policy_file).is_symlink()
    assert "Bash(make)" in dotfiles.read_text()
