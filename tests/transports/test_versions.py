"""A CLI is asked for its version before it is started for what newer ones refuse."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from handrail.errors import DialRefused
from handrail.transports import versions
from handrail.transports.versions import check_dials, cli_version

ENV = {"PATH": os.environ["PATH"]}


def program(directory: Path, script: str) -> list[str]:
    path = directory / "claude"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return [str(path)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "version"),
    [
        ('[ "$*" = --version ] && echo "2.1.120 (Claude Code)"', (2, 1, 120)),
        ("echo warning: 1.2.3 >&2; echo 2.1.325", (2, 1, 325)),
        ("echo something else", None),
        ("exit 1", None),
    ],
)
async def test_the_version_is_what_the_cli_prints(tmp_path: Path, script: str, version: object) -> None:
    assert await cli_version(program(tmp_path, script), ENV) == version


async def test_a_cli_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert await cli_version([str(tmp_path / "nothing")], ENV) is None


async def test_a_cli_that_never_answers_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "SECONDS", 0.05)
    assert await cli_version(program(tmp_path, "exec tail -f /dev/null"), ENV) is None


async def test_a_version_that_refuses_is_refused_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(DialRefused, match=r"2\.1\.121 .*stdio transport, .*`handrail host`"):
        await check_dials(program(tmp_path, "echo 2.1.121"), ENV)


@pytest.mark.parametrize("said", ["2.1.37", "2.1.120 (Claude Code)", "who knows"])
async def test_others_may_try(tmp_path: Path, said: str) -> None:
    await check_dials(program(tmp_path, f"echo '{said}'"), ENV)
