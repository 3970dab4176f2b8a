"""`handrail serve`, `handrail host` and the commands between them, as processes: machines that are not one."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .test_hub import PATIENCE, PAUSE, Machine

pytestmark = pytest.mark.slow

CODE = re.compile(r"--code[ =](\S+)")


class Agent:
    """A `handrail host` that runs, and what it has said so far."""

    def __init__(self, machine: Machine, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "handrail", "host", *words],
            env=machine.env,
            cwd=machine.project,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self.said = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line

    def until(self, words: str, *, after: int = 0) -> None:
        """Wait until it has said this, behind as many characters."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.said[after:]:
            assert time.monotonic() < deadline, f"{words!r} was not said: {self.said}"
            assert self.process.poll() is None or words in self.said[after:], self.said
            time.sleep(PAUSE)

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it, and wait until it has; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@contextmanager
def hosting(machine: Machine, *words: str) -> Iterator[Agent]:
    """A machine that is a host meanwhile."""
    agent = Agent(machine, *words)
    try:
        yield agent
    finally:
        agent.end()


def new_machine(directory: Path) -> Machine:
    directory.mkdir()
    return Machine(directory)


@dataclass(frozen=True)
class Fleet:
    """A hub that is served, and a machine that is a host of it."""

    hub: Machine
    url: str
    box: Machine
    agent: Agent


@pytest.fixture(scope="module")
def running_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("fleet")
    hub, box = new_machine(directory / "hub"), new_machine(directory / "box")
    with hub.serving() as (_, url, _code), hosting(box, *enrolment(hub, url, "--label", "gpu")) as agent:
        agent.until("connected")
        yield Fleet(hub, url, box, agent)
        assert agent.end() == 0
        assert "Traceback" not in agent.said


@pytest.fixture
def fleet(running_fleet: Fleet) -> Iterator[Fleet]:
    """For tests that disturb neither hub nor host. Each finds it without sessions."""
    yield running_fleet
    left = [session["id"] for session in listed(running_fleet.hub, "ls", "--all")]
    if left:
        running_fleet.hub.handrail("rm", *left, "--yes", "--force")


@pytest.fixture
def hub(tmp_path: Path) -> Machine:
    return new_machine(tmp_path / "hub")


@pytest.fixture
def box(tmp_path: Path) -> Machine:
    return new_machine(tmp_path / "box")


def code_from(hub: Machine, *named: str) -> str:
    """A code for one machine."""
    found = CODE.search(hub.handrail("host", "enrol", *named))
    assert found is not None
    return found[1]


def enrolment(hub: Machine, url: str, *words: str) -> tuple[str, ...]:
    """What a new host is started with."""
    return ("--hub", url.replace("http", "ws"), "--name", "build-box", "--code", code_from(hub), *words)


