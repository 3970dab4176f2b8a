"""Stalls: told once, in time, and never where silence is to be expected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
    ProcessExited,
    Prompt,
    RateLimit,
    Started,
    Task,
    Text,
    Titled,
)
from handrail.sessions.guards.activity import (
    ActivityWatch,
    Idle,
    Quiet,
    Stalled,
    StallLimits,
    StallWatch,
    SuspendDetector,
)

MINUTE = 60.0
HOUR = 3600.0
LIMITS = StallLimits(silence=10 * MINUTE, tool=HOUR, idle=30 * MINUTE)

ASK = AskOpened(ask_id="r1", kind="permission", digest="d", title="Bash")
ANSWERED = AskClosed(ask_id="r1", outcome="decided")
BASH = Action(id="t1", kind="command", title="make all", phase="started")
BASH_RUNS = Action(id="t1", kind="command", title="make all", phase="updated")
BASH_DONE = Action(id="t1", kind="command", title="make all", phase="completed", ok=True)
DEV_SERVER = Task(id="b1", phase="started", title="the dev server", background=True)
DELTA = Delta(block="b", kind="text", offset=0, text="x")


class Machine:
    """Two clocks and timers, all in the hands of the test."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.wall_ahead = 1_000_000.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def wall(self) -> float:
        return self.now + self.wall_ahead

    def call_later(self, delay: float, action: Callable[[], None]) -> Any:
        entry = (self.now + delay, action)
        self.timers.append(entry)
        machine = self

        class Handle:
            def cancel(self) -> None:
                machine.timers.remove(entry)

        return Handle()

    def pass_time(self, seconds: float) -> None:
        """Time goes by, and timers ring when they should."""
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer[0] <= end]:
            first = min(due, key=lambda timer: timer[0])
            self.timers.remove(first)
            self.now = max(self.now, first[0])
            first[1]()
        self.now = end

    def jump(self, seconds: float) -> None:
        """The process does not run for a while; its clock does."""
        self.now += seconds
        self.pass_time(0)

    def suspend(self, seconds: float) -> None:
        """The machine sleeps: only the clock on the wall goes on."""
        self.wall_ahead += seconds


class Session:
    """A watched session on such a machine."""

    def __init__(self, limits: StallLimits = LIMITS, on_stall: Callable[[Stalled], None] | None = None) -> None:
        self.machine = Machine()
        self.stalls: list[Stalled] = []
        self.idles: list[Idle] = []
        self.watch = StallWatch(
            ActivityWatch(limits),
            on_stall=on_stall or self.stalls.append,
            on_idle=self.idles.append,
            clock=lambda: self.machine.now,
            wall=self.machine.wall,
            call_later=self.machine.call_later,
        )

    def see(self, *events: Event | Delta) -> None:
        for event in events:
            self.watch.see(event)

    def after(self, seconds: float) -> list[Stalled]:
        self.machine.pass_time(seconds)
        return self.stalls


@pytest.fixture
def session() -> Session:
    return Session()


# ---------------------------------------------------------------- stalls


def test_a_model_that_says_nothing_has_stalled_once(session: Session) -> None:
    session.see(Started())
    assert session.after(9 * MINUTE) == []
    (stall,) = session.after(2 * MINUTE)
    assert stall == Stalled(600.0, "the model was at work")
    assert stall.words == "nothing was heard for 10 minutes, while the model was at work"
    assert len(session.after(10 * HOUR)) == 1
    session.see(DELTA)
    assert len(session.after(10 * HOUR)) == 2


def test_the_warning_of_a_stall_is_no_sign_of_life(session: Session) -> None:
    session.see(Started())
    (stall,) = session.after(HOUR)
    warning = stall.warning()
    assert (warning.kind, warning.title) == ("warning", stall.words)
    session.see(warning, Titled(title="new"))
    assert len(session.after(10 * HOUR)) == 1


def test_a_message_that_is_never_taken_up(session: Session) -> None:
    session.see(Prompt(uuid="u", state="queued"))
    assert session.after(HOUR) == []
    session.see(Prompt(uuid="u", state="sent"))
    (stall,) = session.after(HOUR)
    assert stall.running == "a message waited to be taken up"


def test_every_delta_is_a_sign_of_life(session: Session) -> None:
    session.see(Started())
    for _ in range(100):
        session.see(DELTA)
        assert session.after(9 * MINUTE) == []
    assert len(session.machine.timers) == 1


