"""What a host says of itself: looked at cheaply, told when it matters, troubles included."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from handrail.host import facts as module
from handrail.host.facts import FactsSource, differ
from handrail.host.limits import HostLimits
from handrail.link.wire import HostFacts
from handrail.protocol.options import Options
from handrail.testing.simulated import SimulatedCLI

from .support import ECHO, made


def source(tmp_path: Path, cli: str | None = None) -> FactsSource:
    limits = HostLimits(roots=(str(tmp_path),), capacity=3, defaults=Options(cli_path=cli))
    return FactsSource(tmp_path, limits, labels=("gpu",), probe=lambda version: {"version": version}, clock=lambda: 7.0)


async def test_everything_is_told(tmp_path: Path) -> None:
    cli = SimulatedCLI(ECHO, directory=made(tmp_path / "cli"))
    facts = await source(tmp_path, str(cli.path)).look(live=2, draining=True, trouble="something")
    assert facts.clis[0].path == str(cli.path)
    assert facts.probe == {"version": facts.clis[0].version}
    assert (facts.capacity, facts.live, facts.draining, facts.labels) == (3, 2, True, ("gpu",))
    assert facts.trouble == "something"
    assert facts.clock == 7.0
    assert facts.handrail
    assert facts.system


async def test_the_cli_is_asked_again_only_when_its_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def version(argv: object, env: object) -> tuple[int, int, int]:
        asked.append(argv)
        return (2, 1, len(asked))

    monkeypatch.setattr(module, "cli_version", version)
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    looking = source(tmp_path, str(program))
    assert [(await looking.look()).clis[0].version for _ in range(3)] == ["2.1.1"] * 3
    os.utime(program, (1, 1))
    assert (await looking.look()).clis[0].version == "2.1.2"


async def test_a_machine_without_claude_code_says_so(tmp_path: Path) -> None:
    looking = source(tmp_path, str(tmp_path / "missing"))
    facts = await looking.look()
    assert facts.clis == ()
    assert "there is no Claude Code" in facts.trouble
    assert (await looking.claude({}))["found"] is False


async def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_free_bytes", lambda directory: 3 * 1024 * 1024)
    facts = await source(tmp_path, str(tmp_path / "missing")).look()
    assert "the disk of its journal is full (3 MB are left)" in facts.trouble


def test_small_changes_are_not_worth_telling() -> None:
    facts = HostFacts(load=0.31, free_bytes=10 * 1024**3, clock=1.0)
    assert differ(None, facts)
    assert not differ(facts, msgspec.structs.replace(facts, clock=99.0, load=0.32, free_bytes=10 * 1024**3 + 5))
    for change in ({"load": 0.9}, {"free_bytes": 9 * 1024**3}, {"trouble": "x"}, {"live": 1}, {"draining": True}):
        assert differ(facts, msgspec.structs.replace(facts, **change))
