"""Asks are answered exactly once, whatever happens at the same time."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from handrail import Allow, AlreadyDecided, AskClosed, Deny, SelfApproval, StaleDigest, UnfitAnswer
from handrail.protocol.asks import Answer, Ask, ask_digest, ask_from
from handrail.protocol.state import ASKS, AskState, Move, next_state
from handrail.sessions.asks import REMEMBERED_ASKS, Actor, AskBook, AskChange, Decision

ALICE = Actor("alice", "web")
BOB = Actor("bob", "telegram")
POLICY = Actor("careful", "policy")


def bash_ask(ask_id: str = "r1", command: str = "make") -> Ask:
    ask = ask_from(ask_id, {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command}})
    return with_digest(ask)


def with_digest(ask: Ask, **changes: Any) -> Ask:
    from msgspec.structs import replace

    changed = replace(ask, **changes)
    return replace(changed, digest=ask_digest(changed))


@dataclass
class Recipient:
    """Stands for the CLI: keeps what reaches it."""

    sent: list[Answer] = field(default_factory=list)
    told_unanswered: list[float] = field(default_factory=list)
    now: Ask | None = None

    def prepare(self, ask: Ask, answer: Answer) -> Parcel:
        if not isinstance(answer, Allow | Deny):
            raise UnfitAnswer("use Allow or Deny")
        return Parcel(self, answer)

    def unanswered(self, ask: Ask, seconds: float) -> None:
        self.told_unanswered.append(seconds)

    def look_again(self, ask: Ask) -> Ask:
        return self.now or ask


@dataclass
class Parcel:
    recipient: Recipient
    answer: Answer

    def send(self, decision: Decision) -> None:
        self.recipient.sent.append(self.answer)


class Recorder:
    """Records decisions when it is let."""

    def __init__(self) -> None:
        self.waiting: asyncio.Future[None] | None = None
        self.recorded: list[Decision] = []

    async def __call__(self, decision: Decision) -> None:
        self.waiting = asyncio.get_running_loop().create_future()
        await self.waiting
        self.recorded.append(decision)

    async def reached(self) -> asyncio.Future[None]:
        while self.waiting is None:
            await asyncio.sleep(0)
        return self.waiting


@pytest.fixture
def changes() -> list[AskChange]:
    return []


@pytest.fixture
def book(changes: list[AskChange]) -> AskBook:
    return AskBook(on_change=changes.append, is_own_process=lambda pid: pid == 666, clock=lambda: 1_000.0)


# ---------------------------------------------------------------- one answer


async def test_an_answer_reaches_the_one_who_asked(book: AskBook, changes: list[AskChange]) -> None:
    recipient, ask = Recipient(), bash_ask()
    book.open(ask, recipient)
    assert dict(book.pending) == {"r1": ask}

    decision = await book.decide("r1", Allow(), actor=ALICE, digest=ask.digest)

    assert recipient.sent == [Allow()]
    assert decision == Decision(ask_id="r1", answer=Allow(), actor=ALICE, at=1_000.0, digest=ask.digest)
    assert not book.pending
    assert [change.state for change in changes] == [AskState.PENDING, AskState.DECIDED, AskState.SENT]
    assert changes[-1].decision == decision


async def test_the_second_caller_learns_who_was_first_and_when(book: AskBook) -> None:
    recipient, ask = Recipient(), bash_ask()
    book.open(ask, recipient)
    await book.decide("r1", Deny("no"), actor=ALICE, digest=ask.digest)

    with pytest.raises(AlreadyDecided, match=r"alice \(web\), 1970-01-01 00:16:40") as refused:
        await book.decide("r1", Allow(), actor=BOB, digest=ask.digest)

    assert (refused.value.actor, refused.value.at) == ("alice (web)", 1_000.0)
    assert recipient.sent == [Deny("no")]


async def test_of_two_who_answer_at_once_one_wins() -> None:
    recipient, recorder, ask = Recipient(), Recorder(), bash_ask()
    book = AskBook(record=recorder)
    book.open(ask, recipient)

    person = asyncio.create_task(book.decide("r1", Allow(), actor=ALICE, digest=ask.digest))
    waiting = await recorder.reached()
    with pytest.raises(AlreadyDecided, match="alice"):
        await book.decide("r1", Deny("no"), actor=POLICY)
    waiting.set_result(None)

    assert (await person).actor == ALICE
    assert recipient.sent == [Allow()]


async def test_asks_are_independent_of_each_other(book: AskBook) -> None:
    first, second = Recipient(), Recipient()
    book.open(bash_ask("r1"), first)
    book.open(bash_ask("r2"), second)
    await book.decide("r2", Deny("no"), actor=POLICY)
    assert list(book.pending) == ["r1"]
    await book.decide("r1", Allow(), actor=POLICY)
    assert (first.sent, second.sent) == ([Allow()], [Deny("no")])


async def test_an_unfit_answer_leaves_the_ask_as_it_was(book: AskBook) -> None:
    from handrail import Elicited

    recipient = Recipient()
    book.open(bash_ask(), recipient)
    with pytest.raises(UnfitAnswer):
        await book.decide("r1", Elicited("accept"), actor=POLICY)
    assert "r1" in book.pending
    await book.decide("r1", Allow(), actor=POLICY)
    assert recipient.sent == [Allow()]


# ---------------------------------------------------------------- bound to what was shown


@pytest.mark.parametrize("surface", ["web", "telegram", "http", "anything new"])
async def test_every_remote_surface_must_name_the_digest(book: AskBook, surface: str) -> None:
    book.open(bash_ask(), Recipient())
    with pytest.raises(StaleDigest, match="must carry the digest"):
        await book.decide("r1", Allow(), actor=Actor("alice", surface))
    assert "r1" in book.pending


async def test_the_digest_of_another_ask_is_refused(book: AskBook) -> None:
    book.open(bash_ask("r1", "make"), Recipient())
    other = bash_ask("r2", "make clean")
    with pytest.raises(StaleDigest, match="not what is asked"):
        await book.decide("r1", Allow(), actor=POLICY, digest=other.digest)


async def test_an_answer_to_what_has_changed_since_is_refused_and_the_ask_is_shown_anew(
    book: AskBook, changes: list[AskChange]
) -> None:
    recipient, shown = Recipient(), bash_ask()
    book.open(shown, recipient)
    recipient.now = with_digest(shown, cwd="/elsewhere")

    with pytest.raises(StaleDigest, match="changed since it was shown"):
        await book.decide("r1", Allow(), actor=ALICE, digest=shown.digest)

    assert book.pending["r1"].digest != shown.digest
    assert changes[-1].ask is book.pending["r1"]
    await book.decide("r1", Allow(), actor=ALICE, digest=book.pending["r1"].digest)
    assert recipient.sent == [Allow()]


async def test_a_process_of_the_session_cannot_answer_for_it(book: AskBook) -> None:
    ask = bash_ask()
    book.open(ask, Recipient())
    with pytest.raises(SelfApproval, match="cannot answer for itself"):
        await book.decide("r1", Allow(), actor=Actor("claude", "http", pid=666), digest=ask.digest)
    await book.decide("r1", Allow(), actor=Actor("alice", "http", pid=42), digest=ask.digest)


DIGESTED = {
    "id": "r2",
    "tool_name": "Write",
    "input": {"command": "make "},
    "cwd": "/other",
    "agent_id": "agent-1",
    "plan": "1. Nothing",
}


@pytest.mark.parametrize("name", sorted(DIGESTED))
def test_the_digest_covers(name: str) -> None:
    from msgspec.structs import replace

    ask = bash_ask()
    assert ask_digest(replace(ask, **{name: DIGESTED[name]})) != ask_digest(ask)


def test_the_digest_covers_the_file_as_it_is() -> None:
    ask = bash_ask()
    assert len({ask_digest(ask), ask_digest(ask, file_hash="a"), ask_digest(ask, file_hash="b")}) == 3


@pytest.mark.parametrize("odd", ["\ud800", "é\u202e", 1e300, [[[]]], {"b": 1, "a": None}])
def test_any_input_has_a_digest_that_does_not_depend_on_the_order_of_keys(odd: Any) -> None:
    request = {"subtype": "can_use_tool", "tool_name": "Bash"}
    one = ask_from("r1", {**request, "input": {"x": odd, "y": 2}})
    other = ask_from("r1", {**request, "input": {"y": 2, "x": odd}})
    assert ask_digest(one) == ask_digest(other)


# ---------------------------------------------------------------- closed without an answer


async def test_an_answer_after_a_cancellation_is_told_so(book: AskBook) -> None:
    recipient = Recipient()
    book.open(bash_ask(), recipient)
    book.cancel("r1")
    with pytest.raises(AskClosed, match="no longer wants an answer") as refused:
        await book.decide("r1", Allow(), actor=POLICY)
    assert refused.value.state == "cancelled"
    assert recipient.sent == []


async def test_a_cancellation_that_overtakes_the_answer_wins() -> None:
    recipient, recorder = Recipient(), Recorder()
    book = AskBook(record=recorder)
    book.open(bash_ask(), recipient)
    deciding = asyncio.create_task(book.decide("r1", Allow(), actor=POLICY))
    waiting = await recorder.reached()
    book.cancel("r1")
    waiting.set_result(None)
    with pytest.raises(AskClosed):
        await deciding
    assert recipient.sent == []


async def test_an_ask_that_nobody_answers_in_time_expires_as_unanswered(
    book: AskBook, changes: list[AskChange]
) -> None:
    recipient = Recipient()
    book.open(bash_ask(), recipient, expire_after=0.001)
    while book.pending:
        await asyncio.sleep(0.001)
    assert recipient.told_unanswered == [0.001]
    assert recipient.sent == []
    assert changes[-1].state is AskState.EXPIRED
    assert changes[-1].decision is None
    with pytest.raises(AskClosed, match="nobody answered in time"):
        await book.decide("r1", Allow(), actor=POLICY)


async def test_an_answered_ask_does_not_expire(book: AskBook) -> None:
    recipient = Recipient()
    book.open(bash_ask(), recipient, expire_after=0.001)
    await book.decide("r1", Allow(), actor=POLICY)
    book.expire("r1", 0.001)
    assert recipient.told_unanswered == []


async def test_what_the_process_leaves_open_is_lost(book: AskBook) -> None:
    book.open(bash_ask("r1"), Recipient())
    book.open(bash_ask("r2"), Recipient())
    book.lose()
    assert not book.pending
    with pytest.raises(AskClosed, match="process that asked has ended"):
        await book.decide("r2", Allow(), actor=POLICY)


async def test_an_unknown_ask_is_closed(book: AskBook) -> None:
    with pytest.raises(AskClosed, match="no ask 'r9'") as refused:
        await book.decide("r9", Allow(), actor=POLICY)
    assert refused.value.state == "unknown"


async def test_closed_asks_are_remembered_within_reason(book: AskBook) -> None:
    for number in range(REMEMBERED_ASKS + 2):
        book.open(bash_ask(f"r{number}"), Recipient())
        await book.decide(f"r{number}", Allow(), actor=POLICY)
    with pytest.raises(AskClosed):
        await book.decide("r0", Allow(), actor=POLICY)
    with pytest.raises(AlreadyDecided):
        await book.decide("r2", Allow(), actor=POLICY)


# ---------------------------------------------------------------- recording


async def test_a_decision_that_cannot_be_recorded_was_not_made() -> None:
    recipient, recorder = Recipient(), Recorder()
    book = AskBook(record=recorder)
    book.open(bash_ask(), recipient)
    deciding = asyncio.create_task(book.decide("r1", Allow(), actor=POLICY))
    (await recorder.reached()).set_exception(OSError("disk full"))
    with pytest.raises(OSError, match="disk full"):
        await deciding
    assert "r1" in book.pending
    assert recipient.sent == []


@pytest.mark.slow
async def test_nobody_is_told_of_a_failure_if_whoever_decided_has_gone_away(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    book = AskBook(record=recorder)
    book.open(bash_ask(), Recipient())
    deciding = asyncio.create_task(book.decide("r1", Allow(), actor=POLICY))
    waiting = await recorder.reached()
    deciding.cancel()
    await asyncio.wait([deciding])
    del deciding
    waiting.set_exception(OSError("disk full"))
    while "r1" not in book.pending:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    gc.collect()  # what failed unheard is said when it is collected
    assert caplog.records == [], "the ask is pending again: that is all there is to know"


async def test_an_ask_whose_time_ran_out_while_recording_failed_expires() -> None:
    recipient, recorder = Recipient(), Recorder()
    book = AskBook(record=recorder)
    book.open(bash_ask(), recipient)
    deciding = asyncio.create_task(book.decide("r1", Allow(), actor=POLICY))
    waiting = await recorder.reached()
    book.expire("r1", 5)
    assert recipient.told_unanswered == []
    waiting.set_exception(OSError("disk full"))
    with pytest.raises(OSError):
        await deciding
    assert recipient.told_unanswered == [5]


# ---------------------------------------------------------------- any order of events


def test_every_state_is_reached_and_those_without_moves_are_final() -> None:
    reached = {AskState.PENDING} | {state for moves in ASKS.values() for state in moves.values()}
    assert reached == set(AskState) == set(ASKS)
    assert {state for state, moves in ASKS.items() if not moves} == {
        AskState.SENT,
        AskState.CANCELLED,
        AskState.EXPIRED,
        AskState.LOST,
    }
    assert next_state(ASKS, AskState.DECIDED, Move.EXPIRE) is None


@dataclass
class Case:
    """One ask of the machine, and what the machine knows of it."""

    ask: Ask
    recipient: Recipient
    deciding: asyncio.Task[Decision] | None = None
    recording: asyncio.Future[None] | None = None
    expected: AskState = AskState.PENDING


class AskMachine(RuleBasedStateMachine):
    """Drives a book with anything in any order, next to a model of what must come of it."""

    cases = Bundle("cases")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.recordings: dict[str, asyncio.Future[None]] = {}
        self.seen: dict[str, list[AskState]] = {}
        self.book = AskBook(on_change=self.note, record=self.record)
        self.all: list[Case] = []

    def note(self, change: AskChange) -> None:
        self.seen.setdefault(change.ask.id, []).append(change.state)

    async def record(self, decision: Decision) -> None:
        self.recordings[decision.ask_id] = future = self.loop.create_future()
        await future

    def settle(self) -> None:
        for _ in range(5):
            self.loop.run_until_complete(asyncio.sleep(0))

    @rule(target=cases)
    def open(self) -> Case:
        case = Case(bash_ask(f"r{len(self.all)}"), Recipient())
        self.all.append(case)
        self.book.open(case.ask, case.recipient)
        return case

    @rule(case=cases, good=st.booleans())
    def decide(self, case: Case, good: bool) -> None:
        digest = case.ask.digest if good else "0" * 64
        task = self.loop.create_task(self.book.decide(case.ask.id, Allow(), actor=ALICE, digest=digest))
        self.settle()
        if good and case.expected is AskState.PENDING:
            assert not task.done()
            case.deciding, case.recording, case.expected = task, self.recordings[case.ask.id], AskState.DECIDED
            return
        refusal = task.exception()
        if case.expected is AskState.PENDING:
            assert isinstance(refusal, StaleDigest)
        elif case.expected in (AskState.DECIDED, AskState.SENT):
            assert isinstance(refusal, AlreadyDecided)
        else:
            assert isinstance(refusal, AskClosed)
            assert refusal.state == case.expected.value

    @rule(case=cases, works=st.booleans())
    def finish_recording(self, case: Case, works: bool) -> None:
        if case.recording is None or case.recording.done():
            return
        if works:
            case.recording.set_result(None)
        else:
            case.recording.set_exception(OSError("disk full"))
        self.settle()
        assert case.deciding is not None
        error = case.deciding.exception()
        if case.expected is AskState.DECIDED:
            if works:
                assert error is None
                case.expected = AskState.SENT
            else:
                assert isinstance(error, OSError)
                case.expected = AskState.PENDING
        else:
            assert isinstance(error, AskClosed if works else OSError)

    @rule(case=cases)
    def cancel(self, case: Case) -> None:
        self.book.cancel(case.ask.id)
        self.expect(case, Move.CANCEL)

    @rule(case=cases)
    def expire(self, case: Case) -> None:
        if case.expected is not AskState.DECIDED:
            self.book.expire(case.ask.id, 1.0)
            self.expect(case, Move.EXPIRE)

    @rule()
    def lose(self) -> None:
        self.book.lose()
        for case in self.all:
            self.expect(case, Move.LOSE)

    def expect(self, case: Case, move: Move) -> None:
        case.expected = next_state(ASKS, case.expected, move) or case.expected

    @invariant()
    def each_ask_is_where_it_must_be(self) -> None:
        for case in self.all:
            assert self.seen[case.ask.id][-1] is case.expected
            assert (case.ask.id in self.book.pending) == (case.expected is AskState.PENDING)

    @invariant()
    def nothing_is_said_twice(self) -> None:
        for case in self.all:
            said = len(case.recipient.sent) + len(case.recipient.told_unanswered)
            assert said == (case.expected in (AskState.SENT, AskState.EXPIRED))

    @invariant()
    def every_step_is_in_the_table(self) -> None:
        for states in self.seen.values():
            for before, after in pairwise(states):
                assert after in ASKS[before].values()

    def teardown(self) -> None:
        for case in self.all:
            if case.deciding is not None and not case.deciding.done():
                case.deciding.cancel()
        for recording in self.recordings.values():
            recording.cancel()
        self.settle()
        self.loop.close()


AskMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestAskMachine = AskMachine.TestCase
