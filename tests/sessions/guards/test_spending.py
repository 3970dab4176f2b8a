"""Budgets: of a session over several processes, and of a day over several sessions and processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail import Actor, Allow, Ask, AskChange, AskState, BudgetSpent, Client, Deny, Options, connect
from handrail.errors import InvalidOptions, StoreUnavailable
from handrail.protocol.frames import Init
from handrail.sessions.budget import CostMeter, Purse, SessionPurse
from handrail.sessions.guards.spending import DayPurse, midnight_after, midnight_before
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

pytestmark = pytest.mark.timeout(60)

ALICE = Actor("alice", "python")
NOON = datetime(2026, 3, 14, 12).timestamp()


async def leave_open(ask: Ask) -> None:
    """Leaves every ask to whoever calls `decide`."""


async def until(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(30):
        while not (found := condition()):
            await asyncio.sleep(0.005)
    return found


async def open_ask(client: Client) -> Ask:
    ask: Ask = await until(lambda: next(iter(client.asks.values()), None))
    return ask


def costing(dollars: float, **settings: Any) -> sim.Step:
    return sim.turn("Done.", result={"total_cost_usd": dollars}, **settings)


def subtypes(cli: SimulatedCLI) -> list[str]:
    return [line["request"]["subtype"] for line in cli.received() if line["type"] == "control_request"]


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., tuple[SimulatedCLI, Options]]:
    """Make a simulated CLI from steps, and options that start it."""
    made = 0

    def make(*steps: sim.Step) -> tuple[SimulatedCLI, Options]:
        nonlocal made
        made += 1
        directory = tmp_path / f"cli{made}"
        directory.mkdir()
        cli = SimulatedCLI(steps, directory=directory)
        return cli, Options(cli_path=str(cli.path), cwd=str(directory))

    return make


class Ledger:
    """What a store would say was spent, and the time of the day."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.now = NOON
        self.asked_since: list[float] = []
        self.fails = False

    async def read(self, since: float) -> float:
        self.asked_since.append(since)
        if self.fails:
            raise StoreUnavailable("the disk is gone")
        return self.spent

    def clock(self) -> float:
        return self.now


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def day_purse(ledger: Ledger, directory: Path, limit: float = 10.0) -> DayPurse:
    return DayPurse(limit, read_spent=ledger.read, directory=directory / "today", clock=ledger.clock)


@pytest.fixture
async def today(ledger: Ledger, tmp_path: Path) -> AsyncIterator[DayPurse]:
    async with day_purse(ledger, tmp_path) as purse:
        yield purse


# ---------------------------------------------------------------- what a session costs


def test_a_count_that_starts_again_is_added() -> None:
    meter = CostMeter()
    assert [meter.cost_of(total) for total in (0.5, 0.75, 0.75, 0.0, 0.25)] == [0.5, 0.25, 0.0, 0.0, 0.25]


@given(st.lists(st.lists(st.floats(0, 10), max_size=10), max_size=5))
def test_nothing_is_counted_twice_or_forgotten(processes: list[list[float]]) -> None:
    meter, counted = CostMeter(), 0.0
    for costs in processes:
        counted += meter.cost_of(0.0)  # as after /clear
        total = 0.0
        for cost in costs:
            total += cost
            counted += meter.cost_of(total)
    assert counted == pytest.approx(sum(map(sum, processes)))


async def test_spending_after_clear_counts(play: Any) -> None:
    _cli, options = play(costing(0.8), costing(0.0), costing(0.4))
    async with connect(options, on_ask=leave_open, budget=1.0) as client:
        for prompt in ("one", "/clear", "two"):
            await client.run(prompt)
        assert (await open_ask(client)).input == {"spent_usd": 1.2, "limit_usd": 1.0}


async def test_what_a_session_cost_before_it_was_resumed_counts(play: Any) -> None:
    raised: list[float] = []
    _cli, options = play(costing(0.25), costing(0.25))
    purse = SessionPurse(1.0, spent=0.9, on_raise=raised.append)
    async with connect(options, on_ask=leave_open, budget=purse) as client:
        await client.run("one")
        ask = await open_ask(client)
        assert ask.input == {"spent_usd": 1.15, "limit_usd": 1.0}
        await client.decide(ask.id, Allow(), actor=ALICE)
        assert raised == [pytest.approx(2.15)]
        assert (await client.run("two")).ok


async def test_a_resumed_session_whose_budget_is_spent_asks_before_its_first_message(play: Any) -> None:
    cli, options = play(costing(0.25))
    async with connect(options, on_ask=leave_open, budget=SessionPurse(1.0, spent=1.5)) as client:
        running = asyncio.create_task(client.run("one"))
        ask = await open_ask(client)
        assert "user" not in [line["type"] for line in cli.received()]
        await client.decide(ask.id, Deny(""), actor=ALICE)
        with pytest.raises(BudgetSpent, match=r"\$1.50 of \$1.00 are spent: a person decided not to go on"):
            await running


