"""Writes the tables of reference/config.md from the model of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from handrail.config.keys import SECTIONS, Key, keys_of
from handrail.config.model import Notify
from handrail.config.values import shown

PAGE = Path(__file__).parent / "reference" / "config.md"
BEGIN = "<!-- Written by docs/generate_config.py: begin -->"
END = "<!-- end -->"


def page(written: str) -> str:
    """The page with its tables made anew."""
    before, _, rest = written.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


def tables() -> str:
    return "\n".join(line for name, section in SECTIONS.items() for line in table(name, list(keys_of(section, name))))


def table(name: str, keys: list[Key]) -> Iterator[str]:
    listed = SECTIONS[name] is Notify
    yield f"### {'`[[notify]]`' if listed else f'`[{name}]`'}\n"
    yield f"{SECTIONS[name].__doc__}\n"
    columns = ["Key", "What it is for", "Takes", "Default", *([] if listed else ["Variable"])]
    yield row(*columns)
    yield row(*["---"] * len(columns))
    for key in keys:
        variable = [] if listed else [f"`{key.variable}`" if key.variable else ""]
        yield row(f"`{key.last}`", key.description, key.wanted, default(key), *variable)
    yield ""


def default(key: Key) -> str:
    return "" if key.default is None else f"`{shown(key.default, key)}`"


def row(*texts: str) -> str:
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
