"""What a session's Claude Code says of itself, over the API."""

from __future__ import annotations

from handrail.testing import simulated as sim

from ..support import ServedHub


async def test_models_are_those_that_a_running_cli_names(served: ServedHub) -> None:
    async with served.client("viewer") as client:
        before = (await client.get("/api/models")).json()
        session = await served.session()
        anyones = (await client.get("/api/models")).json()
        its_own = (await client.get("/api/models", params={"session": session.id})).json()
        await session.stop()
        after = (await client.get("/api/models", params={"session": session.id})).json()
    assert (before["live"], before["items"][0]["value"]) == (False, "default")
    assert anyones["live"] is its_own["live"] is True
    assert its_own["items"] == anyones["items"]
    assert {"default", "opus"} <= {each["value"] for each in its_own["items"]}
    assert (after["live"], after["items"]) == (False, before["items"])


async def test_asking_for_models_does_not_initialise_the_cli_again(served: ServedHub) -> None:
    session = await served.session()
    async with served.client("viewer") as client:
        await client.get("/api/models", params={"session": session.id})
        await client.get(f"/api/sessions/{session.id}/commands")
    frames = await served.manager.store.frames(session.id)
    assert sum(b'"subtype":"initialize"' in row.line for row in frames if row.direction == "out") == 1


async def test_commands_are_described_while_it_runs_and_named_afterwards(served: ServedHub) -> None:
    session = await served.session(sim.loop_turns("ok"))
    await session.run("go")
    async with served.client("viewer") as client:
        live = (await client.get(f"/api/sessions/{session.id}/commands")).json()["items"]
        await session.stop()
        past = (await client.get(f"/api/sessions/{session.id}/commands")).json()["items"]
    assert any(each["description"] for each in live)
    assert past
    assert all(each["name"] and not each["name"].startswith("/") for each in (*live, *past))


async def test_mcp_servers_are_shown_without_how_they_are_started(served: ServedHub) -> None:
    session = await served.session()
    await session.control("mcp_set_servers", servers={"db": {"command": "x", "env": {"PASSWORD": "hunter2"}}})
    async with served.client("viewer") as client:
        shown = await client.get(f"/api/sessions/{session.id}/mcp")
    (server,) = shown.json()["items"]
    assert (server["name"], server["status"], server["enabled"]) == ("db", "connected", True)
    assert "hunter2" not in shown.text


async def test_the_context_is_shown(served: ServedHub) -> None:
    session = await served.session()
    async with served.client("viewer") as client:
        context = (await client.get(f"/api/sessions/{session.id}/context")).json()
    assert {"total_tokens", "max_tokens", "percentage", "model", "categories"} <= context.keys()
    assert all(each.keys() == {"name", "tokens"} for each in context["categories"])


async def test_what_needs_a_running_cli_says_so(served: ServedHub) -> None:
    session = await served.session()
    await session.stop()
    async with served.client("viewer") as client:
        for what in ("mcp", "context"):
            refused = await client.get(f"/api/sessions/{session.id}/{what}")
            assert (refused.status_code, refused.json()["code"]) == (409, "session_not_live")
            assert (await client.get(f"/api/sessions/none/{what}")).json()["code"] == "session_not_found"
