"""What messages are to show, as whoever wants something and as the outbox sees it."""

from __future__ import annotations

from collections.abc import Callable

from handrail.telegram.model import GONE, Attachment, Button, Content, Place, Priority, WantedMessage
from handrail.telegram.state import BridgeState, Delivery, Tables
from handrail.telegram.text.rich import plain

from .conftest import Clock

ANN = Place(1001)
TOPIC = Place(-100200, 7)
DAY = 24 * 3600.0


def text(words: str, **more: object) -> Content:
    return Content(text=plain(words), **more)  # type: ignore[arg-type]


def wanted(key: str, content: Content | str, place: Place = ANN, **more: object) -> WantedMessage:
    shown = text(content) if isinstance(content, str) else content
    return WantedMessage(key=key, place=place, content=shown, **more)  # type: ignore[arg-type]


def want(key: str, content: Content | str, place: Place = ANN, **more: object) -> Callable[[Tables], None]:
    return lambda t: t.want(wanted(key, content, place, **more))


async def heads(state: BridgeState) -> list[str]:
    return [head.key for head in await state.read(lambda t: t.heads())]


async def delivery(state: BridgeState, key: str) -> Delivery:
    found = await state.read(lambda t: t.delivery(key))
    assert found is not None
    return found


async def deliver(state: BridgeState, key: str, message_id: int) -> None:
    step = await delivery(state, key)
    await state.write(lambda t: t.shown(step, message_id))


async def test_what_is_wanted_waits_until_it_is_shown(state: BridgeState) -> None:
    assert await state.read(lambda t: t.sent("m")) is None
    await state.write(want("m", "hello", session_id="s", ask_id="a", purpose="deny"))

    found = await state.read(lambda t: t.sent("m"))
    assert found is not None
    assert (found.message_id, found.session_id, found.ask_id, found.purpose) == (0, "s", "a", "deny")
    assert (await delivery(state, "m")).step == "send"

    await deliver(state, "m", 42)
    at = await state.read(lambda t: t.message_at(ANN.chat, 42))
    assert at is not None
    assert at.key == "m"
    assert at.content == text("hello")
    assert await heads(state) == []
    assert await state.read(lambda t: t.message_at(ANN.chat, 0)) is None


async def test_messages_are_found_by_ask_and_session(state: BridgeState) -> None:
    await state.write(want("a1", "x", session_id="s", ask_id="a"))
    await state.write(want("a2", "x", TOPIC, session_id="s", ask_id="a"))
    await state.write(want("b", "x", session_id="s"))
    await state.write(want("c", "x"))

    assert [m.key for m in await state.read(lambda t: t.of_ask("s", "a"))] == ["a1", "a2"]
    assert [m.key for m in await state.read(lambda t: t.of_session("s"))] == ["a1", "a2", "b"]
    assert [m.key for m in await state.read(lambda t: t.of_session("s", TOPIC))] == ["a2"]
    assert await state.read(lambda t: t.of_session("")) == []


async def test_equal_content_is_nothing_to_do(state: BridgeState) -> None:
    await state.write(want("m", "hello"))
    await deliver(state, "m", 1)
    await state.write(want("m", "hello", purpose="answer"))
    await state.write(want("m", text("hello", sound=True, reply_to=9)))
    assert await heads(state) == []


async def test_what_may_have_been_changed_is_changed_back(state: BridgeState) -> None:
    await state.write(want("m", "hello"))
    await deliver(state, "m", 1)
    await state.write(want("m", "an edit that Telegram took, but never answered"))
    await state.write(want("m", "hello"))
    assert (await delivery(state, "m")).step == "edit"


async def test_what_was_never_sent_and_is_not_wanted_any_more_is_nothing_to_do(state: BridgeState) -> None:
    await state.write(want("m", "hello"))
    await state.write(want("m", GONE))
    await state.write(want("n", GONE))
    assert await heads(state) == []


