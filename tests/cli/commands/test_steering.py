"""Commands beside a session that another process owns: send, asks, answer, interrupt, stop."""

from __future__ import annotations

import asyncio
import json

import pytest

from handrail.events.model import AskClosed, AskOpened, Completed
from handrail.protocol.options import Options
from handrail.sessions.session import Session
from handrail.testing import simulated as sim
from handrail.transports.process_tree import MARKER_VARIABLE

from .support import MARIA, Home, until

pytestmark = pytest.mark.slow


async def asked(session: Session, prompt: str = "hello") -> AskOpened:
    """Send a message, and wait for what is asked then."""
    await session.send(prompt, actor=MARIA)
    opened = await until(session, AskOpened)
    assert isinstance(opened, AskOpened)
    return opened


# ---------------------------------------------------------------- answering


async def test_what_waits_is_listed_and_answered(home: Home) -> None:
    async with home.live() as session:
        ask = await asked(session)
        listed = await home.process("asks")
        heading, row = listed.stdout.splitlines()
        assert heading.split() == ["ASK", "AGE", "RISK", "KIND", "WHAT", "SESSION", "TITLE"]
        assert "Bash ls -l" in row
        assert row.startswith(ask.ask_id[:8])
        assert "needs you" in (await home.process("ls")).stdout
        assert f"handrail answer {ask.ask_id}" in (await home.process("show", session.id)).stdout

        done = await home.process("answer", ask.ask_id[:8], "allow")
        assert (done.returncode, done.stderr) == (0, "")
        assert "Needs you · Bash" in done.stdout
        assert "ls -l" in done.stdout
        assert done.stdout.endswith("✓ allowed\n")
        closed = await until(session, AskClosed)
        assert isinstance(closed, AskClosed)
        assert (closed.outcome, closed.surface) == ("decided", "attach")
        completed = await until(session, Completed)
        assert isinstance(completed, Completed)
        assert completed.answer == "You said: hello"
        assert (await home.process("asks")).stdout == ""


async def test_a_denial_tells_claude_why(home: Home) -> None:
    async with home.live() as session:
        ask = await asked(session)
        done = await home.process("answer", ask.ask_id, "deny", "--reason", "not on a Friday")
        assert done.returncode == 0, done.stderr
        closed = await until(session, AskClosed)
        assert isinstance(closed, AskClosed)
        assert closed.answer == {"type": "deny", "message": "The user denied this and says: not on a Friday"}


async def test_of_two_terminals_one_wins_and_the_other_is_told_by_whom(home: Home) -> None:
    async with home.live() as session:
        ask = await asked(session)
        both = await asyncio.gather(
            home.process("answer", ask.ask_id, "allow"), home.process("answer", ask.ask_id, "deny")
        )
        assert sorted(done.returncode for done in both) == [0, 3]
        (loser,) = (done for done in both if done.returncode == 3)
        closed = await until(session, AskClosed)
        assert isinstance(closed, AskClosed)
        assert f"already decided by {closed.by} (attach)" in loser.stderr
        assert len(loser.stderr.splitlines()) == 1
        late = await home.process("answer", ask.ask_id, "allow")
        assert late.returncode == 3
        assert f"already decided by {closed.by} (attach)" in late.stderr


async def test_a_program_names_the_digest_and_is_shown_nothing(home: Home) -> None:
    async with home.live() as session:
        ask = await asked(session)
        (data,) = json.loads((await home.process("asks", "--json")).stdout)
        assert (data["id"], data["digest"], data["risk"]) == (ask.ask_id, ask.digest, "low")
        assert data["ask"]["input"] == {"command": "ls -l"}
        stale = await home.process("answer", ask.ask_id, "allow", "--digest", "0" * 64)
        assert stale.returncode == 3
        assert "digest" in stale.stderr
        answer = '{"type": "allow"}'
        done = await home.process("answer", ask.ask_id, "--answer", answer, "--digest", data["digest"])
        assert (done.returncode, done.stdout) == (0, "✓ allowed\n")


