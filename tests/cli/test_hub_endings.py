"""Starting and ending the hub when something else happens at the same moment."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest

from handrail.cli.serving.hosting import hosted, the_only_hub
from handrail.errors import HandrailError
from handrail.places import Places
from handrail.remote.hub_file import running_hub
from handrail.server.hub import HubSettings
from handrail.sessions.manager import Manager
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

from ..server.support import Around
from .test_hub import PATIENCE, PAUSE, Machine, machine

__all__ = ["machine"]


async def test_of_two_hubs_that_start_at_once_one_runs(tmp_path: Path) -> None:
    places = Places(*(str(tmp_path / name) for name in ("config", "state", "cache", "run")))
    async with Manager.local(places) as manager, AsyncExitStack() as stack:

        async def start() -> None:
            await stack.enter_async_context(the_only_hub(places))
            await stack.enter_async_context(hosted(manager, HubSettings(port=0), Around(), places))

        outcomes = await asyncio.gather(*(start() for _ in range(3)), return_exceptions=True)
        refused = [outcome for outcome in outcomes if outcome is not None]
        assert [type(outcome) for outcome in refused] == [HandrailError] * 2
        assert "a hub runs already" in str(refused[0])
        assert running_hub(places) is not None
    assert running_hub(places) is None


@pytest.mark.slow
def test_a_hub_that_was_told_to_outlive_its_terminal_does(machine: Machine) -> None:
    """As with nohup: the signal is ignored when the hub starts."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with machine.serving("--no-browser") as (process, url, _):
            for _ in range(20):
                process.send_signal(signal.SIGHUP)
                assert httpx2.get(f"{url}/api/health").json() == {"status": "ok"}
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
def test_a_stop_while_a_session_starts_leaves_nothing_behind(machine: Machine) -> None:
    started = machine.home / "started"
    silent = machine.home / "silent-claude"
    # It reads, says nothing, and keeps its standard output open: else it would count as gone after a while.
    silent.write_text(f'#!/bin/sh\necho $$ >> "{started}"\nexec sed d\n')
    silent.chmod(0o755)
    machine.env["HANDRAIL_CLAUDE_CLI_PATH"] = str(silent)
    with machine.serving("--no-browser") as (process, url, _), ThreadPoolExecutor() as threads:
        secret = machine.handrail("token", "new", "test", "--role", "owner").strip()
        with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {secret}"}, timeout=PATIENCE) as client:
            body = {"cwd": str(machine.project), "prompt": "go"}
            starting = threads.submit(client.post, "/api/sessions", json=body)
            while not (started.exists() and started.read_text()):
                time.sleep(PAUSE)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=PATIENCE)
            refused = starting.result()
        assert (refused.status_code, refused.json()["code"]) == (503, "stopping")
        assert process.returncode == 0, output
        assert "Traceback" not in output
    for pid in map(int, started.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
def test_no_session_is_started_while_the_hub_stops(machine: Machine) -> None:
    machine.cli = SimulatedCLI((sim.turn(sim.sleep(4), "finished"),), directory=machine.project)
    machine.env["HANDRAIL_CLAUDE_CLI_PATH"] = str(machine.cli.path)
    with machine.serving("--no-browser") as (process, url, _):
        secret = machine.handrail("token", "new", "test", "--role", "owner").strip()
        with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {secret}"}, timeout=PATIENCE) as client:
            body = {"cwd": str(machine.project), "prompt": "take your time"}
            session = client.post("/api/sessions", json=body).json()["id"]
            while client.get(f"/api/sessions/{session}").json()["status"] != "running":
                time.sleep(PAUSE)
            process.send_signal(signal.SIGINT)
            while client.get("/api/health").status_code == 200:
                time.sleep(PAUSE)
            for path, more in (("/api/sessions", body), (f"/api/sessions/{session}/fork", {})):
                refused = client.post(path, json=more)
                assert (refused.status_code, refused.json()["code"]) == (503, "stopping")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "words"), [("http://hub.example.org", "https://"), ("hub.example.org:4280", "address of a hub")]
)
def test_a_token_is_not_sent_where_others_could_read_it(machine: Machine, address: str, words: str) -> None:
    machine.env |= {"HANDRAIL_HUB": address, "HANDRAIL_TOKEN": "hr_secret"}
    assert words in machine.handrail("token", "ls", code=2)