async def test_what_is_wanted_while_it_is_sent_is_an_edit_next(state: BridgeState) -> None:
    await state.write(want("m", "one"))
    step = await delivery(state, "m")
    await state.write(want("m", "two"))
    await state.write(lambda t: t.shown(step, 5))

    then = await delivery(state, "m")
    assert (then.step, then.message_id, then.content) == ("edit", 5, text("two"))


async def test_a_message_is_known_as_it_stands_in_the_chat(state: BridgeState) -> None:
    await state.write(want("m", "one"))
    await deliver(state, "m", 5)
    await state.write(want("m", "two"))
    for found in await state.read(lambda t: (t.sent("m"), t.message_at(ANN.chat, 5), *t.of_session(""))):
        assert found is not None
        assert found.content == text("one")
    await deliver(state, "m", 5)
    found = await state.read(lambda t: t.sent("m"))
    assert found is not None
    assert found.content == text("two")


async def test_the_order_is_that_of_wanting_and_what_waits_keeps_its_turn(state: BridgeState) -> None:
    for key in ("a", "b"):
        await state.write(want(key, "1", priority=Priority.PROGRESS))
    await state.write(want("a", "2", priority=Priority.PROGRESS))
    assert await heads(state) == ["a"]
    await deliver(state, "a", 1)
    await state.write(want("a", "3", priority=Priority.PROGRESS))
    assert await heads(state) == ["b"]


async def test_each_place_and_priority_has_its_own_line(state: BridgeState) -> None:
    await state.write(want("p", "x", priority=Priority.PROGRESS))
    await state.write(want("q", "x", priority=Priority.PROGRESS))
    await state.write(want("ask", "x", priority=Priority.ASK))
    await state.write(want("there", "x", TOPIC, priority=Priority.ASK))
    assert sorted(await heads(state)) == ["ask", "p", "there"]
    found = await state.read(lambda t: t.heads(but=frozenset({"p"})))
    assert sorted(head.key for head in found) == ["ask", "q", "there"]
    assert await state.read(lambda t: t.waiting()) == 4


async def test_what_comes_after_something_waits_for_it(state: BridgeState) -> None:
    await state.write(want("progress", "…"))
    await deliver(state, "progress", 1)
    await state.write(want("progress", GONE, after="answer"))
    await state.write(want("answer", "done"))
    assert await heads(state) == ["answer"]
    await deliver(state, "answer", 2)
    assert await heads(state) == ["progress"]
    assert (await delivery(state, "progress")).step == "remove"


async def test_nothing_waits_for_what_will_not_come(state: BridgeState) -> None:
    await state.write(want("a", "x", after="never wanted"))
    assert await heads(state) == ["a"]

    await state.write(want("a", "x", after="b"))
    await state.write(want("b", "x"))
    refused = await delivery(state, "b")
    await state.write(lambda t: t.left_alone(refused, "chat not found"))
    assert await heads(state) == ["a"]

    await state.write(want("a", "x", after="c"))
    await state.write(want("c", "x", TOPIC))
    assert await heads(state) == ["c"]
    await state.write(lambda t: t.rest(TOPIC.chat, "blocked"))
    assert await heads(state) == ["a"]


async def test_circles_are_broken(state: BridgeState) -> None:
    await state.write(want("a", "x", after="b"))
    await state.write(want("b", "x", after="c"))
    await state.write(want("c", "x", after="a"))
    await state.write(want("d", "x", after="d"))
    assert await heads(state) == ["c"]
    for key in ("c", "b", "a", "d"):
        assert key in await heads(state)
        await deliver(state, key, ord(key))


