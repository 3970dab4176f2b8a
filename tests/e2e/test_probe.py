"""The drift canary with the real CLI: what is recorded of a version is what a probe sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot
from handrail.testing.probing.matrix import load_matrix


def test_a_probe_sees_what_is_recorded(cli: ClaudeCLI, tmp_path: Path) -> None:
    environ = {**os.environ, "HANDRAIL_STATE_DIR": str(tmp_path / "state"), "HANDRAIL_CONFIG_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "handrail", "doctor", "--probe", "--json", "--cli", str(cli.path)]
    with cli_slot():
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=110)
    document = json.loads(done.stdout)
    others = [item for item in document["probe"]["items"] if item["verdict"] != "same"]
    assert (done.returncode, document["ok"]) == (0, True), others
    assert done.stderr == ""
    if cli.version in load_matrix():
        assert others == []
        assert document["probe"]["status"] == "fine"
    kept = json.loads((tmp_path / "state" / "probes.json").read_text())
    assert kept["probes"][0]["version"] == cli.version
