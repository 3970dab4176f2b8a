"""Which run is open, what caused it, and what it cost.

A run begins when the CLI says so (`system/init`) or when the main conversation goes on without that, and ends with a
result. Results are not paired with messages one to one: newer CLIs say which messages a run answers, and where they do
not, only the cause is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.events.model import Completed, Meta, Started
from handrail.protocol.frames import Init, Result
from handrail.protocol.usage import SINCE_LAST_RESULT

__all__ = ["Runs", "meta_of", "stated_cost"]

Cause: TypeAlias = Literal["message", "background", "unknown"]

CENT_FRACTIONS = 12
"""Digits kept of a cost that is a difference: floats leave crumbs."""


class _Waiting(msgspec.Struct):
    """A message that was written to the CLI and that no run has taken."""

    certain: bool
    """False if a run that was open when it was written may have taken it."""


class Runs:
    """The runs of one CLI process, in order."""

    def __init__(self, first: int) -> None:
        self.number: int | None = None
        """The open run."""
        self.last = 0
        """The latest run, open or not."""
        self.over = False
        """Whether no run can begin any more."""
        self._next = first
        self._known: set[str] = set()
        self._waiting: dict[str, _Waiting] = {}
        self._begun: dict[str, None] = {}
        self._taken: dict[str, None] = {}
        self._answered: set[str] = set()
        self._work_ended = False
        self._total_cost = 0.0

    # ------------------------------------------------------------ messages

    def expect(self, uuid: str) -> bool:
        """A message was written. False if it was known: the CLI runs the same message once."""
        if uuid in self._known:
            return False
        self._known.add(uuid)
        self._waiting[uuid] = _Waiting(certain=self.number is None)
        return True

    def is_known(self, uuid: str | None) -> bool:
        """Whether this is a message of ours."""
        return uuid in self._known

    def queue(self, uuid: str) -> None:
        """The CLI has a message and has not begun with it."""
        if uuid in self._waiting:
            self._waiting[uuid].certain = True

    def take(self, uuid: str) -> None:
        """The CLI begins with a message: in the open run, or in the next one. It may repeat one that is done."""
        if uuid in self._answered:
            return
        self._waiting.pop(uuid, None)
        (self._begun if self.number is None else self._taken)[uuid] = None

    def drop(self, uuid: str) -> bool:
        """The CLI will not answer a message. False if it has begun with it: then a result tells how it ended."""
        if uuid in self._taken or uuid in self._begun:
            return False
        self._waiting.pop(uuid, None)
        return True

    def work_ended(self) -> None:
        """Something in the background is done: a run that nobody asked for is likely to follow."""
        self._work_ended = True

    def idle(self) -> None:
        """Nothing waits in the CLI: what a run may have taken was taken."""
        self._waiting = {uuid: state for uuid, state in self._waiting.items() if state.certain}

    # ------------------------------------------------------------ brackets

    def begin(self, *, resume: str | None, meta: Meta | None = None, messages: Iterable[str] = ()) -> Started:
        """A run begins."""
        for uuid in messages:
            self._waiting.pop(uuid, None)
            self._begun[uuid] = None
        cause = self._cause()
        self.number = self.last = self._next
        self._next += 1
        self._taken, self._begun, self._work_ended = self._begun, {}, False
        return Started(resume=resume, meta=meta, cause=cause, messages=tuple(self._taken))

    def finish(self, result: Result, *, resume: str | None, answer: str) -> Completed:
        """A run is over, with a result."""
        data = result.data
        named = dict.fromkeys(filter(None, (*result.user_message_uuids, result.user_message_uuid)))
        for uuid in named:
            self._waiting.pop(uuid, None)
            self._answered.add(uuid)
        completed = Completed(
            ok=result.ok,
            answer=result.result or answer,
            error=result.error,
            resume=resume,
            subtype=result.subtype,
            usage=_object(data, "usage"),
            model_usage=_object(data, "modelUsage"),
            cost_usd=self._cost(result, data),
            total_cost_usd=result.total_cost_usd,
            duration_ms=result.duration_ms,
            num_turns=result.num_turns,
            messages=tuple(named or self._taken),
            structured_output=result.structured_output,
            stop_reason=result.stop_reason or "",
            detail={name: data[name] for name in KEPT if data.get(name) is not None},
        )
        self._close()
        return completed

    def fail(self, error: str, *, resume: str | None, answer: str = "") -> Completed:
        """A run is over without a result."""
        messages = tuple(self._taken)
        self._close()
        return Completed(
            ok=False, answer=answer, error=error, resume=resume, total_cost_usd=self._total_cost, messages=messages
        )

    def unanswered(self) -> tuple[str, ...]:
        """Messages that no run has taken, for certain."""
        return (*self._begun, *(uuid for uuid, state in self._waiting.items() if state.certain))

    def _close(self) -> None:
        self.number = None
        self._answered.update(self._taken)
        self._taken = {}

    def _cause(self) -> Cause:
        if self._begun:
            return "message"
        waiting = next((uuid for uuid, state in self._waiting.items() if state.certain), None)
        if waiting is None and self._work_ended:
            return "background"
        waiting = waiting or next(iter(self._waiting), None)
        if waiting is None:
            return "unknown"
        alone = len(self._waiting) == 1
        self._waiting.pop(waiting)
        for state in self._waiting.values():
            state.certain = False  # this run may take them all
        if alone:
            self._begun[waiting] = None
        return "message"

    def _cost(self, result: Result, data: dict[str, Any]) -> float:
        """What this run cost. The newest CLIs say it; for others it is how much the process' total grew.

        The total begins anew when the conversation is cleared, and may begin with the cost of the session so far when
        it is resumed: the CLIs that do so are those that say what the run cost.
        """
        before, self._total_cost = self._total_cost, result.total_cost_usd
        stated = stated_cost(data)
        if stated is not None:
            return stated
        grown = result.total_cost_usd - before
        return round(grown, CENT_FRACTIONS) if grown >= 0 else result.total_cost_usd


KEPT = (
    "terminal_reason",
    "origin",
    "deferred_tool_use",
    "duration_api_ms",
    "ttft_ms",
    "api_error_status",
    "startup_failure_reason",
    "invalid_config_file",
    "queued_turn_count",
    "local_command",
    "subagent_stats",
    "fast_mode_state",
    SINCE_LAST_RESULT,
)
"""Fields of a result that a screen may want, beside those that every run has."""


def stated_cost(data: dict[str, Any]) -> float | None:
    """What a run has cost, where its result says so."""
    since = _object(data, SINCE_LAST_RESULT)
    return None if since is None else sum((_number(used, "costUSD") for used in since.values()), 0.0)


def meta_of(frame: Init) -> Meta:
    """The session as the CLI describes it."""
    return Meta(
        cwd=frame.cwd,
        model=frame.model,
        tools=frame.tools,
        permission_mode=frame.permission_mode,
        output_style=frame.output_style,
        cli_version=frame.claude_code_version,
        mcp_servers=tuple({"name": server.name, "status": server.status} for server in frame.mcp_servers),
        slash_commands=frame.slash_commands,
        agents=frame.agents,
        skills=frame.skills,
        api_key_source=frame.api_key_source or "",
    )


def _object(data: dict[str, Any], name: str) -> dict[str, Any] | None:
    value = data.get(name)
    return value if isinstance(value, dict) else None


def _number(used: Any, name: str) -> float:
    value = used.get(name) if isinstance(used, dict) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
