"""Writes the tables of reference/protocol.md from reference/behaviour.json, which the end-to-end tests record.

Run it after recording: HANDRAIL_RECORD_BEHAVIOUR=1 pytest tests/e2e, for each version in HANDRAIL_CLI_VERSIONS.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

REFERENCE = Path(__file__).parent / "reference"
PAGE = REFERENCE / "protocol.md"
RECORDED = REFERENCE / "behaviour.json"

BEGIN = "<!-- Written by docs/generate_protocol.py from behaviour.json: begin -->"
END = "<!-- end -->"

TOPICS = {
    "turns": "Turns",
    "prompts": "Prompts and results",
    "interrupt": "Interrupting",
    "permissions": "Permissions",
    "questions": "Questions",
    "plans": "Plan mode",
    "parallel asks": "Parallel asks",
    "subagents": "Subagents",
    "background": "Background work",
    "hooks": "Hooks",
    "mcp": "MCP",
    "control": "Control requests",
    "process": "The process",
    "resume": "Conversations",
    "files": "Files",
    "sizes": "Sizes",
    "limits": "Limits",
    "api errors": "API errors",
}
"""What a behaviour's name begins with, and the heading of its table."""

SAME = "←"

Outcomes: TypeAlias = dict[str, dict[str, str]]
"""Version → behaviour → outcome."""


def page(written: str) -> str:
    """The page with its tables made anew."""
    before, _, rest = written.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables(json.loads(RECORDED.read_text(encoding='utf-8')))}\n{END}{after}"


def tables(outcomes: Outcomes) -> str:
    return "\n".join(line for topic, heading in TOPICS.items() for line in table(topic, heading, outcomes))


def table(topic: str, heading: str, outcomes: Outcomes) -> Iterator[str]:
    names = sorted({name for recorded in outcomes.values() for name in recorded if name.startswith(f"{topic}: ")})
    yield f"### {heading}\n"
    yield row("", *outcomes)
    yield row(*["---"] * (len(outcomes) + 1))
    for name in names:
        yield row(name.removeprefix(f"{topic}: "), *cells([outcomes[version].get(name, "") for version in outcomes]))
    yield ""


def cells(found: list[str]) -> Iterator[str]:
    """The outcomes of one behaviour, version by version, where only changes are written out."""
    before = None
    for outcome in found:
        yield SAME if outcome == before else outcome
        before = outcome


def row(*texts: str) -> str:
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
