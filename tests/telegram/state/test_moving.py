"""A group that becomes a supergroup has another number: all that is known of it goes along."""

from __future__ import annotations

from functools import partial

import msgspec

from handrail.telegram.model import GONE, Content, Place, Press
from handrail.telegram.state import BridgeState, Chat, Tables
from handrail.telegram.text.rich import plain

from .test_messages import deliver, delivery, heads, want


async def test_a_group_that_moved_is_found_under_its_new_number(state: BridgeState) -> None:
    old, new = Place(-5), Place(-1005)
    await state.write(lambda t: t.follow(old, "s", "all", 3))
    await state.write(want("m", "x", old))
    await deliver(state, "m", 9)
    await state.write(want("n", "y", old))
    await state.write(lambda t: t.move_chat(old.chat, new.chat))

    assert [follow.place for follow in await state.read(lambda t: t.follows())] == [new]
    assert await heads(state) == ["n"]
    await state.write(want("m", "z", old))
    step = await delivery(state, "m")
    assert (step.step, step.place) == ("send", new)


async def test_what_a_group_has_under_its_new_number_already_stays(state: BridgeState) -> None:
    old, new = Place(-5), Place(-1005)
    await state.write(lambda t: t.set_chat(Chat(place=old, session_id="before")))
    await state.write(lambda t: t.set_chat(Chat(place=new, session_id="since")))
    await state.write(want("m", "x", new))
    await deliver(state, "m", 9)
    for _ in range(2):  # whoever still writes to the old number hears of it again
        await state.write(lambda t: t.move_chat(old.chat, new.chat))

    assert await state.read(lambda t: t.chats()) == [Chat(place=new, session_id="since")]
    assert await state.read(lambda t: t.message_at(new.chat, 9)) is not None
    assert await state.read(lambda t: t.moved_chats()) == {old.chat: new.chat}


async def test_what_goes_along_answers_no_message_that_stayed_behind(state: BridgeState) -> None:
    content = Content(text=plain("done"), reply_to=7)
    queued = '{"uuid":"u","place":{"chat":-5},"message_id":7}'
    await state.write(want("m", content, Place(-5)))
    await state.write(lambda t: t.note("queue:s:u", queued))
    await state.write(lambda t: t.move_chat(-5, -1005))
    assert (await delivery(state, "m")).content == Content(text=plain("done"))
    moved = await state.read(lambda t: t.noted("queue:s:u"))
    assert moved == '{"uuid":"u","place":{"chat":-1005},"message_id":0}'


async def test_what_was_sent_to_the_old_number_meanwhile_is_sent_again(state: BridgeState) -> None:
    await state.write(want("m", "x", Place(-5)))
    step = await delivery(state, "m")
    await state.write(lambda t: t.move_chat(-5, -1005))
    await state.write(lambda t: t.shown(step, 9))
    assert await state.read(lambda t: t.message_at(-1005, 9)) is None
    assert await heads(state) == ["m"]


async def test_what_both_numbers_have_is_that_of_the_new_one(state: BridgeState) -> None:
    old, new = Place(-5), Place(-1005)
    tokens = {}
    for place in (old, new):
        key = f"ask:s:a:{place}"
        await state.write(want(key, f"in {place}", place))
        await deliver(state, key, 9)
        press = Press(action="ask:decide", place=place, key=key)
        tokens[place] = await state.write(partial(Tables.mint, press=press))
        await state.write(partial(Tables.note, key=f"chosen:{place}", value=f"in {place}"))
    await state.write(lambda t: t.move_chat(old.chat, new.chat))

    message = await state.read(lambda t: t.message_at(new.chat, 9))
    assert message is not None
    assert message.content.text.text == "in -1005"
    assert await heads(state) == []
    assert await state.read(lambda t: t.notes("chosen:")) == {"chosen:-1005": "in -1005"}
    assert await state.write(lambda t: t.mint(press)) == tokens[new]
    assert await state.read(lambda t: t.press(tokens[new])) == press


async def test_what_was_to_be_taken_away_in_a_group_that_moved_is_forgotten(state: BridgeState) -> None:
    await state.write(want("m", "x", Place(-5)))
    await deliver(state, "m", 9)
    await state.write(want("m", GONE, Place(-5)))
    await state.write(lambda t: t.move_chat(-5, -1005))
    assert await heads(state) == []


async def test_notes_and_buttons_go_along_with_a_group(state: BridgeState) -> None:
    press = Press(action="ask:decide", place=Place(-5), key="ask:s:a:-5", data={"n": -5})
    token = await state.write(lambda t: t.mint(press))
    await state.write(lambda t: t.note("leave:s:-5", "1"))
    await state.write(lambda t: t.note("leave:s:-55", "1"))
    await state.write(lambda t: t.note("prompt:u", '{"place":{"chat":-5},"message_id":7}'))
    await state.write(lambda t: t.move_chat(-5, -1005))

    there = msgspec.structs.replace(press, place=Place(-1005), key="ask:s:a:-1005")
    assert await state.read(lambda t: t.press(token)) == there
    assert await state.write(lambda t: t.mint(there)) == token
    assert await state.read(lambda t: list(t.notes("leave:"))) == ["leave:s:-1005", "leave:s:-55"]
    origin = await state.read(lambda t: t.noted("prompt:u"))
    assert origin == '{"place":{"chat":-1005},"message_id":0}'
