"""Whatever is pressed and written, in whatever order: a decision carries the digest that was shown with its button."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.policy.answers.encoding import decode_answer
from handrail.policy.answers.plan import PlanContext, RevisePlan
from handrail.policy.describing.described_forms import questions_of
from handrail.protocol import descriptions as d
from handrail.sessions.asks import AnyAnswer
from handrail.store.base import AskRow
from handrail.telegram.asks.desk import item_of
from handrail.telegram.model import Button, Content
from handrail.telegram.state import Tables

from .support import ANN, BEA, Chat, FakeHub, MemoryState, new_chat, row_of


class WatchedHub(FakeHub):
    """Also remembers what was tried."""

    tried: list[tuple[AnyAnswer, str | None]]

    async def decide(self, ask_id: str, answer: AnyAnswer, *, digest: str | None = None, resume: bool = False) -> None:
        self.tried.append((answer, digest))
        await super().decide(ask_id, answer, digest=digest, resume=resume)

    def acting_for(self, user: Any) -> Any:
        acting = WatchedHub(self.rows, user.name, self.decided, self.interrupted, self.fails_with)
        acting.tried = self.tried
        return acting


def permission(version: int, **given: Any) -> AskRow:
    command = f"make {version}"
    return row_of(d.Command(text=command), given={"command": command}, digest=f"d{version}", **given)


def questions(version: int, **given: Any) -> AskRow:
    asked = {
        "questions": [
            {"question": f"one {version}?", "options": [{"label": f"a{version}"}, {"label": "b"}]},
            {"question": f"two {version}?", "options": [{"label": f"c{version}"}], "multiSelect": True},
        ]
    }
    return row_of(
        questions_of(asked), kind="question", tool="AskUserQuestion", given=asked, digest=f"d{version}", **given
    )


def plan(version: int, **given: Any) -> AskRow:
    text = f"Do {version}"
    context = PlanContext(cli_version="2.1.325", bypass_available=True)
    asked = {"plan": text, "allowedPrompts": [{"tool": "Bash", "prompt": "run `make`"}]}
    what = d.PlanReview(plan=text)
    return row_of(
        what, kind="plan", tool="ExitPlanMode", plan=text, given=asked, context=context, digest=f"d{version}", **given
    )


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("press"), st.integers(0, 400)),
        st.tuples(st.just("reply"), st.integers(0, 5)),
        st.tuples(st.just("change"), st.integers(1, 3)),
        st.tuples(st.just("unheard"), st.integers(1, 3)),
        st.tuples(st.just("lose"), st.just(0)),
        st.tuples(st.just("refresh"), st.just(0)),
    ),
    min_size=4,
    max_size=25,
)
REPLIES = ("no", "make 7", "a1", "3", "", "Do 9")


class World:
    """One ask in one chat, and every button that was ever seen with what it was shown with."""

    def __init__(self, kind: Callable[..., AskRow]) -> None:
        self.hub = WatchedHub()
        self.hub.tried = []
        self.chat: Chat = new_chat(self.hub)
        self._kind = kind
        self._version = 1
        self._state = "pending"
        self.seen: dict[str, tuple[Button, str]] = {}

    async def put(self, *, heard: bool) -> None:
        current = self.hub.rows.get("ask-1")
        if current is not None and current.state not in ("pending", "lost"):
            return
        row = self._kind(self._version, row={"state": self._state})
        self.hub.put(row)
        if heard:
            await self.chat.show(item_of(row))
        await self.look()

    async def look(self) -> None:
        """See all buttons, each with the digest of what its message shows."""
        messages = await self.chat.state.read(lambda tables: tables.of_ask("s1", "ask-1"))
        for message in messages:
            for button in _buttons(message.content):
                if button.token not in self.seen:
                    self.seen[button.token] = button, self._shown_by(message.content)

    def _shown_by(self, content: Content) -> str:
        versions = [version for version in (1, 2, 3) if _names(content.text.text, version)]
        return f"d{versions[0]}" if len(versions) == 1 else ""

    async def act(self, action: str, number: int) -> None:
        if action == "press" and self.seen:
            await self._press(*list(self.seen.values())[number % len(self.seen)], number)
        elif action == "reply":
            await self.chat.reply(REPLIES[number], ANN)
        elif action in ("change", "unheard"):
            self._version = number
            await self.put(heard=action == "change")
        elif action == "lose":
            self._state = "lost"
            await self.put(heard=True)
        elif action == "refresh":
            await self.chat.desk.refresh("s1", "ask-1")
        await self.look()

    async def _press(self, button: Button, shown: str, number: int) -> None:
        before = len(self.hub.tried)
        await self.chat.press(button, BEA if number % 3 == 0 else ANN)
        for answer, digest in self.hub.tried[before:]:
            assert digest is not None
            assert not shown or digest == shown
            _check_about(answer, digest)


def _buttons(content: Content) -> list[Button]:
    return [button for row in content.buttons for button in row]


def _names(text: str, version: int) -> bool:
    return any(name in text for name in (f"make {version}\n", f"{version}?", f"Do {version}"))


def _check_about(answer: AnyAnswer, digest: str) -> None:
    """Answers to questions are to those of the digest."""
    for question in getattr(answer, "answers", {}):
        assert question.endswith(f" {digest[1:]}?")


@pytest.mark.parametrize("kind", [permission, questions, plan])
@settings(max_examples=25, deadline=None)
@given(actions=ACTIONS)
def test_a_decision_is_about_what_was_shown(kind: Callable[..., AskRow], actions: list[tuple[str, int]]) -> None:
    asyncio.run(_played(kind, actions))


async def _played(kind: Callable[..., AskRow], actions: list[tuple[str, int]]) -> None:
    world = World(kind)
    try:
        await world.put(heard=True)
        for action, number in actions:
            await world.act(action, number)
        await world.chat.desk.refresh("s1", "ask-1")
        _check_end(world, await world.chat.ask())
    finally:
        cast(MemoryState, world.chat.state).close()


def _check_end(world: World, content: Content) -> None:
    """At most one decision was taken, and the message shows what is true."""
    row = world.hub.rows["ask-1"]
    assert len(world.hub.decided) <= 1
    if world.hub.decided:
        _, answer, digest, _ = world.hub.decided[0]
        assert digest == row.digest
        assert row.answer is not None
        assert decode_answer(msgspec.json.decode(row.answer)) == answer
    assert bool(content.buttons) == (row.state in ("pending", "lost"))


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("kind", [permission, questions, plan])
async def test_no_button_of_before_decides_what_is_asked_now(kind: Callable[..., AskRow], heard: bool) -> None:
    world = World(kind)
    try:
        await world.put(heard=True)
        before = list(world.seen.values())
        await world.act("change" if heard else "unheard", 2)
        for button, shown in before:
            assert shown == "d1"
            await world.chat.press(button, ANN)
        assert world.hub.decided == []
        assert {digest for _, digest in world.hub.tried} <= {"d1"}
    finally:
        cast(MemoryState, world.chat.state).close()


def long_plan(version: int) -> AskRow:
    text = f"Do {version}\n\n" + "\n".join(f"- step {number}, which is a long one" for number in range(200))
    what = d.PlanReview(plan=text)
    return row_of(what, kind="plan", tool="ExitPlanMode", plan=text, given={"plan": text}, digest=f"d{version}")


async def test_a_reply_to_a_part_of_what_was_shown_is_about_that(chat: Chat, hub: FakeHub) -> None:
    await chat.show(item_of(hub.put(long_plan(1))))
    await chat.state.write(_deliver_all)
    part, _ = await chat.beside("part:")
    await chat.show(item_of(hub.put(long_plan(2))))  # and not in the chat yet
    assert await chat.reply("shorter, please", to=part)
    assert hub.decided == []
    (said,) = await chat.beside("said:")
    assert "has changed" in said.content.text.text
    await chat.state.write(_deliver_all)
    assert await chat.reply("shorter, please", to=(await chat.beside("part:"))[0])
    assert [(digest, answer) for _, answer, digest, _ in hub.decided] == [("d2", RevisePlan("shorter, please"))]


def _deliver_all(tables: Tables) -> None:
    """Bring the chat to what is wanted."""
    numbers = itertools.count(100)
    while heads := tables.heads():
        for head in heads:
            delivery = tables.delivery(head.key)
            assert delivery is not None
            tables.shown(delivery, delivery.message_id or next(numbers))
