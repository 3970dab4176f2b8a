"""What of a message is for the bot."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.telegram.addressing import addressed, nameless_command
from handrail.telegram.incoming import Message, decode_update
from handrail.telegram.model import Place
from handrail.telegram.names import Names
from handrail.telegram.text.rich import utf16_length

BOT, NAME = 77, "handrail_bot"
TEXT = st.text(max_size=20)


def message(text: str, *, chat: str = "supergroup", **fields: Any) -> Message:
    plain = {"message_id": 5, "chat": {"id": -9, "type": chat}, "from": {"id": 1001}, "text": text, **fields}
    return msgspec.convert(plain, Message)


def mention(text: str, name: str = f"@{NAME}", kind: str = "mention") -> list[dict[str, Any]]:
    return [{"type": kind, "offset": utf16_length(text[: text.index(name)]), "length": utf16_length(name)}]


def told(given: Message) -> str | None:
    found = addressed(given, bot_id=BOT, bot_username=NAME)
    return found.text if found is not None else None


def test_in_private_everything_is_for_the_bot() -> None:
    assert told(message(" hello ", chat="private")) == "hello"


def test_in_a_group_what_does_not_call_it_is_not() -> None:
    assert told(message("hello")) is None
    assert told(message("/new", entities=mention("/new", "/new", "bot_command"))) is None
    assert told(message("@another hi", entities=mention("@another hi", "@another"))) is None


@pytest.mark.parametrize(
    "text", ["@handrail_bot hello", "@handrail_bot: hello", "hello @handrail_bot", "@Handrail_Bot, hello"]
)
def test_its_name_at_the_beginning_or_end_is_left_out(text: str) -> None:
    name = next(word.strip(",:") for word in text.split() if word.startswith("@"))
    assert told(message(text, entities=mention(text, name))) == "hello"


def test_its_name_inside_a_sentence_stays() -> None:
    text = "ask @handrail_bot about it"
    assert told(message(text, entities=mention(text))) == text


@given(before=TEXT, after=TEXT)
def test_it_is_found_whatever_stands_before_it(before: str, after: str) -> None:
    text = f"{before}x @{NAME} x{after}"
    assert told(message(text, entities=mention(text))) == text.strip()


@given(marks=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=3), text=TEXT)
def test_marks_that_fit_nothing_do_no_harm(marks: list[tuple[int, int]], text: str) -> None:
    entities = [{"type": "mention", "offset": offset, "length": length} for offset, length in marks]
    assert told(message(text, entities=entities)) is None or f"@{NAME}" in text


def test_a_reply_to_it_is_for_it_but_not_the_beginning_of_a_topic() -> None:
    ours = {"message_id": 4, "chat": {"id": -9}, "from": {"id": BOT, "is_bot": True}, "text": "done"}
    assert told(message("why?", reply_to_message=ours)) == "why?"
    assert told(message("why?", reply_to_message={**ours, "from": {"id": 5}})) is None
    assert told(message("why?", reply_to_message={**ours, "forum_topic_created": {"name": "build"}})) is None


def test_a_command_with_its_name_is_for_it() -> None:
    text = "/status@handrail_bot"
    assert told(message(text, entities=mention(text, text, "bot_command"))) == text


def nameless(text: str, **fields: Any) -> str | None:
    command = text.split()[0]
    given = message(text, entities=mention(text, command, "bot_command"), **fields)
    found = nameless_command(given, bot_id=BOT)
    return found.text if found is not None else None


def test_a_command_without_a_name_begins_a_message_in_a_group() -> None:
    assert nameless("/new fix it") == "/new fix it"
    assert nameless("/new@other_bot") is None
    assert nameless("/new", chat="private") is None
    text = "see /new"
    given = message(text, entities=mention(text, "/new", "bot_command"))
    assert nameless_command(given, bot_id=BOT) is None


def test_a_command_without_a_name_that_answers_another_bot_is_for_that_one() -> None:
    theirs = {"message_id": 4, "chat": {"id": -9}, "from": {"id": 5, "is_bot": True}, "text": "ready"}
    assert nameless("/new", reply_to_message=theirs) is None
    assert nameless("/new", reply_to_message={**theirs, "from": {"id": 1002}}) == "/new"
    assert nameless("/new", reply_to_message={**theirs, "forum_topic_created": {"name": "build"}}) == "/new"


def test_a_topic_is_a_place_and_a_thread_of_replies_is_none() -> None:
    assert message("x", message_thread_id=3, is_topic_message=True).place == Place(-9, 3)
    assert message("x", message_thread_id=3).place == Place(-9)


def test_an_update_with_fields_that_nobody_knows_is_understood() -> None:
    update = decode_update(b'{"update_id":1,"message":{"message_id":2,"chat":{"id":3,"new":1},"odd":[1]},"later":{}}')
    assert update.place == Place(3)


def test_names_follow_from_the_message_alone() -> None:
    names = Names(7)
    assert names.message(Place(1), 2) == Names(7).message(Place(1), 2)
    others = {names.message(Place(1), 3), names.message(Place(2), 2), names.message(Place(1), 2, edit=1)}
    others |= {names.session(Place(1), 2), Names(8).message(Place(1), 2)}
    assert len(others | {names.message(Place(1), 2)}) == 6
