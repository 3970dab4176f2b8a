"""The measuring process: one contender, one workload, one line of JSON.

Usage: python -m bench.inside GATE CONTENDER PLACE
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.common import Place, SessionGate
from bench.contenders import load
from bench.gates import find


def main() -> None:
    gate_name, contender_name, place = sys.argv[1:]
    gate = find(gate_name)
    assert isinstance(gate, SessionGate)
    contender = next(each for each in gate.contenders if each.name == contender_name)
    client = load(contender.module)
    with asyncio.Runner(loop_factory=loop_factory(contender.loop)) as runner:
        measured = runner.run(gate.measure(client, contender, Place(Path(place))))
    sys.stdout.write(json.dumps(measured) + "\n")


def loop_factory(loop: str) -> Any:
    return None if loop == "asyncio" else import_module("uvloop").new_event_loop


if __name__ == "__main__":
    main()
