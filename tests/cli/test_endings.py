"""When a session has nothing more to show: after the answer, and what came of it."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.cli.endings import Answered, Forever, Idle, Until
from handrail.events import model as e

RUN = [e.Prompt(uuid="u", state="queued", content="hi"), e.Prompt(uuid="u", state="started"), e.Started()]
END = [e.Completed(ok=True), e.Prompt(uuid="u", state="answered")]
TASK: dict[str, Any] = {"id": "k", "title": "build", "background": True}


def ends_at(until: Until, events: list[e.Event]) -> int | None:
    """The position of the event at which it is over."""
    return next((number for number, event in enumerate(events) if until.over(event)), None)


def test_it_ends_with_the_answer() -> None:
    assert ends_at(Answered("u"), [*RUN, *END]) == 4
    assert ends_at(Forever(), [*RUN, *END]) is None


def test_the_answer_to_another_message_does_not_end_it() -> None:
    other = e.Prompt(uuid="other", state="answered")
    assert ends_at(Answered("u"), [*RUN, e.Completed(ok=True), other]) is None


@pytest.mark.parametrize("state", ["dropped", "lost"])
def test_a_message_that_will_not_be_answered_ends_it(state: Any) -> None:
    assert ends_at(Answered("u"), [e.Prompt(uuid="u", state="queued"), e.Prompt(uuid="u", state=state)]) == 1


def test_further_messages_are_waited_for() -> None:
    more = e.Prompt(uuid="v", state="queued", content="and lint")
    events = [*RUN, more, *END, e.Started(), e.Completed(ok=True), e.Prompt(uuid="v", state="answered")]
    assert ends_at(Answered("u"), events) == len(events) - 1


def test_work_in_the_background_and_the_run_that_takes_notice_of_it_are_waited_for() -> None:
    begun = e.Task(phase="started", **TASK)
    ended = e.Task(phase="completed", status="completed", **TASK)
    events = [*RUN, begun, *END, ended, e.Started(cause="background"), e.Completed(ok=True)]
    assert ends_at(Answered("u"), events) == len(events) - 1


def test_an_ask_that_is_still_open_is_waited_for() -> None:
    opened = e.AskOpened(ask_id="r", kind="permission", digest="d", title="Run")
    events = [*RUN, opened, *END, e.AskClosed(ask_id="r", outcome="cancelled")]
    assert ends_at(Answered("u"), events) == len(events) - 1


def test_a_task_that_ends_during_a_run_or_is_stopped_owes_no_further_run() -> None:
    begun, ended = e.Task(phase="started", **TASK), e.Task(phase="completed", status="completed", **TASK)
    assert ends_at(Answered("u"), [*RUN, begun, ended, *END]) == 6
    stopped = e.Task(phase="completed", status="stopped", **TASK)
    assert ends_at(Answered("u"), [*RUN, begun, *END, stopped]) == 6


def test_a_plan_in_a_fresh_context_is_followed_into_it() -> None:
    closed = e.AskClosed(ask_id="r", outcome="decided", answer={"type": "approve_in_fresh_context"})
    moved = [e.ProcessExited(expected=True), e.SessionRekeyed(resume="s2", reason="fresh context")]
    then = [e.Prompt(uuid="v", state="queued", content="Implement"), e.Started(), e.Completed(ok=True)]
    events = [*RUN, closed, *END, *moved, *then, e.Prompt(uuid="v", state="answered")]
    assert ends_at(Answered("u"), events) == len(events) - 1


def test_the_end_of_the_process_ends_it() -> None:
    assert ends_at(Answered("u"), [*RUN, e.ProcessExited(exit_code=9)]) == 3
    assert ends_at(Idle(), [*RUN, e.ProcessExited(exit_code=9)]) == 3


def test_idle_is_when_nothing_goes_on() -> None:
    assert ends_at(Idle(), [*RUN, *END]) == 4
