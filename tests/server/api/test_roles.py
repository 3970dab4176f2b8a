"""What a role does not allow cannot be had in a roundabout way: by requests to Claude Code, or by messages."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.server.api.messages import role_for_message

from ..support import ServedHub
from .test_sessions import code


@pytest.mark.slow
@pytest.mark.parametrize("subtype", ["mcp_status", "get_settings", "read_file", "get_hooks_listing"])
async def test_who_only_reads_cannot_ask_claude_code_for_what_may_hold_secrets(served: ServedHub, subtype: str) -> None:
    session = await served.session()
    for role in ("viewer", "approver"):
        async with served.client(role) as client:
            asked = await client.post(f"/api/sessions/{session.id}/control", json={"subtype": subtype})
            assert code(asked) == (403, "role_needed")


@pytest.mark.parametrize(
    ("content", "role"),
    [
        ("go on", "approver"),
        ("look at /etc/hosts", "approver"),
        ("/home/me/notes.txt is out of date", "approver"),
        ("/compact keep the plan", "approver"),
        ("/context", "approver"),
        ("/model haiku", "owner"),
        ("  /config permissionMode=acceptEdits", "owner"),
        ("/mcp disable all", "owner"),
        ("/my-command", "owner"),
        ("/plugin:command", "owner"),
        ([{"type": "text", "text": "look:"}, {"type": "text", "text": "/model haiku"}], "owner"),
        ([{"type": "text", "text": "look:"}], "approver"),
    ],
)
def test_commands_that_change_more_than_the_conversation_need_an_owner(content: Any, role: str) -> None:
    assert role_for_message(content) == role


async def test_an_approver_cannot_change_the_model_with_a_message(served: ServedHub) -> None:
    session = await served.session()
    path = f"/api/sessions/{session.id}/messages"
    async with served.client("approver") as client:
        assert code(await client.post(path, json={"content": "/model haiku"})) == (403, "role_needed")
        assert (await client.post(path, json={"content": "go on"})).status_code == 200
    async with served.client("owner") as client:
        assert (await client.post(path, json={"content": "/model haiku"})).status_code == 200
