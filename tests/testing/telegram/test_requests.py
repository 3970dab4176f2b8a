"""Parameters mean the same however they come."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.testing._http import HTTPRequest
from handrail.testing.telegram.requests import Parameters, read_parameters

from .support import raw_bot

names = st.text("abcdefgh_", min_size=1)
texts = st.text(st.characters(exclude_categories=["Cs"]))


def parameters_of(body: bytes, content_type: str) -> Parameters:
    return read_parameters(HTTPRequest("POST", "/", "", {"content-type": content_type}, body))


def multipart(values: dict[str, str], boundary: str = "b-0-u") -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in values.items()
    ]
    return ("".join(parts) + f"--{boundary}--\r\n").encode()


@pytest.mark.slow
@settings(max_examples=25)
@given(st.dictionaries(names, texts))
def test_forms_and_json_say_the_same(values: dict[str, str]) -> None:
    assert parameters_of(json.dumps(values).encode(), "application/json").values == values
    assert parameters_of(urlencode(values).encode(), "application/x-www-form-urlencoded").values == values
    assert parameters_of(multipart(values), 'multipart/form-data; boundary="b-0-u"').values == values


@settings(max_examples=25)
@given(st.binary().filter(lambda data: b"--b-0-u" not in data))
def test_files_arrive_as_they_are(data: bytes) -> None:
    head = b'--b-0-u\r\nContent-Disposition: form-data; name="document"; filename="a.bin"\r\n\r\n'
    read = parameters_of(head + data + b"\r\n--b-0-u--\r\n", "multipart/form-data; boundary=b-0-u")
    assert read.files["document"].data == data


def test_numbers_and_flags_are_read_leniently() -> None:
    read = Parameters({"a": "12", "b": 12, "c": "12x", "d": "x", "e": True, "f": "True", "g": "no", "h": None})
    assert [read.number(name) for name in "abcdz"] == [12, 12, 12, 0, 0]
    assert [read.flag(name) for name in "efgz"] == [True, True, False, False]
    assert "h" not in read


async def test_every_way_of_calling() -> None:
    async with raw_bot() as (bot, _, chat):
        keyboard = {"inline_keyboard": [[{"text": "Go", "callback_data": "x"}]]}
        form = {"chat_id": str(chat.id), "text": "hello", "reply_markup": json.dumps(keyboard)}
        await bot.client.get(f"{bot.base}/sendMessage", params=form)
        await bot.client.post(f"{bot.base}/sendMessage", data=form)
        await bot.client.post(f"{bot.base}/sendMessage", files={name: (None, value) for name, value in form.items()})
        await bot.say(chat, "hello", reply_markup=keyboard)
        assert [(message.text, message.buttons[0][0].text) for message in chat.messages] == [("hello", "Go")] * 4


async def test_what_is_not_as_the_header_says_is_refused() -> None:
    async with raw_bot() as (bot, _, _):
        for body, kind, words in [
            (b"{", "application/json", "Bad Request: can't parse JSON object"),
            (b"\xff", "application/x-www-form-urlencoded", "Bad Request: strings must be encoded in UTF-8"),
        ]:
            answer = await bot.client.post(f"{bot.base}/getMe", content=body, headers={"content-type": kind})
            assert answer.json()["description"] == words
