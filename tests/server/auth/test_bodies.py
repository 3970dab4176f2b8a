"""A request is never larger than its address takes, whatever it says of itself."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from handrail.server.auth.bodies import LARGEST, LARGEST_WITH_IMAGES, largest_body
from handrail.server.auth.guards import Guards
from handrail.server.hub import HubSettings
from handrail.server.problems import Problem

from .support import Answer, Seen, ask, scope_of

TOKEN = ("authorization", "Bearer hr_x")
CHUNK = bytes(256 * 1024)


async def sent(app: Any, path: str, body: list[bytes], *lengths: str) -> Answer:
    headers = [TOKEN, *(("content-length", length) for length in lengths)]
    return await ask(Guards(app, HubSettings()), scope_of("POST", path, headers), body)


@pytest.mark.parametrize(
    ("path", "largest"),
    [
        ("/api/sessions", LARGEST_WITH_IMAGES),
        ("/api/sessions/abc/messages", LARGEST_WITH_IMAGES),
        ("/api/sessions/abc/messages/def/now", LARGEST),
        ("/api/sessions/abc", LARGEST),
        ("/api/sessions/a/b/messages", LARGEST),
        ("/api/login", LARGEST),
        ("/", LARGEST),
    ],
)
def test_only_what_carries_images_may_be_large(path: str, largest: int) -> None:
    assert largest_body(path) == largest


async def test_what_fits_arrives_whole() -> None:
    app = Seen()
    assert (await sent(app, "/api/login", [CHUNK] * 4)).status == 200
    assert len(app.bodies[0]) == LARGEST


async def test_one_byte_more_is_refused_while_it_comes() -> None:
    app = Seen()
    answer = await sent(app, "/api/login", [*[CHUNK] * 4, b"x", CHUNK])
    assert (answer.status, answer.code) == (413, "too_large")
    assert app.bodies == []


async def test_what_declares_too_much_is_refused_unread() -> None:
    app = Seen()
    answer = await sent(app, "/api/login", [], str(LARGEST + 1))
    assert answer.code == "too_large"
    assert app.scopes == []


@pytest.mark.parametrize("lengths", [["-1"], ["+5"], ["5", "5"], ["5, 5"], ["0x5"], ["٥"], [""]])
async def test_a_length_that_is_none_is_refused(lengths: list[str]) -> None:
    assert (await sent(Seen(), "/api/login", [b"12345"], *lengths)).code == "bad_request"


async def test_a_length_beyond_all_numbers_is_refused() -> None:
    assert (await sent(Seen(), "/api/login", [], "9" * 5000)).code == "too_large"


async def test_a_small_declared_length_does_not_let_more_in() -> None:
    assert (await sent(Seen(), "/api/login", [CHUNK] * 5, "5")).code == "too_large"


async def test_an_application_that_knows_nothing_of_it_is_kept_from_answering() -> None:
    async def endpoint(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    app = Starlette(routes=[Route("/api/login", endpoint, methods=["POST"])])
    assert (await sent(app, "/api/login", [CHUNK] * 5)).code == "too_large"
    assert (await sent(app, "/api/login", [CHUNK] * 4)).body == str(LARGEST).encode()


async def test_mistakes_of_the_application_are_not_swallowed() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("ours")

    with pytest.raises(LookupError):
        await sent(app, "/api/login", [b""])


async def test_an_answer_that_began_before_the_limit_was_reached_is_left_alone() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        with suppress(Problem):
            while True:
                await receive()
        await send({"type": "http.response.body", "body": b"early"})

    answer = await sent(app, "/api/login", [CHUNK] * 5)
    assert (answer.status, answer.body) == (200, b"early")


async def test_an_application_that_goes_on_reading_reads_nothing() -> None:
    read = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for _ in range(10):
            with suppress(Problem):
                read.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    assert (await sent(app, "/api/login", [CHUNK] * 10)).code == "too_large"
    assert len(read) == 4
