"""Claude Code's own sessions over the API: listed and taken over, inside of the hub's roots only."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handrail.policy.storage.loading import Asked
from handrail.sessions.launching import decode_settings

from ..support import ServedHub, served_hub
from .test_sessions import code

INSIDE = "6ca440c5-8391-4eb6-a834-4e5b6c95b955"
OUTSIDE = "7db551d6-9402-4fc7-b945-5f6c7da6ca66"


def keep(home: Path, cli_session_id: str, cwd: Path) -> None:
    """Have Claude Code keep a session."""
    cwd.mkdir(parents=True, exist_ok=True)
    directory = home / ".claude" / "projects" / str(cwd).replace("/", "-").replace("_", "-")
    directory.mkdir(parents=True)
    common = {"sessionId": cli_session_id, "cwd": str(cwd), "version": "2.1.325", "timestamp": "2026-11-16T03:00:00Z"}
    asked = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Where is the bug?"}, **common}
    said = {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "In the parser."}]}
    answered = {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "message": said, **common}
    (directory / f"{cli_session_id}.jsonl").write_text(f"{json.dumps(asked)}\n{json.dumps(answered)}\n")


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[ServedHub]:
    home = tmp_path / "home"
    async with served_hub(tmp_path / "hub", env={"HOME": str(home)}) as served:
        keep(home, INSIDE, served.directory / "project")
        keep(home, OUTSIDE, tmp_path / "private")
        yield served


async def test_one_inside_of_the_roots_is_listed_and_taken_over(hub: ServedHub) -> None:
    async with hub.client() as client:
        (kept,) = (await client.get("/api/adoptable")).json()["items"]
        assert (kept["cli_session_id"], kept["title"]) == (INSIDE, "Where is the bug?")
        adopted = await client.post("/api/adopt", json={"cli_session_id": INSIDE})
        assert adopted.status_code == 201
        session = adopted.json()
        assert (session["cwd"], session["live"]) == (str(hub.directory / "project"), False)
        defaults = hub.hub.settings.defaults
        settings = decode_settings((await hub.manager.session(session["id"]).row()).settings)
        assert (settings.options.cli_path, settings.policy) == (defaults.options.cli_path, Asked())
        found = (await client.get(f"/api/sessions/{session['id']}/find", params={"q": "parser"})).json()
        assert found["total"] == 1
        assert (await client.get("/api/adoptable")).json()["items"] == []


@pytest.mark.parametrize("reference", [OUTSIDE, OUTSIDE[:8]])
async def test_one_outside_of_them_is_neither(hub: ServedHub, reference: str) -> None:
    async with hub.client() as client:
        refused = await client.post("/api/adopt", json={"cli_session_id": reference})
        assert code(refused) == (403, "outside_roots")
        assert (await client.get("/api/sessions")).json()["items"] == []
