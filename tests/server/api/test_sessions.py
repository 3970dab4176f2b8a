"""Sessions over the API: from their start to their end, and what is refused in words."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import httpx2
import pytest

from handrail.server.roles import Role

from ..support import PATIENCE, ServedHub

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()


async def started(served: ServedHub, client: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    body = {"cwd": str(served.directory), "prompt": "clean up", **fields}
    response = await client.post("/api/sessions", json=body)
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


async def until(client: httpx2.AsyncClient, path: str, wanted: Any) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while not wanted(found := (await client.get(path)).json()):
            await asyncio.sleep(0.02)
    result: dict[str, Any] = found
    return result


def code(response: httpx2.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told["status"] == response.status_code
    assert told["detail"]
    return response.status_code, told["code"]


@pytest.mark.slow
async def test_a_session_lives_over_the_api(served: ServedHub) -> None:
    async with served.client() as client:
        session = await started(served, client, title="the build", model="opus")
        path = f"/api/sessions/{session['id']}"
        assert (session["title"], session["owner"], session["live"]) == ("the build", "here", True)
        await until(client, path, lambda found: found["status"] == "needs_you")
        (ask,) = (await client.get("/api/asks")).json()["items"]
        assert (ask["session"], ask["what"]["text"]) == (session["id"], "rm -rf build")
        answer = {"digest": ask["digest"], "answer": {"type": "allow"}}
        closed = await client.post(f"/api/asks/{session['id']}/{ask['ask_id']}/answer", json=answer)
        assert closed.status_code == 200, closed.text
        assert closed.json()["closed"]["by"] == "owner of the tests"
        await until(client, path, lambda found: found["status"] == "idle")
        sent = await client.post(f"{path}/messages", json={"content": "and now?"})
        assert sent.json()["uuid"]
        await until(client, f"{path}/find?q=You said and now", lambda found: found["total"])
        assert (await client.post(f"{path}/stop")).status_code == 204
        assert (await client.get(path)).json()["live"] is False
        assert (await client.post(f"{path}/messages", json={"content": "again"})).status_code == 200
        assert (await client.get(path)).json()["live"] is True
        events = (await client.get(f"{path}/events")).json()
        assert [event["seq"] for event in events["items"]] == list(range(1, events["last"] + 1))
        export = await client.get(f"{path}/export?format=html")
        assert "rm -rf build" in export.text
        assert export.headers["content-disposition"].startswith("attachment")
        assert code(await client.delete(path)) == (409, "session_busy")
        await client.post(f"{path}/stop")
        assert (await client.delete(path)).status_code == 204
        assert code(await client.get(path)) == (404, "session_not_found")


@pytest.mark.slow
async def test_sessions_are_listed_page_by_page(served: ServedHub) -> None:
    async with served.client() as client:
        ids = [(await started(served, client, prompt="", title=f"number {index}"))["id"] for index in range(3)]
        first = (await client.get("/api/sessions?limit=2")).json()
        rest = (await client.get("/api/sessions", params={"limit": 2, "cursor": first["next"]})).json()
        assert [row["id"] for row in first["items"] + rest["items"]] == ids[::-1]
        assert rest["next"] is None
        await client.patch(f"/api/sessions/{ids[0]}", json={"archived": True, "title": "put away"})
        assert ids[0] not in [row["id"] for row in (await client.get("/api/sessions")).json()["items"]]
        (archived,) = (await client.get("/api/sessions?archived=true")).json()["items"]
        assert archived["title"] == "put away"
        (found,) = (await client.get("/api/sessions?q=number 2")).json()["items"]
        assert found["id"] == ids[2]
        assert code(await client.get("/api/sessions?cursor=nonsense")) == (422, "invalid")
        assert (await client.post("/api/sessions/stop-all")).json() == {"stopped": 3}


async def test_a_message_may_carry_pictures(served: ServedHub) -> None:
    async with served.client() as client:
        picture = {"media_type": "image/png", "data": PIXEL}
        session = await started(served, client, images=[picture])
        path = f"/api/sessions/{session['id']}/events"
        found = await until(
            client,
            path,
            lambda found: any(event["type"] == "prompt" and "content" in event for event in found["items"]),
        )
        (content,) = (event["content"] for event in found["items"] if event.get("content"))
        assert [block["type"] for block in content] == ["text", "image"]
        wrong = {"content": [{"type": "document", "source": {}}]}
        assert code(await client.post(f"/api/sessions/{session['id']}/messages", json=wrong)) == (422, "invalid")


@pytest.mark.slow
async def test_the_same_request_twice_starts_one_session(served: ServedHub) -> None:
    async with served.client() as client:
        body = {"cwd": str(served.directory), "prompt": "once"}
        headers = {"idempotency-key": "the-first-try"}
        answers = await asyncio.gather(
            *(client.post("/api/sessions", json=body, headers=headers) for _ in range(3)), return_exceptions=False
        )
        done = [answer for answer in answers if answer.status_code == 201]
        assert {code(answer) for answer in answers if answer.status_code != 201} <= {(409, "in_progress")}
        again = await client.post("/api/sessions", json=body, headers=headers)
        assert again.json()["id"] == done[0].json()["id"]
        assert again.headers["idempotent-replayed"] == "true"
        assert len((await client.get("/api/sessions")).json()["items"]) == 1
        other = await client.post("/api/sessions", json={**body, "prompt": "twice"}, headers=headers)
        assert code(other) == (422, "idempotency_key_reused")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "method", "path", "body"),
    [
        ("viewer", "POST", "/api/sessions", {"cwd": "/"}),
        ("approver", "POST", "/api/sessions", {"cwd": "/"}),
        ("viewer", "POST", "/api/sessions/x/messages", {"content": "hello"}),
        ("approver", "POST", "/api/sessions/x/stop", None),
        ("approver", "DELETE", "/api/sessions/x", None),
        ("approver", "PATCH", "/api/sessions/x", {"title": "mine"}),
        ("approver", "POST", "/api/sessions/stop-all", None),
        ("approver", "POST", "/api/sessions/x/control", {"subtype": "set_permission_mode", "fields": {"mode": "plan"}}),
        ("viewer", "POST", "/api/sessions/x/control", {"subtype": "interrupt"}),
        ("approver", "POST", "/api/sessions/x/rewind", {"message_uuid": "x", "dry_run": False}),
    ],
)
async def test_a_role_has_its_limits(served: ServedHub, role: Role, method: str, path: str, body: Any) -> None:
    async with served.client(role) as client:
        assert code(await client.request(method, path, json=body)) == (403, "role_needed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/api/sessions", {"cwd": "/etc"}, (403, "outside_roots")),
        ("/api/sessions", {"cwd": "relative"}, (422, "invalid")),
        ("/api/sessions", {"cwd": "/x\0y"}, (422, "invalid")),
        ("/api/sessions", {"prompt": "no directory"}, (422, "invalid")),
        ("/api/sessions", {"cwd": "/", "surprise": 1}, (422, "invalid")),
        ("/api/sessions", {"cwd": "/", "mode": "yolo"}, (422, "invalid")),
        ("/api/sessions/nobody/messages", {"content": "hello"}, (404, "session_not_found")),
        ("/api/sessions/nobody/messages", {"content": "  "}, (422, "invalid")),
        ("/api/sessions/nobody/interrupt", None, (404, "session_not_found")),
        ("/api/sessions/nobody/control", {"subtype": "dance"}, (422, "invalid")),
        ("/api/sessions/nobody/control", {"subtype": "initialize"}, (422, "invalid")),
        ("/api/sessions/nobody/control", {"subtype": "set_model", "fields": {"timeout": 1}}, (422, "invalid")),
        ("/api/sessions/nobody/control", {"subtype": "stop_task", "fields": {"task_id": 7}}, (422, "invalid")),
        ("/api/nothing", None, (404, "not_found")),
    ],
)
async def test_wrong_requests_are_told_what_is_wrong(
    served: ServedHub, path: str, body: Any, expected: tuple[int, str]
) -> None:
    async with served.client() as client:
        assert code(await client.post(path, json=body)) == expected


async def test_what_is_no_json_is_refused(served: ServedHub) -> None:
    async with served.client() as client:
        text = {"content-type": "text/plain"}
        assert code(await client.post("/api/adopt", content=b"{}", headers=text)) == (415, "unsupported_media_type")
        json = {"content-type": "application/json"}
        assert code(await client.post("/api/adopt", content=b"{", headers=json)) == (400, "bad_request")
        assert code(await client.put("/api/adopt", content=b"{}", headers=json)) == (405, "method_not_allowed")


async def test_without_a_token_there_is_nothing(served: ServedHub) -> None:
    async with served.client(None) as client:
        answer = await client.get("/api/sessions")
        assert code(answer) == (401, "not_authenticated")
        assert "Bearer" in answer.headers["www-authenticate"]


@pytest.mark.slow
async def test_a_session_may_work_in_a_worktree_that_handrail_made(served: ServedHub) -> None:
    worktree = Path(served.manager.places.state) / "worktrees" / "fix-login"
    worktree.mkdir(parents=True)
    async with served.client() as client:
        made = await client.post("/api/sessions", json={"cwd": str(worktree)})
        beside = await client.post("/api/sessions", json={"cwd": served.manager.places.state})
    assert (made.status_code, made.json()["cwd"]) == (201, str(worktree))
    assert beside.json()["code"] == "outside_roots"
