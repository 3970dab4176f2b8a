"""Whatever comes, Telegram's limits are kept, asks do not wait for progress, and nothing waits for ever."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.telegram.model import Place
from handrail.telegram.outbox.pacing import Pace, Pacing, Rank, Waiting
from handrail.testing.telegram.pace import Pacer, TelegramPace

PACE = Pace()
PRIVATE, OTHER, GROUP, TOPIC = Place(1), Place(2), Place(-1), Place(-1, 5)
PLACES = (PRIVATE, OTHER, GROUP, TOPIC)
MESSAGES = (Rank.ASK, Rank.REPLY, Rank.ANSWER, Rank.PROGRESS)


class Arrival(NamedTuple):
    at: float
    place: Place
    rank: Rank
    is_edit: bool = False
    key: str = ""


class Written(NamedTuple):
    at: float
    arrival: Arrival

    @property
    def waited(self) -> float:
        return self.at - self.arrival.at


class Flood(NamedTuple):
    """When so many were written, Telegram says that it is too much in the chat of the last."""

    after: int
    seconds: float


class Simulation:
    """An outbox without anything around it: lines of what waits, and a clock that jumps to what comes next."""

    def __init__(self, arrivals: Iterable[Arrival], *, pace: Pace = PACE, floods: Sequence[Flood] = ()) -> None:
        self.pacing = Pacing(pace)
        self.written: list[Written] = []
        self.floods: list[tuple[float, int, float]] = []
        self._to_come = sorted(arrivals, key=lambda arrival: arrival.at, reverse=True)
        self._planned = {flood.after: flood.seconds for flood in floods}
        self._lines: dict[tuple[Place, Rank], deque[tuple[int, Arrival]]] = defaultdict(deque)
        self._numbers = itertools.count(1)

    def run(self) -> list[Written]:
        now = 0.0
        while self._take_in(now) or self._to_come:
            choice = self.pacing.choose(self._heads(now), now)
            if choice.next is None:
                later = min(choice.at, self._to_come[-1].at if self._to_come else math.inf)
                assert now < later < math.inf
                now = later
            else:
                self._write(choice.next, now)
        return self.written

    def _take_in(self, now: float) -> bool:
        """Whether anything waits."""
        while self._to_come and self._to_come[-1].at <= now:
            arrival = self._to_come.pop()
            self._lines[arrival.place, arrival.rank].append((next(self._numbers), arrival))
        return any(self._lines.values())

    def _heads(self, now: float) -> list[Waiting]:
        return [_waiting(*line[0], now) for line in self._lines.values() if line]

    def _write(self, one: Waiting, now: float) -> None:
        self.pacing.took(one, now)
        self.written.append(Written(now, self._lines[one.place, one.rank].popleft()[1]))
        if seconds := self._planned.pop(len(self.written), None):
            self.pacing.flooded(one.place.chat, seconds, now)
            self.floods.append((now, one.place.chat, seconds))


def _waiting(number: int, arrival: Arrival, now: float) -> Waiting:
    return Waiting(
        key=arrival.key or str(number),
        place=arrival.place,
        rank=arrival.rank,
        number=number,
        waited=now - arrival.at,
        is_edit=arrival.is_edit,
    )


def arrivals(*, ranks: Sequence[Rank] = tuple(Rank), most: int = 120) -> st.SearchStrategy[list[Arrival]]:
    times = st.floats(0, 90) | st.sampled_from([0.0, 1.0, 30.0])
    one = st.builds(
        Arrival,
        at=times,
        place=st.sampled_from(PLACES),
        rank=st.sampled_from(ranks),
        is_edit=st.booleans(),
        key=st.sampled_from(["", "a", "b"]),
    )
    return st.lists(one, max_size=most)


def complaints(written: Sequence[Written]) -> list[Written]:
    """What Telegram would have answered with a flood wait, if it counts as its emulator does."""
    times = iter([one.at for one in written])
    telegram = Pacer(TelegramPace(clock=lambda: next(times)))
    return [
        one for one in written if telegram.retry_after(one.arrival.place.chat, light=one.arrival.rank is Rank.LIGHT)
    ]


def test_telegram_does_find_something_too_much() -> None:
    eager = Pace(chat_burst=10, chat_seconds=0.1)
    assert complaints(Simulation([Arrival(0.0, PRIVATE, Rank.ASK)] * 10, pace=eager).run()) != []


@settings(max_examples=40, deadline=None)
@given(arrivals())
def test_telegram_never_finds_it_too_much(arrived: list[Arrival]) -> None:
    assert complaints(Simulation(arrived).run()) == []


@pytest.mark.slow
def test_telegram_never_finds_it_too_much_in_many_chats_at_once() -> None:
    crowd = [Arrival(0.0, Place(1 + n % 50), MESSAGES[n % 4]) for n in range(300)]
    written = Simulation(crowd).run()
    assert complaints(written) == []
    assert len(written) == 300
    assert written[-1].at < 20, "and does not take much longer than it must"


@settings(max_examples=40, deadline=None)
@given(
    arrivals(ranks=(Rank.REPLY, Rank.ANSWER, Rank.PROGRESS, Rank.LIGHT)),
    st.floats(0, 100),
    st.sampled_from(PLACES),
)
def test_an_ask_waits_for_nothing_that_is_no_ask(others: list[Arrival], at: float, place: Place) -> None:
    written = Simulation([*others, Arrival(at, place, Rank.ASK)]).run()
    (ask,) = (one for one in written if one.arrival.rank is Rank.ASK)
    assert ask.waited == 0


@settings(max_examples=40, deadline=None)
@given(arrivals(), st.lists(st.builds(Flood, st.integers(1, 40), st.floats(1, 120)), max_size=4))
def test_a_flood_wait_is_honoured(arrived: list[Arrival], floods: list[Flood]) -> None:
    simulation = Simulation(arrived, floods=floods)
    written = simulation.run()
    for at, chat, seconds in simulation.floods:
        meanwhile = [one for one in written if at < one.at < at + seconds and one.arrival.place.chat == chat]
        assert meanwhile == []


def test_two_chats_that_are_flooded_at_once_mean_all() -> None:
    pacing = Pacing(PACE)
    pacing.flooded(1, 10, 100.0)
    assert pacing.choose([Waiting(key="k", place=Place(3), rank=Rank.ASK, number=1)], 100.0).next
    pacing.flooded(2, 20, 101.0)
    choice = pacing.choose([Waiting(key="k", place=Place(3), rank=Rank.ASK, number=1)], 102.0)
    assert (choice.next, choice.at) == (None, 106.0)  # not 20 s: perhaps it was only these two


def test_a_short_wait_of_two_chats_is_a_short_wait_of_all() -> None:
    pacing = Pacing(PACE)
    pacing.flooded(1, 3, 100.0)
    pacing.flooded(2, 3, 101.0)
    assert pacing.choose([Waiting(key="k", place=Place(3), rank=Rank.ASK, number=1)], 102.0).at == 104.0


def test_two_chats_that_are_flooded_at_different_times_mean_themselves() -> None:
    pacing = Pacing(PACE)
    pacing.flooded(1, 100, 100.0)
    pacing.flooded(2, 100, 110.0)
    assert pacing.choose([Waiting(key="k", place=Place(3), rank=Rank.ASK, number=1)], 111.0).next


def test_after_a_flood_wait_a_chat_is_written_to_more_slowly_for_a_while() -> None:
    def gap(arrived_at: float) -> float:
        written = Simulation(
            [Arrival(0.0, PRIVATE, Rank.ANSWER), *[Arrival(arrived_at, PRIVATE, Rank.ANSWER)] * 20],
            floods=[Flood(1, 5.0)],
        ).run()
        return written[-1].at - written[-2].at

    assert gap(10.0) == pytest.approx(2 * PACE.chat_seconds)
    assert gap(10.0 + PACE.slow_seconds) == pytest.approx(PACE.chat_seconds)


def test_a_draft_that_is_too_much_stops_drafts_only() -> None:
    pacing = Pacing(PACE)
    pacing.flooded(1, 10, 100.0, light=True)
    light = Waiting(key="d", place=PRIVATE, rank=Rank.LIGHT, number=1)
    answer = Waiting(key="a", place=PRIVATE, rank=Rank.ANSWER, number=2)
    assert pacing.choose([light, answer], 100.0).next == answer
    assert pacing.choose([light], 100.0).at == 110.0


@settings(max_examples=40, deadline=None)
@given(arrivals(most=80))
def test_nothing_waits_for_ever(arrived: list[Arrival]) -> None:
    written = Simulation(arrived).run()
    assert sorted(one.arrival for one in written) == sorted(arrived)
    most_in_a_chat = 80 / (PACE.group_messages * 0.6) * PACE.group_seconds
    assert all(one.waited < PACE.patience + most_in_a_chat for one in written)


@pytest.mark.parametrize("rank", [Rank.REPLY, Rank.ANSWER, Rank.PROGRESS])
@pytest.mark.parametrize("place", [PRIVATE, GROUP])
@pytest.mark.parametrize("flood", [Rank.ASK, Rank.REPLY, Rank.ANSWER])
def test_however_much_of_something_else_comes(rank: Rank, place: Place, flood: Rank) -> None:
    between = PACE.chat_seconds / 2 if place.is_private else PACE.group_seconds / PACE.group_messages / 2
    others = [Arrival(n * between, place, flood) for n in range(200)]
    one = Arrival(10.0, place, rank, key="the one")
    written = Simulation([*others, one]).run()
    (found,) = (each for each in written if each.arrival == one)
    assert found.waited < PACE.patience + 2 * PACE.group_seconds


def test_one_message_of_progress_is_not_changed_all_the_time() -> None:
    edits = [Arrival(n / 10, PRIVATE, Rank.PROGRESS, is_edit=True, key="p") for n in range(50)]
    written = Simulation(edits).run()
    gaps = [later.at - earlier.at for earlier, later in itertools.pairwise(written)]
    assert min(gaps) >= PACE.edit_seconds


def test_a_faster_pace_has_the_same_limits_on_a_faster_clock() -> None:
    fast = PACE.faster(10)
    assert fast.chat_burst == PACE.chat_burst
    assert fast.group_seconds == pytest.approx(PACE.group_seconds / 10)
    assert fast.patience == pytest.approx(PACE.patience / 10)
