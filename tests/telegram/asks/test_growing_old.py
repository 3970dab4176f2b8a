"""What is remembered of asks: everything for as long as one can be answered, and little after that."""

from __future__ import annotations

from typing import cast

import pytest

from handrail.protocol import descriptions as d
from handrail.protocol.asks import Allow, Deny
from handrail.telegram.model import SentMessage
from handrail.telegram.state import Tables

from .support import HOME, Chat, FakeHub, MemoryState, find, item, row_of

DAY = 24 * 3600.0
MAKE = d.Command(text="make test")


async def later(chat: Chat, days: float) -> None:
    """So many days go by, and what is old goes."""
    cast(MemoryState, chat.state).now += days * DAY
    while await chat.state.write(lambda tables: tables.prune()):
        pass


async def deliver(chat: Chat) -> None:
    """Have all that is wanted stand in the chat."""

    def step(tables: Tables) -> bool:
        heads = tables.heads()
        for head in heads:
            delivery = tables.delivery(head.key)
            assert delivery is not None
            tables.shown(delivery, delivery.message_id or 100 + head.number)
        return bool(heads)

    while await chat.state.write(step):
        pass


async def own(chat: Chat) -> SentMessage | None:
    await deliver(chat)
    return await chat.message(chat.key)


@pytest.fixture
async def asked(chat: Chat, hub: FakeHub) -> Chat:
    hub.put(row_of(MAKE, given={"command": "make test"}))
    await chat.show(item())
    await chat.press("Deny with a reason")
    await deliver(chat)
    return chat


async def test_an_ask_that_waits_can_be_answered_after_most_of_a_year(asked: Chat, hub: FakeHub) -> None:
    before = await asked.ask()
    await later(asked, 300)
    assert await asked.ask() == before
    await asked.press("Allow")
    assert hub.decided == [("ask-1", Allow(), "d1", False)]


async def test_so_can_the_message_that_asked_for_a_reason(asked: Chat, hub: FakeHub) -> None:
    (prompt,) = await asked.beside("prompt:")
    await later(asked, 300)
    assert await asked.reply("not now", to=prompt)
    assert isinstance(hub.decided[0][1], Deny)


async def test_after_an_answer_a_late_press_is_explained_for_a_month(asked: Chat) -> None:
    allow = find(await asked.ask(), "Allow")
    await asked.press("Allow")
    await deliver(asked)
    await later(asked, 29)
    assert "Allowed by Ann" in await asked.press(allow)
    await later(asked, 2)
    assert await asked.state.read(lambda tables: tables.press(allow.token)) is None
    assert await asked.state.read(lambda tables: tables.notes("ask:")) == {}


async def test_a_reply_to_an_old_answered_ask_goes_to_its_session(asked: Chat) -> None:
    await asked.press("Allow")
    await deliver(asked)
    await later(asked, 179)
    message = await own(asked)
    assert message is not None
    assert message.session_id == "s1"
    assert await asked.reply("go on", to=message) is False
    await later(asked, 2)
    assert await own(asked) is None


async def test_an_ask_that_nobody_ever_answers_is_forgotten_in_the_end(asked: Chat) -> None:
    await later(asked, 366)
    await later(asked, 0)
    assert await own(asked) is None
    assert await asked.state.read(lambda tables: tables.notes("")) == {}
    assert await asked.state.read(lambda tables: tables.draft("s1/ask-1", HOME)) is None