def test_a_tool_may_be_silent_for_longer_but_not_for_ever(session: Session) -> None:
    session.see(Started(), BASH)
    assert session.after(40 * MINUTE) == []
    session.see(BASH_RUNS)
    assert session.after(59 * MINUTE) == []
    (stall,) = session.after(2 * MINUTE)
    assert stall.is_tool
    assert stall.running == "make all was running"


def test_after_a_tool_the_model_has_its_usual_time(session: Session) -> None:
    session.see(Started(), BASH)
    session.after(40 * MINUTE)
    session.see(BASH_DONE)
    assert session.after(9 * MINUTE) == []
    assert [stall.running for stall in session.after(2 * MINUTE)] == ["the model was at work"]


def test_a_remark_is_not_a_running_tool(session: Session) -> None:
    session.see(Started(), Action(id="n", kind="note", title="so far so good", phase="started"))
    assert len(session.after(11 * MINUTE)) == 1


# ---------------------------------------------------------------- no false alarms


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((Started(), BASH, ASK), id="a five-hour approval"),
        pytest.param((Started(), BASH, ASK, BASH_RUNS), id="approval while another tool reports"),
        pytest.param((Started(), DEV_SERVER, Completed(ok=True)), id="a background task after the run"),
        pytest.param((Started(), Completed(ok=True)), id="nothing to do"),
        pytest.param((Started(), BASH, ProcessExited(exit_code=0)), id="the process is gone"),
        pytest.param((Started(), RateLimit(status="rejected", at=100.0, resets_at=100.0 + 5 * HOUR)), id="rate limit"),
    ],
)
def test_nothing_is_told_in_five_hours_of(session: Session, events: tuple[Event, ...]) -> None:
    session.see(*events)
    assert session.after(5 * HOUR) == []


@pytest.mark.parametrize(
    "event",
    [
        BASH,
        Hook(id="h", phase="started", name="lint"),
        Compacting(phase="started"),
        ApiRetry(attempt=3, max_retries=10, delay_ms=35 * MINUTE * 1000),
    ],
    ids=["tool", "hook", "compaction", "retry"],
)
def test_nothing_is_told_in_forty_minutes_of(session: Session, event: Event) -> None:
    session.see(Started(), event)
    assert session.after(40 * MINUTE) == []


def test_after_an_answer_counting_begins_afresh(session: Session) -> None:
    session.see(Started(), ASK)
    session.after(5 * HOUR)
    session.see(ANSWERED)
    assert session.after(9 * MINUTE) == []
    assert len(session.after(2 * MINUTE)) == 1


def test_an_announced_silence_ends_with_the_next_text(session: Session) -> None:
    session.see(Started(), RateLimit(status="rejected", at=0.0, resets_at=5 * HOUR), Text(block="b", text="x"))
    assert len(session.after(11 * MINUTE)) == 1


def test_a_rate_limit_that_is_only_near_excuses_nothing(session: Session) -> None:
    session.see(Started(), RateLimit(status="allowed_warning", at=0.0, resets_at=5 * HOUR))
    assert len(session.after(11 * MINUTE)) == 1


# ---------------------------------------------------------------- suspended machines


def test_sleep_that_the_monotonic_clock_does_not_see(session: Session) -> None:
    session.see(Started())
    session.after(9 * MINUTE)
    session.machine.suspend(8 * HOUR)
    assert session.after(9 * MINUTE) == []  # the connection needs time to recover
    assert len(session.after(2 * MINUTE)) == 1


def test_sleep_that_the_monotonic_clock_counts(session: Session) -> None:
    session.see(Started())
    session.after(MINUTE)
    session.machine.jump(8 * HOUR)
    assert session.after(9 * MINUTE) == []
    assert len(session.after(2 * MINUTE)) == 1


def test_a_clock_that_is_set_back_delays_nothing() -> None:
    detector = SuspendDetector(0.0, 10_000.0)
    assert not detector.suspended(600.0, 5_000.0, expected=600.0)
    assert not detector.suspended(1200.0, 5_600.0, expected=1200.0)
    assert detector.suspended(1800.0, 9_000.0, expected=1800.0)


# ---------------------------------------------------------------- idling


