"""What each run used, read off totals that grow, begin anew, or begin with what was before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.protocol.usage import LARGEST_AMOUNT, SINCE_LAST_RESULT, ModelUse, RunEnd, UsageMeter

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "transcripts"

amounts = st.integers(0, 10**6)
uses = st.builds(ModelUse, amounts, amounts, amounts, amounts, amounts.map(float))
runs = st.dictionaries(st.sampled_from(["opus", "haiku", "sonnet"]), uses.filter(bool), min_size=1, max_size=2)


def stated(use: ModelUse) -> dict[str, Any]:
    return {
        "inputTokens": use.input_tokens,
        "outputTokens": use.output_tokens,
        "cacheReadInputTokens": use.cache_read_tokens,
        "cacheCreationInputTokens": use.cache_write_tokens,
        "costUSD": use.cost_usd,
        "contextWindow": 200_000,
    }


def added(one: ModelUse, two: ModelUse) -> ModelUse:
    return ModelUse(
        one.input_tokens + two.input_tokens,
        one.output_tokens + two.output_tokens,
        one.cache_read_tokens + two.cache_read_tokens,
        one.cache_write_tokens + two.cache_write_tokens,
        one.cost_usd + two.cost_usd,
    )


@settings(max_examples=40)
@given(st.lists(runs, max_size=4), st.booleans())
def test_totals_are_taken_apart_into_runs(used: list[dict[str, ModelUse]], with_since: bool) -> None:
    meter = UsageMeter()
    totals: dict[str, ModelUse] = {}
    for run in used:
        for model, use in run.items():
            totals[model] = added(totals.get(model, ModelUse()), use)
        end = RunEnd(
            totals={model: stated(use) for model, use in totals.items()},
            since={model: stated(use) for model, use in run.items()} if with_since else None,
            cost_usd=sum(use.cost_usd for use in run.values()),
            total_cost_usd=sum(use.cost_usd for use in totals.values()),
        )
        assert meter.read(end) == run


def test_totals_that_begin_anew_are_the_runs_own() -> None:
    meter = UsageMeter()
    big, small = ModelUse(100, 100, 0, 0, 1.0), ModelUse(500, 5, 0, 0, 2.0)
    meter.read(RunEnd(totals={"opus": stated(big)}, cost_usd=1.0, total_cost_usd=1.0))
    assert meter.read(RunEnd(totals={"opus": stated(small)}, cost_usd=2.0, total_cost_usd=2.0)) == {"opus": small}
    free = ModelUse(1, 1, 0, 0, 0.0)
    assert meter.read(RunEnd(totals={"opus": stated(free)})) == {"opus": free}


def test_totals_that_begin_with_what_was_before_are_not_the_runs() -> None:
    """A fork, say: what its parent used is counted there."""
    meter = UsageMeter()
    totals = {"opus": stated(ModelUse(1000, 1000, 0, 0, 5.0))}
    usage = {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 6}
    end = RunEnd(totals=totals, usage=usage, cost_usd=0.5, total_cost_usd=5.5, model="sonnet")
    assert meter.read(end) == {"opus": ModelUse(3, 4, 5, 6, 0.5)}
    totals = {"opus": stated(ModelUse(1001, 1002, 0, 0, 5.25))}
    assert meter.read(RunEnd(totals=totals, cost_usd=0.25, total_cost_usd=5.75)) == {"opus": ModelUse(1, 2, 0, 0, 0.25)}


def test_what_belongs_to_no_model_by_name_is_the_sessions() -> None:
    end = RunEnd(usage={"input_tokens": 3}, cost_usd=0.5, total_cost_usd=0.5, model="sonnet")
    assert UsageMeter().read(end) == {"sonnet": ModelUse(3, 0, 0, 0, 0.5)}
    assert UsageMeter().read(RunEnd(model="sonnet")) == {}


@pytest.mark.parametrize("odd", [None, True, "7", -3, float("nan"), [], {}])
def test_what_is_no_amount_counts_for_nothing(odd: Any) -> None:
    totals = {"opus": {"inputTokens": odd, "outputTokens": 2, "costUSD": odd}, "haiku": odd}
    assert UsageMeter().read(RunEnd(totals=totals, usage={"input_tokens": odd})) == {"opus": ModelUse(0, 2, 0, 0, 0.0)}


@pytest.mark.parametrize("huge", [10**400, float("inf"), 1e300])
def test_no_amount_is_larger_than_a_database_takes(huge: float) -> None:
    (use,) = UsageMeter().read(RunEnd(since={"opus": {"inputTokens": huge, "costUSD": huge}})).values()
    assert (use.input_tokens, use.cost_usd) == (LARGEST_AMOUNT, LARGEST_AMOUNT)


leaves = st.none() | st.booleans() | st.floats() | st.text(max_size=3)
names = st.sampled_from(["inputTokens", "costUSD", "opus", ""])


@settings(max_examples=40)
@given(st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=6))
def test_nothing_that_a_cli_says_is_an_error(said: Any) -> None:
    table = said if isinstance(said, dict) else {"opus": said}
    used = UsageMeter().read(RunEnd(totals=table, since=table, usage=table))
    assert all(use.input_tokens >= 0 for use in used.values())


@pytest.mark.parametrize(
    "path", sorted(RECORDINGS.rglob("*.jsonl")), ids=lambda path: f"{path.parent.name} {path.stem}"
)
def test_what_is_read_off_totals_is_what_the_newest_clis_say(path: Path) -> None:
    reads, told = UsageMeter(), UsageMeter()
    total = 0.0
    for result in results(path):
        before, total = total, result["total_cost_usd"]
        cost = total - before if total >= before else total
        end = RunEnd(totals=result["modelUsage"], usage=result["usage"], cost_usd=cost, total_cost_usd=total)
        since = result.get(SINCE_LAST_RESULT)
        assert reads.read(end) == pytest.approx(told.read(msgspec.structs.replace(end, since=since)))


def results(path: Path) -> list[dict[str, Any]]:
    entries = (json.loads(line) for line in path.read_text().splitlines())
    raw = (entry["raw"] for entry in entries if entry["dir"] == "in" and isinstance(entry["raw"], str))
    frames = (frame_of(line) for text in raw for line in text.splitlines())
    return [frame for frame in frames if isinstance(frame, dict) and frame.get("type") == "result"]


def frame_of(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
