"""Commands that follow a session live: attach, answer on a terminal, resume, fork, and taking up a lost ask."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from handrail.events.model import AskClosed, AskOpened, Completed
from handrail.sessions.session import Session
from handrail.testing import simulated as sim

from .support import DEADLINE, MARIA, Home, OnTerminal, child_env, until

pytestmark = pytest.mark.slow

T = TypeVar("T")
ANSWERS = "y allow once"


async def offered(terminal: OnTerminal) -> str:
    """Wait until an ask can be answered: its answers appear when keys count."""
    return await waiting_for(terminal.wait_for, ANSWERS)


async def waiting_for(work: Callable[..., T], *arguments: Any) -> T:
    """What a blocking call returns, while the sessions of this process go on."""
    return await asyncio.to_thread(work, *arguments)


@asynccontextmanager
async def asking(home: Home) -> AsyncIterator[tuple[Session, AskOpened]]:
    """A session that this process owns, and what it asks."""
    async with home.live() as session:
        await session.send("hello", actor=MARIA)
        ask = await until(session, AskOpened)
        assert isinstance(ask, AskOpened)
        yield session, ask


async def started(home: Home, *arguments: str) -> Process:
    """A command without a terminal, while it runs."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "handrail", *arguments),
        env=child_env(**home.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


async def waits(command: Process) -> None:
    """Wait until a command says that something waits for an answer."""
    assert command.stderr is not None
    async with asyncio.timeout(DEADLINE):
        assert b"waits for an answer" in await command.stderr.readline()


async def closed_by(session: Session) -> AskClosed:
    closed = await until(session, AskClosed)
    assert isinstance(closed, AskClosed)
    return closed


# ---------------------------------------------------------------- on a terminal


async def test_attaching_shows_the_run_and_answers(home: Home) -> None:
    async with asking(home) as (session, _):
        with home.on_terminal("attach", session.id[:8]) as terminal:
            shown = await offered(terminal)
            assert "› hello" in shown
            assert "ls -l" in shown
            terminal.press(b"y")
            await waiting_for(terminal.wait_for, "You said: hello")
            terminal.press(b"\x04")
            assert await waiting_for(terminal.exit_code) == 0
        assert (await closed_by(session)).surface == "attach"
        assert await session.is_live()


async def test_an_answer_on_a_terminal(home: Home) -> None:
    async with asking(home) as (session, ask):
        with home.on_terminal("answer", ask.ask_id[:8]) as terminal:
            assert "ls -l" in await offered(terminal)
            terminal.press(b"n")
            assert await waiting_for(terminal.exit_code) == 0
            assert "denied: Bash ls -l" in terminal.screen
            assert "before anything was answered" not in terminal.screen
        assert (await closed_by(session)).answer == {"type": "deny", "message": "The user denied this."}


async def test_leaving_answers_nothing(home: Home) -> None:
    async with asking(home) as (session, ask):
        with home.on_terminal("answer", ask.ask_id) as terminal:
            await offered(terminal)
            terminal.press(b"\x03")
            assert await waiting_for(terminal.exit_code) == 130
            assert "nothing was answered" in terminal.text
        assert [row.id for row in await session.asks()] == [ask.ask_id]


async def test_of_two_terminals_that_ask_the_second_is_told(home: Home) -> None:
    async with asking(home) as (session, ask):
        first, second = home.on_terminal("answer", ask.ask_id), home.on_terminal("answer", ask.ask_id)
        with first, second:
            for terminal in (first, second):
                await offered(terminal)
            first.press(b"y")
            assert await waiting_for(first.exit_code) == 0
            assert await waiting_for(second.exit_code) == 3
            assert f"allowed by {(await closed_by(session)).by} (attach)" in second.text


async def test_a_narrow_terminal(home: Home) -> None:
    async with asking(home):
        with home.on_terminal("ls", columns=40) as terminal:
            await waiting_for(terminal.exit_code)
            lines = terminal.text.splitlines()
        assert all(len(line) <= 40 for line in lines)
        assert "needs you" in lines[1]


# ---------------------------------------------------------------- without one


async def test_attaching_in_a_pipe_leaves_asks_to_others(home: Home) -> None:
    async with asking(home) as (session, ask):
        attached = await started(home, "attach", session.id, "--json")
        await waits(attached)
        assert (await home.process("answer", ask.ask_id, "allow")).returncode == 0
        await until(session, Completed)
        await session.stop()
        written, _ = await attached.communicate()
        events = [json.loads(line) for line in written.splitlines()]
        assert events[-1]["type"] == "process_exited"
        (closed,) = (event for event in events if event["type"] == "ask_closed")
        assert closed["answer"] == {"type": "allow"}


def test_attaching_to_what_does_not_run(past: tuple[Home, str]) -> None:
    home, session_id = past
    done = home.run("attach", session_id)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"handrail resume {session_id[:8]}" in done.stderr


async def test_resuming_with_a_message(home: Home) -> None:
    async with home.live(sim.loop_turns("You said: $text")) as session:
        pass
    done = await home.process("resume", session.id[:8], "once more")
    assert done.returncode == 0, done.stderr
    assert "You said: once more" in done.stdout
    assert f"handrail resume {session.id[:8]}" in done.stdout
    lines = (await home.process("resume", session.id, "-", "--json", stdin="as events")).stdout.splitlines()
    (completed,) = (event for event in map(json.loads, lines) if event["type"] == "completed")
    assert completed["answer"] == "You said: as events"


async def test_what_nobody_can_answer_is_denied_and_said(home: Home) -> None:
    async with home.live(sim.turn(sim.tool("Bash", {"command": "make"}), "All right.")) as session:
        pass
    done = await home.process("resume", session.id, "hello")
    assert done.returncode == 3
    assert "nobody could be asked" in done.stdout


async def test_joining_a_session_that_runs_elsewhere(home: Home) -> None:
    async with home.live(sim.loop_turns("You said: $text")) as session:
        done = await home.process("resume", session.id, "from here")
        assert done.returncode == 0, done.stderr
        assert "You said: from here" in done.stdout
        assert await session.is_live()


async def test_a_fork_goes_its_own_way(home: Home) -> None:
    async with home.live(sim.loop_turns("You said: $text")) as session:
        await session.run("one", actor=MARIA)
    done = await home.process("fork", session.id, "two")
    assert done.returncode == 0, done.stderr
    assert "You said: two" in done.stdout
    rows = json.loads((await home.process("ls", "--json")).stdout)
    (fork,) = (row for row in rows if row["id"] != session.id)
    assert fork["forked_from"] == session.id
    assert "two" not in (await home.process("show", session.id)).stdout


async def test_a_message_resumes_a_session_and_stays_for_the_answer(home: Home) -> None:
    async with home.live(sim.loop_turns("You said: $text")) as session:
        pass
    done = await home.process("send", session.id, "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "You said: hello\n", "")


# ---------------------------------------------------------------- asks whose session has ended


async def ended_while_asking(home: Home, number: signal.Signals) -> int | None:
    """Have `handrail send` resume a session, and send it a signal when that asks something; returns its exit code."""
    async with home.live() as session:
        pass
    owner = await started(home, "send", session.id, "hello")
    try:
        await waits(owner)
    finally:
        owner.send_signal(number)
        await owner.communicate()
    return owner.returncode


async def test_a_signal_ends_the_session_in_order(home: Home) -> None:
    assert await ended_while_asking(home, signal.SIGTERM) == 128 + signal.SIGTERM
    (row,) = json.loads((await home.process("ls", "--json")).stdout)
    assert (row["status"], row["live"]) == ("stopped", False)


async def lost_ask(home: Home) -> str:
    """The id of an ask whose owner was killed."""
    await ended_while_asking(home, signal.SIGKILL)
    (ask,) = json.loads((await home.process("asks", "--lost", "--json")).stdout)
    assert ask["state"] == "lost"
    return str(ask["id"])


async def test_a_lost_ask_is_taken_up(home: Home) -> None:
    ask_id = await lost_ask(home)
    nothing_waits = await home.process("asks")
    assert nothing_waits.stdout == ""
    assert "1 ask went unanswered when the session ended: handrail asks --lost" in nothing_waits.stderr
    refused = await home.process("answer", ask_id, "allow")
    assert refused.returncode == 3
    assert f"handrail answer {ask_id} allow --resume" in refused.stderr
    done = await home.process("answer", ask_id[:8], "allow", "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Needs you · Bash" in done.stdout
    assert "✓ done" in done.stdout
    (row,) = json.loads((await home.process("ls", "--json")).stdout)
    async with home.manager() as manager:
        events = await (await manager.get(row["id"])).events()
    assert [event.ok for event in events if isinstance(event, Completed)] == [False, True]
    decided = [event for event in events if isinstance(event, AskClosed) and event.outcome == "decided"]
    assert [event.answer for event in decided if event.answer and event.answer["type"] == "allow"]


@pytest.mark.parametrize(("typed", "code"), [("n", 1), ("y", 0)])
async def test_a_lost_ask_is_offered_on_a_terminal(home: Home, typed: str, code: int) -> None:
    ask_id = await lost_ask(home)
    with home.on_terminal("answer", ask_id) as terminal:
        await waiting_for(terminal.wait_for, "Resume it here, and allow exactly this once? [y/N]")
        terminal.type(typed)
        assert await waiting_for(terminal.exit_code) == code
        assert ("✓ done" in terminal.text) == (typed == "y")