def test_a_session_that_idles(session: Session) -> None:
    session.see(Started(), Completed(ok=True))
    session.after(31 * MINUTE)
    session.after(10 * HOUR)
    assert session.idles == [Idle(30 * MINUTE)]
    session.see(Started(), Completed(ok=True))
    session.after(31 * MINUTE)
    assert len(session.idles) == 2
    assert session.stalls == []


def test_background_work_is_not_idle_and_a_finished_subagent_is_no_background_work(session: Session) -> None:
    session.see(Started(), DEV_SERVER, Task(id="a", phase="started", background=False), Completed(ok=True))
    session.after(5 * HOUR)
    assert session.idles == []
    session.see(Task(id="b1", phase="completed"))
    session.after(HOUR)
    assert len(session.idles) == 1


def test_a_watch_without_limits_sets_no_timer() -> None:
    session = Session(StallLimits(silence=None, tool=None, idle=None))
    session.see(Started(), BASH)
    assert session.machine.timers == []
    session.watch.close()


def test_a_closed_watch_tells_nothing(session: Session) -> None:
    session.see(Started())
    session.watch.close()
    session.watch.close()
    assert session.machine.timers == []
    session.see(DELTA)
    assert session.after(HOUR) == []


def test_a_failing_callback_does_not_end_the_watch(caplog: pytest.LogCaptureFixture) -> None:
    told = []

    def on_stall(stall: Stalled) -> None:
        told.append(stall)
        raise RuntimeError("no")

    session = Session(on_stall=on_stall)
    session.see(Started())
    session.after(HOUR)
    session.see(DELTA)
    session.after(HOUR)
    assert len(told) == 2
    assert "what should follow a stall failed" in caplog.text


async def test_on_a_real_loop() -> None:
    stalled: asyncio.Future[Stalled] = asyncio.get_running_loop().create_future()
    watch = StallWatch(ActivityWatch(StallLimits(silence=0.02)), on_stall=stalled.set_result)
    watch.see(Started())
    async with asyncio.timeout(30):
        assert (await stalled).running == "the model was at work"
    watch.close()


# ---------------------------------------------------------------- properties

EVENTS = st.sampled_from(
    [
        Started(),
        Completed(ok=True),
        ASK,
        ANSWERED,
        BASH,
        BASH_RUNS,
        BASH_DONE,
        DEV_SERVER,
        Task(id="b1", phase="completed"),
        Prompt(uuid="u", state="sent"),
        Prompt(uuid="u", state="started"),
        Compacting(phase="started"),
        Compacting(phase="completed"),
        ApiRetry(attempt=1, max_retries=10, delay_ms=20_000),
        RateLimit(status="rejected", at=0.0, resets_at=2 * HOUR),
        Text(block="b", text="x"),
        DELTA,
        ProcessExited(),
    ]
)
STORY = st.lists(st.tuples(EVENTS, st.floats(0, 3 * HOUR)), max_size=40)


@given(STORY)
def test_a_stall_is_never_told_while_a_person_is_asked_nor_too_early(story: list[tuple[Event, float]]) -> None:
    watch = ActivityWatch(LIMITS)
    now, asked, heard = 0.0, False, 0.0
    for event, pause in story:
        watch.see(event, now)
        heard = now
        asked = (asked or event is ASK) and not (event is ANSWERED or isinstance(event, ProcessExited))
        now += pause
        verdict = watch.verdict(now)
        if isinstance(verdict, Stalled):
            assert not asked
            assert now - heard >= 10 * MINUTE
            assert verdict.seconds == now - heard
        if asked:
            assert watch.next_check(now) is None


@given(STORY)
def test_the_verdict_changes_only_at_the_next_check(story: list[tuple[Event, float]]) -> None:
    watch = ActivityWatch(LIMITS)
    now = 0.0
    for event, pause in story:
        watch.see(event, now)
        due = watch.next_check(now)
        if due is None:
            assert isinstance(watch.verdict(now + 10_000 * HOUR), Quiet)
        else:
            assert due > now
            assert isinstance(watch.verdict(now + (due - now) * 0.99), Quiet)
            assert not isinstance(watch.verdict(due), Quiet)
        now += pause


@given(STORY)
def test_each_silence_is_told_at_most_once_and_with_one_timer(story: list[tuple[Event, float]]) -> None:
    session = Session()
    for event, pause in story:
        told = len(session.stalls) + len(session.idles)
        session.see(event)
        session.machine.pass_time(pause)
        assert len(session.stalls) + len(session.idles) - told <= 1
        assert len(session.machine.timers) <= 1
