"""What is asked in groups, and in several places at once: of whom, and that each shows what became of it."""

from __future__ import annotations

from handrail.protocol import descriptions as d
from handrail.protocol.asks import Deny
from handrail.telegram.asks.desk import item_of
from handrail.telegram.model import Place
from handrail.telegram.text.rich import Entity

from .support import ANN, BEA, Chat, FakeHub, row_of


async def test_in_a_group_a_reason_is_asked_of_whoever_wants_to_give_one(chat: Chat, hub: FakeHub) -> None:
    group = Chat(chat.state, hub, chat.desk, Place(-1005))
    await group.show(item_of(hub.put(row_of(d.Command(text="make")))))
    await group.press("Deny with a reason", BEA)
    (prompt,) = await group.beside("prompt:")
    assert prompt.content.text.text.startswith("Bea: Tell Claude why")
    assert prompt.content.text.entities == (Entity("text_mention", 0, 3, user=BEA.id),)
    await group.press("Deny with a reason", ANN)
    (of_ann,) = [each for each in await group.beside("prompt:") if each.key != prompt.key]
    assert of_ann.content.text.text.startswith("Ann: Tell Claude why")
    assert await group.message(prompt.key) == prompt  # Bea may be writing
    assert await group.reply("use ninja", BEA, to=prompt)
    assert hub.decided[0][1] == Deny("The user denied this and says: use ninja")
    assert await group.beside("prompt:") == []


async def test_every_place_shows_what_became_of_it(chat: Chat, hub: FakeHub) -> None:
    other = Chat(chat.state, hub, chat.desk, Place(-1005, 7))
    shown = item_of(hub.put(row_of(d.Command(text="make"))))
    await chat.show(shown)
    await other.show(shown)
    await chat.press("Allow")
    assert (await other.ask()).text.text.startswith("✓ Allowed by Ann (telegram).")


async def test_a_group_that_got_another_number_is_answered_all_the_same(chat: Chat, hub: FakeHub) -> None:
    group, moved = (Chat(chat.state, hub, chat.desk, place) for place in (Place(-7, 3), Place(-1007, 3)))
    before = await group.show(item_of(hub.put(row_of(d.Command(text="make")))))
    await chat.state.write(lambda tables: tables.move_chat(-7, -1007))
    message = await moved.message(moved.key)
    assert message is not None
    assert (message.place, message.content) == (Place(-1007, 3), before)
    await moved.press("Deny with a reason", content=before)
    (prompt,) = await moved.beside("prompt:")
    assert await moved.reply("no", to=prompt)
    assert len(hub.decided) == 1
    assert (await moved.ask()).text.text.startswith("✗ Denied by Ann (telegram).")
    assert await moved.beside("prompt:") == []
