"""Windows: what is under way is counted exactly, whatever comes in which order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from handrail.errors import LocalProtocolError
from handrail.link.windows import Window, page_size
from handrail.store.base import CopyPage, EventRow, SessionRow

SIZES = st.integers(1, 5_000)


class Windows(RuleBasedStateMachine):
    """A window beside a list of the pages that are under way."""

    def __init__(self) -> None:
        super().__init__()
        self.window = Window(4_000)
        self.under_way: list[tuple[int, int]] = []
        self.next = 1

    @rule(size=SIZES)
    def send(self, size: int) -> None:
        if not self.window.room:
            with pytest.raises(LocalProtocolError):
                self.window.sent(size)
            return
        assert self.window.sent(size) == self.next
        self.under_way.append((self.next, size))
        self.next += 1

    @rule(back=st.integers(0, 6))
    def acknowledge(self, back: int) -> None:
        number = max(0, self.next - 1 - back)
        self.window.acknowledge(number)
        self.under_way = [page for page in self.under_way if page[0] > number]

    @rule(ahead=st.integers(0, 3))
    def acknowledge_what_was_never_sent(self, ahead: int) -> None:
        with pytest.raises(LocalProtocolError):
            self.window.acknowledge(self.next + ahead)

    @rule()
    def reset(self) -> None:
        self.window.reset()
        self.under_way, self.next = [], 1

    @invariant()
    def counts(self) -> None:
        assert self.window.in_flight == sum(size for _, size in self.under_way)
        assert self.window.pages == len(self.under_way)
        assert self.window.room == max(0, 4_000 - self.window.in_flight)

    @invariant()
    def exceeds_by_one_page_at_most(self) -> None:
        assert not self.under_way or self.window.in_flight - self.under_way[-1][1] < self.window.limit

    @invariant()
    def an_empty_window_is_open(self) -> None:
        assert self.under_way or self.window.room


TestWindows = Windows.TestCase
TestWindows.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def test_a_window_holds_something() -> None:
    with pytest.raises(LocalProtocolError):
        Window(0)


@given(bodies=st.lists(st.binary(max_size=200), max_size=5))
def test_a_page_is_as_large_as_what_it_carries(bodies: list[bytes]) -> None:
    session = SessionRow(id="s", cwd="/", created_at=0, updated_at=0)
    page = CopyPage(
        session=session, events=[EventRow(seq=n + 1, at=0, type="t", body=body) for n, body in enumerate(bodies)]
    )
    assert page_size(page) > sum(map(len, bodies))
