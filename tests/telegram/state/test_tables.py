"""What the bridge remembers: chats, follows, buttons, updates, drafts and notes."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from handrail.telegram.model import Place, Press
from handrail.telegram.state import BridgeState, Chat, Follow, Prefs, Tables

from .conftest import Clock

ANN = Place(1001)
TOPIC = Place(-100200, 7)
DAY = 24 * 3600.0


async def test_a_new_chat_is_about_nothing(state: BridgeState) -> None:
    assert await state.read(lambda t: t.chat(ANN)) == Chat(place=ANN)
    assert await state.read(lambda t: t.chats()) == []


async def test_a_chat_is_remembered_with_all_its_preferences(state: BridgeState) -> None:
    prefs = Prefs(
        model="opus", mode="plan", planmode="auto", policy="strict", verbose=True, inbox=False, queue="after", budget=2
    )
    chat = Chat(place=TOPIC, session_id="s1", cwd="/src/app", host="desk", worktree="fix", prefs=prefs)

    await state.write(lambda t: t.set_chat(chat))

    assert await state.read(lambda t: t.chat(TOPIC)) == chat
    assert await state.read(lambda t: t.chat(Place(TOPIC.chat))) == Chat(place=Place(TOPIC.chat))
    await state.write(lambda t: t.set_chat(replace(chat, session_id="s2")))
    assert [one.session_id for one in await state.read(lambda t: t.chats())] == ["s2"]


async def test_follows_move_forward_only(state: BridgeState) -> None:
    await state.write(lambda t: t.follow(ANN, "s1", "all", 5))
    await state.write(lambda t: t.move(ANN, "s1", 9))
    await state.write(lambda t: t.move(ANN, "s1", 7))
    await state.write(lambda t: t.move(ANN, "not followed", 7))

    assert await state.read(lambda t: t.follows()) == [Follow(place=ANN, session_id="s1", mode="all", cursor=9)]


async def test_follows_are_found_by_session_and_by_place(state: BridgeState) -> None:
    def follow(tables: Tables) -> None:
        for place, session_id in product((ANN, TOPIC), ("s1", "s2")):
            tables.follow(place, session_id, "asks", 0)

    await state.write(follow)
    await state.write(lambda t: t.unfollow(TOPIC, "s2"))

    async def found(session: str | None, place: Place | None) -> list[tuple[str, Place]]:
        return [(f.session_id, f.place) for f in await state.read(lambda t: t.follows(session, place))]

    assert await found("s1", None) == [("s1", TOPIC), ("s1", ANN)]
    assert await found(None, TOPIC) == [("s1", TOPIC)]
    assert await found("s2", ANN) == [("s2", ANN)]
    assert await found("s2", TOPIC) == []


async def test_a_button_carries_a_token_that_says_nothing_and_stays_the_same(state: BridgeState) -> None:
    press = Press(action="ask:decide", place=ANN, key="ask:1", ask_id="a", digest="d", data={"b": 1, "a": [2]})
    same = Press(action="ask:decide", place=ANN, key="ask:1", ask_id="a", digest="d", data={"a": [2], "b": 1})

    token = await state.write(lambda t: t.mint(press))

    assert len(token) >= 16
    assert len(token.encode()) <= 64
    assert await state.read(lambda t: t.press(token)) == press
    assert await state.write(lambda t: t.mint(same)) == token
    assert await state.write(lambda t: t.mint(replace(press, key="ask:2"))) != token
    assert await state.read(lambda t: t.press("made up")) is None


async def test_retired_buttons_mean_nothing(state: BridgeState) -> None:
    mine, other = (Press(action="command:new", place=ANN, key=key) for key in ("mine", "other"))
    first, second = await state.write(lambda t: (t.mint(mine), t.mint(other)))

    await state.write(lambda t: t.retire("mine"))

    assert await state.read(lambda t: t.press(first)) is None
    assert await state.read(lambda t: t.press(second)) == other


async def test_updates_are_kept_once_and_taken_in_order(state: BridgeState) -> None:
    assert await state.read(lambda t: t.offset()) == 0
    await state.write(lambda t: t.keep([(10, b"a"), (11, b"b")]))
    assert await state.write(lambda t: t.keep([(11, b"b"), (12, b"c")])) == [(12, b"c")]

    assert await state.read(lambda t: t.undone()) == [(10, b"a"), (11, b"b"), (12, b"c")]
    await state.write(lambda t: t.done(11))
    assert await state.read(lambda t: t.undone()) == [(10, b"a"), (12, b"c")]
    assert await state.read(lambda t: t.offset()) == 13
    assert await state.write(lambda t: t.keep([(11, b"b")])) == []


async def test_after_a_week_updates_may_be_numbered_anew(state: BridgeState, clock: Clock) -> None:
    await state.write(lambda t: t.keep([(5_000, b"a")]))
    clock.now += 6.5 * DAY
    assert await state.read(lambda t: t.offset()) == 0
    assert await state.write(lambda t: t.keep([(17, b"z"), (5_000, b"a")])) == [(17, b"z")]
    assert await state.read(lambda t: t.offset()) == 18


async def test_drafts_of_answers(state: BridgeState) -> None:
    assert await state.read(lambda t: t.draft("a", ANN)) is None
    await state.write(lambda t: t.set_draft("a", ANN, b"one"))
    await state.write(lambda t: t.set_draft("a", ANN, b"two"))
    assert await state.read(lambda t: t.draft("a", ANN)) == b"two"
    assert await state.read(lambda t: t.draft("a", TOPIC)) is None
    await state.write(lambda t: t.set_draft("a", ANN, None))
    assert await state.read(lambda t: t.draft("a", ANN)) is None


async def test_notes(state: BridgeState) -> None:
    def note(tables: Tables) -> None:
        for key in ("queue:2", "queue:1", "other", "queue%"):
            tables.note(key, key.upper())

    await state.write(note)
    assert await state.read(lambda t: t.notes("queue:")) == {"queue:1": "QUEUE:1", "queue:2": "QUEUE:2"}
    await state.write(lambda t: t.note("queue:1", None))
    assert await state.read(lambda t: t.noted("queue:1")) is None
    assert await state.read(lambda t: t.noted("other")) == "OTHER"


async def test_what_fails_changes_nothing(state: BridgeState) -> None:
    def half(tables: Tables) -> None:
        tables.note("half", "done")
        raise LookupError("the other half")

    with pytest.raises(LookupError):
        await state.write(half)
    assert await state.read(lambda t: t.noted("half")) is None
    await state.write(lambda t: t.note("whole", "done"))
    assert await state.read(lambda t: t.noted("whole")) == "done"
