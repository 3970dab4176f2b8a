"""Budgets: when what may be spent is spent, a person decides whether the session goes on.

A `Purse` knows an amount and what of it is spent; a `Budget` holds one session to one purse. A purse may belong to one
session (`SessionPurse`) or to several, as the one for a day does (`handrail.sessions.guards.spending`).

The CLI says what it has cost only with each result. So a budget binds between runs, and one run can overshoot.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias
from uuid import uuid4

import msgspec

from handrail.errors import BudgetSpent, InvalidOptions, UnfitAnswer
from handrail.events.runs import stated_cost
from handrail.protocol.asks import Allow, Ask, Deny, Failed
from handrail.protocol.control import PreToolUseInput
from handrail.protocol.frames import Result
from handrail.sessions.asks import ActionParcel, AnyAnswer, Correspondent, Parcel
from handrail.sessions.hooks import Hook, HookAnswer, ask_tool, hook

__all__ = ["AnyBudget", "Budget", "Budgets", "CostMeter", "Purse", "SessionPurse", "checked_amount", "purses_of"]

LIMIT = "limit_usd"


class Purse(Protocol):
    """An amount of US dollars, and what of it is spent."""

    @property
    def limit(self) -> float: ...

    @property
    def spent(self) -> float: ...

    @property
    def step(self) -> float:
        """By how much a plain yes raises the limit."""
        ...

    @property
    def period(self) -> str:
        """Which time the amounts are for, such as "today"; empty for the whole session."""
        ...

    def spend(self, usd: float) -> None:
        """A result showed this cost."""
        ...

    async def look(self) -> None:
        """Find out what others have spent."""
        ...

    def raise_to(self, limit: float) -> None:
        """A person allowed more."""
        ...

    def watch(self, on_change: Callable[[], None]) -> Callable[[], None]:
        """Call back whenever one of the amounts has changed; returns what ends that."""
        ...


class SessionPurse:
    """What one session may cost. `spent` is what it cost before, in other processes; `on_raise` hears a new limit."""

    period = ""

    def __init__(
        self, limit: float, *, spent: float = 0.0, on_raise: Callable[[float], None] = lambda limit: None
    ) -> None:
        self.limit = self.step = checked_amount(limit)
        self.spent = spent
        self._on_raise = on_raise
        self._watchers: list[Callable[[], None]] = []

    def spend(self, usd: float) -> None:
        self.spent += usd
        self._tell()

    async def look(self) -> None:
        """Nobody else spends from it."""

    def raise_to(self, limit: float) -> None:
        self.limit = limit
        self._on_raise(limit)
        self._tell()

    def watch(self, on_change: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(on_change)
        return lambda: self._watchers.remove(on_change)

    def _tell(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()


AnyBudget: TypeAlias = float | Purse | Iterable[Purse]


def purses_of(budget: AnyBudget | None) -> tuple[Purse, ...]:
    """The purses that a session is held to."""
    if budget is None:
        return ()
    if isinstance(budget, int | float):
        return (SessionPurse(budget),)
    return tuple(budget) if isinstance(budget, Iterable) else (budget,)


def checked_amount(amount: float) -> float:
    """`amount` as a limit. Raises `InvalidOptions` for one that cannot be."""
    if not (math.isfinite(amount) and amount > 0):
        raise InvalidOptions(f"a budget is an amount of US dollars above 0, not {amount!r}")
    return amount


class CostMeter:
    """What each result has cost, from what the CLI says its process has cost so far."""

    def __init__(self) -> None:
        self._total = 0.0

    def cost_of(self, total: float) -> float:
        """A smaller total than before is a new count: newer CLIs begin one with `/clear`."""
        cost = total - self._total if total >= self._total else total
        self._total = total
        return cost


class Budgets:
    """Every budget of one session.

    `stop_spending` is called when a limit turns out to be passed, and at each turn that begins while it is.
    """

    def __init__(
        self,
        purses: Iterable[Purse],
        *,
        open_ask: Callable[[Ask, Correspondent], None],
        withdraw: Callable[[str], None],
        stop_spending: Callable[[], None],
    ) -> None:
        self._meter = CostMeter()
        self._stop_spending = stop_spending
        self._budgets = [
            Budget(purse, open_ask=open_ask, withdraw=withdraw, on_spent=stop_spending) for purse in purses
        ]

    @property
    def is_spent(self) -> bool:
        return any(budget.is_spent for budget in self._budgets)

    def on_turn(self) -> None:
        """A turn begins, whatever caused it."""
        if self.is_spent:
            self._stop_spending()

    def on_result(self, frame: Result) -> None:
        """The CLI says what its process has cost so far."""
        grown = self._meter.cost_of(frame.total_cost_usd or 0.0)
        stated = stated_cost(frame.data)  # a resumed process may count what the session has cost before
        cost = grown if stated is None else stated
        for budget in self._budgets:
            budget.purse.spend(cost)

    async def wait(self) -> None:
        """Wait until a message may be sent. Raises `BudgetSpent` if somebody said that it may not."""
        for budget in self._budgets:
            await budget.wait()

    def guard(self) -> Hook:
        """The hook that has every tool call asked while a budget is spent."""

        @hook("PreToolUse")
        async def budget(call: PreToolUseInput) -> HookAnswer:
            spent = next((budget for budget in self._budgets if budget.is_spent), None)
            return ask_tool(f"the budget of ${spent.purse.limit:.2f} is spent") if spent is not None else None

        return budget

    def release(self) -> None:
        """The session is over: nobody may wait any longer."""
        for budget in self._budgets:
            budget.release()


class Budget:
    """Holds a session to a purse.

    Once the purse is spent, an ask opens. Until it is answered messages wait, and tool calls of what still runs are
    asked about one by one. Allowing raises the limit: to the `limit_usd` of the answer's input, or by as much again.
    Denying, or letting the ask expire, ends spending: messages are refused. If the purse is filled meanwhile, because
    somebody else raised its limit or a new day has begun, the ask is withdrawn and the session goes on.
    """

    def __init__(
        self,
        purse: Purse,
        *,
        open_ask: Callable[[Ask, Correspondent], None],
        withdraw: Callable[[str], None],
        on_spent: Callable[[], None],
    ) -> None:
        self.purse = purse
        self._open_ask = open_ask
        self._withdraw = withdraw
        self._on_spent = on_spent
        self._ask_id: str | None = None
        self._refused: str | None = None
        self._over = False
        self._settled = asyncio.Event()
        self._settled.set()
        self._unwatch = purse.watch(self.check)

    @property
    def is_spent(self) -> bool:
        return self.purse.spent >= self.purse.limit

    def check(self) -> None:
        """The purse may have changed: ask if it is spent, and go on if it no longer is."""
        if self._over:
            return
        if not self.is_spent:
            self._go_on()
        elif self._ask_id is None and self._refused is None:
            self._ask()
            self._on_spent()

    async def wait(self) -> None:
        """Wait for the answer to the ask, if there is one. Raises `BudgetSpent` if it was no."""
        await self.purse.look()
        self.check()
        await self._settled.wait()
        if self._refused is not None:
            raise BudgetSpent(f"{_amounts(self.purse)} are spent: {self._refused}")

    def allow(self, limit: float) -> None:
        """A person said yes."""
        self._ask_id = None  # it is answered, and not to be withdrawn
        self.purse.raise_to(limit)
        self.check()

    def refuse(self, reason: str) -> None:
        """A person said no, or nobody said anything."""
        self._ask_id = None
        self._refused = reason
        self._settled.set()

    def release(self) -> None:
        """The session is over: nobody may wait any longer."""
        if not self._over:
            self._over = True
            self._unwatch()
            self._settled.set()

    def limit_in(self, answer: Allow) -> float:
        """The limit that an answer sets. Raises `UnfitAnswer` for one that is no limit, or spent already."""
        spent = self.purse.spent
        named = (answer.updated_input or {}).get(LIMIT, spent + self.purse.step)
        if isinstance(named, bool) or not isinstance(named, int | float) or not spent < named < math.inf:
            raise UnfitAnswer(f"{LIMIT} must be a number above the ${spent:.2f} that are spent, not {named!r}")
        return float(named)

    def _ask(self) -> None:
        purse = self.purse
        given: dict[str, Any] = {"spent_usd": round(purse.spent, 4), LIMIT: purse.limit}
        if purse.period:
            given["period"] = purse.period
        message = f"{_amounts(purse)} are spent. Go on, with ${purse.step:.2f} more?"
        ask = Ask(
            id=f"budget-{uuid4()}", kind="budget", request=given, input=given, message=message, opened_at=time.time()
        )
        self._ask_id = ask.id
        self._settled.clear()
        self._open_ask(ask, _Decider(self))

    def _go_on(self) -> None:
        ask_id, self._ask_id = self._ask_id, None
        self._refused = None
        self._settled.set()
        if ask_id is not None:
            self._withdraw(ask_id)


def _amounts(purse: Purse) -> str:
    when = f"{purse.period.capitalize()}, " if purse.period else ""
    return f"{when}${purse.spent:.2f} of ${purse.limit:.2f}"


class _Decider(msgspec.Struct, frozen=True):
    """Takes the answer to a budget's ask."""

    budget: Budget

    def prepare(self, ask: Ask, answer: AnyAnswer) -> Parcel:
        match answer:
            case Allow():
                limit = self.budget.limit_in(answer)
                return ActionParcel(lambda decision: self.budget.allow(limit))
            case Deny(message=message):
                return ActionParcel(lambda decision: self.budget.refuse(message or "a person decided not to go on"))
            case Failed(error=error):
                return ActionParcel(lambda decision: self.budget.refuse(f"whoever was asked failed: {error}"))
        raise UnfitAnswer(f"{type(answer).__name__} does not answer a budget ask: use Allow or Deny")

    def unanswered(self, ask: Ask, seconds: float) -> None:
        self.budget.refuse("nobody answered whether to go on")

    def look_again(self, ask: Ask) -> Ask:
        return ask
