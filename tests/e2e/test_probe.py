"""The drift canary with the real CLI: what is recorded of a version is what a probe sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot
from handrail.testing.probing.comparing import compare
from handrail.testing.probing.matrix import load_matrix, version_key
from handrail.testing.probing.running import probe
from handrail.testing.probing.scenarios import BEHAVIOURS

PATIENCE = 90.0
LONG_ENOUGH = 280.0
"""The command gives up sooner, because somebody waits for it. How fast a machine is changes nothing of what is seen."""


async def test_a_probe_of_an_older_version_sees_what_is_recorded(older_cli: ClaudeCLI) -> None:
    async with cli_slot():
        probed = await probe(older_cli.argv, seconds=LONG_ENOUGH, patience=PATIENCE)
    matrix = load_matrix()
    comparison = compare(version_key(older_cli.version), probed.seen, matrix, BEHAVIOURS)
    others = [item for item in comparison.items if item.verdict != "same"]
    assert comparison.status != "broken", others
    if older_cli.version in matrix:
        assert (others, comparison.status) == ([], "fine")


def test_the_command_sees_what_is_recorded(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    environ = {**os.environ, "HANDRAIL_STATE_DIR": str(tmp_path / "state"), "HANDRAIL_CONFIG_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "handrail", "doctor", "--probe", "--json", "--cli", str(newest_cli.path)]
    with cli_slot():
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=110)
    document = json.loads(done.stdout)
    others = [item for item in document["probe"]["items"] if item["verdict"] != "same"]
    assert (done.returncode, document["ok"]) == (0, True), others
    assert done.stderr == ""
    if newest_cli.version in load_matrix():
        assert others == []
        assert document["probe"]["status"] == "fine"
    kept = json.loads((tmp_path / "state" / "probes.json").read_text())
    assert kept["probes"][0]["version"] == newest_cli.version
