"""What one run used of each model, from what a CLI says at the end of the run: mostly totals of its whole process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

__all__ = ["SINCE_LAST_RESULT", "ModelUse", "RunEnd", "UsageMeter"]

SINCE_LAST_RESULT = "model_usage_since_last_result"
"""The field of a result in which the newest CLIs say what one run used."""

A_TRIFLE = 1e-6
LARGEST_AMOUNT = 10**12
"""Nothing real is larger; beyond it sums would not fit into a database."""

_OF_MODEL = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
_OF_RUN = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class ModelUse(msgspec.Struct, frozen=True):
    """Tokens and dollars that went into one model."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0

    def since(self, before: ModelUse) -> ModelUse:
        """What came to `before`; all of it if it does not go on from there."""
        grown = [now - then for now, then in zip(self._parts(), before._parts(), strict=True)]
        if any(part < -A_TRIFLE for part in grown):
            return self
        return _use(grown[:-1], max(0.0, grown[-1]))

    def __bool__(self) -> bool:
        return any(part > 0 for part in self._parts())

    def _parts(self) -> tuple[float, ...]:
        return msgspec.structs.astuple(self)


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What is said at the end of a run: of its process, of itself, or of both."""

    totals: Mapping[str, Any] | None = None
    """`modelUsage`: by model, since the process began; it may begin with what the session had used before."""
    since: Mapping[str, Any] | None = None
    """`SINCE_LAST_RESULT`: by model, of this run."""
    usage: Mapping[str, Any] | None = None
    """`usage`: of this run, without models and without what subagents used."""
    cost_usd: float = 0.0
    total_cost_usd: float = 0.0
    model: str = ""
    """The model of the session, for what belongs to none by name."""


class UsageMeter:
    """Reads off, at the end of each run of a session, what that run used."""

    def __init__(self) -> None:
        self._before: dict[str, ModelUse] = {}
        self._total_cost = 0.0

    def read(self, end: RunEnd) -> dict[str, ModelUse]:
        """By model. Models that the run did not use are left out."""
        now = dict(_by_model(end.totals))
        used = self._used(end, now)
        if end.totals is not None:
            self._before, self._total_cost = now, end.total_cost_usd
        return {model: use for model, use in used.items() if use} or _of_run(end, now)

    def _used(self, end: RunEnd, now: dict[str, ModelUse]) -> dict[str, ModelUse]:
        if end.since is not None:
            return dict(_by_model(end.since))
        if self._total_cost > A_TRIFLE and _are_close(end.cost_usd, end.total_cost_usd):
            return now  # the totals began anew: this run is all they know of
        if not self._before and not _are_close(end.cost_usd, end.total_cost_usd):
            return {}  # they began with something that nobody told us of
        return {model: use.since(self._before.get(model, ModelUse())) for model, use in now.items()}


def _are_close(one: float, two: float) -> bool:
    return math.isclose(one, two, rel_tol=A_TRIFLE, abs_tol=A_TRIFLE)


def _by_model(stated: Mapping[str, Any] | None) -> Iterator[tuple[str, ModelUse]]:
    for model, used in (stated or {}).items():
        if isinstance(used, Mapping):
            yield model, _use([_amount(used.get(name)) for name in _OF_MODEL], _amount(used.get("costUSD")))


def _of_run(end: RunEnd, now: Mapping[str, ModelUse]) -> dict[str, ModelUse]:
    """For the one model there is, or for that of the session."""
    usage = end.usage if isinstance(end.usage, Mapping) else {}
    use = _use([_amount(usage.get(name)) for name in _OF_RUN], _amount(end.cost_usd))
    return {next(iter(now)) if len(now) == 1 else end.model: use} if use else {}


def _use(tokens: Sequence[float], cost_usd: float) -> ModelUse:
    fresh, written, from_cache, into_cache = map(int, tokens)
    return ModelUse(fresh, written, from_cache, into_cache, cost_usd)


def _amount(value: Any) -> float:
    """A number that is one, and above nothing; else nothing."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        return 0.0
    return float(min(value, LARGEST_AMOUNT))
