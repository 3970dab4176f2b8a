"""What becomes of the session itself: its id, mode, model, compaction; and what happens if it is another one."""

from __future__ import annotations

from handrail.events.model import (
    Action,
    Compacting,
    Completed,
    ModeChanged,
    ModelChanged,
    SessionRekeyed,
    Started,
)
from handrail.events.translate import Translator

from .support import assistant, check_bracketed, events, frame, init, names, of, result, system, text


def test_a_resumed_session_keeps_its_id() -> None:
    translator = Translator(resume="s1")
    assert translator.session_id == "s1"
    assert names(events(init("s1"), result(), translator=translator)) == ["started", "completed"]
    assert translator.fatal is None


def test_another_session_than_was_asked_for_is_fatal() -> None:
    translator = Translator(resume="s0")
    told = events(init("s1"), assistant(text("hi")), result(), translator=translator)
    assert names(told) == ["started", "action", "completed", "text", "unknown"]
    assert check_bracketed(told) == 1
    warning, completed = of(Action, told)[0], of(Completed, told)[0]
    assert (warning.kind, warning.detail["fatal"], warning.detail["session_id"]) == ("warning", True, "s1")
    assert (completed.ok, completed.error, completed.resume) == (False, translator.fatal, "s0")
    assert translator.fatal is not None
    assert "s0" in translator.fatal
    assert "s1" in translator.fatal
    assert translator.session_id == "s0"
    assert names(translator.exited(exit_code=143, reason="stopped")) == ["process_exited"]


def test_only_the_first_init_is_compared() -> None:
    translator = Translator(resume="s0")
    told = events(init("s0"), result(), init("s1"), result(), translator=translator)
    assert translator.fatal is None
    assert [(event.previous, event.resume) for event in of(SessionRekeyed, told)] == [("s0", "s1")]


def test_a_fork_has_an_id_of_its_own() -> None:
    translator = Translator(resume="s0", fork=True)
    assert translator.session_id is None
    told = events(init("s1"), translator=translator)
    assert names(told) == ["session_rekeyed", "started"]
    assert of(SessionRekeyed, told)[0] == SessionRekeyed(resume="s1", previous="s0", reason="fork")
    assert of(Started, told)[0].resume == "s1"
    assert translator.session_id == "s1"


def test_a_cleared_conversation_goes_on_under_another_id() -> None:
    told = events(
        init("s1"),
        result(),
        frame(type="conversation_reset", new_conversation_id="c2", trigger="clear"),
        init("s2"),
        result(session_id="s2"),
    )
    assert names(told[2:]) == ["action", "session_rekeyed", "started", "completed"]
    assert of(SessionRekeyed, told)[0] == SessionRekeyed(resume="s2", previous="s1", reason="clear")
    assert of(Completed, told)[1].resume == "s2"


def test_modes() -> None:
    translator = Translator(mode="plan")
    told = events(
        init(permissionMode="default"),
        system("status", status=None, permissionMode="acceptEdits"),
        system("status", status="requesting", permissionMode="acceptEdits"),
        translator=translator,
    )
    assert [(event.mode, event.previous) for event in of(ModeChanged, told)] == [
        ("default", "plan"),
        ("acceptEdits", "default"),
    ]


def test_models() -> None:
    told = events(init(model="opus-9"), result(), init(model="haiku-9"), result())
    assert of(ModelChanged, told) == [ModelChanged(model="haiku-9", previous="opus-9", run=2)]
    short = Translator(model="opus")
    assert of(ModelChanged, events(init(model="claude-opus-9"), translator=short)) == [], "asked for by a shorter name"


def test_a_refusal_changes_the_model_and_back() -> None:
    refused = {"original_model": "opus-9", "fallback_model": "haiku-9", "content": "refused"}
    told = events(
        init(),
        system("model_refusal_fallback", direction="retry", **refused),
        system("model_refusal_fallback", direction="revert", **refused),
    )
    assert [(event.model, event.reason) for event in of(ModelChanged, told)] == [
        ("haiku-9", "refusal"),
        ("opus-9", "refusal"),
    ]
    assert [event.kind for event in of(Action, told)] == ["warning", "warning"]
    assert of(Action, told)[0].detail["refusal"]["direction"] == "retry"


def test_compaction() -> None:
    told = events(
        system("status", status="compacting"),
        system("status", status=None, compact_result="success"),
        init(),
        system("compact_boundary", compact_metadata={"trigger": "auto", "pre_tokens": 100, "post_tokens": 7}),
        result(),
    )
    first, second = of(Compacting, told)
    assert (first.phase, second.phase, second.trigger) == ("started", "completed", "auto")
    assert (second.tokens_before, second.tokens_after) == (100, 7)


def test_compaction_that_failed_or_said_nothing_of_what_it_did() -> None:
    failed = system("status", status=None, compact_result="failed", compact_error="too short")
    assert of(Compacting, events(system("status", status="compacting"), failed))[1] == Compacting(
        phase="failed", error="too short"
    )
    silent = system("status", status=None, compact_result="success")
    assert [event.phase for event in of(Compacting, events(init(), silent, result()))] == ["completed"]


def test_a_run_that_began_before_the_session_was_described() -> None:
    told = events(assistant(text("hi"), session_id="s1"), init("s1"), result())
    assert names(told) == ["started", "text", "action", "mode_changed", "model_changed", "completed"]
    assert (of(Started, told)[0].resume, of(Started, told)[0].meta) == ("s1", None)
    (described,) = of(Action, told)
    assert (described.kind, described.title) == ("telemetry", "init")
    assert described.detail["meta"]["cwd"] == "/home/dev/project"
