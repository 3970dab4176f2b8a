"""Which result ends which turn, on CLIs that say so and on those that do not."""

from __future__ import annotations

from typing import Any

from handrail.protocol.frames import CommandLifecycle, Frame, Init, Origin, Result, SessionStateChanged, User
from handrail.protocol.turns import TurnTracker

BACKGROUND = Origin(kind="task-notification")


def ends(tracker: TurnTracker, *frames: Frame) -> list[tuple[str, str | None]]:
    return [(end.uuid, end.result.result if end.result else None) for frame in frames for end in tracker.receive(frame)]


def tracker_with(*uuids: str) -> TurnTracker:
    tracker = TurnTracker()
    for uuid in uuids:
        tracker.sent(uuid)
    return tracker


def lifecycle(uuid: str, state: str) -> CommandLifecycle:
    return CommandLifecycle(command_uuid=uuid, state=state)


def result(text: str, **fields: Any) -> Result:
    return Result(subtype="success", result=text, **fields)


IDLE = SessionStateChanged(state="idle")


def test_a_result_ends_the_messages_it_names() -> None:
    tracker = tracker_with("a", "b", "c")
    assert ends(tracker, result("one", user_message_uuid="a")) == [("a", "one")]
    assert ends(tracker, result("two", user_message_uuid="c", user_message_uuids=("b", "c"))) == [
        ("b", "two"),
        ("c", "two"),
    ]
    assert tracker.open == ()


def test_an_unnamed_result_ends_the_turn_that_was_started() -> None:
    tracker = tracker_with("a", "b")
    assert ends(tracker, lifecycle("a", "queued"), lifecycle("a", "started"), lifecycle("b", "queued")) == []
    assert ends(tracker, result("interrupted")) == [("a", "interrupted")]
    assert tracker.open == ("b",)


def test_a_message_completed_without_being_named_ends_with_the_last_result() -> None:
    tracker = tracker_with("a", "b")
    ends(tracker, lifecycle("a", "started"), lifecycle("b", "queued"))
    assert ends(tracker, result("both", user_message_uuid="a")) == [("a", "both")]
    assert ends(tracker, result("more")) == []
    assert ends(tracker, lifecycle("b", "completed")) == [("b", "more")]


def test_a_dropped_message_ends_without_a_result() -> None:
    tracker = tracker_with("a", "b")
    ends(tracker, lifecycle("a", "started"))
    assert ends(tracker, lifecycle("b", "cancelled")) == [("b", None)]
    assert ends(tracker, lifecycle("a", "cancelled"), result("stopped")) == [("a", "stopped")]


def test_older_clis_one_result_for_each_message() -> None:
    tracker = tracker_with("a", "b")
    assert ends(tracker, Init(), result("one"), Init(), result("two")) == [("a", "one"), ("b", "two")]


def test_older_clis_merge_what_was_queued() -> None:
    tracker = tracker_with("a", "b", "c")
    assert ends(tracker, result("one"), Init(), result("two"), IDLE) == [
        ("a", "one"),
        ("b", "two"),
        ("c", "two"),
    ]


def test_a_message_taken_into_the_running_turn_ends_with_it() -> None:
    tracker = tracker_with("a", "b")
    assert ends(tracker, result("one"), IDLE) == [("a", "one"), ("b", "one")]


def test_the_oldest_clis_leave_a_doubt_that_the_next_turn_removes() -> None:
    tracker = tracker_with("a", "b", "c")
    assert ends(tracker, Init(), result("one")) == [("a", "one")]
    assert tracker.doubtful
    assert ends(tracker, Init()) == []
    assert not tracker.doubtful
    assert ends(tracker, result("two")) == [("b", "two")]
    assert tracker.doubtful
    assert [(end.uuid, end.result and end.result.result) for end in tracker.assume_idle()] == [("c", "two")]
    assert not tracker.doubtful


def test_there_is_no_doubt_where_the_cli_says_what_it_does() -> None:
    tracker = tracker_with("a", "b")
    ends(tracker, SessionStateChanged(state="running"), result("one"))
    assert not tracker.doubtful
    tracker = tracker_with("a", "b")
    ends(tracker, lifecycle("a", "started"), result("one"))
    assert not tracker.doubtful
    tracker = tracker_with("a")
    ends(tracker, result("one"))
    assert not tracker.doubtful


def test_an_idle_notice_from_before_the_message_ends_nothing() -> None:
    assert ends(tracker_with("a"), IDLE, SessionStateChanged(state="running")) == []


def test_a_background_result_ends_no_turn_of_ours() -> None:
    tracker = tracker_with("a")
    assert ends(tracker, result("background", origin=BACKGROUND)) == []
    assert ends(tracker, result("mine")) == [("a", "mine")]


def test_a_result_for_nobody_is_harmless() -> None:
    assert ends(TurnTracker(), result("x"), result("y", user_message_uuid="z"), lifecycle("z", "completed")) == []


def test_echoes_of_our_messages_end_nothing() -> None:
    assert ends(tracker_with("a"), User(uuid="a", is_replay=True)) == []


def test_a_turn_whose_result_could_not_be_read_ends_when_the_cli_is_idle() -> None:
    tracker = tracker_with("a", "b")
    assert ends(tracker, lifecycle("a", "started"), lifecycle("a", "completed"), IDLE) == [("a", None)]
    assert tracker.open == ("b",)


def test_a_message_is_queued_until_it_is_started() -> None:
    tracker = tracker_with("a")
    assert not tracker.is_queued("a")  # the CLI has not said anything yet
    ends(tracker, lifecycle("a", "queued"))
    assert tracker.is_queued("a")
    ends(tracker, lifecycle("a", "started"))
    assert not tracker.is_queued("a")