async def test_raising_the_limit_from_elsewhere_withdraws_the_ask_and_undoes_a_refusal(play: Any) -> None:
    changes: list[AskChange] = []
    _cli, options = play(costing(2.0), costing(2.5), costing(6.0), costing(6.5))
    purse = SessionPurse(1.0)
    async with connect(options, on_ask=leave_open, on_ask_change=changes.append, budget=purse) as client:
        await client.run("one")
        await open_ask(client)
        purse.raise_to(5.0)
        assert not client.asks
        assert changes[-1].state is AskState.CANCELLED
        await client.run("two")
        await client.run("three")
        await client.decide((await open_ask(client)).id, Deny("enough"), actor=ALICE)
        with pytest.raises(BudgetSpent):
            await client.run("four")
        purse.raise_to(10.0)
        assert (await client.run("four")).ok


def test_an_amount_is_checked(tmp_path: Path) -> None:
    for amount in (0, -1, float("nan")):
        with pytest.raises(InvalidOptions, match="above 0"):
            SessionPurse(amount)
        with pytest.raises(InvalidOptions, match="above 0"):
            day_purse(Ledger(), tmp_path, amount)


# ---------------------------------------------------------------- what still runs


async def test_a_turn_that_begins_while_the_budget_is_spent_is_interrupted(play: Any) -> None:
    cli, options = play(costing(2.0), sim.turn(sim.sleep(30), prompted=False))
    async with connect(options, on_ask=leave_open, budget=1.0) as client:
        await client.run("one")
        await until(lambda: "interrupt" in subtypes(cli))
        assert len(client.asks) == 1


async def test_agents_in_the_background_are_stopped_and_commands_are_not(play: Any) -> None:
    def task(task_id: str, kind: str) -> dict[str, Any]:
        started = {"type": "system", "subtype": "task_started", "task_id": task_id, "task_type": kind}
        return {**started, "description": "x", "is_backgrounded": True, "session_id": "$session"}

    tasks = sim.send(task("a1", "local_agent"), task("b1", "local_bash"))
    cli, options = play(sim.turn(tasks, "Done.", result={"total_cost_usd": 2.0}))
    async with connect(options, on_ask=leave_open, budget=1.0) as client:
        await client.run("one")
        await until(lambda: "stop_task" in subtypes(cli))
        await client.control("mcp_status")  # once that is answered, whatever was written before has arrived
    requests = [line["request"] for line in cli.received() if line["type"] == "control_request"]
    assert [request["task_id"] for request in requests if request["subtype"] == "stop_task"] == ["a1"]
    assert "interrupt" not in subtypes(cli)


async def test_a_limit_that_others_pass_interrupts_the_turn_that_runs(
    play: Any, today: DayPurse, ledger: Ledger
) -> None:
    cli, options = play(sim.turn(sim.sleep(30)))
    async with connect(options, on_ask=leave_open, budget=today) as client:
        frames = client.frames()
        await client.send("one")
        async for frame in frames:
            if isinstance(frame, Init):
                break
        ledger.spent = 12.0
        await today.look()
        await until(lambda: "interrupt" in subtypes(cli))


# ---------------------------------------------------------------- the day


async def test_a_day_is_asked_about_and_raised_for_all_sessions(play: Any, today: DayPurse, ledger: Ledger) -> None:
    _cli, options = play(costing(0.5), costing(0.6))
    _other_cli, other_options = play(costing(0.5))
    async with (
        connect(options, on_ask=leave_open, budget=[SessionPurse(5.0), today]) as client,
        connect(other_options, on_ask=leave_open, budget=today) as other,
    ):
        ledger.spent = 9.8
        await client.run("one")
        ask = await open_ask(client)
        assert ask.input == {"spent_usd": 10.3, "limit_usd": 10.0, "period": "today"}
        assert ask.message == "Today, $10.30 of $10.00 are spent. Go on, with $10.00 more?"
        assert ask.description is not None
        waiting = asyncio.create_task(other.run("two"))
        held = await open_ask(other)
        await client.decide(ask.id, Allow({"limit_usd": 12}), actor=ALICE)
        assert (await waiting).ok
        assert held.id not in other.asks
        assert (await client.run("two")).ok


async def test_no_in_one_session_is_no_answer_for_another(play: Any, today: DayPurse, ledger: Ledger) -> None:
    ledger.spent = 11.0
    _cli, options = play(costing(0.5))
    _other_cli, other_options = play(costing(0.5))
    async with (
        connect(options, budget=today) as unattended,
        connect(other_options, on_ask=leave_open, budget=today) as other,
    ):
        with pytest.raises(BudgetSpent, match="Today,"):
            await unattended.run("one")
        waiting = asyncio.create_task(other.run("two"))
        await other.decide((await open_ask(other)).id, Allow(), actor=ALICE)
        assert (await waiting).ok
        assert (await unattended.run("three")).ok


