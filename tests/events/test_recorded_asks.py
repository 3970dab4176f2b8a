"""Asks of a recording, from its control channel; a live session's come from its ask book."""

from __future__ import annotations

from typing import Any

from handrail.events.model import AskClosed, AskOpened, Event, Prompt
from handrail.events.translate import Translator
from handrail.protocol.frames import Frame

from .support import assistant, events, frame, init, names, of, tool_use, user


def asked(request_id: str = "r1", **request: Any) -> Frame:
    told = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"}, "tool_use_id": "t1"}
    return frame(type="control_request", request_id=request_id, request={**told, **request})


def answer(request_id: str = "r1", **body: Any) -> Frame:
    response = {"subtype": "success", "request_id": request_id, "response": body}
    return frame(type="control_response", response=response)


def recorded(*steps: tuple[str, Frame]) -> list[Event]:
    translator = Translator(asks=True)
    told: list[Event] = []
    for direction, each in steps:
        items = translator.receive(each) if direction == "in" else translator.sent(each)
        told += [item for item in items if isinstance(item, Event)]
    return told


def test_an_ask_and_its_answer() -> None:
    told = recorded(("in", init()), ("in", asked()), ("out", answer(behavior="deny", message="not now")))
    opened, closed = of(AskOpened, told)[0], of(AskClosed, told)[0]
    assert (opened.ask_id, opened.kind, opened.title, opened.run) == ("r1", "permission", "rm x", 1)
    assert opened.digest
    assert opened.ask["input"] == {"command": "rm x"}
    assert opened.ask["tool_name"] == "Bash"
    assert (closed.ask_id, closed.outcome, closed.message) == ("r1", "decided", "not now")
    assert closed.answer == {"behavior": "deny", "message": "not now"}


def test_a_second_answer_says_nothing() -> None:
    told = recorded(("in", asked()), ("out", answer(behavior="allow")), ("out", answer(behavior="deny")))
    assert names(told) == ["ask_opened", "ask_closed"]


def test_an_ask_that_the_cli_withdraws() -> None:
    told = recorded(("in", asked()), ("in", frame(type="control_cancel_request", request_id="r1")))
    assert [event.outcome for event in of(AskClosed, told)] == ["cancelled"]


def test_an_answer_that_is_an_error_or_flat() -> None:
    failed = frame(type="control_response", response={"subtype": "error", "request_id": "r1", "error": "no handler"})
    assert of(AskClosed, recorded(("in", asked()), ("out", failed)))[0].message == "no handler"
    flat = frame(type="control_response", request_id="r1", approved=False, denial_message="no")
    assert of(AskClosed, recorded(("in", asked()), ("out", flat)))[0].answer == {"behavior": "deny", "message": "no"}


def test_a_plan_that_only_the_call_has() -> None:
    call = assistant(tool_use("t1", "ExitPlanMode", plan="# First\ndo it"))
    told = recorded(("in", init()), ("in", call), ("in", asked(tool_name="ExitPlanMode", input={"allowedPrompts": []})))
    (opened,) = of(AskOpened, told)
    assert (opened.kind, opened.ask["plan"]) == ("plan", "# First\ndo it")


def test_questions_elicitations_and_dialogs() -> None:
    question = asked("q", tool_name="AskUserQuestion", input={"questions": [{"question": "Which colour?"}]})
    form = asked("e", subtype="elicitation", message="Your name?", mcp_server_name="s")
    dialog = asked("d", subtype="request_user_dialog", dialog_kind="trust", payload={"x": 1})
    told = of(AskOpened, recorded(("in", question), ("in", form), ("in", dialog)))
    assert [(event.kind, event.title) for event in told] == [
        ("question", "Which colour?"),
        ("elicitation", "Your name?"),
        ("dialog", "trust"),
    ]


def test_asks_that_are_listed_after_a_reconnect_are_told_once() -> None:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "rm x"}, "tool_use_id": "t1"}
    pending = [{"request_id": "r1", "request": request}, {"request_id": "r2", "request": request}, {"odd": 1}]
    listed = frame(
        type="control_response",
        response={"subtype": "success", "request_id": "i", "pending_permission_requests": pending},
    )
    told = recorded(("in", asked()), ("in", listed))
    assert [event.ask_id for event in of(AskOpened, told)] == ["r1", "r2"]


def test_messages_of_a_recording_are_prompts() -> None:
    told = recorded(
        ("out", user("hello")),
        ("in", init()),
        ("in", user("hello", uuid="x", isReplay=True)),
        ("out", user({"type": "text", "text": "more"}, uuid="u2")),
    )
    assert [(event.uuid, event.state, event.content) for event in of(Prompt, told)] == [
        ("sent-1.1", "sent", "hello"),
        ("sent-1.1", "started", None),
        ("u2", "sent", [{"type": "text", "text": "more"}]),
    ]


def test_a_message_under_a_known_uuid_is_told_but_not_run() -> None:
    told = recorded(("out", user("hello", uuid="u1")), ("out", user("again", uuid="u1")))
    assert [(event.uuid, event.state, event.content) for event in of(Prompt, told)] == [
        ("u1", "sent", "hello"),
        ("sent-1.2", "dropped", "again"),
    ]


def test_a_live_session_takes_nothing_from_the_control_channel() -> None:
    translator = Translator()
    assert events(asked(), frame(type="control_cancel_request", request_id="r1"), translator=translator) == []
    assert translator.sent(answer(behavior="allow")) == []
    assert translator.sent(user("hello", uuid="u1")) == []
    assert names(translator.exited(exit_code=1, reason="")) == ["started", "completed", "process_exited"]
