"""What the bridge is told, and the webhook's own rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handrail.errors import ConfigError
from handrail.telegram.model import Place, User
from handrail.telegram.people import People
from handrail.telegram.settings import TelegramSettings
from handrail.telegram.webhook import LONGEST_BODY, webhook_app

GOOD = TelegramSettings(token="1:secret", users=(User(1001, "Ann"), User(1002, "Ben", "approver")), groups=(-5,))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"token": ""}, "token of a bot"),
        ({"users": ()}, "nobody may use"),
        ({"webhook_url": "hub.example.org", "webhook_listen": "127.0.0.1:1"}, "webhook_url is such as"),
        ({"webhook_url": "https://hub.example.org/telegram"}, "needs webhook_listen"),
        ({"webhook_listen": "8443"}, "webhook_listen is an address"),
        ({"webhook_listen": "localhost:99999"}, "webhook_listen is an address"),
    ],
)
def test_what_cannot_work_is_refused_in_words(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(GOOD, **change).check()


def test_what_can_work_is_taken_and_shows_no_secrets() -> None:
    settings = replace(GOOD, webhook_url="https://h.example/t", webhook_listen="[::1]:8443", webhook_secret="hush")
    assert settings.check().webhook_address == ("::1", 8443)
    assert "secret" not in repr(settings).replace("webhook_secret", "")
    assert "hush" not in repr(settings)


def test_other_people_need_no_other_bridge_but_another_bot_does() -> None:
    assert GOOD.works_like(replace(GOOD, users=(), groups=(), sound=False))
    assert not GOOD.works_like(replace(GOOD, token="2:other"))


def test_the_bridge_works_with_its_people_and_in_its_groups_only() -> None:
    people = People(None, lambda: GOOD)  # type: ignore[arg-type]
    assert people.user(1002) == User(1002, "Ben", "approver")
    assert people.user(7) is None
    assert people.serves(Place(1001))
    assert people.serves(Place(-5, 9))
    assert not people.serves(Place(7))
    assert not people.serves(Place(-6))


async def answered(
    *, header: str = "s", chunks: tuple[bytes, ...] = (b"{}",), fails: bool = False
) -> tuple[int, list[bytes]]:
    """What the webhook answers to a request, and what it kept."""
    kept: list[bytes] = []
    sent: list[dict[str, Any]] = []
    waiting = list(chunks)

    async def keep(bodies: Any) -> None:
        if fails:
            raise ConfigError("the disk is full")
        kept.extend(bodies)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    headers = [(b"x-telegram-bot-api-secret-token", header.encode())]
    scope = {"type": "http", "path": "/t", "method": "POST", "headers": headers}
    await webhook_app("/t", "s", keep)(scope, receive, send)
    return int(sent[0]["status"]), kept


async def test_a_webhook_answers_once_what_came_is_kept() -> None:
    assert await answered(chunks=(b'{"upd', b'ate_id":1}')) == (200, [b'{"update_id":1}'])
    assert await answered(header="guess") == (401, [])
    assert await answered(chunks=(b"x" * LONGEST_BODY, b"x")) == (413, [])
    assert await answered(fails=True) == (503, [])
