"""Tool calls held in a hook until somebody decides: for CLIs that do not ask although the hook says so.

Up to 2.1.62 an allow rule in the user's settings outvotes a PreToolUse hook that answers `ask`. There the hook itself
waits for the decision, and answers with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from handrail.errors import UnfitAnswer
from handrail.protocol.asks import Allow, Answer, Ask, Deny, Failed, unanswered_body
from handrail.sessions.asking import Resolved
from handrail.sessions.asks import ActionParcel, AnyAnswer, Decision, Parcel
from handrail.sessions.hooks import HookAnswer, allow_tool, deny_tool

__all__ = ["HeldCall", "call_held"]

FAILED = "Handrail stopped this because whoever was asked failed, not because anyone refused it: "


def call_held(tool: str, given: dict[str, Any], *, tool_use_id: str, agent_id: str | None, reason: str) -> Ask:
    """The ask about a call that waits in a hook."""
    return Ask(
        id=f"held-{tool_use_id}",
        kind="permission",
        request={"tool_name": tool, "input": given, "tool_use_id": tool_use_id, "decision_reason": reason},
        tool_name=tool,
        input=given,
        tool_use_id=tool_use_id,
        agent_id=agent_id,
    )


class HeldCall:
    """Takes the answer to the ask about a held call, and gives it to the hook that waits.

    `resolve` turns an answer into the terms of the wire, `look_again` sees whether what is asked has changed, and
    `interrupt` ends the turn.
    """

    def __init__(
        self,
        *,
        resolve: Callable[[Ask, AnyAnswer], Resolved],
        look_again: Callable[[Ask], Ask],
        interrupt: Callable[[], None],
    ) -> None:
        self.look_again = look_again
        self._resolve = resolve
        self._interrupt = interrupt
        self._decided: asyncio.Future[HookAnswer] = asyncio.get_running_loop().create_future()

    async def decision(self) -> HookAnswer:
        """What the hook answers, once somebody has decided."""
        return await self._decided

    def prepare(self, ask: Ask, answer: AnyAnswer) -> Parcel:
        resolved = self._resolve(ask, answer)
        outcome = _hook_answer(resolved.answer)
        return ActionParcel(lambda decision: self._deliver(resolved, outcome, decision))

    def unanswered(self, ask: Ask, seconds: float) -> None:
        self._settle(deny_tool(unanswered_body(ask, seconds)["message"]))

    def _deliver(self, resolved: Resolved, outcome: HookAnswer, decision: Decision) -> None:
        self._settle(outcome)
        if isinstance(resolved.answer, Deny) and resolved.answer.interrupt:
            self._interrupt()
        resolved.then(decision)

    def _settle(self, answer: HookAnswer) -> None:
        if not self._decided.done():
            self._decided.set_result(answer)


def _hook_answer(answer: Answer) -> HookAnswer:
    match answer:
        case Allow(updated_input=changed):
            return allow_tool(updated_input=changed)
        case Deny(message=message):
            return deny_tool(message)
        case Failed(error=error):
            return deny_tool(FAILED + error)
    raise UnfitAnswer(f"{type(answer).__name__} does not answer a permission ask: use Allow or Deny")
