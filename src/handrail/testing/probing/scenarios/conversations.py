"""Conversations that go on: under the id they were given, resumed, forked, cleared, and kept in a transcript."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from handrail.errors import HandrailError
from handrail.protocol.frames import ConversationReset
from handrail.protocol.options import Options
from handrail.sessions.adoption import adoptable
from handrail.testing.model_request import ModelRequest
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import DOUBT, Live, Stage

__all__ = ["CONVERSATIONS"]

GIVEN_ID = Behaviour(
    name="conversations: the id it was given",
    need="breaks",
    otherwise="a session cannot be locked before its CLI runs: two processes could write one transcript",
)
CLEAR = Behaviour(
    name="conversations: /clear",
    need="degrades",
    otherwise="a session that was cleared cannot be resumed under its new id",
    copes="the new id is taken from the frame that announces it, or from the next turn",
)
TRANSCRIPT = Behaviour(
    name="conversations: its transcript",
    need="degrades",
    otherwise="sessions of Claude Code's own cannot be found and adopted",
)
RESUMED = Behaviour(
    name="conversations: resumed",
    need="breaks",
    otherwise="a session cannot go on after its process has ended",
)
FORKED = Behaviour(
    name="conversations: forked",
    need="degrades",
    otherwise="a session cannot be copied",
)

NAME = "My name is Ada"


async def play(stage: Stage) -> None:
    given = str(uuid4())
    async with stage.live({NAME: ["Nice to meet you."]}, options=Options(session_id=given)) as live:
        await live.run(NAME)
        kept = live.client.session_id == given
        stage.see(GIVEN_ID, kept, "kept" if kept else "another one")
    await _find_the_transcript(stage, given)
    async with stage.live({"What is": ["Ada."]}, options=Options(resume=given)) as live:
        await live.run("What is my name?")
        id_kept, remembers = live.client.session_id == given, _remembers(live.model.requests_in()[0])
        stage.see(RESUMED, id_kept and remembers, _words(id_kept, remembers))
    async with stage.live({"What is": ["Ada."]}, options=Options(resume=given, fork_session=True)) as live:
        await live.run("What is my name?")
        id_kept, remembers = live.client.session_id == given, _remembers(live.model.requests_in()[0])
        stage.see(FORKED, remembers and not id_kept, _words(id_kept, remembers))
        await _clear(stage, live)


def _remembers(request: ModelRequest) -> bool:
    return NAME in str(request.messages)


def _words(id_kept: bool, remembers: bool) -> str:
    return f"{'the same' if id_kept else 'a new'} id, what was said is {'kept' if remembers else 'forgotten'}"


async def _find_the_transcript(stage: Stage, session_id: str) -> None:
    """Transcripts are written a little later than frames."""
    try:
        async with asyncio.timeout(DOUBT):
            while not any(found.session_id == session_id for found in adoptable(str(stage.home))):
                await asyncio.sleep(0.05)
    except TimeoutError:
        stage.see(TRANSCRIPT, False, "not where transcripts are looked for")
        return
    stage.see(TRANSCRIPT, True, "found, and readable")


async def _clear(stage: Stage, live: Live) -> None:
    before = live.client.session_id
    try:
        await live.run("/clear")
        await live.run("What is my name?")
    except HandrailError as error:
        stage.see(CLEAR, False, type(error).__name__)
        return
    renamed, forgotten = live.client.session_id != before, not _remembers(live.model.requests_in()[-1])
    announced = ", announced" if live.all(ConversationReset) else ""
    words = (
        f"{'a new' if renamed else 'the same'} id{announced}, what was said is {'forgotten' if forgotten else 'kept'}"
    )
    stage.see(CLEAR, forgotten, words)


CONVERSATIONS = Scenario("conversations", (GIVEN_ID, TRANSCRIPT, RESUMED, FORKED, CLEAR), play)
