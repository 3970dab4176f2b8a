"""Records what CLIs do: `python -m handrail.testing.probing VERSION-OR-PATH …` writes `recorded.json` anew.

A version is fetched into the cache of `handrail.testing.cli_cache`. What is recorded of other versions stays.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Sequence

from handrail.testing.cli_cache import claude_cli
from handrail.testing.probing.matrix import RECORDED, MatrixDamaged, load_matrix, save_matrix
from handrail.testing.probing.running import probe
from handrail.transports.discovery import find_cli, parse_version

LONGER = 300.0
"""Nobody waits for a recording: a slow machine must not leave holes in it."""


def record(asked: Sequence[str]) -> int:
    """Probe each of these CLIs, and write down what it did; returns the exit code."""
    logging.getLogger("handrail").addHandler(logging.NullHandler())
    try:
        matrix = dict(load_matrix())
    except MatrixDamaged:
        matrix = {}
    for each in asked:
        argv = find_cli(each).argv if "/" in each else claude_cli(each).argv
        said = subprocess.run([*argv, "--version"], capture_output=True, text=True, check=True).stdout
        version = parse_version(said)
        if version is None:
            print(f"{each} is not Claude Code: it calls itself {said!r}", file=sys.stderr)
            return 1
        probed = asyncio.run(probe(argv, seconds=LONGER))
        if holes := [f"{name}: {seen.words}" for name, seen in probed.seen.items() if seen.works is None]:
            print(f"{each}: not all could be seen\n" + "\n".join(holes), file=sys.stderr)
            return 1
        matrix[".".join(map(str, version))] = probed.seen
        print(f"{each}: {len(probed.seen)} behaviours in {probed.seconds:.0f} s")
        save_matrix(matrix)
    print(f"written: {RECORDED}")
    return 0


if __name__ == "__main__":
    sys.exit(record(sys.argv[1:]))
