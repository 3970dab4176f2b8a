"""Run the gates: `python -m bench [--quick] [--rounds N] [--json PATH] [GATE ...]`.

Every round runs all contenders of a gate once, in changing order; a gate is judged by the median of the ratios within
each round. A missed gate is printed, and is no failure of this program: the numbers are for reading.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from bench.common import Contender, Gate, Measured, Place, Samples
from bench.gates import GATES, find
from bench.report import about, as_json, table


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    began = time.monotonic()
    gates = [find(name) for name in options.gates] or list(GATES)
    results: dict[Gate, Samples] = {}
    for gate in gates:
        results[gate] = run_gate(gate, quick=options.quick, rounds=options.rounds)
    print(table(results))
    print(", ".join(f"{name} {value}" for name, value in about().items()))
    progress(f"{time.monotonic() - began:.0f} s in all")
    if options.json is not None:
        options.json.write_text(as_json(results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Handrail, claude-agent-sdk and the floor.")
    parser.add_argument("gates", nargs="*", metavar="GATE", help=", ".join(gate.name for gate in GATES))
    parser.add_argument("--quick", action="store_true", help="less of everything: under two minutes")
    parser.add_argument("--rounds", type=int, help="how often each contender runs")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all samples to a file")
    return parser


def run_gate(gate: Gate, *, quick: bool, rounds: int | None) -> Samples:
    """All rounds of one gate."""
    contenders = [contender for contender in gate.contenders if _can_run(contender)]
    samples = Samples()
    with Place.temporary() as place:
        gate.prepare(place, quick=quick)
        for number in range(rounds or (gate.quick_rounds if quick else gate.rounds)):
            samples.rounds.append(run_round(gate, contenders, place, number))
    return samples


def run_round(gate: Gate, contenders: Sequence[Contender], place: Place, number: int) -> dict[str, Measured]:
    """Each contender once, and nobody always first."""
    first = number % len(contenders)
    measured = {}
    for contender in [*contenders[first:], *contenders[:first]]:
        measured[contender.name] = gate.run(contender, place)
        figures = "  ".join(f"{name} {value:.4g}" for name, value in measured[contender.name].items())
        progress(f"{gate.name} {number + 1}  {contender.name:20} {figures}")
    return measured


def _can_run(contender: Contender) -> bool:
    missing = [package for package in contender.needs if find_spec(package) is None]
    if missing:
        progress(f"left out: {contender.name}, because {' and '.join(missing)} is not installed")
    return not missing


def progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
