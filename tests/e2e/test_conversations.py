"""Conversations that go on: resume, fork, continue, /clear, and after the CLI was killed."""

from __future__ import annotations

import os
import signal
from uuid import uuid4

import pytest

from handrail.errors import ProcessExited
from handrail.protocol.frames import CompactBoundary, ConversationReset, Status, StreamEvent
from handrail.protocol.launch import Options
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import Reply

from .support import Observe, World, by_version, eventually


async def begin(world: World, session_id: str | None = None) -> str:
    """A conversation of one turn, in a process that has ended."""
    async with world.live(["Nice to meet you."], options=Options(session_id=session_id)) as live:
        assert (await live.client.run("My name is Ada")).ok
        assert live.client.session_id is not None
        return live.client.session_id


def remembers(request: ModelRequest) -> bool:
    said = [message["role"] for message in request.messages]
    return "My name is Ada" in str(request.messages) and "assistant" in said


async def test_a_session_has_the_id_it_was_given(world: World) -> None:
    wanted = str(uuid4())
    assert await begin(world, wanted) == wanted


async def test_resume_goes_on_under_the_same_id(world: World, observe: Observe) -> None:
    before = await begin(world)
    async with world.live(["Ada."], options=Options(resume=before)) as live:
        result = await live.client.run("What is my name?")
        assert result.result == "Ada."
        assert remembers(live.model.requests_in()[0])
        assert live.client.session_id == before
        replayed = "Nice to meet you." in str([frame.data for frame in live.transport.log.frames])
        observe("resume: session id with resume", "kept" if result.session_id == before else "new")
        observe("resume: messages from before", "replayed" if replayed else "not replayed")


async def test_fork_goes_on_under_a_new_id(world: World, observe: Observe) -> None:
    before = await begin(world)
    async with world.live(["Ada."], options=Options(resume=before, fork_session=True)) as live:
        assert (await live.client.run("What is my name?")).result == "Ada."
        assert remembers(live.model.requests_in()[0])
        assert live.client.session_id != before
        observe("resume: session id with fork_session", "new" if live.client.session_id != before else "kept")


async def test_continue_takes_up_the_last_conversation(world: World, observe: Observe) -> None:
    before = await begin(world)
    async with world.live(["Ada."], options=Options(continue_conversation=True)) as live:
        assert (await live.client.run("What is my name?")).result == "Ada."
        assert remembers(live.model.requests_in()[0])
        observe("resume: session id with continue", "kept" if live.client.session_id == before else "new")


async def test_an_unknown_session_is_a_clear_error(world: World, observe: Observe) -> None:
    unknown = str(uuid4())
    with pytest.raises(ProcessExited, match=f"No conversation found with session ID: {unknown}") as ended:
        async with world.live(["Who?"], options=Options(resume=unknown)) as live:
            await live.client.run("What is my name?")
    assert ended.value.exit_code == 1
    told = {
        "on stderr": "No conversation found" in ended.value.stderr_tail,
        "in a result": "its last result was an error" in str(ended.value),
    }
    observe("resume: unknown id", f"exit code 1, the reason {' and '.join(where for where in told if told[where])}")


async def test_clear_begins_a_new_conversation(world: World, cli: ClaudeCLI, observe: Observe) -> None:
    async with world.live(["Nice to meet you.", "Who?"]) as live:
        await live.client.run("My name is Ada")
        before = live.client.session_id
        cleared = await live.client.run("/clear")
        assert cleared.ok
        assert (await live.client.run("What is my name?")).result == "Who?"
        renamed, forgotten = live.client.session_id != before, not remembers(live.model.requests_in()[-1])
        assert renamed is by_version(cli, {"2.1.37": False, "2.1.120": True})
        assert forgotten is by_version(cli, {"2.1.37": False, "2.1.197": True})
        if renamed:
            announced = " announced by conversation_reset" if live.all(ConversationReset) else ""
            fate = "forgotten" if forgotten else "still sent to the model"
            observe("resume: /clear", f"a new session id{announced}, earlier messages are {fate}")
        else:
            observe("resume: /clear", f"not known: {cleared.result}")


async def test_compact_keeps_the_session(world: World, observe: Observe) -> None:
    async with world.live(["Nice to meet you.", "You are welcome.", "Who?"]) as live:
        await live.client.run("My name is Ada")
        await live.client.run("Thank you")
        before = live.client.session_id
        assert (await live.client.run("/compact")).ok
        assert (await live.client.run("What is my name?")).result == "Who?"
        assert live.client.session_id == before
        assert "A scripted conversation." in str(live.model.requests_in()[-1].messages)
        said = [frame.compact_result or frame.status for frame in live.all(Status)]
        order = " → ".join([*filter(None, said), *(frame.subtype for frame in live.all(CompactBoundary))])
        observe("resume: /compact", f"session id kept; {order}")


async def test_a_killed_cli_fails_the_turn_and_can_be_resumed(world: World, observe: Observe) -> None:
    options = Options(include_partial_messages=True)
    async with world.live(["Nice to meet you.", Reply("This is cut", hang_after=1)], options=options) as live:
        await live.client.run("My name is Ada")
        session = live.client.session_id
        # Transcripts are written a little later than frames.
        await eventually(lambda: is_in_transcript(world, "Nice to meet you."))
        async with live.client.turn("Talk") as turn:
            await live.nth(2, StreamEvent)
            assert live.client.pid is not None
            os.kill(live.client.pid, signal.SIGKILL)
            with pytest.raises(ProcessExited, match="killed by signal 9") as ended:
                await turn.wait()
        assert ended.value.exit_code == -signal.SIGKILL
        with pytest.raises(ProcessExited):
            await live.client.run("Are you there?")
    async with world.live(["Ada."], options=Options(resume=session)) as live:
        assert (await live.client.run("What is my name?")).result == "Ada."
        assert remembers(live.model.requests_in()[0])
        observe("resume: after kill -9 in the middle of a message", "goes on, the cut message is gone")


def is_in_transcript(world: World, text: str) -> bool:
    transcripts = (world.home / ".claude" / "projects").glob("*/*.jsonl")
    return any(text in path.read_text() for path in transcripts)
