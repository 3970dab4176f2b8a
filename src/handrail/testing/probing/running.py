"""Runs the scenarios with a CLI, some at a time, and gives up on what takes too long."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from handrail.errors import HandrailError
from handrail.testing.probing.behaviours import Scenario, Seen
from handrail.testing.probing.scenarios import SCENARIOS
from handrail.testing.probing.stage import PATIENCE, Stage

__all__ = ["OnProgress", "Probed", "Progress", "probe"]

SECONDS = 90.0
"""How long a probe may take in all."""

SCENARIO_SECONDS = 30.0
"""How long a scenario may take: more for whoever has more patience with each single thing."""
MOST_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a probe is: which scenarios are under way, and how many are done."""

    done: int
    total: int
    running: tuple[str, ...]


OnProgress: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Probed:
    """What a CLI was seen to do, by behaviour, and how long it took to see it."""

    seen: dict[str, Seen]
    seconds: float


async def probe(
    argv: Sequence[str],
    *,
    scenarios: Sequence[Scenario] = SCENARIOS,
    seconds: float = SECONDS,
    patience: float = PATIENCE,
    at_once: int | None = None,
    on_progress: OnProgress = lambda progress: None,
) -> Probed:
    """Play the scenarios with the CLI that `argv` starts. What could not be seen is in the answer too, with the reason.

    The first scenario is played alone: where the CLI does not get through the start of it, nothing else is tried.
    `patience` is how long each single thing is waited for, `seconds` the time for all.
    """
    started = time.monotonic()
    seen: dict[str, Seen] = {}
    with tempfile.TemporaryDirectory(prefix="handrail-probe-", ignore_cleanup_errors=True) as scratch:
        run = _Run(tuple(argv), Path(scratch), len(scenarios), patience=patience, on_progress=on_progress)
        try:
            async with asyncio.timeout(seconds):
                await run.all(scenarios, at_once or _at_once(), seen)
        except TimeoutError:
            _fill_up(seen, scenarios, f"not reached within {seconds:g} s")
    order = [behaviour.name for scenario in scenarios for behaviour in scenario.behaviours]
    return Probed({name: seen[name] for name in order}, time.monotonic() - started)


def _at_once() -> int:
    return min(MOST_AT_ONCE, max(2, os.cpu_count() or 1))


class _Run:
    """One probe under way."""

    def __init__(
        self, argv: tuple[str, ...], scratch: Path, total: int, *, patience: float, on_progress: OnProgress
    ) -> None:
        self._argv = argv
        self._patience = patience
        self._scratch = scratch
        self._total = total
        self._on_progress = on_progress
        self._running: list[str] = []
        self._done: set[str] = set()
        self._stages = 0

    async def all(self, scenarios: Sequence[Scenario], at_once: int, seen: dict[str, Seen]) -> None:
        """Play all of them, and what was spoiled, perhaps by a slow moment of the machine, once more at the end.

        Where something that is needed was seen to fail, a second chance for the rest would change nothing.
        """
        first, *others = scenarios
        await self._some([first], 1, seen)
        await self._some(_spoiled([first], seen), 1, seen)
        if not any(each.works is not None for each in seen.values()):
            _fill_up(seen, others, "not tried: it did not start")
            return
        await self._some(others, at_once, seen)
        if not _is_broken(scenarios, seen):
            await self._some(_spoiled(others, seen), at_once, seen)

    async def _some(self, scenarios: Sequence[Scenario], at_once: int, seen: dict[str, Seen]) -> None:
        room = asyncio.Semaphore(at_once)

        async def one(scenario: Scenario) -> None:
            async with room:
                for name, each in (await self._shown(scenario)).items():
                    if each.works is not None or name not in seen:
                        seen[name] = each

        async with asyncio.TaskGroup() as group:
            for scenario in scenarios:
                group.create_task(one(scenario))

    async def _shown(self, scenario: Scenario) -> dict[str, Seen]:
        self._running.append(scenario.name)
        self._tell()
        try:
            seen = await self._once(scenario)
        finally:
            self._running.remove(scenario.name)
        self._done.add(scenario.name)
        self._tell()
        return seen

    async def _once(self, scenario: Scenario) -> dict[str, Seen]:
        stage = Stage(self._argv, self._directory(scenario), patience=self._patience)
        limit = SCENARIO_SECONDS * max(1.0, self._patience / PATIENCE)
        try:
            async with asyncio.timeout(limit):
                await scenario.play(stage)
            reason = "not seen"
        except TimeoutError as error:
            reason = str(error) or f"no end within {limit:g} s"
        except (HandrailError, ExceptionGroup) as error:
            reason = _first_line(error)
        except Exception as error:  # noqa: BLE001 - what an unknown CLI does to a scenario is a finding, not a crash
            reason = f"{type(error).__name__}: {_first_line(error)}"
        return _completed(stage.seen, scenario, reason)

    def _directory(self, scenario: Scenario) -> Path:
        self._stages += 1
        directory = self._scratch / f"{self._stages}-{scenario.name}"
        directory.mkdir()
        # What the CLI is told and what it reports must be one path, also where the temporary directory is a link.
        return directory.resolve()

    def _tell(self) -> None:
        self._on_progress(Progress(len(self._done), self._total, tuple(self._running)))


def _completed(seen: dict[str, Seen], scenario: Scenario, reason: str) -> dict[str, Seen]:
    """In the scenario's order: the first that was not seen has the reason, those behind it were not reached."""
    complete: dict[str, Seen] = {}
    for behaviour in scenario.behaviours:
        if behaviour.name in seen:
            complete[behaviour.name] = seen[behaviour.name]
        else:
            complete[behaviour.name] = Seen(None, reason)
            reason = "not reached"
    return complete


def _spoiled(scenarios: Sequence[Scenario], seen: dict[str, Seen]) -> list[Scenario]:
    """Those of which something could not be seen."""
    return [each for each in scenarios if any(seen[behaviour.name].works is None for behaviour in each.behaviours)]


def _is_broken(scenarios: Sequence[Scenario], seen: dict[str, Seen]) -> bool:
    needed = [each.name for scenario in scenarios for each in scenario.behaviours if each.need == "breaks"]
    return any(seen[name].works is False for name in needed)


def _fill_up(seen: dict[str, Seen], scenarios: Sequence[Scenario], reason: str) -> None:
    for scenario in scenarios:
        for behaviour in scenario.behaviours:
            seen.setdefault(behaviour.name, Seen(None, reason))


def _first_line(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error).partition("\n")[0][:300] or type(error).__name__
