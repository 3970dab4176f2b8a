"""Asks over the API: answered once, by whoever may, for exactly what was shown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handrail.policy.answers.encoding import decode_answer
from handrail.server.api.asks import role_for
from handrail.store.base import AskRow

from ..support import ServedHub
from .test_sessions import code, until

ALLOW = {"type": "allow"}


async def asked(served: ServedHub) -> tuple[str, AskRow]:
    session = await served.session()
    await session.send("clean up")
    row: AskRow = await served.asked(session)
    return f"/api/asks/{session.id}/{row.id}", row


@pytest.mark.slow
async def test_of_many_answers_one_counts(served: ServedHub) -> None:
    path, ask = await asked(served)
    async with served.client("approver") as client:
        body = {"digest": ask.digest, "answer": ALLOW}
        answers = await asyncio.gather(*(client.post(f"{path}/answer", json=body) for _ in range(8)))
        assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
        refused = next(answer for answer in answers if answer.status_code == 409)
        assert code(refused) == (409, "already_decided")
        assert refused.json()["by"].startswith("approver of the tests")
        card = (await client.get(path)).json()
        assert (card["closed"]["by"], card["closed"]["surface"]) == ("approver of the tests", "api")


async def test_an_answer_to_something_else_is_refused(served: ServedHub) -> None:
    path, ask = await asked(served)
    async with served.client() as client:
        wrong = {"digest": "0" * 64, "answer": ALLOW}
        assert code(await client.post(f"{path}/answer", json=wrong)) == (409, "stale_digest")
        unfit = {"digest": ask.digest, "answer": {"type": "approve_plan"}}
        assert code(await client.post(f"{path}/answer", json=unfit)) == (422, "unfit_answer")
        nonsense = {"digest": ask.digest, "answer": {"type": "shrug"}}
        assert code(await client.post(f"{path}/answer", json=nonsense)) == (422, "unfit_answer")
        missing = {"answer": ALLOW}
        assert code(await client.post(f"{path}/answer", json=missing)) == (422, "invalid")
        nobody = path.replace(ask.id, "nothing")
        assert code(await client.post(f"{nobody}/answer", json={"digest": "x", "answer": ALLOW})) == (
            404,
            "ask_not_found",
        )
        assert (await client.post(f"{path}/answer", json={"digest": ask.digest, "answer": ALLOW})).status_code == 200


@pytest.mark.parametrize(
    ("answer", "role"),
    [
        ({"type": "allow"}, "approver"),
        ({"type": "allow", "updated_input": {"command": "ls"}}, "owner"),
        ({"type": "allow", "updated_permissions": [{"type": "setMode", "mode": "plan"}]}, "owner"),
        ({"type": "deny", "message": "no"}, "approver"),
        ({"type": "approve_plan"}, "approver"),
        ({"type": "approve_plan", "mode": "acceptEdits", "compact": True}, "approver"),
        ({"type": "approve_plan", "mode": "bypassPermissions"}, "owner"),
        ({"type": "approve_plan", "plan": "another"}, "owner"),
        ({"type": "approve_plan", "rules": ["Bash"]}, "owner"),
        ({"type": "approve_in_fresh_context", "allow_prompts": True}, "owner"),
        ({"type": "revise_plan", "feedback": "shorter"}, "approver"),
        ({"type": "answers", "answers": {}}, "approver"),
    ],
)
async def test_what_goes_beyond_the_ask_needs_an_owner(answer: dict[str, Any], role: str) -> None:
    assert role_for(decode_answer(answer)) == role


async def test_an_approver_cannot_change_what_is_asked(served: ServedHub) -> None:
    path, ask = await asked(served)
    async with served.client("approver") as client:
        edited = {"digest": ask.digest, "answer": {"type": "allow", "updated_input": {"command": "ls"}}}
        assert code(await client.post(f"{path}/answer", json=edited)) == (403, "role_needed")
    async with served.client("viewer") as client:
        assert code(await client.post(f"{path}/answer", json={"digest": ask.digest, "answer": ALLOW})) == (
            403,
            "role_needed",
        )


@pytest.mark.slow
async def test_an_ask_that_was_left_behind_can_be_answered_by_resuming(served: ServedHub) -> None:
    path, ask = await asked(served)
    async with served.client() as client:
        await client.post(f"/api/sessions/{ask.session_id}/stop")
        (card,) = (await client.get("/api/asks")).json()["items"]
        assert card["state"] == "lost"
        body = {"digest": ask.digest, "answer": ALLOW}
        assert code(await client.post(f"{path}/answer", json=body)) == (409, "ask_closed")
        taken = await client.post(f"{path}/answer", json={**body, "resume": True})
        assert taken.status_code == 200, taken.text
        await until(client, f"/api/sessions/{ask.session_id}", lambda found: found["live"])
        # Claude asks for the same once more, which is allowed without anybody.
        await until(client, "/api/asks", lambda found: found["items"] == [])
