"""Whatever goes wrong with one message or one session is told in words, and stops nothing else."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from handrail.telegram.sessions import ChatSessions
from handrail.telegram.show import answers
from handrail.telegram.viewing import opened_view

from .support import World, eventually

pytestmark = pytest.mark.slow


async def test_an_update_that_cannot_be_handled_is_said_so(
    echo: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    send = ChatSessions.send

    async def fails(self: ChatSessions, hub: Any, place: Any, content: Any, **how: Any) -> None:
        if content == "boom":
            raise ZeroDivisionError("a mistake of ours")
        await send(self, hub, place, content, **how)

    monkeypatch.setattr(ChatSessions, "send", fails)
    with caplog.at_level(logging.ERROR, "handrail.telegram"):
        sent = await echo.say("boom")
        told = await echo.hears("Something went wrong in the bridge")
    assert told.reply_to is not None
    assert told.reply_to.id == sent.id
    assert "a mistake of ours" in caplog.text
    await echo.say("hello")
    await echo.hears("You said hello.")


async def test_an_answer_that_cannot_be_shown_is_said_so_and_the_next_one_is_shown(
    echo: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answers.answer

    def fails(run: Any, *arguments: Any, **how: Any) -> Any:
        if "boom" in run.answer:
            raise ZeroDivisionError
        return answer(run, *arguments, **how)

    monkeypatch.setattr(answers, "answer", fails)
    await echo.say("boom")
    await echo.hears("This cannot be shown here")
    await echo.say("hello")
    await echo.hears("You said hello.")


async def test_a_session_that_cannot_be_followed_is_followed_again(
    echo: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [ZeroDivisionError(f"a mistake {number}") for number in range(4)]

    async def fails(*arguments: Any) -> Any:
        if failures:
            raise failures.pop()
        return await opened_view(*arguments)

    monkeypatch.setattr("handrail.telegram.follower.opened_view", fails)
    await echo.say("hello")
    notice = await echo.hears("What this session does cannot be shown here now.")
    await echo.hears("You said hello.")
    await eventually(lambda: echo.chat.message(notice.id) is None)
    assert echo.bridge is not None
    assert "cannot be followed now" in echo.bridge.last_error
    assert not echo.bridge.troubles
