"""Every frame has its place: what each of the others says."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.events.model import Action, ApiRetry, Event, Hook, RateLimit, Titled, Unknown
from handrail.events.notices import NOTICES
from handrail.events.translate import SILENT, Translator
from handrail.protocol import frames
from handrail.protocol.codec import decode_line
from handrail.protocol.frames import Frame

from .support import events, frame, init, of, system


def only(given: Frame) -> Event:
    (event,) = events(given)
    return event


REMARKS: list[tuple[Frame, str, str]] = [
    (frame(type="tool_use_summary", summary="Read 3 files", preceding_tool_use_ids=["a"]), "note", "Read 3 files"),
    (frame(type="streamlined_text", text="hello"), "note", "hello"),
    (frame(type="streamlined_tool_use_summary", tool_summary="ran ls"), "note", "ran ls"),
    (frame(type="prompt_suggestion", suggestion="run the tests"), "note", "Suggested: run the tests"),
    (frame(type="active_goal", value={"condition": "green"}), "note", "Goal: green"),
    (frame(type="active_goal", value=None), "note", "No goal is set any more"),
    (frame(type="attachment", attachment={"type": "file", "path": "x"}), "note", "Attached: file"),
    (system("files_persisted", files=[{"filename": "a"}]), "note", "1 files were kept"),
    (system("files_persisted", failed=[{"filename": "a"}]), "warning", "1 files could not be kept"),
    (system("local_command_output", content="out"), "note", "out"),
    (system("informational", content="for your information", level="info"), "note", "for your information"),
    (system("informational", content="careful", level="warning"), "warning", "careful"),
    (system("notification", key="k", text="look", priority="high"), "note", "look"),
    (system("memory_recall", mode="select", memories=[{"path": "a"}]), "note", "Recalled 1 memories"),
    (system("plugin_install", status="installed", name="p"), "note", "Plugin p installed"),
    (system("plugin_install", status="failed", name="p", error="gone"), "warning", "Plugin p failed: gone"),
    (frame(type="error", error={"type": "overloaded_error", "message": "Overloaded"}), "warning", "Overloaded"),
    (frame(type="error", error="plain"), "warning", "plain"),
    (frame(type="auth_status", isAuthenticating=True, output=["open this"]), "warning", "open this"),
    (frame(type="auth_status", isAuthenticating=False, error="expired"), "warning", "expired"),
    (system("mirror_error", error="x"), "warning", "The session's mirror could not be written"),
    (system("session_writes_lost", error_code="ENOSPC", lost="transcript"), "warning", "The CLI could not write its"),
    (system("worker_shutting_down", reason="update"), "warning", "The CLI is shutting down: update"),
    (system("model_refusal_no_fallback", content="refused", original_model="m"), "warning", "refused"),
    (system("control_request_progress", request_id="r", status="started"), "telemetry", "control request started"),
    (system("commands_changed", commands=["a"]), "telemetry", "commands"),
    (system("elicitation_complete", mcp_server_name="s"), "telemetry", "elicitation complete"),
    (frame(type="progress", data={"type": "bash_progress"}, toolUseID="t"), "telemetry", "progress"),
]


@pytest.mark.parametrize(("given", "kind", "title"), REMARKS, ids=[f"{kind}-{title}" for _, kind, title in REMARKS])
def test_remarks(given: Frame, kind: str, title: str) -> None:
    event = only(given)
    assert isinstance(event, Action)
    assert (event.kind, event.phase) == (kind, "completed")
    assert event.title.startswith(title)
    assert event.ok is (False if kind == "warning" else None)
    assert event.id


def test_remarks_have_ids_of_their_own() -> None:
    told = of(Action, events(*[frame(type="prompt_suggestion", suggestion=word) for word in "abc"]))
    assert len({event.id for event in told}) == 3


def test_warnings_say_what_to_do() -> None:
    for given in (
        frame(type="auth_status", isAuthenticating=False, error="expired"),
        frame(type="error", error={"error": {"type": "rate_limit_error", "message": "slow down"}}),
        system("session_writes_lost", error_code="ENOSPC", lost="transcript"),
    ):
        event = only(given)
        assert isinstance(event, Action)
        assert event.detail["hint"]


def test_a_malformed_line_is_a_warning_and_the_stream_goes_on() -> None:
    translator = Translator()
    told = [
        *translator.receive(init()),
        *translator.receive(decode_line(b'{"type": "assistant", oh no')),
        *translator.receive(decode_line(b"[1, 2]")),
    ]
    _, broken, other = told
    assert isinstance(broken, Action)
    assert isinstance(other, Action)
    assert (broken.kind, broken.run, broken.detail["reason"]) == ("warning", 1, "not_json")
    assert "not JSON" in broken.title
    assert broken.detail["line"] == '{"type": "assistant", oh no'
    assert other.detail["reason"] == "not_an_object"


def test_an_unknown_frame_is_kept_whole() -> None:
    event = only(system("aurora", colour="green"))
    assert isinstance(event, Unknown)
    assert event.frame_type == "system/aurora"
    assert event.frame == {"type": "system", "subtype": "aurora", "colour": "green"}
    event = only(frame(type="aurora", x=1))
    assert isinstance(event, Unknown)
    assert (event.frame_type, event.frame) == ("aurora", {"type": "aurora", "x": 1})


def test_what_is_new_in_a_known_frame_is_kept() -> None:
    event = only(system("informational", content="x", level="info", outcome={"kind": "blocked"}))
    assert isinstance(event, Action)
    assert event.detail["extra"] == {"outcome": {"kind": "blocked"}}


def test_rate_limits() -> None:
    info = {"status": "allowed_warning", "rateLimitType": "five_hour", "utilization": 0.9, "resetsAt": 17, "new": 1}
    event = only(frame(type="rate_limit_event", rate_limit_info=info))
    assert event == RateLimit(
        status="allowed_warning", limit_type="five_hour", utilization=0.9, resets_at=17, detail=info
    )


def test_retries() -> None:
    given = system("api_retry", attempt=2, max_retries=10, retry_delay_ms=500, error="overloaded", error_status=529)
    assert only(given) == ApiRetry(attempt=2, max_retries=10, delay_ms=500, error="overloaded", status=529)


def test_titles() -> None:
    assert only(system("session_title_changed", title="Fix the stairs")) == Titled(title="Fix the stairs", by="claude")


def test_hooks() -> None:
    told = of(
        Hook,
        events(
            system("hook_started", hook_id="h", hook_name="guard", hook_event="PreToolUse"),
            system("hook_progress", hook_id="h", hook_name="guard", hook_event="PreToolUse", stdout="so far"),
            system(
                "hook_response", hook_id="h", hook_name="guard", hook_event="PreToolUse", outcome="success", output="x"
            ),
            system("hook_response", hook_id="i", hook_name="guard", hook_event="Stop", exit_code=2, stderr="no"),
        ),
    )
    assert [(hook.id, hook.phase, hook.ok) for hook in told] == [
        ("h", "started", None),
        ("h", "updated", None),
        ("h", "completed", True),
        ("i", "completed", False),
    ]
    assert told[2].detail == {"output": "x", "outcome": "success"}
    assert told[3].detail == {"stderr": "no", "exit_code": 2}


def test_hooks_of_a_call_that_was_put_off() -> None:
    told = events(
        frame(type="progress", data={"type": "hook_progress", "hookEvent": "PreToolUse"}, toolUseID="t"),
        frame(type="attachment", attachment={"type": "hook_success", "hookEvent": "PreToolUse", "toolUseID": "t"}),
    )
    assert [(hook.id, hook.phase, hook.ok) for hook in of(Hook, told)] == [
        ("PreToolUse:t", "started", None),
        ("PreToolUse:t", "completed", True),
    ]


BOOKKEEPING: list[dict[str, Any]] = [
    {"type": "keep_alive"},
    {"type": "transcript_mirror", "filePath": "x", "entries": []},
    {"type": "system", "subtype": "thinking_tokens", "estimated_tokens": 3},
    {"type": "system", "subtype": "session_state_changed", "state": "idle"},
    {"type": "system", "subtype": "status", "status": "requesting"},
    {"type": "command_lifecycle", "command_uuid": "u", "state": "completed"},
    {"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "Bash"}},
    {"type": "control_request", "request_id": "r", "request": {"subtype": "hook_callback"}},
    {"type": "control_response", "response": {"subtype": "success", "request_id": "r"}},
    {"type": "control_cancel_request", "request_id": "r"},
]


@pytest.mark.parametrize("given", BOOKKEEPING, ids=lambda given: given.get("subtype", given["type"]))
def test_bookkeeping_is_no_event(given: dict[str, Any]) -> None:
    assert events(frame(**given)) == []


def test_every_modelled_frame_has_a_place() -> None:
    """A frame that is added to the protocol needs a rule here, or says that it has none."""
    modelled = {
        kind
        for kind in (getattr(frames, name) for name in frames.__all__)
        if isinstance(kind, type) and issubclass(kind, Frame) and kind not in (Frame, frames.System)
    }
    ours_alone = {frames.UpdateEnvironmentVariables}  # only ever sent to the CLI
    unmodelled = {frames.UnknownFrame}
    translated = set(Translator()._handlers)
    assert modelled - translated == ours_alone | unmodelled
    assert set(NOTICES) | set(SILENT) <= translated
