"""The transcript: what each kind of frame looks like, and that nothing in a frame can steer the terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from handrail.cli.facts import Facts
from handrail.cli.render import render_notice, render_result
from handrail.cli.style import make_console
from handrail.cli.view import JsonView, TerminalView
from handrail.protocol import frames as f
from handrail.protocol.codec import Codec
from handrail.protocol.frames import Frame, Malformed, Result

from .support import plain, printed

TRANSCRIPTS = sorted(Path(__file__).parents[1].joinpath("fixtures", "transcripts").glob("*/*.jsonl"))
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\u200b\r\x9b"


def frames_of(*lines: dict[str, Any]) -> list[Frame]:
    return Codec().feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def transcript(frames: Iterable[Frame], *, width: int = 80, verbose: bool = False) -> str:
    """What a person sees of these frames."""
    console = make_console(io.StringIO(), width=width)
    facts = Facts()
    view = TerminalView(console, facts, verbose=verbose)
    for frame in frames:
        facts.receive(frame)
        view.show(frame)
        if isinstance(frame, Result):
            view.end(frame, resume="", stopped=False)
    view.stop()
    return printed(console)


def assistant(*blocks: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": list(blocks)}, "parent_tool_use_id": parent}


def call(name: str, given: dict[str, Any], id: str = "t1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def outcome(content: Any, id: str = "t1", *, failed: bool = False, parent: str | None = None) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}
    return {"type": "user", "message": {"content": [block]}, "parent_tool_use_id": parent}


def delta(text: str, kind: str = "text") -> dict[str, Any]:
    piece = {"type": f"{kind}_delta", kind: text}
    return {"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": piece}}


INIT = {
    "type": "system",
    "subtype": "init",
    "cwd": "/p",
    "model": "opus",
    "permissionMode": "plan",
    "claude_code_version": "2.1.325",
}


# ---------------------------------------------------------------- conversation


def test_text_is_shown_once_whether_streamed_or_not() -> None:
    said = assistant({"type": "text", "text": "One.\n\nTwo."})
    streamed = [delta("One.\n"), delta("\nTw"), delta("o."), said]
    assert transcript(frames_of(*streamed)) == transcript(frames_of(said)) == "One.\n\nTwo.\n"


def test_text_cut_off_by_an_interrupt_is_kept() -> None:
    result = {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": ["stopped"]}
    seen = transcript(frames_of(delta("Half a sen"), result))
    assert "Half a sen" in seen
    assert "✗ stopped" in seen


def test_thinking_comes_before_the_text() -> None:
    blocks = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]
    streamed = [delta("Hm.", "thinking"), assistant(blocks[0]), delta("Yes."), assistant(blocks[1])]
    assert transcript(frames_of(*streamed)) == "Hm.\n\nYes.\n"


def test_a_tool_call_is_a_line_and_its_output_the_next() -> None:
    seen = transcript(frames_of(INIT, assistant(call("Bash", {"command": "ls -la"})), outcome("a\nb\nc\nd\ne\nf")))
    assert "⏺ Bash  ls -la\n  ✓ a\n    b\n    c\n    d\n    … 2 more lines\n" in seen


def test_verbose_shows_all_of_the_output() -> None:
    seen = transcript(
        frames_of(assistant(call("Bash", {"command": "x"})), outcome("\n".join("abcdefgh"))), verbose=True
    )
    assert "    h\n" in seen
    assert "more line" not in seen


@pytest.mark.parametrize(
    ("name", "given", "content", "expected"),
    [
        ("Read", {"file_path": "/p/src/a.py"}, "1\tx\n2\ty", "⏺ Read  src/a.py\n  ✓ 2 lines"),
        (
            "Edit",
            {"file_path": "/p/a", "old_string": "x", "new_string": "y\nz"},
            "updated",
            "⏺ Edit  a  +2 −1\n  ✓ done",
        ),
        ("Write", {"file_path": "/q/a", "content": "x\ny\n"}, "written", "⏺ Write  /q/a  2 lines\n  ✓ done"),
        ("Bash", {"command": "one\ntwo"}, "", "⏺ Bash  one ⏎ two\n  ✓ no output"),
        ("mcp__gh__list", {"a": 1, "b": "c"}, [{"type": "image"}], "⏺ gh · list  a: 1, b: c\n  ✓ [image]"),
        ("Grep", {"pattern": "needle"}, [{"type": "text", "text": "found"}], "⏺ Grep  needle\n  ✓ found"),
    ],
)
def test_tools_say_what_matters(name: str, given: dict[str, Any], content: Any, expected: str) -> None:
    assert expected in transcript(frames_of(INIT, assistant(call(name, given)), outcome(content)))


def test_a_failed_call() -> None:
    failed = outcome("<tool_use_error>No such file</tool_use_error>", failed=True)
    assert "  ✗ No such file\n" in transcript(frames_of(assistant(call("Read", {"file_path": "x"})), failed))


def test_a_denial_by_the_policy_is_shown_whole_and_without_the_words_of_a_crash() -> None:
    why = "Handrail's policy denies this (rule Bash(git push:*), /home/dev/.config/handrail/policy.toml, line 3): no"
    denied = outcome(f"PreToolUse:Bash hook error: {why}", failed=True)
    shown = transcript(frames_of(assistant(call("Bash", {"command": "git push"})), denied))
    assert "hook error" not in shown
    assert why in " ".join(shown.split())


def test_results_out_of_order_say_whose_they_are() -> None:
    calls = assistant(call("Bash", {"command": "slow"}, "t1"), call("Bash", {"command": "fast"}, "t2"))
    seen = transcript(frames_of(calls, outcome("2", "t2"), outcome("1", "t1")))
    assert "  ✓ 2\n  ✓ Bash slow  1\n" in seen


def test_a_subagent_is_indented() -> None:
    seen = transcript(
        frames_of(
            assistant(call("Task", {"description": "count"}, "t1")),
            assistant(call("Bash", {"command": "ls"}, "t2"), parent="t1"),
            outcome("3 files", "t2", parent="t1"),
            assistant(call("Task", {"description": "deeper"}, "t3"), parent="t1"),
            assistant({"type": "text", "text": "deep"}, parent="t3"),
            outcome("done", "t1"),
        )
    )
    assert "⏺ Task  count\n│ ⏺ Bash  ls\n│   ✓ 3 files\n│ ⏺ Task  deeper\n│ │ deep\n  ✓ Task count  done\n" in seen


def test_a_subagents_stream_does_not_mix_with_the_main_one() -> None:
    theirs = {**delta("theirs"), "parent_tool_use_id": "t1"}
    ours = assistant({"type": "text", "text": "ours"})
    assert transcript(frames_of(delta("ou"), theirs, delta("rs"), ours)) == "ours\n"


def test_long_lines_are_cut_only_outside_of_asks() -> None:
    seen = transcript(frames_of(assistant(call("Bash", {"command": "x" * 200})), outcome("y" * 200)), width=40)
    assert all(len(line) <= 40 for line in seen.splitlines())
    assert seen.count("…") == 2


def test_the_start_is_shown_once() -> None:
    assert transcript(frames_of(INIT, INIT)).count("Claude Code 2.1.325 · opus · mode plan · /p") == 1


def test_a_result_that_nothing_said_before_is_shown() -> None:
    result = {"type": "result", "subtype": "success", "result": "Total cost: $1", "num_turns": 1}
    assert "Total cost: $1" in transcript(frames_of(result))


# ---------------------------------------------------------------- the end and notices


def test_a_result_tells_cost_and_duration() -> None:
    result = Result(subtype="success", num_turns=3, duration_ms=125_000, total_cost_usd=0.4213)
    assert plain(render_result(result)) == "✓ done · 2 min 5 s · 3 turns · $0.42\n"


def test_the_command_to_go_on_with_is_never_wrapped() -> None:
    console = make_console(io.StringIO(), width=40)
    command = f'handrail run --cwd /{"x" * 60} --resume abc "…"'
    TerminalView(console, Facts()).end(Result(subtype="success"), resume=command, stopped=False)
    assert f"  go on with: {command}\n" in printed(console)


def test_an_error_result_says_what_happened() -> None:
    result = Result(subtype="error_max_turns", is_error=True, errors=("Too many turns",), num_turns=1)
    assert plain(render_result(result)) == "✗ Too many turns\n  0.0 s · 1 turn · $0.0000\n"
    assert "✗ stopped by you" in plain(render_result(result, stopped=True))


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (
            f.ApiRetry(attempt=1, max_retries=10, retry_delay_ms=506, error_status=529, error="overloaded"),
            "retry 1 of 10",
        ),
        (f.Status(status="compacting"), "compacting the conversation"),
        (f.Status(permission_mode="acceptEdits"), "mode acceptEdits: accept every edit"),
        (f.CompactBoundary(compact_metadata={"pre_tokens": 1234}), "it had 1234 tokens"),
        (f.PermissionDenied(tool_name="Bash", decision_reason="by rule"), "denied Bash by itself: by rule"),
        (f.TaskStarted(description="build", is_backgrounded=True), "in the background: build"),
        (f.TaskNotification(status="completed", summary="built"), "✓ task completed: built"),
        (f.TaskNotification(status="failed", summary="broken"), "✗ task failed: broken"),
        (f.Informational(content="Careful", level="warning"), "⚠ Careful"),
        (f.Notification(text="Look"), "· Look"),
        (f.ConversationReset(new_conversation_id="s2"), "its session is s2"),
        (f.AuthStatus(error="expired"), "not logged in: expired"),
        (f.ApiError(error={"message": "no"}), "the API failed"),
        (f.RateLimitEvent(rate_limit_info=f.RateLimitInfo(status="rejected", utilization=1.0)), "rejected, 100% used"),
        (f.ModelRefusalFallback(original_model="a", fallback_model="b"), "a refused; b goes on"),
    ],
)
def test_notices(frame: Frame, expected: str) -> None:
    rendered = render_notice(frame)
    assert rendered is not None
    assert expected in plain(rendered)


@pytest.mark.parametrize(
    "frame",
    [
        f.Status(status="requesting"),
        f.RateLimitEvent(rate_limit_info=f.RateLimitInfo(status="allowed")),
        f.TaskStarted(description="inline"),
        f.KeepAlive(),
        f.UnknownFrame(unknown_type="novelty"),
    ],
)
def test_what_a_person_need_not_see_is_shown_only_in_verbose(frame: Frame) -> None:
    assert transcript([frame]) == ""
    assert frame.type in transcript([frame], verbose=True)


# ---------------------------------------------------------------- safety


def all_frame_types() -> list[type[Frame]]:
    return [*get_args(f.SystemFrame), *(cls for cls in get_args(f.WireFrame) if cls is not f.SystemEnvelope)]


@pytest.mark.parametrize("frame_type", all_frame_types(), ids=lambda cls: cls.__name__)
def test_no_field_of_any_frame_reaches_the_terminal_raw(frame_type: type[Frame]) -> None:
    hostile = {
        field.name: HOSTILE
        for field in msgspec.structs.fields(frame_type)
        if field.type in (str, str | None, Any) and field.name != "line_source"
    }
    for verbose in (False, True):
        assert_harmless(transcript([frame_type(**hostile)], verbose=verbose))


def test_no_part_of_a_conversation_reaches_the_terminal_raw() -> None:
    seen = transcript(
        frames_of(
            {**INIT, "cwd": HOSTILE, "model": HOSTILE},
            delta(HOSTILE, "thinking"),
            delta(HOSTILE + "\n\n" + HOSTILE),
            assistant({"type": "text", "text": f"[{HOSTILE}](http://x/{HOSTILE})\n\n```{HOSTILE}\n{HOSTILE}\n```"}),
            assistant(call(f"Bash{HOSTILE}", {"command": HOSTILE, HOSTILE: [HOSTILE]})),
            outcome(HOSTILE),
            outcome([{"type": HOSTILE}], failed=True),
            assistant(call("Edit", {"file_path": HOSTILE, "old_string": HOSTILE, "new_string": "x"}), parent=HOSTILE),
            {"type": "result", "subtype": HOSTILE, "is_error": True, "errors": [HOSTILE], "session_id": HOSTILE},
        ),
        verbose=True,
    )
    assert_harmless(seen)
    assert "<U+202E>" in seen


def assert_harmless(text: str) -> None:
    for character in "\x1b\x07\x9b\r\u202e\u200b":
        assert character not in text


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recorded_session_can_be_shown(path: Path) -> None:
    codec = Codec()
    frames: list[Frame] = []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if record["dir"] == "in":
            raw = record["raw"] if isinstance(record["raw"], str) else json.dumps(record["raw"])
            frames += codec.feed(raw.encode() + b"\n")
    for width in (80, 40):
        seen = transcript(frames, width=width, verbose=True)
        assert_harmless(seen)
        assert all(len(line) <= width for line in seen.splitlines() if line.isascii())


# ---------------------------------------------------------------- for programs


def test_json_writes_the_lines_as_they_came_and_bad_ones_as_json() -> None:
    out = io.BytesIO()
    view = JsonView(out, make_console(io.StringIO()), on_broken_pipe=pytest.fail)
    lines = [b'{"type":"novelty","x":1}', b"not json", b'{"type":"keep_alive"}']
    for frame in Codec().feed(b"\n".join([*lines, b""])):
        view.show(frame)
    written = out.getvalue().splitlines()
    assert (written[0], written[2]) == (lines[0], lines[2])
    bad = json.loads(written[1])
    assert (bad["type"], bad["line"]) == ("malformed", "not json")
    assert Malformed().type == bad["type"]
