"""docs/reference/events.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest

from handrail.events.model import AnyEvent, Delta, Event, Meta
from handrail.events.runs import KEPT
from handrail.events.tools import TOOLS, describe_call
from handrail.protocol import frames
from handrail.protocol.frames import Frame

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "events.md").read_text()
EVENT_TYPES: tuple[type[Event], ...] = get_args(AnyEvent)
COMMON = {field.encode_name for field in msgspec.structs.fields(Event)}


def section(title: str) -> str:
    """What stands under a heading, to the next one of any level."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.M | re.S)
    assert found is not None, title
    return found[1]


def named_fields(text: str) -> set[str]:
    """The fields that the first table of a section lists."""
    table = text.split("| field | |\n|---|---|\n", 1)[1].split("\n\n", 1)[0]
    cells = [line.split("|")[1] for line in table.splitlines()]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def choices(wanted: Any) -> set[str]:
    if get_origin(wanted) is Literal:
        return set(get_args(wanted))
    return {choice for part in get_args(wanted) for choice in choices(part)}


def test_every_type_has_a_section_and_every_section_a_type() -> None:
    headings = set(re.findall(r"^### `(\w+)`$", PAGE, re.M))
    assert headings == {str(kind.__struct_config__.tag) for kind in EVENT_TYPES}


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__struct_config__.tag)
def test_every_field_is_in_its_section(kind: type[Event]) -> None:
    text = section(f"`{kind.__struct_config__.tag}`")
    fields = msgspec.structs.fields(kind)
    assert named_fields(text) == {field.encode_name for field in fields} - COMMON
    for field in fields:
        for choice in choices(field.type):
            assert f"`{choice}`" in text, f"{field.name} may be {choice}"


def test_the_fields_of_every_event_and_of_deltas() -> None:
    assert named_fields(section("The form")) == COMMON
    assert named_fields(section("Deltas")) == {field.encode_name for field in msgspec.structs.fields(Delta)}


def test_what_is_inside_a_field() -> None:
    assert all(f"`{field.encode_name}`" in section("`started`") for field in msgspec.structs.fields(Meta))
    assert all(f"`{name}`" in section("`completed`") for name in KEPT)


def test_the_table_of_tools() -> None:
    rows = [line.split(" | ") for line in section("Tools").splitlines() if line.startswith("| `")]
    listed = {name: kind for names, kind, _ in rows for name in re.findall(r"`(\w+)`", names)}
    assert listed == {name: tool.kind for name, tool in TOOLS.items()}
    for names, _, title in rows:
        for name in re.findall(r"`(\w+)`", names):
            tool = TOOLS[name]
            assert title.startswith(tool.label)
            assert tuple(re.findall(r"`(\w+)`", title)) == tool.fields
            assert describe_call(name, dict.fromkeys(tool.fields, "it")).title


def test_the_table_of_frames_has_every_frame() -> None:
    rows = [line.split("|")[1] for line in section("Frames and events").splitlines() if line.startswith("| `")]
    listed = {name for cell in rows for name in re.findall(r"`([^`]+)`", cell)}
    assert listed == {name_of(kind) for kind in modelled_frames()}


def modelled_frames() -> list[type[Frame]]:
    made_here = {Frame, frames.System, frames.UnknownFrame, frames.Malformed}
    kinds = (getattr(frames, name) for name in frames.__all__)
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Frame) and kind not in made_here]


def name_of(kind: type[Frame]) -> str:
    tag = str(kind.__struct_config__.tag)
    return f"system/{tag}" if issubclass(kind, frames.System) else tag
