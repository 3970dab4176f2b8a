"""Writes the tables of reference/compatibility.md from what is recorded of each version of Claude Code.

Record first: python -m handrail.testing.probing VERSION …
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from handrail.testing.probing.behaviours import Behaviour, Seen
from handrail.testing.probing.comparing import came_and_went
from handrail.testing.probing.matrix import Matrix, load_matrix
from handrail.testing.probing.scenarios import BEHAVIOURS

PAGE = Path(__file__).parent / "reference" / "compatibility.md"
BEGIN = "<!-- Written by docs/generate_compatibility.py: begin -->"
END = "<!-- end -->"

HEADINGS = {
    "start": "The start",
    "control": "Control requests",
    "process": "The process",
    "turns": "Turns",
    "permissions": "Permissions",
    "plans": "Plan mode",
    "questions": "Questions",
    "hooks": "Hooks",
    "policy": "Policies",
    "subagents": "Subagents",
    "tools": "Tools of a program",
    "background": "Background work",
    "conversations": "Conversations",
    "files": "Files",
    "websocket": "WebSocket",
}
SAME = "←"


def page(written: str) -> str:
    """The page with its tables made anew."""
    before, _, rest = written.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables(load_matrix())}\n{END}{after}"


def tables(matrix: Matrix) -> str:
    return "\n".join([*overview(matrix), *(line for topic in HEADINGS for line in section(topic, matrix))])


def overview(matrix: Matrix) -> Iterator[str]:
    yield "## All in all\n"
    yield row("", *matrix)
    yield row(*["---"] * (len(matrix) + 1))
    for need, words in (("breaks", "of what Handrail cannot do without"), ("degrades", "of what is good to have")):
        names = [name for name, behaviour in BEHAVIOURS.items() if behaviour.need == need]
        counts = [f"{sum(bool(seen[name].works) for name in names)} of {len(names)}" for seen in matrix.values()]
        yield row(words, *counts)
    yield ""


def section(topic: str, matrix: Matrix) -> Iterator[str]:
    behaviours = [behaviour for behaviour in BEHAVIOURS.values() if behaviour.topic == topic]
    yield f"## {HEADINGS[topic]}\n"
    yield row("", *matrix)
    yield row(*["---"] * (len(matrix) + 1))
    for behaviour in behaviours:
        needed = " **(needed)**" if behaviour.need == "breaks" else ""
        yield row(f"{behaviour.what}{needed}", *cells(behaviour, [seen[behaviour.name] for seen in matrix.values()]))
    yield ""
    for behaviour in behaviours:
        yield f"* *{behaviour.what}*: where it is not so, {behaviour.otherwise}.{copes(behaviour)}"
    yield ""


def copes(behaviour: Behaviour) -> str:
    return f" What Handrail does about it: {behaviour.copes}." if behaviour.copes else ""


def cells(behaviour: Behaviour, found: list[Seen]) -> Iterator[str]:
    """The outcomes of one behaviour, version by version, where only changes are written out."""
    before: Seen | None = None
    for seen in found:
        yield SAME if seen == before else f"{'✓' if seen.works else '✗'} {outcome(behaviour, seen, before)}"
        before = seen


def outcome(behaviour: Behaviour, seen: Seen, before: Seen | None) -> str:
    if not behaviour.is_list:
        return seen.words
    if before is None or not seen.works or not before.works:
        return names(seen.words.split(", ")) if seen.words != "nothing" else seen.words
    came, went = came_and_went(before.words, seen.words)
    return "<br>".join([*([f"also {names(came)}"] if came else []), *([f"no longer {names(went)}"] if went else [])])


def names(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def row(*texts: str) -> str:
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
