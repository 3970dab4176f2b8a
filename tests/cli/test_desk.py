"""The desk where asks are answered: one at a time, first answer wins, and what is over goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from handrail.cli.asking.ask_view import Asking
from handrail.cli.asking.desk import AskDesk
from handrail.cli.asking.outcomes import answered_elsewhere, what_was_asked
from handrail.cli.keyboard.keyboard import PromptInterrupted
from handrail.cli.showing.style import DONE
from handrail.errors import AlreadyDecided, HostAway, StaleDigest, UnfitAnswer
from handrail.events.model import AskClosed, AskOpened
from handrail.protocol.asks import Allow, Ask, Deny
from handrail.remote.errors import HubUnreachable
from handrail.sessions.ask_records import ask_record
from handrail.sessions.asks import AnyAnswer

from .support import permission


def opened(number: int, digest: str = "d") -> AskOpened:
    ask = permission("Bash", {"command": f"run {number}"})
    record = {**ask_record(ask), "id": f"r{number}"}
    return AskOpened(ask_id=f"r{number}", kind="permission", digest=digest, title=f"Run {number}", ask=record)


class Person:
    """Answers when the test says what."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, int]] = []
        self.gone: list[str] = []
        self._says: asyncio.Future[AnyAnswer] | None = None

    async def answer(self, ask: Ask, asking: Asking) -> AnyAnswer:
        self.shown.append((ask.input["command"], asking.waiting))
        self._says = asyncio.get_running_loop().create_future()
        try:
            return await self._says
        except asyncio.CancelledError:
            self.gone.append(ask.input["command"])
            raise

    def say(self, answer: AnyAnswer | Exception) -> None:
        assert self._says is not None
        if isinstance(answer, Exception):
            self._says.set_exception(answer)
        else:
            self._says.set_result(answer)


class Front:
    def __init__(self) -> None:
        self.notices: list[str] = []
        self.count = 0
        self.stops = 0

    def notice(self, colour: str, text: str) -> None:
        self.notices.append(text)

    def waiting(self, count: int) -> None:
        self.count = count

    def stop_turn(self) -> None:
        self.stops += 1


class Session:
    def __init__(self) -> None:
        self.decided: list[tuple[str, AnyAnswer, str]] = []
        self.refuses: Exception | None = None
        self.slow: asyncio.Event | None = None

    async def decide(self, ask_id: str, answer: AnyAnswer, digest: str) -> None:
        if self.slow is not None:
            await self.slow.wait()
        if self.refuses is not None:
            refusal, self.refuses = self.refuses, None
            raise refusal
        self.decided.append((ask_id, answer, digest))


class Scene:
    def __init__(self, person: Person | None) -> None:
        self.person = person or Person()
        self.front = Front()
        self.session = Session()
        self.desk = AskDesk(person, self.session.decide, self.front)

    async def settle(self) -> None:
        """Let everything happen that can happen now."""
        for _ in range(20):
            await asyncio.sleep(0)


@asynccontextmanager
async def scene(person: Person | None = None, *, is_open: bool = True) -> AsyncIterator[Scene]:
    made = Scene(person)
    task = asyncio.create_task(made.desk.run())
    if is_open:
        made.desk.open()
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_asks_come_one_after_another() -> None:
    async with scene(Person()) as made:
        made.desk.opened(opened(1))
        made.desk.opened(opened(2))
        await made.settle()
        assert made.person.shown == [("run 1", 1)]
        assert made.front.count == 2
        made.person.say(Allow())
        await made.settle()
        assert made.session.decided == [("r1", Allow(), "d")]
        assert made.person.shown[1:] == [("run 2", 0)]
        assert made.front.count == 1


async def test_one_that_is_answered_elsewhere_goes_away_and_says_by_whom() -> None:
    async with scene(Person()) as made:
        made.desk.opened(opened(1))
        made.desk.opened(opened(2))
        await made.settle()
        made.desk.closed(AskClosed(ask_id="r1", outcome="decided", answer={"type": "allow"}, by="ann", surface="web"))
        await made.settle()
        assert made.person.gone == ["run 1"]
        assert made.front.notices == ["allowed by ann (web): Bash run 1"]
        assert [command for command, _ in made.person.shown] == ["run 1", "run 2"]
        assert made.session.decided == []


def test_a_question_that_is_answered_elsewhere_says_how() -> None:
    ask = {"input": {"questions": [{"question": "Which colour?"}]}}
    asked = AskOpened(ask_id="q", kind="question", digest="d", title="Answer a question", ask=ask)
    assert what_was_asked(asked) == "Which colour?"
    answer = {"type": "answers", "answers": {"Which colour?": ["Red", "Blue"]}}
    closed = AskClosed(ask_id="q", outcome="decided", answer=answer, by="ann", surface="web")
    assert answered_elsewhere(closed, asked) == (DONE, "answered by ann (web): Which colour? → Red, Blue")


def test_a_rule_that_answers_is_not_named_twice() -> None:
    closed = AskClosed(
        ask_id="r1", outcome="decided", answer={"type": "allow"}, by="policy: Bash(ls *)", surface="policy"
    )
    assert answered_elsewhere(closed, None) == (DONE, "allowed by policy: Bash(ls *)")