async def test_when_the_day_ends_everybody_goes_on(play: Any, today: DayPurse, ledger: Ledger, tmp_path: Path) -> None:
    ledger.spent = 11.0
    cli, options = play(costing(0.5))
    async with connect(options, on_ask=leave_open, budget=today) as client:
        waiting = asyncio.create_task(client.run("one"))
        await open_ask(client)
        assert "user" not in [line["type"] for line in cli.received()]
        ledger.now, ledger.spent = NOON + 86_400, 0.0
        await today.look()
        assert (await waiting).ok
        assert not client.asks
    assert today.spent == pytest.approx(0.5)


async def test_midnight_is_waited_for(ledger: Ledger, tmp_path: Path) -> None:
    ledger.spent, ledger.now = 11.0, midnight_after(NOON) - 0.5
    async with day_purse(ledger, tmp_path) as purse:
        changed = asyncio.Event()
        purse.watch(lambda: changed.set() if purse.spent == 0 else None)
        ledger.now, ledger.spent = ledger.now + 1.0, 0.0
        async with asyncio.timeout(30):
            await changed.wait()
        assert (purse.spent, purse.limit) == (0.0, 10.0)


async def test_a_raised_limit_holds_for_the_day_in_every_process(ledger: Ledger, tmp_path: Path) -> None:
    ledger.spent = 11.0
    async with day_purse(ledger, tmp_path) as here, day_purse(ledger, tmp_path) as there:
        told = asyncio.Event()
        there.watch(lambda: told.set() if there.limit > 10 else None)
        here.raise_to(25.0)
        async with asyncio.timeout(30):
            await told.wait()
        assert there.limit == 25.0
    assert os.stat(tmp_path / "today" / "limit.json").st_mode & 0o077 == 0
    async with day_purse(ledger, tmp_path) as later:
        assert later.limit == 25.0
        ledger.now += 86_400
        await later.look()
        assert later.limit == 10.0
    async with day_purse(ledger, tmp_path, limit=50.0) as generous:
        assert generous.limit == 50.0


async def test_whoever_passes_the_limit_wakes_the_others(ledger: Ledger, tmp_path: Path) -> None:
    async with day_purse(ledger, tmp_path) as here, day_purse(ledger, tmp_path) as there:
        told = asyncio.Event()
        there.watch(lambda: told.set() if there.spent > 10 else None)
        ledger.spent = 12.0
        here.spend(12.0)
        async with asyncio.timeout(30):
            await told.wait()


RAISER = """
import asyncio, sys
from handrail.sessions.guards.spending import DayPurse

async def spent(since):
    return 11.0

async def main():
    async with DayPurse(10.0, read_spent=spent, directory=sys.argv[1]) as purse:
        purse.raise_to(30.0)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_another_process_raises_the_limit(ledger: Ledger, tmp_path: Path) -> None:
    ledger.now, ledger.spent = time.time(), 11.0
    async with day_purse(ledger, tmp_path) as purse:
        told = asyncio.Event()
        purse.watch(lambda: told.set() if purse.limit == 30.0 else None)
        command = [sys.executable, "-c", RAISER, str(tmp_path / "today")]
        await asyncio.to_thread(subprocess.run, command, check=True, timeout=30)
        async with asyncio.timeout(30):
            await told.wait()


async def test_a_store_that_fails_holds_nobody_up(
    today: DayPurse, ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    today.spend(3.0)
    ledger.fails = True
    await today.look()
    assert today.spent == 3.0
    assert "the disk is gone" in caplog.text


@pytest.mark.parametrize("content", ["", "{", '{"day": 3}', "[]"])
async def test_a_damaged_file_raises_nothing(ledger: Ledger, tmp_path: Path, content: str) -> None:
    directory = tmp_path / "today"
    directory.mkdir()
    (directory / "limit.json").write_text(content)
    async with day_purse(ledger, tmp_path) as purse:
        assert purse.limit == 10.0


async def test_a_limit_that_cannot_be_kept_holds_here(
    ledger: Ledger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with day_purse(ledger, tmp_path) as purse:
        (tmp_path / "today" / "limit.json").mkdir()
        purse.raise_to(20.0)
        await purse.look()
        assert purse.limit == 20.0
    assert "in this process only" in caplog.text


def test_the_day_begins_at_local_midnight() -> None:
    assert midnight_before(NOON) == datetime(2026, 3, 14).timestamp()
    assert midnight_after(NOON) == datetime(2026, 3, 15).timestamp()


async def test_the_store_is_asked_for_today(today: DayPurse, ledger: Ledger) -> None:
    purse: Purse = today
    await purse.look()
    assert ledger.asked_since[-1] == midnight_before(NOON)
