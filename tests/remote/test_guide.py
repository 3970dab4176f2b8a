"""The programs of the guide run, and do what it says."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from handrail.server.wanted import REFUSED
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from ..server.support import ServedHub, served_hub
from .test_programs import ASKED

GUIDE = (Path(__file__).parent.parent.parent / "docs/guides/python-hub.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE, re.S)


async def printed(served: ServedHub, program: str, **env: str) -> str:
    """What a program of the guide prints, run against this hub by another process."""
    told = program.replace("https://hub.example.org", served.url).replace("/srv/project", str(served.directory))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        told,
        env={"HANDRAIL_TOKEN": served.tokens["owner"], "PATH": "/usr/bin:/bin", **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


def cli_in(directory: Path, *steps: sim.Step) -> SimulatedCLI:
    (directory / "cli").mkdir()
    return SimulatedCLI(steps, directory=directory / "cli")


def test_there_are_three_programs() -> None:
    assert len(PROGRAMS) == 3


@pytest.mark.slow
async def test_the_first_program_runs_a_session(tmp_path: Path) -> None:
    async with served_hub(tmp_path, cli=cli_in(tmp_path, sim.loop_turns("Hello."))) as served:
        said = await printed(served, PROGRAMS[0])
        (row,) = await served.manager.list()
        assert said == f"{row.id} ok\n"
        assert await served.manager.session(row.id).is_live()


@pytest.mark.slow
async def test_the_second_program_answers_and_offers_a_tool(tmp_path: Path) -> None:
    async with served_hub(tmp_path, cli=cli_in(tmp_path, ASKED, sim.loop_turns())) as served:
        assert await printed(served, PROGRAMS[1]) == "True\n"
        (row,) = await served.manager.list()
        (ask,) = await served.manager.session(row.id).asks(("sent",))
        assert ask.surface == "callback"


@pytest.mark.slow
async def test_the_third_program_sees_what_is_asked(tmp_path: Path) -> None:
    async with served_hub(tmp_path) as served:
        session = await served.session()
        await session.send("Clean up.")
        await served.asked(session)
        assert session.id in await printed(served, PROGRAMS[2], SECONDS="1")


def test_the_guide_names_what_is_refused() -> None:
    (section,) = re.findall(r"## Options that a hub takes\n(.*?)\n## ", GUIDE, re.S)
    silent = {"no_session_persistence", "session_mirror", "client_app"}
    named = {name for name in REFUSED if f"`{name}`" in section or "dangerously" in name}
    assert named == REFUSED.keys() - silent
