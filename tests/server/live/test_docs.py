"""docs/reference/live.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from handrail.server.live import channel, credit, home, viewer
from handrail.server.live import protocol as p
from handrail.server.live.call_summaries import GROUPS
from handrail.server.live.rows import Row
from handrail.server.live.state import state_of
from handrail.server.live.timeline import Timeline
from handrail.server.live.view import TAIL
from handrail.store.base import SessionRow

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "live.md").read_text()
FROM_CLIENT: tuple[type[msgspec.Struct], ...] = get_args(p.FromClient)
FROM_HUB: tuple[type[msgspec.Struct], ...] = get_args(p.FromHub)
ROWS: tuple[type[msgspec.Struct], ...] = get_args(Row)


def section(title: str) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.M | re.S)
    assert found is not None, title
    return found[1]


def first_cells(text: str) -> set[str]:
    """The names in the first column of a section's first table."""
    table = text.split("|---|---|\n", 1)[1].split("\n\n", 1)[0]
    return {name for line in table.splitlines() for name in re.findall(r"`([^`]+)`", line.split("|")[1])}


def names(kind: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def tag(kind: type[msgspec.Struct]) -> str:
    return str(kind.__struct_config__.tag)


def heading(kind: type[msgspec.Struct]) -> str:
    return "`home`, from the hub" if kind is p.HomeMessage else f"`{tag(kind)}`"


@pytest.mark.parametrize("kind", [*FROM_CLIENT, *FROM_HUB], ids=lambda kind: kind.__name__)
def test_every_message_has_a_section_with_all_its_fields(kind: type[msgspec.Struct]) -> None:
    assert first_cells(section(heading(kind))) == names(kind)


def test_every_section_is_about_a_message() -> None:
    headings = set(re.findall(r"^### (.+)$", PAGE, re.M))
    assert headings == {heading(kind) for kind in (*FROM_CLIENT, *FROM_HUB)}


def test_what_is_inside_of_a_field() -> None:
    for kind, where in ((p.Me, "`hello`"), (p.DeltaPiece, "`delta`"), (p.Counts, "`home`, from the hub")):
        assert all(f"`{name}`" in section(where) for name in names(kind)), kind


def test_every_row() -> None:
    text = section("Rows")
    common = first_cells(text)
    table = text.split("| type | further fields |\n|---|---|\n", 1)[1].split("\n\n", 1)[0]
    rows = {found[0]: set(found) for line in table.splitlines() if (found := re.findall(r"`(\w+)`", line))}
    assert set(rows) == {tag(kind) for kind in ROWS}
    for kind in ROWS:
        assert names(kind) - common <= rows[tag(kind)], kind
    assert {*GROUPS.values(), "other"} <= rows["action"]


def test_every_member_of_the_state() -> None:
    row = SessionRow(id="s", cwd="/", created_at=0.0, updated_at=0.0)
    assert first_cells(section("The state")) == set(state_of(Timeline(), row))


def test_every_close_code() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d{4}) \|", section("Why the hub closes a socket"), re.M)}
    assert listed == set(p.CLOSE_CODES)


def test_the_numbers() -> None:
    said = [
        f"at most {viewer.MOST_FOLLOWS} sessions",
        f"at most {credit.BYTES // 1024**2} MiB or {credit.MESSAGES:,} messages",
        f"at most {viewer.LONGEST_MESSAGE // 1024} KiB",
        f"after {viewer.MOST_BAD} of them",
        f"more than {viewer.A_SECOND:.0f} messages a second",
        f"latest {TAIL} rows",
        f"latest {home.LISTED} first",
        f"about {1 / channel.TICK:.0f} messages a second",
    ]
    text = " ".join(PAGE.split())
    assert [words for words in said if words not in text] == []
