"""Beginning, going on with, and ending sessions from a chat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.protocol.options import Options
from handrail.store.base import SessionRow
from handrail.telegram.commands.parsing import command_line
from handrail.telegram.commands.running import named_session
from handrail.telegram.files.desk import FilesDesk
from handrail.telegram.files.parcel import Parcel
from handrail.telegram.incoming import Chat as IncomingChat
from handrail.telegram.incoming import Document, Message
from handrail.telegram.model import Place
from handrail.testing import simulated as sim

from .support import ANN, BOB, bench, eventually, idle

slow = pytest.mark.slow
"""Many of them would take long together; the first ones tell whether anything works."""

WORKS = sim.turn("I begin.", sim.sleep(120))


@pytest.mark.slow
async def test_sessions_are_begun_and_gone_on_with(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann, group = it.chat(ANN), it.chat(ANN, Place(-100, 7))
        assert "There is no session in" in await ann.write("/continue")
        assert "starts a new session in …/projects/shop." in await ann.write("/new")
        assert (await ann.chat()).session_id == ""

        await ann.write("/new say hello")
        first = await ann.session()
        await idle(first)
        row = await first.row()
        assert (row.title, row.cwd) == ("say hello", it.project())

        assert "goes on with say hello" in await group.write("/continue")
        assert (await group.chat()).session_id == first.id
        await group.write("/continue and more")
        await eventually(lambda: _said(first, "You said and more."))

        await ann.write("/new another one")
        second = await ann.session()
        assert second.id != first.id
        await ann.write(f"/continue {first.id[:8]} once more")
        assert (await ann.chat()).session_id == first.id
        await eventually(lambda: _said(first, "You said once more."))
        await ann.write(f"/continue claude --resume {(await second.row()).cli_session_id}\nback here")
        await eventually(lambda: _said(second, "You said back here."))
        assert "There is no session" in await ann.write("/continue 00000000")


@pytest.mark.slow
async def test_one_command_that_comes_twice_is_carried_out_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann = it.chat(ANN)
        line = command_line("/new hello")
        assert line is not None
        for _ in range(2):
            await it.commands.run(ann.context(77), line)
        await idle(await ann.session())
        assert len(await it.hub.list()) == 1
        for _ in range(2):
            await it.commands.run(ann.context(78), command_line("/status") or line)
        await ann.deliver()
        assert len(ann.shown) == 1


@slow
async def test_sessions_are_interrupted_and_stopped(tmp_path: Path) -> None:
    async with bench(tmp_path, WORKS, WORKS) as it:
        ann, bob = it.chat(ANN), it.chat(BOB)
        assert "This chat has no session yet" in await ann.write("/stop")
        await ann.write("/new work")
        session = await ann.session()
        await eventually(lambda: _is(session, "running"))

        assert "needs the role owner: you are an approver" in await bob.write(f"/stop {session.id[:8]}")
        assert "Interrupted work." in await bob.write(f"/interrupt {session.id[:8]}")
        status = await ann.write("/status")
        assert "work" in status
        assert "Stopped work." in await ann.write("/stop", reply_to=ann.last_id)
        assert not await session.is_live()
        assert "does not run" in await ann.write("/stop")
        assert "does nothing now" in await bob.write(f"/interrupt {session.id[:8]}")

        await ann.write("/stop all")
        assert ann.last.buttons[0][0].style == "danger"
        assert await ann.press("Keep") == "Nothing was stopped."
        await ann.write("/stop all")
        assert await ann.press("Stop all") == "Stopped 0 sessions."
        assert ann.last.buttons == ()


@slow
async def test_what_waits_is_listed_and_taken_back(tmp_path: Path) -> None:
    async with bench(tmp_path, WORKS) as it:
        ann = it.chat(ANN)
        assert await ann.write("/cancel") == "There is nothing to cancel."
        await ann.write("/new work")
        session = await ann.session()
        await eventually(lambda: _is(session, "running"))
        assert "go later" in await ann.write("/queue after")
        assert (await ann.chat()).prefs.queue == "after"
        await ann.write("/queue then test it")
        await ann.write("/queue and ship it")
        shown = await ann.write("/queue")
        assert "1. then test it" in shown
        assert "2. and ship it" in shown
        assert "1. and ship it" in await ann.press("Take 1 back")
        assert "go at once" in await ann.press("From now on at once")
        assert "1 waiting message taken back, interrupted" in await ann.write("/cancel")
        assert "Nothing waits." in await ann.write("/queue")


@slow
async def test_however_much_waits_is_listed_with_as_many_buttons_as_telegram_takes(tmp_path: Path) -> None:
    async with bench(tmp_path, WORKS) as it:
        ann = it.chat(ANN)
        await ann.write("/new work")
        session = await ann.session()
        await eventually(lambda: _is(session, "running"))
        for number in range(1, 61):
            await ann.write(f"/queue message {number}")
        shown = await ann.write("/queue")
        assert "1. message 1\n" in shown
        assert shown.endswith("… and 40 more")
        assert len(ann.buttons) == 41


@slow
async def test_a_file_goes_where_the_session_works_that_it_is_for(tmp_path: Path) -> None:
    class Files(FilesDesk):
        def __init__(self) -> None:
            self.directories: list[str] = []

        async def received(self, messages: Sequence[Message], text: str) -> Parcel:
            return Parcel([{"type": "text", "text": text}], [self.put])

        async def put(self, row: SessionRow) -> str:
            self.directories.append(row.cwd)
            return "notes.txt"

    async with bench(tmp_path) as it:
        ann, files = it.chat(ANN), Files()
        elsewhere = await it.hub.start(Options(cwd=it.project("bakery")))
        await elsewhere.send("begin")
        await idle(elsewhere)
        document = Message(1, IncomingChat(ANN.id), document=Document("f", file_name="notes.txt"))
        for line in (f"/continue {elsewhere.id} read this", "/queue and this", "/new and that"):
            context = replace(ann.context(next(it.message_ids)), files=files, message=document)
            parsed = command_line(line)
            assert parsed is not None
            await it.commands.run(context, parsed)
        assert files.directories == [it.project("bakery"), it.project("bakery"), it.project()]


@slow
async def test_commands_of_claude_code_are_passed_on(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann = it.chat(ANN)
        await ann.write("/new hello")
        session = await ann.session()
        await idle(session)
        assert "There is no command /compact here" in await ann.write("/compact now")
        assert await ann.press("Send it to Claude Code") == "Sent to Claude Code: /compact"
        await eventually(lambda: _said(session, "You said /compact now."))
        await ann.write("/claude context")
        await eventually(lambda: _said(session, "You said /context."))
        assert "did you mean /status?" in await ann.write("/statsu")


def test_an_id_is_told_from_words() -> None:
    assert named_session("add a test") == ("", "add a test")
    assert named_session("0123abcd go on") == ("0123abcd", "go on")
    assert named_session("deadbeef") == ("deadbeef", "")
    assert named_session("dead code") == ("", "dead code")
    assert named_session("`claude --resume x-y_z`\nand go") == ("x-y_z", "and go")


@given(st.text())
def test_any_text_is_a_session_and_words_or_only_words(text: str) -> None:
    reference, rest = named_session(text)
    assert reference or rest == text


async def _is(session: Any, status: str) -> bool:
    return bool((await session.row()).status == status)


async def _said(session: Any, text: str) -> bool:
    return any(getattr(event, "text", "") == text for event in await session.events())
