"""Rows and the state of a session, made of light events: the same as of whole ones, and what changed at hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.events import model as e
from handrail.events.codec import decode_event, encode_event
from handrail.events.reduce import view_of
from handrail.events.view import ActionItem, Item
from handrail.server.live.light import LONGEST_TEXT, light_event
from handrail.server.live.rows import finish
from handrail.server.live.state import StateLog, state_of
from handrail.server.live.timeline import LONGEST_WINDOW, Timeline, Window
from handrail.server.showing import Showing
from handrail.store.base import SessionRow

from .test_any_order import an_event

ROW = SessionRow(id="s1", cwd="/", created_at=0.0, updated_at=0.0, title="a session")
RECORDINGS = sorted((Path(__file__).parents[2] / "fixtures" / "transcripts").rglob("*.jsonl"))


def journal(*events: e.Event) -> list[bytes]:
    """Events as a journal has them."""
    numbered = (msgspec.structs.replace(event, seq=seq, at=float(seq)) for seq, event in enumerate(events, start=1))
    return [encode_event(event) for event in numbered]


def timeline_of(bodies: list[bytes]) -> Timeline:
    timeline = Timeline()
    timeline.take_all(bodies)
    return timeline


def recorded(path: Path) -> list[bytes]:
    from handrail.events.recording import events_of_recording

    rows = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    lines = [
        ("meta" if row["dir"] == "meta" or row.get("meta") else row["dir"], msgspec.json.encode(row["raw"]), row["t"])
        for row in rows
    ]
    return journal(*events_of_recording(lines))


def shown(window: Window, bodies: list[bytes]) -> dict[str, Any]:
    events = dict(enumerate(map(decode_event, bodies), start=1))
    rows = finish(window.sketches, events, Showing(), ROW)
    return {row.key: msgspec.json.decode(msgspec.json.encode(row)) for row in rows}


def outline(items: list[Item]) -> list[Any]:
    """What a timeline says, without what light events leave out."""
    return [
        ("action", item.seq, item.title, item.phase, item.ok, item.kind, outline(item.children))
        if isinstance(item, ActionItem)
        else (type(item).__name__, item.seq, *(getattr(item, name, None) for name in ("title", "ok", "text")))
        for item in items
    ]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_light_events_tell_the_same_story_as_whole_ones(path: Path) -> None:
    bodies = recorded(path)
    light, whole = timeline_of(bodies).view, view_of(map(decode_event, bodies))
    assert outline(light.items) == outline(whole.items)
    assert (light.status, light.mode, light.model, light.cost_usd) == (
        whole.status,
        whole.mode,
        whole.model,
        whole.cost_usd,
    )
    assert list(light.asks) == list(whole.asks)
    assert list(light.now) == list(whole.now)
    assert [(task.id, task.phase, task.ok) for task in light.tasks.values()] == [
        (task.id, task.phase, task.ok) for task in whole.tasks.values()
    ]


THINGS = st.lists(st.tuples(st.integers(0, 17), st.integers(0, 4)), max_size=60)


@given(things=THINGS, share=st.floats(0, 1))
@settings(max_examples=40)
def test_what_changed_after_any_event_makes_the_rows_of_then_those_of_now(
    things: list[tuple[int, int]], share: float
) -> None:
    bodies = journal(*(an_event(*thing) for thing in things))
    then = int(share * len(bodies))
    rows = shown(timeline_of(bodies[:then]).tail(1_000), bodies)
    now = timeline_of(bodies)
    changed = now.changed_after(then, limit=1_000)
    assert changed is not None
    rows |= shown(Window(changed, None, None, now.total), bodies)
    assert rows == shown(now.tail(1_000), bodies)


@given(things=THINGS, share=st.floats(0, 1))
@settings(max_examples=40)
def test_the_state_of_then_and_what_changed_is_the_state_of_now(things: list[tuple[int, int]], share: float) -> None:
    bodies = journal(*(an_event(*thing) for thing in things))
    then = int(share * len(bodies))
    timeline, log = timeline_of(bodies[:then]), StateLog()
    log.look(state_of(timeline, ROW))
    state, version = dict(log.state), log.version
    timeline.take_all(bodies[then:])
    log.look(state_of(timeline, ROW))
    assert state | log.since(version) == state_of(timeline_of(bodies), ROW)


def test_an_event_that_is_in_it_already_changes_nothing() -> None:
    bodies = journal(e.Text(block="b", text="one"), e.Text(block="c", text="two"))
    timeline = timeline_of(bodies)
    timeline.take_all(bodies)
    assert (timeline.total, timeline.seq) == (2, 2)


def test_progress_that_changes_nothing_of_a_row_is_no_change() -> None:
    call = e.Action(id="t", kind="command", title="make", phase="started", detail={"tool_name": "Bash"})
    progress = [msgspec.structs.replace(call, phase="updated", detail={"elapsed_time_seconds": n}) for n in range(50)]
    timeline = timeline_of(journal(call, *progress))
    assert timeline.changed_after(2, limit=10) == []  # the first said that it goes on
    assert timeline.sources("1") == (1, 2)


def said(count: int) -> list[bytes]:
    return journal(*(e.Text(block=f"b{number}", text=str(number)) for number in range(count)))


def keys(window: Window) -> list[int]:
    return [int(sketch.row.key) for sketch in window.sketches]


def test_pages_meet_without_gap_or_overlap() -> None:
    timeline = timeline_of(said(25))
    window = timeline.tail(10)
    found = keys(window)
    while window.before is not None:
        window = timeline.before(window.before, 10)
        found = keys(window) + found
    assert found == list(range(1, 26))
    window = timeline.after("1", 10)
    found = [1, *keys(window)]
    while window.after is not None:
        window = timeline.after(window.after, 10)
        found += keys(window)
    assert found == list(range(1, 26))


def test_around_a_row() -> None:
    timeline = timeline_of(said(25))
    window = timeline.around("12", 5)
    assert keys(window) == [10, 11, 12, 13, 14]
    assert (window.before, window.after, window.total) == ("10", "14", 25)
    assert keys(timeline.around("1", 5)) == [1, 2, 3]


@pytest.mark.parametrize("key", ["0", "26", "-1", "x", "", "9" * 30, "²"])
def test_a_key_that_no_row_has(key: str) -> None:
    timeline = timeline_of(said(25))
    for look in (timeline.sources, timeline.parent_of, lambda key: timeline.before(key, 1)):
        with pytest.raises(KeyError):
            look(key)


def test_rows_inside_of_a_row_come_with_it_and_a_page_stays_bounded() -> None:
    def family(number: int, size: int) -> list[e.Event]:
        call = {"tool_name": "Agent"}
        outer = e.Action(id=f"t{number}", kind="subagent", title="look", phase="started", detail=call)
        inside = [e.Text(block=f"b{number}:{each}", text="x", parent=f"t{number}") for each in range(size)]
        return [outer, *inside]

    bodies = journal(*family(1, 3), *family(2, LONGEST_WINDOW - 1), *family(3, 2))
    timeline = timeline_of(bodies)
    assert timeline.total == 3
    assert len(keys(timeline.tail(10))) == 3, "the one before has too many rows for the same page"
    window = timeline.tail(10)
    assert window.before is not None
    assert len(keys(timeline.before(window.before, 10))) == LONGEST_WINDOW
    assert timeline.parent_of("2") == "1"


def test_what_a_row_says_of_a_call() -> None:
    def call(tool: str, phase: Any, ok: bool | None = None, **detail: Any) -> e.Action:
        whole = {"tool_name": tool, "tool_use_id": tool} | detail
        return e.Action(id=tool, kind="tool", title=tool, phase=phase, ok=ok, detail=whole)

    patch = {"structuredPatch": [{"lines": ["+a", "+b", " c", "-d"]}]}
    bodies = journal(
        call("Edit", "started", tool_input={"old_string": "a", "new_string": "b\nc"}),
        call("Write", "started", tool_input={"content": "one\ntwo\n"}),
        call("Bash", "completed", False, content="Exit code 2\nno such file"),
        call("Grep", "completed", True, content="…", tool_use_result={"numFiles": 3}),
        call("Read", "completed", True, content="…", tool_use_result={"file": {"numLines": 1}}),
        call("TodoWrite", "started", tool_input={"todos": [{"status": "completed"}, {"status": "pending"}]}),
        call("Glob", "completed", True, tool_use_result=["not", "what", "was", "expected"]),
        call("Edit", "completed", True, tool_use_result=patch),
    )
    rows = shown(timeline_of(bodies).tail(10), bodies)
    said = {row["tool"]: (row["summary"], row["group"]) for row in rows.values()}
    assert said == {
        "Edit": ("+2 −1", "edit"),
        "Write": ("+2 −0", "edit"),
        "Bash": ("exit code 2", "command"),
        "Grep": ("3 files", "search"),
        "Read": ("1 line", "read"),
        "TodoWrite": ("1 of 2 done", "other"),
        "Glob": ("", "search"),
    }


def test_images_and_long_texts_are_not_kept() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 1_000_000}}
    bodies = journal(
        e.Prompt(uuid="u", content=[{"type": "text", "text": "look"}, image]),
        e.Text(block="b", text="x" * 1_000_000),
        e.Action(id="t", kind="tool", title="x", phase="completed", detail={"content": "y" * 1_000_000}),
    )
    light = [light_event(body) for body in bodies]
    assert sum(len(encode_event(event)) for event in light) < LONGEST_TEXT + 1_000
    assert isinstance(light[1], e.Text)
    assert light[1].text.endswith("… (900,000 more characters)")


@pytest.mark.slow
@given(st.binary(max_size=200) | st.recursive(st.text(max_size=5) | st.integers(), st.lists).map(msgspec.json.encode))
@settings(max_examples=50)
def test_whatever_is_in_the_journal_can_be_read(body: bytes) -> None:
    assert isinstance(light_event(body), e.Event)


@given(
    st.sampled_from(["action", "completed", "prompt", "ask_opened", "task", "text"]),
    st.dictionaries(
        st.sampled_from(["id", "kind", "title", "phase", "detail", "ok", "error", "uuid", "content", "text", "block"]),
        st.none() | st.integers() | st.text(max_size=3) | st.dictionaries(st.text(max_size=9), st.none(), max_size=2),
    ),
)
@settings(max_examples=100)
def test_an_event_that_is_not_as_it_should_be_can_be_read(kind: str, fields: dict[str, Any]) -> None:
    timeline = timeline_of([msgspec.json.encode({"type": kind, "seq": 1, **fields})])
    assert timeline.seq == 1


@pytest.mark.slow
def test_a_long_session_takes_little_memory() -> None:
    """About what one row takes: the rest of a session, such as inputs and outputs, is in the journal only."""
    import tracemalloc

    def call(number: int) -> list[e.Event]:
        detail = {"tool_name": "Bash", "tool_use_id": f"toolu_{number:020}"}
        given, got = {"tool_input": {"command": "x" * 2_000}}, {"content": "y" * 5_000}
        started = e.Action(
            id=detail["tool_use_id"], kind="command", title=f"make {number}", phase="started", detail=detail | given
        )
        return [started, msgspec.structs.replace(started, phase="completed", ok=True, detail=detail | got)]

    bodies = journal(*(event for number in range(2_000) for event in call(number)))
    tracemalloc.start()
    try:
        timeline = timeline_of(bodies)
        used = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(timeline) == 2_000
    assert used / len(timeline) < 1_200, f"{used / len(timeline):.0f} bytes a row on Python {sys.version}"
