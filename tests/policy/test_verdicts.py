"""The rule engine agrees with verdicts measured on the real CLI, and never allows what it would not."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from handrail.policy import Rules, Verdict, evaluate
from handrail.policy.shell.stricter import STRICTER

FIXTURES = Path(__file__).parent.parent / "fixtures" / "rules"
BEHAVIORS = {"allowed": "allow", "asked": "ask", "denied": "deny"}
STATED_ELSEWHERE = {"raw", "argv", "multi"}
"""Cases whose rules were given in another shape than three lists; what holds for shapes is tested with `Rules`."""


@dataclass(frozen=True)
class Layout:
    """The directories that the verdicts were measured in."""

    root: Path

    def fill_in(self, value: Any) -> Any:
        if isinstance(value, str):
            for name in ("CWD", "HOME", "OUTSIDE"):
                value = value.replace(f"${{{name}}}", str(self.root / name.lower()))
            return value
        if isinstance(value, list):
            return [self.fill_in(item) for item in value]
        if isinstance(value, dict):
            return {key: self.fill_in(item) for key, item in value.items()}
        return value

    def create(self) -> None:
        for entry in json.loads((FIXTURES / "layout.json").read_text()):
            path = Path(self.fill_in(entry["path"]))
            path.parent.mkdir(parents=True, exist_ok=True)
            if "link" in entry:
                path.symlink_to(self.fill_in(entry["link"]))
            elif "text" in entry:
                path.write_text(entry["text"])
            else:
                path.mkdir(exist_ok=True)

    def judge(self, case: dict[str, Any]) -> Verdict:
        rules = Rules(*(self.fill_in(case[behavior]) for behavior in ("allow", "ask", "deny")))
        return evaluate(
            rules,
            case["tool"],
            self.fill_in(case["input"]),
            cwd=self.fill_in("${CWD}"),
            home=self.fill_in("${HOME}"),
            mode=case["mode"],
            add_dirs=self.fill_in(case.get("setup", {}).get("dirs", [])),
            source=case["source"],
        )


@dataclass(frozen=True)
class Disagreement:
    """A case, what the CLI did, and what we say."""

    case: dict[str, Any]
    theirs: str
    ours: Verdict

    def __str__(self) -> str:
        told = {
            key: self.case[key] for key in ("id", "mode", "allow", "ask", "deny", "tool", "input") if self.case[key]
        }
        return f"{told}: the CLI says {self.theirs}, we say {self.ours.behavior} because {self.ours.reason}"


@dataclass(frozen=True)
class Score:
    """How many cases were judged, and where we differ."""

    total: int
    disagreements: tuple[Disagreement, ...]


def cases(*sources: str) -> Iterator[dict[str, Any]]:
    for line in (FIXTURES / "verdicts.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["source"] in sources and not STATED_ELSEWHERE & set(case.get("setup") or {}):
            yield case


def score(layout: Layout, *sources: str) -> Score:
    total = 0
    disagreements = []
    for case in cases(*sources):
        total += 1
        ours, theirs = layout.judge(case), BEHAVIORS[case["verdict"]]
        if ours.behavior != theirs:
            disagreements.append(Disagreement(case, theirs, ours))
    return Score(total, tuple(disagreements))


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    logger = logging.getLogger("handrail.policy")
    logger.disabled = True
    layout = Layout(tmp_path_factory.mktemp("verdicts").resolve())
    layout.create()
    yield layout
    logger.disabled = False


@pytest.fixture(scope="module")
def measured(layout: Layout) -> Score:
    return score(layout, "settings", "allowedTools")


def why_we_differ(case: dict[str, Any]) -> str | None:
    """The reason to be stricter than the CLI on a call of another tool than Bash; the rules page lists them."""
    if case["tool"] == "Skill":
        return "a skill without front matter is asked about: the layout holds none"
    if case["tool"] == "Agent" and any("Agent(" in rule for rule in case["deny"]):
        return "names of agents are compared in any case"
    return None


def test_we_agree_with_the_cli(measured: Score) -> None:
    agreement = 1 - len(measured.disagreements) / measured.total
    assert measured.total > 4000
    assert agreement >= 0.98, "\n".join(map(str, measured.disagreements))


def test_we_never_allow_what_the_cli_does_not(measured: Score) -> None:
    assert [str(found) for found in measured.disagreements if found.ours.behavior == "allow"] == []


def test_each_disagreement_has_a_reason(measured: Score) -> None:
    unexplained = [
        found for found in measured.disagreements if found.case["tool"] != "Bash" and not why_we_differ(found.case)
    ]
    assert [str(found) for found in unexplained] == []


def test_rules_from_settings_files(layout: Layout) -> None:
    found = score(layout, "user", "project", "local")
    assert [str(disagreement) for disagreement in found.disagreements] == []


def test_the_rules_page_lists_where_commands_are_read_more_strictly() -> None:
    page = (Path(__file__).parent.parent.parent / "docs/reference/rules.md").read_text()
    assert [row for what, how in STRICTER.items() if (row := f"| `{what}` | {how} |") not in page] == []
