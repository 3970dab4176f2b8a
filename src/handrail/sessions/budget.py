"""A budget for a session: when it is spent, a person decides whether the session goes on."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from handrail.errors import BudgetSpent, InvalidOptions, UnfitAnswer
from handrail.protocol.asks import Allow, Ask, Deny, Failed
from handrail.protocol.control import PreToolUseInput
from handrail.protocol.frames import Result
from handrail.sessions.asks import ActionParcel, AnyAnswer, Correspondent, Parcel
from handrail.sessions.hooks import Hook, HookAnswer, ask_tool, hook

__all__ = ["Budget"]

LIMIT = "limit_usd"


class Budget:
    """What a session may cost, in US dollars, as the CLI reckons it.

    Once a result shows that the limit is reached, an ask opens. Until it is answered messages wait, and tool calls of
    what still runs are asked about one by one. Allowing raises the limit: to the `limit_usd` of the answer's input, or
    by as much again. Denying, or letting the ask expire, ends spending: messages are refused.
    """

    def __init__(self, limit: float, *, open_ask: Callable[[Ask, Correspondent], None]) -> None:
        if not (math.isfinite(limit) and limit > 0):
            raise InvalidOptions(f"a budget is an amount of US dollars above 0, not {limit!r}")
        self.limit = limit
        self.spent = 0.0
        self._step = limit
        self._open_ask = open_ask
        self._asked = False
        self._refused: str | None = None
        self._settled = asyncio.Event()
        self._settled.set()

    @property
    def is_spent(self) -> bool:
        return self.spent >= self.limit

    def on_result(self, frame: Result) -> None:
        """The CLI says what the session has cost so far."""
        self.spent = max(self.spent, frame.total_cost_usd or 0.0)
        if self.is_spent and not self._asked and self._refused is None:
            self._asked = True
            self._settled.clear()
            self._open_ask(self._ask(), _Decider(self))

    async def wait(self) -> None:
        """Wait for the answer to the ask, if there is one. Raises `BudgetSpent` if it was no."""
        await self._settled.wait()
        if self._refused is not None:
            raise BudgetSpent(f"${self.spent:.2f} of ${self.limit:.2f} are spent: {self._refused}")

    def guard(self) -> Hook:
        """The hook that has every tool call asked while the budget is spent."""

        @hook("PreToolUse")
        async def budget(call: PreToolUseInput) -> HookAnswer:
            return ask_tool(f"the budget of ${self.limit:.2f} is spent") if self.is_spent else None

        return budget

    def raise_to(self, limit: float) -> None:
        """A person said yes."""
        self.limit = limit
        self._settle(None)

    def refuse(self, reason: str) -> None:
        """A person said no, or nobody said anything."""
        self._settle(reason)

    def release(self) -> None:
        """The session is over: nobody may wait any longer."""
        self._settled.set()

    def _settle(self, refused: str | None) -> None:
        self._refused = refused
        self._asked = False
        self._settled.set()

    def _ask(self) -> Ask:
        given = {"spent_usd": round(self.spent, 4), LIMIT: self.limit}
        message = f"${self.spent:.2f} of ${self.limit:.2f} are spent. Go on, with ${self._step:.2f} more?"
        return Ask(
            id=f"budget-{uuid4()}", kind="budget", request=given, input=given, message=message, opened_at=time.time()
        )

    def limit_in(self, answer: Allow) -> float:
        """The limit that an answer sets. Raises `UnfitAnswer` for one that is no limit, or spent already."""
        named = (answer.updated_input or {}).get(LIMIT, self.spent + self._step)
        if isinstance(named, bool) or not isinstance(named, int | float) or not self.spent < named < math.inf:
            raise UnfitAnswer(f"{LIMIT} must be a number above the ${self.spent:.2f} that are spent, not {named!r}")
        return float(named)


@dataclass(frozen=True, slots=True)
class _Decider:
    """Takes the answer to a budget's ask."""

    budget: Budget

    def prepare(self, ask: Ask, answer: AnyAnswer) -> Parcel:
        match answer:
            case Allow():
                limit = self.budget.limit_in(answer)
                return ActionParcel(lambda decision: self.budget.raise_to(limit))
            case Deny(message=message):
                return ActionParcel(lambda decision: self.budget.refuse(message or "a person decided not to go on"))
            case Failed(error=error):
                return ActionParcel(lambda decision: self.budget.refuse(f"whoever was asked failed: {error}"))
        raise UnfitAnswer(f"{type(answer).__name__} does not answer a budget ask: use Allow or Deny")

    def unanswered(self, ask: Ask, seconds: float) -> None:
        self.budget.refuse("nobody answered whether to go on")

    def look_again(self, ask: Ask) -> Ask:
        return ask
