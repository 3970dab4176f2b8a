"""The hub as the command line runs it, and commands that use it: through its socket, without a token."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from handrail.cli.app import app
from handrail.testing import simulated as sim
from handrail.testing.simulated import SimulatedCLI

pytestmark = pytest.mark.slow

LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/#login=(\S+)")
PATIENCE = 60
PAUSE = 0.05
"""Between two looks at what others do: whoever looks all the time keeps them from doing it."""
ASKS = (
    sim.turn(sim.tool("Bash", {"command": "make"}, output="made"), "Done."),
    sim.loop_turns("You said $text."),
)


@dataclass
class Machine:
    """A user's directories, and a simulated Claude Code."""

    home: Path

    def __post_init__(self) -> None:
        self.project = self.home / "project"
        self.project.mkdir()
        self.cli = SimulatedCLI(ASKS, directory=self.home)
        names = ("CONFIG", "STATE", "CACHE", "RUNTIME")
        places = {f"HANDRAIL_{name}_DIR": str(self.home / name.lower()) for name in names}
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "HANDRAIL_CLAUDE_CLI_PATH": str(self.cli.path),
            "HANDRAIL_HUB_PORT": "0",
            **places,
        }

    def handrail(self, *words: str, code: int = 0) -> str:
        """Run a command in this process, in the machine's environment and nothing else; returns what it printed."""
        others = dict.fromkeys(os.environ.keys() - self.env.keys())
        with chdir(self.project):
            done = CliRunner().invoke(app, words, env=others | self.env, catch_exceptions=False)
        return told(done.exit_code, code, done.stdout, done.stderr)

    def process(self, *words: str, code: int = 0) -> str:
        """The same in a process of its own, beside what this one does."""
        done = subprocess.run(
            [sys.executable, "-m", "handrail", *words],
            env=self.env,
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
        return told(done.returncode, code, done.stdout, done.stderr)

    @contextmanager
    def serving(self, *words: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
        """A hub in a process of its own; gives the process, its address and the code of its link."""
        process = subprocess.Popen(
            [sys.executable, "-m", "handrail", "serve", *words],
            env=self.env,
            cwd=self.project,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert process.stdout is not None
            printed = ""
            while (found := LINK.search(printed)) is None:
                line = process.stdout.readline()
                assert line, printed
                printed += line
            yield process, found[1], found[2]
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)


def told(returned: int, expected: int, output: str, errors: str) -> str:
    """What a command that ended as expected said: what it failed for, if it was to fail."""
    assert returned == expected, errors or output
    return output if expected == 0 else errors


def waiting_in(client: httpx2.Client, title: str) -> list[dict[str, Any]]:
    """What the session with this title asks."""
    return [ask for ask in client.get("/api/asks").json()["items"] if ask["session_title"] == title]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_link_lets_a_browser_in_once(machine: Machine) -> None:
    with machine.serving() as (process, url, code), httpx2.Client(base_url=url, headers={"origin": url}) as browser:
        assert browser.get("/api/sessions").status_code == 401
        assert browser.post("/api/login", json={"code": code}).json()["role"] == "owner"
        assert browser.get("/api/sessions").json()["items"] == []
        assert browser.post("/api/login", json={"code": code}).json()["code"] == "wrong_code"
        found = LINK.search(machine.handrail("login", "--role", "viewer"))
        assert found is not None
        with httpx2.Client(base_url=url, headers={"origin": url}) as other:
            assert other.post("/api/login", json={"code": found[2]}).json()["role"] == "viewer"
        assert f"process {process.pid}" in machine.process("serve", code=1)


def test_tokens_are_made_listed_and_revoked(machine: Machine) -> None:
    with machine.serving() as (_, url, _code):
        secret = machine.handrail("token", "new", "ci", "--role", "approver").strip()
        headers = {"authorization": f"Bearer {secret}"}
        assert httpx2.get(f"{url}/api/me", headers=headers).json()["role"] == "approver"
        listed = machine.handrail("token", "ls")
        assert "ci" in listed
        (token_id,) = re.findall(r"^(\w+) +ci ", listed, re.MULTILINE)
        machine.handrail("token", "revoke", token_id)
        assert httpx2.get(f"{url}/api/me", headers=headers).status_code == 401
        assert "there is no token" in machine.handrail("token", "revoke", "nothing", code=1)
    assert "no hub runs here" in machine.handrail("token", "ls", code=1)


def test_commands_leave_sessions_to_the_hub(machine: Machine) -> None:
    machine.process("run", "hello", code=3)
    session = machine.handrail("ls", "--json")
    (session_id,) = re.findall(r'"id": "(\w+)"', session)
    with machine.serving() as (process, url, _):
        machine.handrail("send", session_id, "and now?")
        secret = machine.handrail("token", "new", "test", "--role", "owner").strip()
        with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {secret}"}) as client:
            found = client.get(f"/api/sessions/{session_id}").json()
            assert (found["live"], found["owner"]) == (True, "here")
            with ThreadPoolExecutor() as threads:
                running = threads.submit(machine.process, "run", "--in-hub", "--title", "from the terminal", "make")
                while not (asks := waiting_in(client, "from the terminal")):
                    assert not running.done(), running.result()
                    time.sleep(PAUSE)
                (ask,) = asks
                answer = {"digest": ask["digest"], "answer": {"type": "allow"}}
                client.post(f"/api/asks/{ask['session']}/{ask['ask_id']}/answer", json=answer).raise_for_status()
                assert "Done." in running.result()
        assert process.poll() is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--host", "0.0.0.0"], "TLS"),
        (["--host", "nonsense.invalid"], "--tls-certificate"),
        (["--tls-certificate", "/nowhere.pem"], "certificate"),
        (["--public-url", "ftp://x"], "http"),
    ],
)
def test_a_hub_that_must_not_be_reached_so_does_not_start(machine: Machine, words: list[str], message: str) -> None:
    assert message in machine.process("serve", *words, code=2)


def test_a_hub_that_was_killed_is_not_in_the_way(machine: Machine) -> None:
    with machine.serving() as (process, _, _code):
        process.kill()
        process.wait(PATIENCE)
    with machine.serving() as (_, url, _code):
        assert httpx2.get(f"{url}/api/health").json()["status"] == "ok"


def test_a_stop_waits_for_what_runs(machine: Machine) -> None:
    machine.cli = SimulatedCLI((sim.turn(sim.sleep(2), "finished at last"),), directory=machine.project)
    machine.env["HANDRAIL_CLAUDE_CLI_PATH"] = str(machine.cli.path)
    with machine.serving() as (process, url, _):
        secret = machine.handrail("token", "new", "test", "--role", "owner").strip()
        with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {secret}"}, timeout=PATIENCE) as client:
            body = {"cwd": str(machine.project), "prompt": "take your time"}
            session = client.post("/api/sessions", json=body).json()["id"]
            while client.get(f"/api/sessions/{session}").json()["status"] != "running":
                time.sleep(PAUSE)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE)
        assert "waiting for 1 session" in output
        assert process.returncode == 0
    assert "finished at last" in machine.handrail("show", session)
