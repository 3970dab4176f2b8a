"""A code finds out who sits here: the right one counts, from whoever sends it, alone, and not by guessing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.cli.telegramming.pairing import MOST_TRIES, Pairing, Person, Tried
from handrail.telegram.incoming import Update

CODE = "12345678"


def update(text: str, *, person: int = 1001, chat: str = "private", **sender: Any) -> Update:
    written = {
        "message_id": 5,
        "date": 1,
        "chat": {"id": person, "type": chat},
        "from": {"id": person, "is_bot": False, "first_name": "Ann", **sender},
        "text": text,
    }
    return msgspec.convert({"update_id": 1, "message": written}, Update)


def test_the_code_is_understood_however_it_is_written() -> None:
    for text in (CODE, "1234 5678", "1234-5678", f"/start {CODE}", f"  {CODE}\n"):
        assert Pairing(CODE).look_at(update(text)) == Tried(Person(1001, "Ann"), right=True)
    for text in ("", "1234567", "123456789", "hello", f"/startle {CODE}", "１２３４５６７８"):
        assert (tried := Pairing(CODE).look_at(update(text))) is not None
        assert not tried.right


def test_nobody_is_paired_in_a_group_nor_by_a_bot() -> None:
    assert Pairing(CODE).look_at(update(CODE, chat="group")) is None
    assert Pairing(CODE).look_at(update(CODE, is_bot=True)) is None
    assert Pairing(CODE).look_at(Update(update_id=1)) is None


def test_who_guesses_is_not_heard_any_more() -> None:
    pairing = Pairing(CODE)
    for number in range(MOST_TRIES):
        assert pairing.look_at(update(str(number))) is not None
    assert pairing.look_at(update(CODE)) is None
    assert (other := pairing.look_at(update(CODE, person=1002))) is not None
    assert other.right


def test_a_code_is_new_each_time_and_has_a_link() -> None:
    codes = {Pairing().code for _ in range(50)}
    assert len(codes) == 50
    assert all(len(code) == 8 and code.isdecimal() for code in codes)
    assert Pairing(CODE).shown == "1234 5678"
    assert Pairing(CODE).link("my_bot") == f"https://t.me/my_bot?start={CODE}"


@pytest.mark.slow
@given(st.text(max_size=300), st.text(max_size=300), st.text())
def test_any_name_can_be_shown(first: str, last: str, text: str) -> None:
    tried = Pairing(CODE).look_at(update(text, first_name=first, last_name=last, username="ann"))
    assert tried is not None
    name = tried.person.name
    assert name == name.strip()
    assert 0 < len(name) <= 100
    assert name.isprintable()
    assert str(tried.person) == f"{name} (@ann, id 1001)"
