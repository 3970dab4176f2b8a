"""Choosing among sessions: pages of them, and what is watched."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.telegram.commands.pages import page_of
from handrail.telegram.model import Place
from handrail.telegram.state import Follow

from .support import ANN, BOB, EVE, Bench, Talk, bench, flat, idle

slow = pytest.mark.slow
"""Many of them would take long together; the first ones tell whether anything works."""


@pytest.mark.slow
async def test_a_chat_goes_on_with_a_session_that_was_chosen(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann = it.chat(ANN)
        assert await ann.write("/sessions") == "There are no sessions in …/projects/shop yet."
        started = [await it.unstarted(f"Task {number}") for number in range(10)]
        assert await ann.write("/sessions") == "There are no sessions in …/projects/shop yet."
        assert "Which one" in await ann.press("All projects")
        assert [text[:8] for text in ann.buttons[:8]] == [f"· Task {number}" for number in range(9, 1, -1)]
        assert ann.buttons[8:] == ["Older ›"]
        await ann.press("Older")
        assert [text[:8] for text in ann.buttons] == ["· Task 1", "· Task 0", "‹ Newer"]
        old = next(button.token for button in flat(ann.last) if button.text.startswith("· Task 0"))
        await ann.press("‹ Newer")
        assert len(ann.buttons) == 9
        assert len(ann.shown) == 2

        eve, bob = it.chat(EVE), it.chat(BOB)
        await eve.write("/sessions task 3")
        assert [text[:8] for text in eve.buttons] == ["· Task 3"]
        assert "needs the role approver" in await eve.press("· Task 3")
        await bob.write("/sessions all")
        assert "This chat goes on with Task 9" in await bob.press("· Task 9")
        assert bob.last.buttons == ()
        assert (await bob.chat()).session_id == started[9].id
        await bob.write("/sessions all")
        assert "Task 9 (here)" in bob.buttons[0]

        # A button of a page that was turned since then still means what it said.
        assert "Task 0" in await ann.press_token(old)
        assert (await ann.chat()).session_id == started[0].id


@slow
async def test_a_session_of_a_terminal_is_gone_on_with(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann, bob = it.chat(ANN), it.chat(BOB)
        assert "There are no sessions of terminals" in await bob.write("/sessions terminal")
        it.in_a_terminal("0b0b0b0b-0000-4000-8000-000000000001", "Write the tests")
        await bob.write("/sessions")
        await bob.press("Of terminals")
        assert bob.buttons[0].startswith("Write the tests · …/projects/shop · ")
        assert "needs the role owner" in await bob.press("Write the tests")
        assert "This chat goes on with Write the tests" in await ann.write("/continue")
        assert (await (await ann.session()).row()).cli_session_id == "0b0b0b0b-0000-4000-8000-000000000001"

        it.in_a_terminal("0b0b0b0b-0000-4000-8000-000000000002", "And the docs")
        await ann.write("/sessions terminal")
        assert len(ann.buttons) == 1
        assert "This chat goes on with And the docs" in await ann.press("And the docs")


@slow
async def test_other_sessions_are_watched(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann = it.chat(ANN, Place(-100, 5))
        assert await ann.write("/watch") == "There is no other session to watch."
        await ann.write("/new mine")
        own = await ann.session()
        await idle(own)
        others = [await it.unstarted(f"Other {number}") for number in range(2)]
        await ann.write("/watch")
        assert ann.buttons == ["Watch Other 1", "Watch Other 0"]
        assert "marked" in await ann.press("Watch Other 1")
        assert ann.buttons == ["✓ Other 1", "Watch Other 0"]
        assert "What it asks is shown here" in await ann.write(f"/watch {others[0].id} asks")
        assert {(each.session_id, each.mode) for each in await _follows(it, ann)} == {
            (own.id, "all"),
            (others[1].id, "all"),
            (others[0].id, "asks"),
        }
        assert "/watch ID asks" in await ann.write(f"/watch {others[0].id} often")
        await ann.write(f"/watch off {others[0].id[:8]}")
        await ann.write("/watch")
        await ann.press("✓ Other 1")
        assert [each.session_id for each in await _follows(it, ann)] == [own.id]
        await ann.write(f"/watch {others[0].id}")
        assert await ann.write("/watch off") == "No other session is watched here any more."
        assert [each.session_id for each in await _follows(it, ann)] == [own.id]


async def _follows(it: Bench, talk: Talk) -> list[Follow]:
    return await it.state.read(lambda tables: tables.follows(place=talk.place))


@given(st.lists(st.integers(), max_size=40), st.one_of(st.integers(-5, 50), st.none(), st.text()))
def test_every_item_is_on_one_page(items: list[int], number: object) -> None:
    pages, at = [], page_of(items, 0)
    while True:
        pages.append(at)
        if at.is_last:
            break
        at = page_of(items, at.number + 1)
    assert [item for page in pages for item in page.items] == items
    assert page_of(items, number).number in range(len(pages))
    assert [bool(page.turning({})) for page in pages] == [len(pages) > 1] * len(pages)
