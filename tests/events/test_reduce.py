"""What a screen shows of a session."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.events.model import (
    Action,
    ApiRetry,
    AskClosed,
    AskOpened,
    Compacting,
    Completed,
    Delta,
    Event,
    Hook,
    Meta,
    ModeChanged,
    ModelChanged,
    ProcessExited,
    Prompt,
    RateLimit,
    SessionRekeyed,
    Started,
    Task,
    Text,
    Thinking,
    Titled,
    Unknown,
    Usage,
)
from handrail.events.recording import events_of_recording, items_of_recording
from handrail.events.reduce import SessionView, reduce, view_of
from handrail.events.view import ActionItem, AskItem, NoticeItem, PromptItem, TextItem, ThinkingItem

from .support import FIXTURES, RECORDINGS, lines_of, numbered


def view(*events: Event) -> SessionView:
    return view_of(numbered(events))


def call(id: str = "t1", phase: Any = "started", ok: bool | None = None, **fields: Any) -> Action:
    detail = {"tool_name": "Bash", **fields.pop("detail", {})}
    return Action(id=id, kind="command", title="ls", phase=phase, ok=ok, detail=detail, **fields)


STARTED = Started(run=1, resume="s1", meta=Meta(cwd="/p", model="opus", permission_mode="plan", cli_version="2.1.325"))
DONE = Completed(run=1, ok=True, answer="yes", cost_usd=0.5, resume="s1", messages=("u1",))


def test_an_empty_session() -> None:
    shown = SessionView()
    assert (shown.status, shown.seq, shown.items, shown.last_run) == ("idle", 0, [], None)


def test_a_session_and_its_runs() -> None:
    shown = view(
        Prompt(uuid="u1", content="Build", by="ann"),
        STARTED,
        Prompt(uuid="u1", state="started"),
        Usage(context_tokens=100, output_tokens=5),
        Usage(context_tokens=100, output_tokens=7, context_window=1000),
        Usage(context_tokens=9, parent="a1"),
        Titled(title="Stairs"),
        DONE,
        Started(run=2, resume="s1"),
        Completed(run=2, ok=False, error="boom", cost_usd=0.25),
    )
    assert (shown.cwd, shown.model, shown.mode, shown.cli_version) == ("/p", "opus", "plan", "2.1.325")
    assert (shown.title, shown.resume, shown.cost_usd) == ("Stairs", "s1", 0.75)
    assert (shown.context_tokens, shown.output_tokens, shown.context_window) == (100, 7, 1000)
    assert [(run.number, run.ok, run.answer, run.error) for run in shown.runs] == [
        (1, True, "yes", None),
        (2, False, "", "boom"),
    ]
    assert (shown.runs[0].started_at, shown.runs[0].ended_at, shown.runs[0].messages) == (2.0, 8.0, ("u1",))
    (prompt,) = shown.items
    assert isinstance(prompt, PromptItem)
    assert (prompt.text, prompt.state, prompt.by) == ("Build", "started", "ann")
    assert shown.seq == 10


def test_status() -> None:
    ask = AskOpened(ask_id="r", kind="permission", digest="d", title="t")
    failed = Completed(ok=False, error="x")
    cases: list[tuple[list[Event], str]] = [
        ([STARTED], "running"),
        ([STARTED, ask], "needs_you"),
        ([STARTED, ask, AskClosed(ask_id="r", outcome="decided")], "running"),
        ([STARTED, DONE], "idle"),
        ([STARTED, failed], "failed"),
        ([STARTED, failed, STARTED, DONE], "idle"),
        ([STARTED, DONE, ProcessExited(exit_code=1)], "stopped"),
        ([STARTED, failed, ProcessExited(exit_code=1)], "failed"),
        ([STARTED, failed, ProcessExited(exit_code=0, expected=True)], "stopped"),
        ([STARTED, DONE, ProcessExited(), STARTED], "running"),
    ]
    for events, status in cases:
        assert view(*events).status == status


def test_the_phases_of_an_action_are_one_item() -> None:
    shown = view(
        call(detail={"tool_input": {"command": "ls"}}),
        call(phase="updated", detail={"elapsed_time_seconds": 2}),
    )
    assert list(shown.now) == ["t1"]
    shown = reduce(
        shown, call(phase="completed", ok=True, detail={"tool_use_id": "t1", "content": "a.txt"}, seq=3, at=9.0)
    )
    (item,) = shown.items
    assert isinstance(item, ActionItem)
    assert (item.title, item.phase, item.ok, item.at, item.ended_at) == ("ls", "completed", True, 1.0, 9.0)
    assert (item.output, item.detail["elapsed_time_seconds"]) == ("a.txt", 2)
    assert item.detail["tool_input"] == {"command": "ls"}
    assert shown.now == {}
    late = reduce(shown, call(phase="updated", seq=4))
    assert (late.actions["t1"].phase, late.now) == ("completed", {})


def test_a_result_whose_teller_did_not_see_the_start_keeps_the_title() -> None:
    cut = call(phase="completed", ok=False, detail={"tool_use_id": "t1", "reason": "put off"})
    later = Action(id="t1", kind="tool", title="tool", phase="completed", ok=True, detail={"tool_use_id": "t1"})
    (item,) = view(call(), cut, later).items
    assert isinstance(item, ActionItem)
    assert (item.kind, item.title, item.ok) == ("command", "ls", True)


def test_output_and_changes() -> None:
    content = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    detail = {"tool_use_id": "t1", "content": content, "changes": [{"path": "/p/a", "kind": "add"}]}
    (item,) = view(call(phase="completed", ok=True, detail=detail)).items
    assert isinstance(item, ActionItem)
    assert (item.output, item.changes) == ("one\ntwo", [{"path": "/p/a", "kind": "add"}])


def test_what_happens_inside_a_subagent_is_inside_its_action() -> None:
    shown = view(
        Action(id="a1", kind="subagent", title="look", phase="started", detail={"tool_name": "Agent"}),
        call("b1", parent="a1"),
        Text(block="m:0", text="found", parent="a1"),
        Text(block="n:0", text="main"),
        Thinking(block="o:0", text="hm", parent="unknown"),
    )
    outer, said, thought = shown.items
    assert isinstance(outer, ActionItem)
    assert isinstance(said, TextItem)
    assert isinstance(thought, ThinkingItem)
    inner, found = outer.children
    assert isinstance(inner, ActionItem)
    assert isinstance(found, TextItem)
    assert (inner.id, found.text, said.text) == ("b1", "found", "main")


def test_remarks_of_two_processes_may_have_the_same_id() -> None:
    remark = Action(id="note-1.1", kind="note", title="one", phase="completed")
    other = Action(id="note-1.1", kind="note", title="two", phase="completed")
    titles = [item.title for item in view(remark, other).items if isinstance(item, ActionItem)]
    assert titles == ["one", "two"]


def test_asks() -> None:
    shown = view(
        AskOpened(ask_id="r", kind="plan", digest="d1", title="Plan", ask={"x": 1}),
        AskOpened(ask_id="r", kind="plan", digest="d2", title="Plan", ask={"x": 2}),
    )
    (item,) = shown.items
    assert isinstance(item, AskItem)
    assert shown.asks == {"r": item}
    assert (item.digest, item.ask, item.outcome) == ("d2", {"x": 2}, None)
    reduce(shown, AskClosed(ask_id="r", outcome="decided", by="ann", surface="web", message="ok", seq=3, at=5.0))
    reduce(shown, AskClosed(ask_id="unseen", outcome="lost", seq=4))
    assert shown.asks == {}
    assert (item.outcome, item.by, item.surface, item.message, item.ended_at) == ("decided", "ann", "web", "ok", 5.0)
    assert shown.closed_asks == {"r": item}


def test_tasks_make_a_tree() -> None:
    shown = view(
        Task(id="x", phase="started", title="outer", kind="local_agent", status="running"),
        Task(id="y", phase="started", title="inner", status="running", parent="x", background=True),
        Task(id="x", phase="updated", summary="half way", detail={"n": 1}),
    )
    assert [task.id for task in shown.running_tasks] == ["x", "y"]
    assert (shown.tasks["x"].children, shown.tasks["y"].parent) == (["y"], "x")
    assert (shown.tasks["x"].title, shown.tasks["x"].summary) == ("outer", "half way")
    reduce(shown, Task(id="x", phase="completed", ok=True, status="completed", seq=4, at=9.0))
    reduce(shown, Task(id="x", phase="updated", status="killed", seq=5))
    assert [task.id for task in shown.running_tasks] == ["y"]
    assert (shown.tasks["x"].ok, shown.tasks["x"].ended_at) == (True, 9.0)


def test_notices() -> None:
    shown = view(
        ModeChanged(mode="plan"),
        ModeChanged(mode="default", previous="plan"),
        ModelChanged(model="haiku", previous="opus", reason="refusal"),
        SessionRekeyed(resume="s2", previous="s1", reason="clear"),
        Compacting(phase="started"),
        Compacting(phase="completed", tokens_before=10),
        Compacting(phase="failed", error="no"),
        RateLimit(status="allowed", limit_type="five_hour"),
        RateLimit(status="allowed_warning", limit_type="five_hour", utilization=0.9),
        RateLimit(status="allowed_warning", limit_type="five_hour", utilization=0.95),
        RateLimit(status="rejected", limit_type="five_hour"),
        Hook(id="h", phase="started", name="guard"),
        Hook(id="h", phase="completed", name="guard", ok=False),
        Unknown(frame_type="news"),
        ProcessExited(exit_code=3, reason="killed", stderr="oh"),
    )
    assert [notice.kind for notice in shown.notices] == [
        "mode_changed",
        "model_changed",
        "session_rekeyed",
        "compacting",
        "compacting",
        "rate_limit",
        "rate_limit",
        "hook",
        "unknown",
        "process_exited",
    ]
    assert shown.items == shown.notices
    assert (shown.mode, shown.model, shown.resume, shown.compacting) == ("default", "haiku", "s2", False)
    assert shown.rate_limits["five_hour"].status == "rejected"
    last = shown.notices[-1]
    assert isinstance(last, NoticeItem)
    assert (last.text, last.ok) == ("The CLI exited with code 3: killed", False)
    assert view(ProcessExited(exit_code=0, expected=True)).notices == []


def test_what_goes_on() -> None:
    shown = view(STARTED, Compacting(phase="started"), Hook(id="h", phase="started", name="guard"))
    assert (shown.compacting, shown.hooks) == (True, {"h": "guard"})
    reduce(shown, ApiRetry(attempt=1, max_retries=10, error="overloaded", seq=4))
    assert shown.retry == "overloaded, attempt 1 of 10"
    reduce(shown, Text(block="m:0", text="hi", seq=5))
    assert shown.retry == ""


def test_a_description_that_came_late_counts() -> None:
    shown = view(Action(id="i", kind="telemetry", title="init", phase="completed", detail={"meta": {"cwd": "/q"}}))
    assert (shown.cwd, shown.items) == ("/q", [])
    odd = Action(id="i", kind="telemetry", title="init", phase="completed", detail={"meta": {"cwd": 7}}, seq=2)
    assert reduce(shown, odd).cwd == "/q"


# ---------------------------------------------------------------- deltas


def piece(offset: int, text: str, block: str = "m:0", **fields: Any) -> Delta:
    return Delta(block=block, kind="text", offset=offset, text=text, **fields)


def test_live_text_until_the_block_is_whole() -> None:
    shown = view(STARTED)
    for delta in (piece(0, "hel"), piece(3, "lo")):
        reduce(shown, delta)
    assert shown.live["m:0"].text == "hello"
    reduce(shown, Text(block="m:0", text="hello", seq=2))
    reduce(shown, piece(5, "!"))
    assert shown.live == {}


def test_deltas_that_do_not_fit_corrupt_nothing() -> None:
    shown = view(STARTED)
    reduce(shown, piece(0, "hello"))
    reduce(shown, piece(7, "gap"))
    assert shown.live["m:0"].text == "hello"
    reduce(shown, piece(3, "lo"))
    assert shown.live["m:0"].text == "hello"
    reduce(shown, piece(0, "hello wor"))
    assert shown.live["m:0"].text == "hello wor", "all of it again, for somebody who joins"


def test_live_blocks_end_with_the_run_and_all_of_them_with_the_process() -> None:
    shown = view(STARTED)
    reduce(shown, piece(0, "main"))
    reduce(shown, piece(0, "sub", "n:0", parent="a1"))
    reduce(shown, Delta(block="o:0", kind="input", offset=0, text="{"))
    reduce(shown, call(detail={"block": "o:0"}, seq=2))
    assert list(shown.live) == ["m:0", "n:0"]
    reduce(shown, Completed(ok=True, seq=3))
    assert list(shown.live) == ["n:0"]
    reduce(shown, ProcessExited(seq=4))
    assert shown.live == {}


@given(st.text(max_size=30), st.data())
def test_pieces_in_any_order_and_number_never_corrupt_a_block(text: str, data: st.DataObject) -> None:
    places = st.integers(0, len(text))
    cuts = data.draw(st.lists(st.tuples(places, places), max_size=8))
    shown = view(STARTED)
    for start, end in [*cuts, (0, len(text))]:
        reduce(shown, piece(start, text[start:end]))
        block = shown.live["m:0"]
        assert text.startswith(block.text)
        assert block.length == len(block.text)
    assert shown.live["m:0"].text == text


# ---------------------------------------------------------------- over recordings


@pytest.mark.parametrize("path", RECORDINGS[::8], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_taking_events_again_changes_nothing(path: Path) -> None:
    events = list(events_of_recording(lines_of(path)))
    shown = view_of(events)
    again = copy.deepcopy(shown)
    for event in events:
        reduce(shown, event)
    assert shown == again


@pytest.mark.parametrize("path", RECORDINGS[::8], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_deltas_leave_no_trace(path: Path) -> None:
    """A reader that saw every delta and one that saw none end with the same view."""
    items = list(items_of_recording(lines_of(path)))
    assert view_of(items) == view_of(item for item in items if isinstance(item, Event))


def test_a_recorded_session_on_a_screen() -> None:
    shown = view_of(events_of_recording(lines_of(FIXTURES / "2.1.325/p5g_bg_agent_finish.jsonl")))
    agent = next(item for item in shown.items if isinstance(item, ActionItem) and item.kind == "subagent")
    assert [type(child) for child in agent.children] == [ActionItem, ActionItem, TextItem]
    assert [run.cause for run in shown.runs] == ["message", "background"]
    assert {ask.outcome for ask in shown.closed_asks.values()} == {"decided"}
    assert (shown.status, shown.model, shown.context_window) == ("stopped", "claude-opus-5-5", 1000000)
    assert round(shown.cost_usd, 6) == 0.00264


@pytest.mark.slow
def test_a_long_session_is_read_in_seconds() -> None:
    import time

    events: list[Event] = []
    for number in range(1, 25_001):
        events += [
            call(f"t{number}"),
            call(f"t{number}", "completed", ok=True, detail={"tool_use_id": f"t{number}", "content": "x"}),
            Text(block=f"m{number}:0", text="some words"),
            Usage(context_tokens=number),
        ]
    events = numbered(events)
    begun = time.process_time()
    shown = view_of(events)
    assert time.process_time() - begun < 10
    assert (shown.seq, len(shown.items)) == (100_000, 50_000)