def test_an_answer_that_was_given_to_another_ask_says_so() -> None:
    closed = AskClosed(
        ask_id="r1", outcome="decided", answer={"type": "allow"}, by="Ada", surface="web", granted_by="r0"
    )
    assert answered_elsewhere(closed, None) == (DONE, "allowed by Ada (web), once, when the same was asked before")


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [("cancelled", "withdrawn"), ("expired", "nobody answered"), ("lost", "lost"), ("unsent", "told is not known")],
)
async def test_one_that_nobody_answers_goes_away_too(outcome: Any, expected: str) -> None:
    async with scene(Person()) as made:
        made.desk.opened(opened(1))
        await made.settle()
        made.desk.closed(AskClosed(ask_id="r1", outcome=outcome))
        await made.settle()
        assert made.person.gone == ["run 1"]
        assert expected in made.front.notices[0]
        assert made.front.count == 0


async def test_ones_own_answer_is_not_told_again() -> None:
    async with scene(Person()) as made:
        made.desk.opened(opened(1))
        await made.settle()
        made.person.say(Allow())
        await made.settle()
        made.desk.closed(AskClosed(ask_id="r1", outcome="decided", answer={"type": "allow"}, by="me"))
        assert made.front.notices == []


async def test_a_changed_ask_is_shown_again() -> None:
    async with scene(Person()) as made:
        made.desk.opened(opened(1))
        await made.settle()
        made.desk.opened(opened(1, digest="e"))
        await made.settle()
        assert made.person.gone == ["run 1"]
        assert "look again" in made.front.notices[0]
        made.person.say(Allow())
        await made.settle()
        assert made.session.decided == [("r1", Allow(), "e")]


@pytest.mark.parametrize(
    "refusal", [AlreadyDecided("already decided by ann", actor="ann", at=1.0), StaleDigest("look again")]
)
async def test_an_answer_that_comes_too_late_is_said_and_the_next_is_shown(refusal: Exception) -> None:
    async with scene(Person()) as made:
        made.session.refuses = refusal
        made.desk.opened(opened(1))
        made.desk.opened(opened(2))
        await made.settle()
        made.person.say(Allow())
        await made.settle()
        assert made.front.notices == [f"your answer was not taken: {refusal}"]
        assert made.person.shown[-1] == ("run 2", 0)


async def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    async with scene(Person()) as made:
        made.session.refuses = UnfitAnswer("the age is missing")
        made.desk.opened(opened(1))
        await made.settle()
        made.person.say(Allow())
        await made.settle()
        assert "the age is missing" in made.front.notices[0]
        assert len(made.person.shown) == 2


@pytest.mark.parametrize("trouble", [HubUnreachable("there is no hub at here"), HostAway("box is away")])
async def test_an_answer_that_could_not_be_sent_is_said_and_asked_for_again(trouble: Exception) -> None:
    async with scene(Person()) as made:
        made.session.refuses = trouble
        made.desk.opened(opened(1))
        await made.settle()
        made.person.say(Allow())
        await made.settle()
        assert made.front.notices == [f"your answer was not taken, and the ask waits: {trouble}"]
        assert (made.front.count, len(made.person.shown)) == (1, 2)
        made.person.say(Allow())
        await made.settle()
        assert made.session.decided == [("r1", Allow(), "d")]


async def test_an_answer_that_could_not_be_sent_to_what_is_over_is_not_asked_for_again() -> None:
    async with scene(Person()) as made:
        made.session.slow = asyncio.Event()
        made.session.refuses = HubUnreachable("gone")
        made.desk.opened(opened(1))
        await made.settle()
        made.person.say(Allow())
        await made.settle()
        made.desk.closed(AskClosed(ask_id="r1", outcome="decided", answer={"type": "allow"}, by="me"))
        made.session.slow.set()
        await made.settle()
        assert (made.front.notices, made.front.count, len(made.person.shown)) == ([], 0, 1)


async def test_an_answer_that_takes_long_to_arrive_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail.cli.asking.desk.PROMPT_SECONDS", 0.01)
    async with scene(Person()) as made:
        made.session.slow = asyncio.Event()
        made.desk.opened(opened(1))
        await made.settle()
        made.person.say(Allow())
        async with asyncio.timeout(10):
            while not made.front.notices:
                await asyncio.sleep(0.005)
        assert made.front.notices == ["your answer has not arrived yet: it is tried again for a while"]
        made.session.slow.set()
        await made.settle()
        assert made.session.decided == [("r1", Allow(), "d")]


@pytest.mark.parametrize("answer", [PromptInterrupted(), Deny("no", interrupt=True)])
async def test_stopping_the_turn_at_an_ask_denies_and_interrupts(answer: Any) -> None:
    async with scene(Person()) as made:
        made.desk.opened(opened(1))
        await made.settle()
        made.person.say(answer)
        await made.settle()
        (_, given, _) = made.session.decided[0]
        assert isinstance(given, Deny)
        assert given.interrupt
        assert made.front.stops == 1


async def test_asks_of_the_past_are_not_asked() -> None:
    async with scene(Person(), is_open=False) as made:
        made.desk.opened(opened(1))
        made.desk.closed(AskClosed(ask_id="r1", outcome="decided", answer={"type": "deny"}, by="ann"))
        made.desk.opened(opened(2))
        await made.settle()
        assert made.person.shown == []
        made.desk.open()
        await made.settle()
        assert made.person.shown == [("run 2", 0)]
        assert made.front.notices == ["denied by ann: Bash run 1"]


async def test_without_anybody_to_answer_it_says_what_waits() -> None:
    async with scene(None) as made:
        made.desk.opened(opened(1))
        await made.settle()
        assert made.front.notices == ["waits for an answer: Bash run 1 (handrail answer r1)"]