async def test_files_are_kept_until_they_are_sent(state: BridgeState) -> None:
    file = Attachment("a.md", b"12345")
    await state.write(want("m", text("see", attachment=file)))
    first = await delivery(state, "m")
    assert first.content.attachment == file
    await state.write(lambda t: t.shown(first, 3))
    found = await state.read(lambda t: t.sent("m"))
    assert found is not None
    assert found.content.attachment == Attachment("a.md", b"")

    await state.write(want("m", text("see here", attachment=file)))
    second = await delivery(state, "m")
    assert (second.step, second.content.attachment) == ("edit", Attachment("a.md", b""))
    await state.write(lambda t: t.shown(second, 3))

    for content in (text("see here", attachment=Attachment("a.md", b"new")), text("no file")):
        await state.write(want("m", content))
        assert (await delivery(state, "m")).step == "remove"
        await state.write(lambda t: t.removed("m"))
        anew = await delivery(state, "m")
        assert (anew.step, anew.content) == ("send", content)
        await deliver(state, "m", 4)


async def test_what_telegram_refused_is_left_alone_until_it_changes(state: BridgeState) -> None:
    await state.write(want("m", "bad"))
    refused = await delivery(state, "m")
    await state.write(lambda t: t.left_alone(refused, "too long"))
    await state.write(want("m", "bad"))
    assert await heads(state) == []
    assert await state.read(lambda t: t.problems()) == [("m", "too long")]
    await state.write(want("m", "good"))
    assert await heads(state) == ["m"]
    assert await state.read(lambda t: t.problems()) == []


async def test_a_chat_rests_until_somebody_writes_there(state: BridgeState) -> None:
    await state.write(want("m", "x"))
    await state.write(lambda t: t.rest(ANN.chat, "bot was blocked by the user"))
    assert await heads(state) == []
    assert await state.read(lambda t: t.resting()) == {ANN.chat: "bot was blocked by the user"}
    assert await state.write(lambda t: t.revive(ANN.chat)) is True
    assert await state.write(lambda t: t.revive(ANN.chat)) is False
    assert await heads(state) == ["m"]


async def test_a_message_that_nothing_is_known_of_is_taken_away(state: BridgeState) -> None:
    await state.write(lambda t: t.stray(ANN, 77))
    (key,) = await heads(state)
    step = await delivery(state, key)
    assert (step.step, step.message_id, step.place) == ("remove", 77, ANN)
    await state.write(lambda t: t.removed(key))
    assert await heads(state) == []


async def test_whoever_listens_hears_of_what_is_wanted(state: BridgeState) -> None:
    heard: list[str] = []
    stop = state.on_want(lambda: heard.append("want"))
    await state.write(want("m", "x"))
    await state.write(lambda t: t.note("a", "b"))
    await state.write(want("m", "x"))
    assert heard == ["want"]
    stop()
    await state.write(want("m", "y"))
    assert heard == ["want"]


async def test_old_rows_go(state: BridgeState, clock: Clock) -> None:
    keyboard = ((Button("Allow", token="t"),),)
    await state.write(want("shown", text("long ago", buttons=keyboard), session_id="s"))
    await deliver(state, "shown", 1)
    await state.write(want("refused", "x"))
    refused = await delivery(state, "refused")
    await state.write(lambda t: t.left_alone(refused, "no"))
    await state.write(want("waits", "x"))
    await state.write(lambda t: t.keep([(1, b"done"), (2, b"undone")]))
    await state.write(lambda t: t.done(1))

    clock.now += 31 * DAY
    assert await state.write(lambda t: t.prune()) == 3
    assert await state.write(lambda t: t.prune()) == 0
    found = await state.read(lambda t: t.message_at(ANN.chat, 1))
    assert found is not None
    assert (found.session_id, found.content) == ("s", GONE)
    assert await heads(state) == ["waits"]
    assert await state.read(lambda t: t.undone()) == [(2, b"undone")]
    await state.write(want("shown", text("long ago", buttons=keyboard)))
    assert await heads(state) == ["waits"]

    clock.now += 181 * DAY
    await state.write(lambda t: t.prune())
    assert await state.read(lambda t: t.sent("shown")) is None