def listed(machine: Machine, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(machine.handrail(*words, "--json"))
    return found


def until_listed(machine: Machine, *words: str) -> list[dict[str, Any]]:
    """What a list has, as soon as it has something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := listed(machine, *words)):
        assert time.monotonic() < deadline
        time.sleep(PAUSE)
    return found


def until_state(machine: Machine, state: str) -> dict[str, Any]:
    """The host, as soon as it is in this state."""
    deadline = time.monotonic() + PATIENCE
    while True:
        (host,) = (each for each in listed(machine, "hosts", "--all") if each["name"] == "build-box")
        if host["state"] == state:
            return host
        assert time.monotonic() < deadline, host
        time.sleep(PAUSE)


def until_away(machine: Machine) -> None:
    until_state(machine, "away")


def answered(machine: Machine, *words: str) -> str:
    """What a command prints that makes a session ask, once that is allowed."""
    with ThreadPoolExecutor() as threads:
        running = threads.submit(machine.process, *words)
        (ask,) = until_listed(machine, "asks")
        machine.handrail("answer", ask["id"], "allow")
        return running.result()


def on_box(box: Machine, *words: str) -> tuple[str, ...]:
    """A session on the other machine."""
    return ("run", "--host", "build-box", "--cwd", str(box.project), *words)


def test_a_session_runs_on_another_machine_and_is_answered_from_the_terminal(fleet: Fleet) -> None:
    hub, box, agent = fleet.hub, fleet.box, fleet.agent
    assert until_state(hub, "connected")["facts"]["labels"] == ["gpu"]
    words = ("run", "--host", "label:gpu", "--cwd", str(box.project), "--title", "far away", "make")
    assert "Done." in answered(hub, *words)
    agent.until("far away")
    (session,) = listed(hub, "ls", "--host", "build-box")
    assert (session["title"], session["host_name"]) == ("far away", "build-box")
    assert listed(hub, "ls", "--host", "here") == []
    assert f"{box.project} on build-box" in " ".join(hub.handrail("show", session["id"]).split())
    assert "You said again." in hub.handrail("send", session["id"], "again", "--wait")
    assert '"dir":"in"' in hub.handrail("show", session["id"], "--raw")
    hub.handrail("rename", session["id"], "renamed from afar")
    assert "renamed from afar" in hub.handrail("ls")
    hub.handrail("stop", session["id"])
    assert "Done." in answered(hub, "resume", session["id"], "once more")
    assert "renamed from afar" in hub.handrail("export", session["id"])
    assert "renamed from afar" in hub.handrail("search", "afar")
    assert "Done." in answered(hub, "fork", session["id"], "another way")
    hub.handrail("archive", session["id"])
    (fork,) = listed(hub, "ls")
    assert (fork["forked_from"], fork["host_name"]) == (session["id"], "build-box")
    hub.handrail("rm", session["id"], fork["id"], "--yes", "--force")
    assert listed(hub, "ls", "--all") == []


def test_commands_are_about_the_hub_that_the_environment_names(fleet: Fleet, tmp_path: Path) -> None:
    laptop = new_machine(tmp_path / "laptop")
    token = fleet.hub.handrail("token", "new", "laptop", "--role", "owner").strip()
    laptop.env |= {"HANDRAIL_HUB": fleet.url, "HANDRAIL_TOKEN": token}
    assert "Done." in answered(laptop, *on_box(fleet.box, "--title", "from the laptop", "make"))
    at_hub = ("run", "--cwd", str(fleet.hub.project), "--title", "with the hub", "make")
    assert "Done." in answered(laptop, *at_hub)
    assert {row["title"] for row in listed(laptop, "ls")} == {"from the laptop", "with the hub"}
    (session,) = listed(laptop, "ls", "--host", "build-box")
    assert "You said again." in laptop.handrail("send", session["id"], "again", "--wait")
    assert "from the laptop" in laptop.handrail("show", session["id"])
    assert '"dir":"in"' in laptop.handrail("show", session["id"], "--raw")
    assert "from the laptop" in laptop.handrail("export", session["id"])
    assert "from the laptop" in laptop.handrail("search", "laptop")
    laptop.handrail("rename", session["id"], "renamed")
    laptop.handrail("stop", session["id"])
    laptop.handrail("archive", session["id"])
    laptop.handrail("rm", session["id"], "--yes")
    assert [row["title"] for row in listed(laptop, "ls", "--all")] == ["with the hub"]
    for command in (["backup", "x.db"], ["prune"]):
        assert "run the command where that hub runs" in laptop.handrail(*command, code=2)
    laptop.env["HANDRAIL_TOKEN"] = "hr_wrong"
    assert "token" in laptop.handrail("ls", code=1)
    laptop.env["HANDRAIL_HUB"] = "http://127.0.0.1:9"
    assert "hub" in laptop.handrail("ls", code=1)


def test_a_turn_outlives_the_hub(hub: Machine, box: Machine) -> None:
    """The hub is killed while somebody is asked; the ask is answered through the next one, and who waited sees it."""
    with hub.serving() as (process, url, _code), hosting(box, *enrolment(hub, url)) as agent:
        agent.until("connected")
        hub.env["HANDRAIL_HUB_PORT"] = url.rpartition(":")[2]
        with ThreadPoolExecutor() as threads:
            running = threads.submit(hub.process, *on_box(box, "make"))
            (ask,) = until_listed(hub, "asks")
            before = len(agent.said)
            process.kill()
            process.wait(PATIENCE)
            agent.until("trying again", after=before)
            assert "handrail serve" in hub.handrail("answer", ask["id"], "allow", code=1)
            with hub.serving():
                agent.until("connected again", after=before)
                until_state(hub, "connected")
                hub.handrail("answer", ask["id"], "allow")
                agent.until("is done", after=before)
                assert "Done." in running.result()
                (session,) = listed(hub, "ls")
                assert "You said and now?." in hub.handrail("send", session["id"], "and now?", "--wait")


def test_a_host_that_was_killed_tells_what_was_lost(hub: Machine, box: Machine) -> None:
    with hub.serving() as (_, url, _code), hosting(box, *enrolment(hub, url)) as agent:
        agent.until("connected")
        hub.handrail("hosts", "drain", "build-box")
        agent.until("starts no more sessions")
        assert "drain" in hub.handrail(*on_box(box, "make"), code=2)
        hub.handrail("hosts", "undrain", "build-box")
        agent.until("starts sessions here again")
        with ThreadPoolExecutor() as threads:
            running = threads.submit(hub.process, *on_box(box, "make"), code=1)
            (ask,) = until_listed(hub, "asks")
            agent.end(signal.SIGKILL)
            until_away(hub)
            assert "build-box" in hub.handrail("answer", ask["id"], "allow", code=1)
            with hosting(box) as again:
                again.until("connected")
                running.result()
                assert until_listed(hub, "asks", "--lost")[0]["state"] == "lost"
                (session,) = listed(hub, "ls")
                assert not session["live"]
                assert "Done." in answered(hub, "resume", session["id"], "make")


def test_who_is_not_let_in_is_told_why(hub: Machine, box: Machine, tmp_path: Path) -> None:
    other = new_machine(tmp_path / "other")
    assert "not enrolled at a hub yet" in box.handrail("host", code=1)
    with hub.serving() as (_, url, _code):
        used = code_from(hub, "--name", "build-box")
        to_hub = ("--hub", url, "--name", "build-box")
        assert "code" in box.handrail("host", *to_hub, "--code", "hre_wrong", code=1)
        with hosting(box, *to_hub, "--code", used) as agent:
            agent.until("connected")
            assert "this machine is a host already" in box.handrail("host", code=1)
            assert "used already" in other.handrail("host", *to_hub, "--code", used, code=1)
            assert "there is a host 'build-box' already" in hub.handrail("host", "enrol", "--name", "build-box", code=1)
            unnamed = code_from(hub)
            assert "build-box" in other.handrail("host", *to_hub, "--code", unnamed, code=1)
            assert "there is no host" in hub.handrail("hosts", "drain", "bild-box", code=2)
            assert "there is no host" in hub.handrail(*on_box(box, "make")[:2], "bild-box", "make", code=2)
            assert "root" in hub.handrail("run", "--host", "build-box", "--cwd", "/", "make", code=2)
            assert "revoked" in hub.handrail("hosts", "revoke", "build-box", "--yes")
            assert agent.process.wait(PATIENCE) == 1
            agent.until("enrol it again")
        assert "is enrolled at" in box.handrail("host", "--hub", "wss://hub.example.org", code=2)
        assert "is enrolled as build-box" in box.handrail("host", "--name", "other", code=2)
        assert until_state(hub, "revoked")
        with hosting(box, *to_hub, "--code", code_from(hub)) as agent:
            agent.until("connected")


def test_a_hub_that_is_away_is_waited_for(hub: Machine, box: Machine) -> None:
    with hub.serving() as (_, url, _code):
        words = enrolment(hub, url)
        with hosting(box, *words) as agent:
            agent.until("connected")
    hub.env["HANDRAIL_HUB_PORT"] = url.rpartition(":")[2]
    with hosting(box, *words) as agent:
        agent.until("trying again")
        with hub.serving():
            agent.until("connected")