async def test_an_answer_that_does_not_fit_changes_nothing(home: Home) -> None:
    async with home.live() as session:
        ask = await asked(session)
        for arguments, told in (
            (["accept-edits"], "allow"),
            (["--option", "Yes"], "allow"),
            ([], "nobody to ask here"),
        ):
            done = await home.process("answer", ask.ask_id, *arguments)
            assert (done.returncode, done.stdout) == (3, "")
            assert told in done.stderr
        assert [row.id for row in await session.asks()] == [ask.ask_id]


async def test_a_session_cannot_answer_for_itself(home: Home) -> None:
    cli = home.cli()
    async with home.manager() as manager:
        session = await manager.start(Options(cwd=home.project, cli_path=str(cli.path)))
        ask = await asked(session)
        # What every process has that Claude starts.
        inherited = {MARKER_VARIABLE: cli.launches()[0].env[MARKER_VARIABLE]}
        done = await home.process("answer", ask.ask_id, "allow", **inherited)
        assert done.returncode == 3
        assert "can neither answer" in done.stderr
        assert [row.id for row in await session.asks()] == [ask.ask_id]


@pytest.mark.parametrize("reference", ["ffff", "nothing-like-this"])
def test_an_ask_that_is_not_there(home: Home, reference: str) -> None:
    done = home.run("answer", reference, "allow")
    assert (done.returncode, done.stdout) == (2, "")
    assert "handrail asks" in done.stderr


# ---------------------------------------------------------------- steering


async def test_a_message_reaches_the_session_that_another_process_owns(home: Home) -> None:
    async with home.live(sim.loop_turns("You said: $text")) as session:
        sent = await home.process("send", session.id[:8], "one")
        assert (sent.returncode, sent.stdout) == (0, "✓ sent\n")
        waited = await home.process("send", session.id[:8], "-", "--wait", stdin="two")
        assert (waited.returncode, waited.stdout) == (0, "You said: two\n")
        as_json = json.loads((await home.process("send", session.id, "three", "--wait", "--json")).stdout)
        assert (as_json["ok"], as_json["answer"], as_json["session_id"]) == (True, "You said: three", session.id)
        assert (await home.process("send", session.id, "-", stdin=" ")).returncode == 2


async def test_waiting_says_what_else_waits(home: Home) -> None:
    async with home.live() as session:
        sending = asyncio.create_task(home.process("send", session.id, "hello", "--wait"))
        ask = await until(session, AskOpened)
        assert isinstance(ask, AskOpened)
        assert (await home.process("answer", ask.ask_id, "allow")).returncode == 0
        done = await sending
        assert (done.returncode, done.stdout) == (0, "You said: hello\n")
        assert f"handrail answer {ask.ask_id}" in done.stderr


async def test_interrupting_and_stopping(home: Home) -> None:
    async with home.live() as session:
        await asked(session)
        assert (await home.process("interrupt", session.id)).returncode == 0
        completed = await until(session, Completed)
        assert isinstance(completed, Completed)
        assert not completed.ok
        stopped = await home.process("stop", session.id)
        assert (stopped.returncode, stopped.stdout) == (
            0,
            f"✓ stopped; go on with: handrail resume {session.id[:8]}\n",
        )
        assert not await session.is_live()
        again = await home.process("interrupt", session.id)
        assert again.returncode == 1
        assert "no CLI runs" in again.stderr


async def test_stopping_everything(home: Home) -> None:
    async with home.live() as session:
        done = await home.process("stop", "--all")
        assert (done.returncode, done.stdout) == (0, "✓ 1 session stopped\n")
        assert not await session.is_live()
    assert (await home.process("stop", "--all")).stdout == "✓ nothing was running\n"
    assert (await home.process("stop")).returncode == 2


async def test_a_title_reaches_the_session_that_runs(home: Home) -> None:
    async with home.live() as session:
        assert (await home.process("rename", session.id, "the login test")).returncode == 0
        assert (await session.row()).title == "the login test"


# ---------------------------------------------------------------- sessions that nobody runs


def test_a_message_resumes_a_session(past: tuple[Home, str]) -> None:
    home, session_id = past
    refused = home.run("send", session_id, "more", "--no-resume")
    assert refused.returncode == 1
    assert "resume" in refused.stderr
