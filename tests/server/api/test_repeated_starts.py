"""POST /api/sessions with an id of the caller's choosing: however often it comes, it is one session and one message."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from handrail.sessions.beginning import first_message

from ..support import ServedHub
from .test_sessions import code

ID = "5e0f7f0a-4a59-4d1e-8a6e-bd64b5a8c0aa"
HEX = ID.replace("-", "")


async def start(served: ServedHub, client: httpx2.AsyncClient, **fields: Any) -> httpx2.Response:
    return await client.post("/api/sessions", json={"id": ID, "cwd": str(served.directory), **fields})


async def messages(served: ServedHub) -> list[str]:
    return [row.uuid for row in await served.manager.store.messages(HEX)]


async def starts(served: ServedHub) -> int:
    return sum(row.why != "running" for row in await served.manager.store.starts(HEX))


async def test_the_same_again_is_the_same_session_and_sends_its_prompt_once(served: ServedHub) -> None:
    async with served.client() as client:
        answers = [await start(served, client, prompt="clean up") for _ in range(3)]
        assert [(answer.status_code, answer.json()["id"]) for answer in answers] == [(201, HEX)] * 3
        assert await messages(served) == [first_message(HEX)]
        assert await starts(served) == 1
        assert len((await client.get("/api/sessions")).json()["items"]) == 1


async def test_at_once_it_is_done_once(served: ServedHub) -> None:
    async with served.client() as client:
        answers = await asyncio.gather(*(start(served, client, prompt="clean up") for _ in range(4)))
    assert {answer.json()["id"] for answer in answers} == {HEX}
    assert (await messages(served), await starts(served)) == ([first_message(HEX)], 1)


async def test_a_program_that_asks_again_may_be_another_process(served: ServedHub) -> None:
    async with served.client() as client:
        for number in range(2):
            program = {"id": f"program-{number}-of-the-tests", "answers_asks": True}
            assert (await start(served, client, program=program)).status_code == 201
    assert await starts(served) == 1


@pytest.mark.slow
@pytest.mark.parametrize("other", [{"prompt": "clean up!"}, {"title": "other"}, {"mode": "plan"}, {"host": "any"}])
async def test_another_request_is_refused(served: ServedHub, other: dict[str, Any]) -> None:
    async with served.client() as client:
        await start(served, client, prompt="clean up")
        refused = await start(served, client, **{"prompt": "clean up", **other})
        assert code(refused) == (409, "session_exists")
        assert f"the id {HEX} belongs to a session in {served.directory}" in refused.json()["detail"]
    assert (await messages(served), await starts(served)) == ([first_message(HEX)], 1)


async def test_another_caller_is_refused(served: ServedHub) -> None:
    _, token = await served.hub.tokens.mint("another owner", "owner")
    async with served.client() as client, served.client(None, authorization=f"Bearer {token}") as other:
        assert (await start(served, client)).status_code == 201
        assert code(await start(served, other)) == (409, "session_exists")


async def test_what_is_no_uuid_is_refused(served: ServedHub) -> None:
    async with served.client() as client:
        refused = await start(served, client, id="my-session")
        assert code(refused) == (422, "invalid_options")
        assert "is a UUID" in refused.json()["detail"]
