"""Sessions that a program starts on another machine: its hooks, tools and answers run where it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail import Allow, Ask, Asked, HostNotFound, HostRefused, Hub, Options, Session, deny_tool, hook, tool
from handrail.events import Completed, Event
from handrail.protocol.control import PreToolUseInput
from handrail.testing import simulated as sim

from ..host.fleet import Fleet, fleet, hub_behind, identity_of
from ..host.middle import middle
from ..host.support import made, running_host
from .support import eventually
from .test_programs import HANDSHAKE, PRE, call_of

pytestmark = pytest.mark.slow

CAREFUL = Asked(profile="careful")


@asynccontextmanager
async def hub_of(fleet_: Fleet) -> AsyncIterator[Hub]:
    async with Hub(fleet_.served.url, fleet_.served.tokens["owner"]) as hub:
        yield hub


async def started(hub: Hub, machines: Fleet, **offered: Any) -> Session:
    return await hub.start(Options(cwd=machines.host.projects), host="box", **{"policy": CAREFUL, **offered})


async def response(session: Session, request_id: str) -> Any:
    """What the CLI on the host was told."""

    async def find() -> Any:
        for frame in await session.frames():
            line = msgspec.json.decode(frame.line)
            if frame.direction == "out" and line.get("response", {}).get("request_id") == request_id:
                return line["response"]
        return None

    return await eventually(find)


async def test_a_session_on_a_host_is_used_as_any_other(tmp_path: Path) -> None:
    async with fleet(tmp_path, sim.loop_turns("You said $text.")) as machines, hub_of(machines) as hub:
        session = await started(hub, machines, title="There")
        row = await session.row()
        (host,) = [each for each in await hub.hosts() if each.name == "box"]
        assert (row.host, row.title, host.state) == (host.id, "There", "connected")
        items: list[Any] = []

        async def watch() -> None:
            async for item in session.subscribe():
                items.append(item)
                if isinstance(item, Completed):
                    return

        watching = asyncio.create_task(watch())
        assert (await session.run("Hello.")).ok
        await watching
        numbers = [item.seq for item in items if isinstance(item, Event)]
        assert numbers == list(range(1, len(numbers) + 1))
        await session.rename("Over there")
        assert b"initialize" in (await session.frames(limit=1))[0].line
        await session.stop()
        await eventually(lambda: not_live(session))
        await hub.resume(session.id)
        assert await session.is_live()
        assert (await session.row()).title == "Over there"


async def not_live(session: Session) -> bool:
    return not await session.is_live()


async def test_hooks_tools_and_answers_run_in_the_program(tmp_path: Path) -> None:
    asked: list[str] = []

    @hook("PreToolUse")
    async def guard(call: PreToolUseInput) -> Any:
        return deny_tool(f"not {call.tool_input['command']}")

    @tool
    async def add(a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)

    async def answer(ask: Ask) -> Any:
        asked.append(ask.tool_name)
        return Allow()

    script = (
        sim.expect("user"),
        sim.hook("PreToolUse", PRE, callback_id="PreToolUse-0", request_id="pre"),
        sim.mcp("handrail", HANDSHAKE, request_id="hello"),
        sim.mcp("handrail", call_of("add", a=2, b=3), request_id="call"),
        sim.ask("Bash", {"command": "rm -rf build"}, request_id="ask-1"),
    )
    async with fleet(tmp_path, *script, sim.loop_turns()) as machines, hub_of(machines) as hub:
        session = await started(hub, machines, hooks=[guard], tools=[add], on_ask=answer)
        await session.send("Go on.")
        denied = (await response(session, "pre"))["response"]["hookSpecificOutput"]
        assert denied["permissionDecisionReason"] == "not make"
        called = (await response(session, "call"))["response"]["mcp_response"]
        assert called["result"]["content"][0]["text"] == "5"
        assert (await response(session, "ask-1"))["response"]["behavior"] == "allow"
        assert asked == ["Bash"]


async def test_without_the_program_a_person_is_asked(tmp_path: Path) -> None:
    @hook("PreToolUse")
    async def guard(call: PreToolUseInput) -> Any:
        return None

    script = (sim.expect("user"), sim.hook("PreToolUse", PRE, callback_id="PreToolUse-0", request_id="pre"))
    async with fleet(tmp_path, *script, sim.loop_turns()) as machines:
        async with hub_of(machines) as hub:
            session_id = (await started(hub, machines, hooks=[guard])).id
        async with hub_of(machines) as hub:
            session = hub.session(session_id)
            await session.send("Go on.")
            decided = (await response(session, "pre"))["response"]["hookSpecificOutput"]
            assert decided["permissionDecision"] == "ask"
            assert "not connected" in decided["permissionDecisionReason"]


async def test_a_program_answers_also_behind_another_hub_process(tmp_path: Path) -> None:
    """The session goes on while the hub is started anew; the program comes back to the new one, and answers there."""

    @hook("PreToolUse")
    async def guard(call: PreToolUseInput) -> Any:
        return deny_tool("still here")

    script = (
        sim.turn("Before."),
        sim.expect("user"),
        sim.hook("PreToolUse", PRE, callback_id="PreToolUse-0", request_id="pre"),
    )
    async with AsyncExitStack() as stack:
        line = await stack.enter_async_context(middle())
        first = await stack.enter_async_context(AsyncExitStack())
        served = await first.enter_async_context(hub_behind(line, tmp_path / "hub"))
        key = (await identity_of(served, line)).key
        machine = running_host(made(tmp_path / "host"), line.url, *script, sim.loop_turns(), key=key)
        host = await stack.enter_async_context(machine)
        await host.told("connected")
        hub = await stack.enter_async_context(Hub(line.url, served.tokens["owner"]))
        options = Options(cwd=host.projects)
        session = await hub.start(options, host="box", policy=CAREFUL, hooks=[guard])
        await session.run("Once.")
        await first.aclose()
        await stack.enter_async_context(hub_behind(line, tmp_path / "hub"))
        await eventually(lambda: connected(hub))
        await session.send("Again.")
        decided = (await response(session, "pre"))["response"]["hookSpecificOutput"]
        assert decided["permissionDecisionReason"] == "still here"


async def connected(hub: Hub) -> bool:
    return any(each.name == "box" and each.state == "connected" for each in await hub.hosts())


async def test_a_host_has_the_last_word(tmp_path: Path) -> None:
    async with fleet(tmp_path, sim.loop_turns()) as machines, hub_of(machines) as hub:
        with pytest.raises(HostNotFound):
            await hub.start(Options(cwd=machines.host.projects), host="elsewhere")
        with pytest.raises(HostRefused):
            await hub.start(Options(cwd="/etc"), host="box")
        with pytest.raises(HostRefused):
            await hub.start(Options(cwd=machines.host.projects, cli_path="/bin/sh"), host="box")


async def test_files_of_a_host_are_fetched_and_put_if_its_owner_allows_it(tmp_path: Path) -> None:
    async with fleet(tmp_path, sim.loop_turns("done")) as machines, hub_of(machines) as hub:
        outbox = Path(machines.host.projects) / ".handrail-outbox" / "s1"
        outbox.mkdir(parents=True)
        (outbox / "report.txt").write_text("for you")
        (Path(machines.host.projects) / "app.py").write_text("print()")
        assert [each.name for each in await hub.files.list(str(outbox), host="box")] == ["report.txt"]
        assert await hub.files.fetch(str(outbox / "report.txt"), host="box") == b"for you"
        missing = f"{machines.host.projects}/.handrail-outbox/s2"
        assert await hub.files.list(missing, host="box", optional=True) == []
        with pytest.raises(HostRefused, match="there is no"):
            await hub.files.list(missing, host="box")
        with pytest.raises(HostRefused, match=r"host\.file_exchange"):
            await hub.files.fetch(f"{machines.host.projects}/app.py", host="box")
        with pytest.raises(HostRefused, match=r"host\.file_exchange"):
            await hub.files.put(f"{machines.host.projects}/new.py", b"1", host="box")


async def test_an_open_host_still_keeps_what_is_private(tmp_path: Path) -> None:
    async with fleet(tmp_path, sim.loop_turns("done"), file_exchange=True) as machines, hub_of(machines) as hub:
        path = f"{machines.host.projects}/notes/new.txt"
        assert await hub.files.put(path, b"hello", host="box") == path
        assert await hub.files.fetch(path, host="box") == b"hello"
        with pytest.raises(HostRefused, match="private"):
            await hub.files.fetch(f"{machines.host.projects}/.env", host="box")
        with pytest.raises(HostRefused, match="not inside"):
            await hub.files.fetch("/etc/passwd", host="box")
