"""Brings what the CLI asks before those who may answer: the policy, then `on_ask`, then whoever calls `decide`."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from handrail.errors import AlreadyDecided, AskClosed, StaleDigest, UnfitAnswer
from handrail.policy.answers.plan import EnterPlan
from handrail.protocol.asks import Allow, Answer, Ask, Deny, Failed, answer_body, unanswered_body
from handrail.protocol.connection import TheirRequest
from handrail.protocol.state import AskState
from handrail.sessions.asks import Actor, AnyAnswer, AskBook, AskChange, Correspondent, Decision, Parcel
from handrail.sessions.survey import Surveyor

__all__ = ["Asking", "Line", "OnAsk", "PolicyAnswer"]

logger = logging.getLogger("handrail.client")

OnAsk = Callable[[Ask], Awaitable[AnyAnswer | None]]
"""Answers an ask. None leaves it open, for whoever calls `decide`."""

NOBODY = Deny("Handrail denied this because nobody is there to answer: the client has no on_ask.")
PLAIN_YES = Allow()
HANDRAIL = Actor("Handrail", "policy")
HOOK = Actor("a PermissionRequest hook", "hook")

ASK_FOLLOWS_WITHIN = 5.0
"""The CLI asks and calls the PermissionRequest hooks at once: the ask is here at most this many seconds later."""

REMEMBERED_CALLS = 1_000

ASK_AGAIN_AFTER = 1.0
"""How many seconds to wait after an answer could not be recorded."""


class PolicyAnswer(msgspec.Struct, frozen=True):
    """What a policy answers to an ask, and which part of the policy says so."""

    answer: Answer
    actor: Actor


class Resolved(msgspec.Struct, frozen=True):
    """An answer in the terms of the wire, and what is to be done after it was sent."""

    answer: Answer
    then: Callable[[Decision], None] = lambda decision: None


class Line(msgspec.Struct, frozen=True):
    """The way back to the CLI: a body, or an error."""

    respond: Callable[[TheirRequest, dict[str, Any]], None]
    respond_error: Callable[[TheirRequest, str], None]


class Asking:
    """The asks of one CLI.

    `complete` adds what the session knows to a fresh ask; `resolve` turns an answer into the terms of the wire;
    `rule` is the policy, which may answer at once; `expire_after` says how long an ask may wait; `asks_with_hooks`
    whether this CLI asks at the same time as it calls PermissionRequest hooks.
    """

    def __init__(
        self,
        book: AskBook,
        surveyor: Surveyor,
        *,
        on_ask: OnAsk | None,
        actor: Actor,
        complete: Callable[[Ask], Ask],
        resolve: Callable[[Ask, AnyAnswer], Resolved],
        rule: Callable[[Ask], PolicyAnswer | None],
        expire_after: Callable[[Ask], float | None],
        asks_with_hooks: Callable[[], bool],
    ) -> None:
        self._book = book
        self._surveyor = surveyor
        self._on_ask = on_ask
        self._actor = actor
        self._complete = complete
        self._resolve = resolve
        self._rule = rule
        self._expire_after = expire_after
        self._asks_with_hooks = asks_with_hooks
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ask_of_call: OrderedDict[str, str] = OrderedDict()
        self._hooks_waiting: dict[str, asyncio.Future[str]] = {}

    def asked(self, request: TheirRequest, ask: Ask, line: Line) -> None:
        """The CLI asks, and waits at the end of `line`."""
        try:
            self._take(ask, _CLI(request, line, self._surveyor, self._resolve))
        except Exception as error:  # whatever is wrong with one ask, the CLI must have its answer, and others theirs
            logger.exception("an ask could not be taken on")
            line.respond_error(request, f"Handrail could not take this on: {type(error).__name__}: {error}")

    def withdraw(self, ask_id: str) -> None:
        """Nobody wants an answer any more."""
        self._book.cancel(ask_id)
        self._stop(ask_id)

    def asked_about(self, tool_use_id: str) -> bool:
        """Whether the CLI has asked about a tool call."""
        return tool_use_id in self._ask_of_call

    def more_is_known(self, tool_use_id: str) -> None:
        """The tool call with this id has arrived: an ask about it, if it was faster, may be completed by it."""
        for ask in list(self._book.pending.values()):
            if ask.tool_use_id == tool_use_id:
                completed = self._complete(ask)
                if completed.plan != ask.plan:
                    self._book.update(self._surveyor.survey(completed))

    def changed(self, change: AskChange) -> None:
        """An ask moved on: nobody needs to be consulted about it any more."""
        if change.state is not AskState.PENDING:
            self._stop(change.ask.id)

    def stop(self) -> None:
        """The CLI is gone."""
        self._book.lose()
        for ask_id in list(self._tasks):
            self._stop(ask_id)

    async def answered_by_hook(self, tool_use_id: str | None, output: dict[str, Any]) -> dict[str, Any]:
        """A PermissionRequest hook's output, as the CLI gets it: a decision in it is made here, as any other is.

        Returns what is left to tell the CLI. Where no ask comes with the hook (2.1.37), that is all of it.
        """
        answer = _hook_decision(output)
        ask_id = await self._ask_about(tool_use_id) if answer is not None and tool_use_id else None
        if answer is None or ask_id is None:
            return output
        try:
            await self._book.decide(ask_id, answer, actor=HOOK)
        except (AlreadyDecided, AskClosed) as error:
            logger.debug("a hook's answer came too late: %s", error)
        return {}

    async def _ask_about(self, tool_use_id: str) -> str | None:
        """The id of the ask about a tool call; None if the CLI does not ask about it."""
        if tool_use_id in self._ask_of_call or not self._asks_with_hooks():
            return self._ask_of_call.get(tool_use_id)
        opened = self._hooks_waiting.setdefault(tool_use_id, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(ASK_FOLLOWS_WITHIN):
                return await asyncio.shield(opened)
        except TimeoutError:
            return None
        finally:
            self._hooks_waiting.pop(tool_use_id, None)

    def _remember_call(self, tool_use_id: str, ask_id: str) -> None:
        self._ask_of_call[tool_use_id] = ask_id
        if len(self._ask_of_call) > REMEMBERED_CALLS:
            self._ask_of_call.popitem(last=False)
        waiting = self._hooks_waiting.get(tool_use_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(ask_id)

    def _take(self, ask: Ask, cli: _CLI) -> None:
        ask = self._complete(ask)
        if self._surveyor.is_heavy(ask):
            # A large file is read and compared elsewhere, so that nothing else waits for that.
            self._start(ask.id, lambda: self._open_later(cli, ask))
        else:
            self.open(self._surveyor.survey(ask), cli)

    async def _open_later(self, cli: _CLI, ask: Ask) -> None:
        try:
            self.open(await asyncio.to_thread(self._surveyor.survey_in_full, ask), cli)
        except Exception as error:
            cli.line.respond_error(cli.request, f"Handrail could not take this on: {type(error).__name__}: {error}")
            raise

    def open(self, ask: Ask, correspondent: Correspondent) -> None:
        """Bring an ask before those who may answer it."""
        self._book.open(ask, correspondent, expire_after=self._expire_after(ask))
        if ask.tool_use_id:
            self._remember_call(ask.tool_use_id, ask.id)
        if ask.id in self._book.pending:
            self._start(ask.id, lambda: self._consult(ask))

    async def _consult(self, shown: Ask) -> None:
        """Ask again for as long as what was shown is not what is asked by the time of the answer."""
        ask: Ask | None = shown
        while ask is not None:
            answer, actor = await self._answer(ask)
            if answer is None or await self._decide(ask, answer, actor):
                return
            ask = self._book.pending.get(ask.id)

    async def _answer(self, ask: Ask) -> tuple[AnyAnswer | None, Actor]:
        """The answer of the first who has one, and who that is: the policy, else `on_ask`."""
        ruling = self._ruling(ask)
        if ruling is not None:
            return ruling.answer, ruling.actor
        if self._on_ask is None:
            return _nobodys_answer(ask), HANDRAIL
        return await _answer_of(self._on_ask, ask), self._actor

    def _ruling(self, ask: Ask) -> PolicyAnswer | None:
        try:
            return self._rule(ask)
        except Exception:  # a policy that fails decides nothing: a person does
            logger.exception("the policy failed on an ask; it is left to a person")
            return None

    async def _decide(self, ask: Ask, answer: AnyAnswer, actor: Actor) -> bool:
        """Decide, and say whether that is the end of it: False if the ask has changed and is still open."""
        try:
            await self._book.decide(ask.id, answer, actor=actor, digest=ask.digest)
        except StaleDigest:
            return False
        except UnfitAnswer as error:
            logger.warning("the answer of %s does not fit: %s", actor, error)
            await self._decide(ask, Failed(f"{type(error).__name__}: {error}"), actor)
        except (AlreadyDecided, AskClosed) as error:
            logger.debug("an answer came too late: %s", error)
        except Exception:  # it could not be recorded: the ask is open again, and must not stay so unheard
            logger.exception("the answer of %s could not be recorded, and is asked for again", actor)
            await asyncio.sleep(ASK_AGAIN_AFTER)
            return False
        return True

    def _start(self, ask_id: str, work: Callable[[], Awaitable[None]]) -> None:
        self._tasks[ask_id] = asyncio.get_running_loop().create_task(self._carry_out(ask_id, work))

    async def _carry_out(self, ask_id: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:
            logger.exception("an ask could not be brought before anybody; it stays open")
        finally:
            if self._tasks.get(ask_id) is asyncio.current_task():
                del self._tasks[ask_id]

    def _stop(self, ask_id: str) -> None:
        task = self._tasks.get(ask_id)
        if task is not None and task is not _current_task():
            del self._tasks[ask_id]
            task.cancel()


class _CLI(msgspec.Struct, frozen=True):
    """The CLI that waits for the answer to one request."""

    request: TheirRequest
    line: Line
    surveyor: Surveyor
    resolve: Callable[[Ask, AnyAnswer], Resolved]

    def prepare(self, ask: Ask, answer: AnyAnswer) -> Parcel:
        if isinstance(answer, Failed):
            return _ErrorParcel(self, answer.error)
        resolved = self.resolve(ask, answer)
        body = answer_body(ask, resolved.answer)
        if resolved.answer != PLAIN_YES:  # what the CLI itself sent can be written
            _check_writable(body)
        return _BodyParcel(self, body, resolved.then)

    def unanswered(self, ask: Ask, seconds: float) -> None:
        self.line.respond(self.request, unanswered_body(ask, seconds))

    def look_again(self, ask: Ask) -> Ask:
        return self.surveyor.look_again(ask)


class _BodyParcel(msgspec.Struct, frozen=True):
    cli: _CLI
    body: dict[str, Any]
    then: Callable[[Decision], None]

    def send(self, decision: Decision) -> None:
        self.cli.line.respond(self.cli.request, self.body)
        self.then(decision)


class _ErrorParcel(msgspec.Struct, frozen=True):
    cli: _CLI
    error: str

    def send(self, decision: Decision) -> None:
        self.cli.line.respond_error(self.cli.request, self.error)


def _check_writable(body: dict[str, Any]) -> None:
    try:
        msgspec.json.encode(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnfitAnswer(f"the answer cannot be written as JSON: {error}") from None


async def _answer_of(on_ask: OnAsk, ask: Ask) -> AnyAnswer | None:
    """What the callback answers; that it failed, if it did: the CLI must have its answer."""
    try:
        return await on_ask(ask)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Not we were cancelled, but something the callback waited for.
        return Failed("what the callback waited for was cancelled")
    except Exception as error:  # a callback may raise anything
        logger.warning("on_ask failed", exc_info=error)
        return Failed(f"{type(error).__name__}: {error}")


def _nobodys_answer(ask: Ask) -> AnyAnswer:
    """The answer where nobody is there: no, except to what would be changed by it."""
    return EnterPlan() if ask.kind == "enter_plan" else NOBODY


def _hook_decision(output: Mapping[str, Any]) -> Answer | None:
    decision = (output.get("hookSpecificOutput") or {}).get("decision") or {}
    match decision.get("behavior"):
        case "allow":
            return Allow(decision.get("updatedInput"), decision.get("updatedPermissions") or ())
        case "deny":
            return Deny(decision.get("message") or "A hook denied this.", bool(decision.get("interrupt")))
    return None


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
