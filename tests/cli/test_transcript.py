"""The transcript: what each kind of event looks like, and that nothing in an event can steer the terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from handrail.cli.showing.json_lines import JsonView
from handrail.cli.showing.progress import Progress
from handrail.cli.showing.style import make_console
from handrail.cli.showing.summary import Ending, render_ending, render_footer
from handrail.cli.showing.transcript import Style, TerminalView
from handrail.events import model as e
from handrail.events.recording import items_of_recording

from .support import plain, printed

TRANSCRIPTS = sorted(Path(__file__).parents[1].joinpath("fixtures", "transcripts").glob("*/*.jsonl"))
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\u200b\r\x9b"
META = e.Meta(cwd="/p", model="opus", permission_mode="plan", cli_version="2.1.325")


def transcript(*items: e.Event | e.Delta, width: int = 80, style: Style | None = None) -> str:
    """What is written of these events where there is no terminal."""
    console = make_console(io.StringIO(), width=width)
    view = TerminalView(console, style)
    for item in items:
        view.show(item)
    view.stop()
    return printed(console)


VERBOSE = Style(verbose=True)
THOUGHTS = Style(thinking=True)


def started(call: str, tool: str, given: Any, *, kind: Any = "tool", parent: str | None = None) -> e.Action:
    detail = {"tool_name": tool, "tool_input": given}
    return e.Action(id=call, kind=kind, title=f"{tool} …", phase="started", detail=detail, parent=parent)


def completed(
    call: str, content: Any = "", *, ok: bool = True, kind: Any = "tool", parent: str | None = None, **detail: Any
) -> e.Action:
    given = {"tool_use_id": call, "content": content, **detail}
    return e.Action(id=call, kind=kind, title="…", phase="completed", ok=ok, detail=given, parent=parent)


def text(words: str, block: str = "m:0", **fields: Any) -> e.Text:
    return e.Text(block=block, text=words, **fields)


def pieces(words: str, block: str = "m:0", kind: Any = "text", size: int = 4) -> list[e.Delta]:
    return [
        e.Delta(block=block, kind=kind, offset=start, text=words[start : start + size])
        for start in range(0, len(words), size)
    ]


# ---------------------------------------------------------------- conversation


def test_text_is_shown_once_whether_streamed_or_not() -> None:
    words = "One.\n\nTwo."
    assert transcript(*pieces(words), text(words)) == transcript(text(words)) == "One.\n\nTwo.\n"


def test_text_with_a_gap_in_its_stream_is_shown_whole() -> None:
    words = "One.\n\nTwo.\n\nThree."
    streamed = pieces(words)
    del streamed[2]
    assert transcript(*streamed, text(words)) == "One.\n\nTwo.\n\nThree.\n"


def test_text_that_is_streamed_again_is_shown_once() -> None:
    words = "One.\n\nTwo."
    assert transcript(*pieces(words), *pieces(words, size=3), text(words)) == "One.\n\nTwo.\n"


def test_text_cut_off_by_an_interrupt_is_kept() -> None:
    seen = transcript(*pieces("Half a sen"), text("Half a sen", partial=True), e.Completed(ok=False, error="stopped"))
    assert seen.startswith("Half a sen\n")
    assert "cut off" in seen


def test_text_that_was_never_finished_is_kept_too() -> None:
    assert transcript(*pieces("Half a sen")) == "Half a sen\n"


def test_thinking_comes_before_the_text_where_it_is_wanted() -> None:
    items = [*pieces("Hm.", "m:0", "thinking"), e.Thinking(block="m:0", text="Hm."), text("Yes.", "m:1")]
    assert transcript(*items, style=THOUGHTS) == "Hm.\n\nYes.\n"
    assert transcript(*items) == "Yes.\n"


def test_a_tool_call_is_a_line_and_its_output_the_next() -> None:
    seen = transcript(started("t1", "Bash", {"command": "ls -la"}), completed("t1", "a\nb\nc\nd\ne\nf"))
    assert seen == "⏺ Bash  ls -la\n  ✓ a\n    b\n    c\n    d\n    … 2 more lines\n"


def test_verbose_shows_all_of_the_output() -> None:
    items = [started("t1", "Bash", {"command": "x"}), completed("t1", "\n".join("abcdefgh"))]
    seen = transcript(*items, style=VERBOSE)
    assert "    h\n" in seen
    assert "more line" not in seen


@pytest.mark.parametrize(
    ("name", "given", "content", "expected"),
    [
        ("Bash", {"command": "one\ntwo"}, "", "⏺ Bash  one ⏎ two\n  ✓ no output"),
        ("mcp__gh__list", {"a": 1, "b": "c"}, [{"type": "image"}], "⏺ gh · list  a: 1, b: c\n  ✓ [image]"),
        ("WebFetch", {"url": "http://x"}, [{"type": "text", "text": "found"}], "⏺ WebFetch  http://x\n  ✓ found"),
    ],
)
def test_tools_say_what_matters(name: str, given: dict[str, Any], content: Any, expected: str) -> None:
    assert expected in transcript(started("t1", name, given), completed("t1", content))


def test_a_call_whose_start_was_not_seen() -> None:
    assert transcript(completed("t1", "late")) == "  ✓ …  late\n"


PATCH = {"oldStart": 7, "oldLines": 2, "newStart": 7, "newLines": 2, "lines": [" x = 1", "-y = 2", "+y = 3"]}


def test_a_change_is_shown_as_the_difference_it_made() -> None:
    edit = {"file_path": "/p/a.py", "old_string": "y = 2", "new_string": "y = 3"}
    result = {"structuredPatch": [PATCH]}
    seen = transcript(
        e.Started(meta=META),
        started("t1", "Edit", edit, kind="file_change"),
        completed("t1", "updated", kind="file_change", tool_use_result=result),
    )
    assert "⏺ Edit  a.py  +1 −1\n    7   x = 1\n    8 - y = 2\n    8 + y = 3\n" in seen


def test_a_change_that_the_cli_does_not_tell_is_taken_from_the_call() -> None:
    edit = {"file_path": "a.py", "old_string": "y = 2", "new_string": "y = 3"}
    seen = transcript(started("t1", "Edit", edit, kind="file_change"), completed("t1", "done", kind="file_change"))
    assert "    - y = 2\n    + y = 3\n" in seen


def test_a_long_change_is_folded() -> None:
    write = {"file_path": "a.txt", "content": "".join(f"line {number}\n" for number in range(100))}
    seen = transcript(started("t1", "Write", write, kind="file_change"), completed("t1", kind="file_change"))
    assert "line 23" in seen
    assert "line 24" not in seen
    assert "… 76 more lines" in seen


def test_a_patch_that_makes_no_sense_does_no_harm() -> None:
    odd = {"structuredPatch": [{"oldStart": "x"}, 7, {**PATCH, "lines": None}]}
    edit = started("t1", "Edit", {"file_path": "a"}, kind="file_change")
    assert "✓ done" in transcript(edit, completed("t1", "x", kind="file_change", tool_use_result=odd))


def test_a_failed_call() -> None:
    failed = completed("t1", "<tool_use_error>No such file</tool_use_error>", ok=False)
    assert "  ✗ No such file\n" in transcript(started("t1", "Read", {"file_path": "x"}), failed)


def test_a_call_that_was_cut_off_says_why() -> None:
    cut = completed("t1", None, ok=False, reason="the process has ended")
    assert "  ✗ the process has ended\n" in transcript(started("t1", "Bash", {"command": "x"}), cut)


def test_a_denial_by_the_policy_is_shown_whole_and_without_the_words_of_a_crash() -> None:
    why = "Handrail's policy denies this (rule Bash(git push:*), /home/dev/.config/handrail/policy.toml, line 3): no"
    denied = completed("t1", f"PreToolUse:Bash hook error: {why}", ok=False)
    shown = transcript(started("t1", "Bash", {"command": "git push"}), denied)
    assert "hook error" not in shown
    assert why in " ".join(shown.split())


def test_results_out_of_order_say_whose_they_are() -> None:
    calls = [started("t1", "Bash", {"command": "slow"}), started("t2", "Bash", {"command": "fast"})]
    seen = transcript(*calls, completed("t2", "2"), completed("t1", "1"))
    assert "  ✓ 2\n  ✓ Bash slow  1\n" in seen


def test_reads_and_searches_in_a_row_are_one_line() -> None:
    looks = [("Read", {"file_path": f"/p/{name}.py"}) for name in "abc"] + [("Grep", {"pattern": "needle"})]
    items: list[e.Event] = [e.Started(meta=META)]
    for number, (tool, given) in enumerate(looks):
        items += [started(f"t{number}", tool, given), completed(f"t{number}", "…")]
    seen = transcript(*items, text("There."))
    assert "⏺ 3 reads, 1 search  a.py, b.py, c.py, needle\n\nThere.\n" in seen
    assert "⏺ Read  a.py\n  ✓" in transcript(*items, style=VERBOSE)


def test_one_read_alone_is_a_line_of_its_own() -> None:
    assert transcript(started("t1", "Read", {"file_path": "/q/x"}), completed("t1", "1\tx")) == "⏺ Read  /q/x\n"


def test_a_subagent_is_indented_and_named_again_where_that_is_not_plain() -> None:
    seen = transcript(
        started("a1", "Task", {"description": "count"}, kind="subagent"),
        started("t2", "Bash", {"command": "ls"}, parent="a1"),
        completed("t2", "3 files", parent="a1"),
        started("a2", "Task", {"description": "deeper"}, kind="subagent", parent="a1"),
        text("deep", "s:0", parent="a2"),
        text("up again", "s:1", parent="a1"),
        completed("a1", "done", kind="subagent"),
    )
    assert seen == (
        "⏺ Task  count\n│ ⏺ Bash  ls\n│   ✓ 3 files\n│ ⏺ Task  deeper\n│ │ deep\n"
        "⏺ Task  count\n│ up again\n  ✓ Task count  done\n"
    )


def test_a_subagent_in_the_background_comes_back_with_what_it_found() -> None:
    launched = e.Task(id="k", phase="started", title="count", background=True, tool_use_id="a1", status="running")
    ended = e.Task(id="k", phase="completed", title="count", background=True, status="completed", ok=True, summary="3")
    agent = started("a1", "Agent", {"description": "count"}, kind="subagent")
    seen = transcript(agent, launched, completed("a1", "Async agent launched", kind="subagent"), ended)
    assert seen == "⏺ Agent  count\n\n✓ count: 3\n"


def test_work_in_the_background_is_told_once_and_at_its_end() -> None:
    begun = e.Task(id="k", phase="started", title="the build", background=True)
    going = e.Task(id="k", phase="updated", title="the build", background=True)
    ended = e.Task(id="k", phase="completed", title="the build", background=True, ok=False, status="failed")
    assert transcript(begun, going, ended) == "⏺ in the background: the build\n✗ the build: failed\n"


def test_a_subagents_stream_does_not_mix_with_the_main_one() -> None:
    theirs = e.Delta(block="s:0", kind="text", offset=0, text="theirs", parent="a1")
    assert transcript(*pieces("ours", size=2)[:1], theirs, text("ours")) == "ours\n"


def test_long_lines_are_cut_only_outside_of_asks() -> None:
    items = [started("t1", "Bash", {"command": "x" * 200}), completed("t1", "y" * 200)]
    seen = transcript(*items, width=40)
    assert all(len(line) <= 40 for line in seen.splitlines())
    assert seen.count("…") == 2


def test_the_start_is_shown_once() -> None:
    again = e.Started(meta=META)
    assert transcript(again, again).count("Claude Code 2.1.325 · opus · mode plan · /p") == 1


def test_an_answer_that_nothing_said_before_is_shown() -> None:
    assert transcript(e.Completed(ok=True, answer="Total cost: $1")) == "Total cost: $1\n"
    assert transcript(text("So."), e.Completed(ok=True, answer="So.")) == "So.\n"


def test_a_message_is_shown_when_claude_takes_it_up() -> None:
    queued = e.Prompt(uuid="u", state="queued", content="also lint")
    taken = e.Prompt(uuid="u", state="started")
    assert transcript(queued) == ""
    assert transcript(queued, e.Prompt(uuid="u", state="sent"), text("Hm."), taken) == "Hm.\n\n› also lint\n"
    dropped = e.Prompt(uuid="u", state="dropped", reason="cleared")
    assert "not taken up: cleared: also lint" in transcript(queued, dropped)


def test_what_a_person_refused_is_not_said_twice() -> None:
    opened = e.AskOpened(ask_id="r", kind="permission", digest="d", title="Run", ask={"tool_use_id": "t1"})
    closed = e.AskClosed(ask_id="r", outcome="decided", answer={"type": "deny", "message": "no"})
    warned = e.Action(id="denied:t1", kind="warning", title="Denied", phase="completed", detail={"tool_use_id": "t1"})
    call = started("t1", "Bash", {"command": "rm x"})
    assert transcript(call, opened, closed, completed("t1", "no", ok=False), warned) == "⏺ Bash  rm x\n"


def test_markdown_can_be_left_as_it_is() -> None:
    assert transcript(text("**bold** `x`"), style=Style(markdown=False)) == "**bold** `x`\n"


def test_one_empty_line_stands_between_blocks() -> None:
    said = "Before.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1\n\n\ny = 2\n```\n\nAfter."
    assert transcript(text(said)) == "Before.\n\na  b\n────\n1  2\n\n x = 1\n\n\n y = 2\n\nAfter.\n"


def test_why_the_policy_denied_something_is_set_off_to_its_end() -> None:
    why = "Handrail's policy denies this (profile readonly): it is not a read. Nobody was asked."
    told = transcript(started("t1", "Bash", {"command": "rm x"}), completed("t1", why, ok=False), width=50)
    first, *others = told.splitlines()[1:]
    assert first.startswith("  ✗ Handrail's policy denies this")
    assert others
    assert all(line.startswith("    ") for line in others)


# ---------------------------------------------------------------- the end and remarks


def test_the_end_tells_what_it_took() -> None:
    ending = Ending(
        ok=True,
        duration_ms=125_000,
        turns=3,
        cost_usd=0.4213,
        context_tokens=76_000,
        context_window=200_000,
        files=["a.py", "b.py (new)"],
    )
    assert plain(render_ending(ending)) == (
        "✓ done · 2 min 5 s · 3 turns · $0.42 · context 38% of 200k\n  changed: a.py, b.py (new)\n"
    )


def test_many_files_are_not_all_named() -> None:
    assert "and 2 more" in plain(render_ending(Ending(ok=True, files=[f"f{number}" for number in range(10)])))


def test_an_error_says_what_happened() -> None:
    failed = Ending(ok=False, error="Too many turns", turns=1)
    assert plain(render_ending(failed)) == "✗ Too many turns\n  0.0 s · 1 turn · $0.0000\n"
    assert "✗ stopped by you" in plain(render_ending(Ending(ok=False, stopped=True)))
    assert "✗ interrupted" in plain(render_ending(Ending(ok=False, interrupted=True)))
    assert "--use-api-billing" in plain(render_ending(Ending(ok=False, error="Please run /login"))).replace("\n", " ")


def test_a_footer_names_model_and_mode() -> None:
    footer = render_footer("opus", "plan")
    assert footer is not None
    assert plain(footer) == "🏷 opus · plan\n"
    assert render_footer("", "") is None


def test_the_commands_to_go_on_with_are_never_wrapped() -> None:
    console = make_console(io.StringIO(), width=40)
    commands = [f'handrail run --resume {"x" * 60} "…"', f"claude --resume {'y' * 60}"]
    TerminalView(console).end(Ending(ok=True), resume=commands)
    assert f"  go on with: {commands[0]}\n          or: {commands[1]}\n" in printed(console)


def test_messages_that_were_not_taken_up_are_named_at_the_end() -> None:
    console = make_console(io.StringIO(), width=80)
    view = TerminalView(console)
    view.show(e.Prompt(uuid="1", state="queued", content="and the tests"))
    view.end(Ending(ok=False, stopped=True))
    assert "⚠ not taken up: and the tests\n" in printed(console)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (e.ApiRetry(attempt=1, max_retries=10, delay_ms=506, status=529, error="overloaded"), "overloaded 529"),
        (e.Compacting(phase="started"), "compacting the conversation"),
        (e.Compacting(phase="completed", tokens_before=150_000, tokens_after=9_000), "(150k → 9.0k tokens)"),
        (e.Compacting(phase="failed", error="no room"), "✗ the conversation could not be compacted: no room"),
        (e.ModeChanged(mode="acceptEdits"), "mode acceptEdits: accept every edit"),
        (e.ModelChanged(model="haiku", reason="overloaded"), "the model is haiku now (overloaded)"),
        (e.SessionRekeyed(resume="s2", reason="clear"), "goes on as s2 (clear)"),
        (e.SessionRekeyed(resume="s2", reason="fresh context"), "carries out the plan"),
        (e.RateLimit(status="rejected", utilization=1.0), "✗ rate limit: rejected, 100% used"),
        (e.RateLimit(status="allowed_warning", limit_type="five_hour"), "⚠ rate limit (five_hour)"),
        (
            e.Hook(id="h", phase="completed", name="lint", event="Stop", ok=False, detail={"stderr": "bad"}),
            "lint of Stop",
        ),
        (e.ProcessExited(exit_code=9, stderr="out of memory"), "✗ Claude Code exited with code 9"),
        (e.Action(id="n", kind="note", title="Look", phase="completed"), "· Look"),
        (e.Action(id="n", kind="note", title="a", phase="completed", detail={"text": "a\n\n- b"}), " • b"),
        (e.Action(id="w", kind="warning", title="Bad", phase="completed", detail={"hint": "Mend it"}), "⚠ Bad\n  Mend"),
    ],
)
def test_remarks(event: e.Event, expected: str) -> None:
    assert expected in transcript(event)


@pytest.mark.parametrize(
    "event",
    [
        e.RateLimit(status="allowed"),
        e.Hook(id="h", phase="started", name="lint"),
        e.Hook(id="h", phase="completed", name="lint", ok=True),
        e.Usage(context_tokens=5),
        e.ProcessExited(exit_code=0, expected=True),
        e.Titled(title="A title"),
        e.Unknown(frame_type="novelty"),
        e.Action(id="x", kind="telemetry", title="beat", phase="completed"),
    ],
)
def test_what_a_person_need_not_see_is_shown_only_in_verbose(event: e.Event) -> None:
    assert transcript(event) == ""
    assert str(event.__struct_config__.tag) in transcript(event, style=VERBOSE)


# ---------------------------------------------------------------- what goes on now


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_status_line_says_what_goes_on_and_what_it_took() -> None:
    clock = Clock()
    progress = Progress(hints="Ctrl-C interrupts", clock=clock)
    assert plain(progress.line()) == "⏺ starting Claude Code  0 s · Ctrl-C interrupts\n"
    progress.receive(e.Started(meta=META, at=1000.0))
    progress.receive(e.Usage(context_tokens=76_000, context_window=200_000))
    clock.now = 1072.0
    assert plain(progress.line()) == "⏺ waiting for Claude  1:12 · context 38% of 200k · Ctrl-C interrupts\n"
    progress.receive(e.Delta(block="b", kind="thinking", offset=0, text="x"))
    assert "thinking" in plain(progress.line())
    assert "working, 2 calls" in plain(progress.line(2))
    progress.waiting_asks = 2
    assert "waits for 2 answers" in plain(progress.line())
    progress.waiting_asks = 0
    progress.receive(e.Task(id="k", phase="started", title="the build", background=True))
    progress.receive(e.Completed(ok=True, cost_usd=0.5, at=1072.0))
    assert "in the background: the build" in plain(progress.line())
    assert "$0.50" in plain(progress.line())


@pytest.mark.parametrize("width", [1, 8, 20, 40, 80])
def test_the_status_line_is_never_wider_than_the_screen(width: int) -> None:
    progress = Progress(hints="type to steer · Ctrl-C interrupts", clock=Clock())
    progress.receive(e.Usage(context_tokens=76_000, context_window=200_000))
    shown = plain(progress.line(), width=width).splitlines()
    assert len(shown) == 1
    assert len(shown[0]) <= width


# ---------------------------------------------------------------- safety

EVENTS: list[type[e.Event]] = list(get_args(e.AnyEvent))


def hostile(kind: type[e.Event]) -> e.Event:
    values: dict[type, Any] = {str: HOSTILE, dict: {"text": HOSTILE, "hint": HOSTILE, "tool_name": HOSTILE}}
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        wanted = str(field.type)
        if wanted in ("<class 'str'>", "str | None", "typing.Any"):
            given[field.name] = HOSTILE
        elif wanted.startswith("dict"):
            given[field.name] = values[dict]
        elif field.required:
            given[field.name] = get_args(field.type)[0] if get_args(field.type) else field.type()
    return kind(**given)


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_no_field_of_any_event_reaches_the_terminal_raw(kind: type[e.Event]) -> None:
    for style in (None, VERBOSE):
        assert_harmless(transcript(hostile(kind), style=style))


def test_no_part_of_a_conversation_reaches_the_terminal_raw() -> None:
    meta = e.Meta(cwd=HOSTILE, model=HOSTILE, permission_mode=HOSTILE, cli_version=HOSTILE)
    edit = {"file_path": HOSTILE, "old_string": HOSTILE, "new_string": f"x{HOSTILE}"}
    patch = {**PATCH, "lines": [f" {HOSTILE}", f"+{HOSTILE}"]}
    seen = transcript(
        e.Started(meta=meta),
        e.Prompt(uuid="u", state="queued", content=[{"type": "text", "text": HOSTILE}]),
        e.Prompt(uuid="u", state="started"),
        *pieces(f"{HOSTILE}\n\n{HOSTILE}"),
        text(f"[{HOSTILE}](http://x/{HOSTILE})\n\n```{HOSTILE}\n{HOSTILE}\n```"),
        started("t1", f"Bash{HOSTILE}", {"command": HOSTILE, HOSTILE: [HOSTILE]}),
        completed("t1", HOSTILE),
        completed("t2", [{"type": HOSTILE}], ok=False),
        started("t3", "Edit", edit, kind="file_change", parent=HOSTILE),
        completed("t3", kind="file_change", tool_use_result={"structuredPatch": [patch]}, parent=HOSTILE),
        started("t4", "Read", {"file_path": HOSTILE}),
        completed("t4"),
        e.Completed(ok=False, error=HOSTILE, answer=HOSTILE),
        style=VERBOSE,
    )
    assert_harmless(seen)
    assert "<U+202E>" in seen
    assert_harmless(plain(render_ending(Ending(ok=False, error=HOSTILE, files=[HOSTILE]))))


def assert_harmless(seen: str) -> None:
    for character in "\x1b\x07\x9b\r\u202e\u200b":
        assert character not in seen


def recorded(path: Path) -> Iterable[e.Event | e.Delta]:
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return items_of_recording(
        (line["dir"], (raw if isinstance(raw := line["raw"], str) else json.dumps(raw)).encode(), float(number))
        for number, line in enumerate(lines)
    )


@pytest.mark.slow
def test_every_recorded_session_can_be_shown(subtests: pytest.Subtests) -> None:
    for path in TRANSCRIPTS:
        items = list(recorded(path))
        for width in (80, 40):
            with subtests.test(f"{path.parent.name}/{path.stem}", width=width):
                seen = transcript(*items, width=width, style=VERBOSE)
                assert_harmless(seen)
                assert all(len(line) <= width for line in seen.splitlines() if line.isascii())


# ---------------------------------------------------------------- for programs


def json_of(*items: e.Event | e.Delta, deltas: bool = False) -> list[dict[str, Any]]:
    out = io.BytesIO()
    view = JsonView(out, make_console(io.StringIO()), deltas=deltas, on_broken_pipe=pytest.fail)
    for item in items:
        view.show(item)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_json_is_one_event_per_line() -> None:
    written = json_of(e.Started(seq=1), text("Hi.", seq=2), e.Completed(seq=3, ok=True))
    assert [(line["type"], line["seq"]) for line in written] == [("started", 1), ("text", 2), ("completed", 3)]


def test_deltas_are_written_only_where_they_are_wanted() -> None:
    assert json_of(*pieces("Hi.")) == []
    assert [line["type"] for line in json_of(*pieces("Hi."), deltas=True)] == ["delta"]
