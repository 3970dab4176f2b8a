"""In-process MCP servers: recorded messages, concurrency, cancellation, ready-made servers, and the end of things."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, TextContent

from handrail.errors import InvalidOptions
from handrail.sessions.mcp import ToolServer, ToolServers
from handrail.sessions.tools import Tool, image_block, tool

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sessions"
RECORDED = [json.loads(line) for line in (FIXTURES / "mcp_messages.jsonl").read_text().splitlines()]
VERSIONS = sorted({entry["version"] for entry in RECORDED})

HANDSHAKE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "claude-code", "version": "2.1.325"},
}


class Peer:
    """The CLI's side of one server."""

    def __init__(self, servers: ToolServers, name: str = "handrail") -> None:
        self.servers = servers
        self.name = name
        self._ids: Iterator[int] = iter(range(1_000_000))

    async def send(self, message: Any) -> dict[str, Any]:
        answer = await self.servers.handle({"server_name": self.name, "message": message})
        assert answer.keys() == {"mcp_response"}
        response: dict[str, Any] = answer["mcp_response"]
        return response

    async def notify(self, method: str, **params: Any) -> dict[str, Any]:
        return await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, request_id: int | str | None = None, **params: Any) -> dict[str, Any]:
        chosen = next(self._ids) if request_id is None else request_id
        response = await self.send({"jsonrpc": "2.0", "id": chosen, "method": method, "params": params})
        assert response["id"] == chosen
        assert response["jsonrpc"] == "2.0"
        return response

    async def start(self) -> Peer:
        await self.request("initialize", **HANDSHAKE)
        await self.notify("notifications/initialized")
        return self

    async def call(self, name: str, request_id: int | str | None = None, /, **arguments: Any) -> dict[str, Any]:
        response = await self.request("tools/call", request_id, name=name, arguments=arguments)
        result: dict[str, Any] = response["result"]
        return result


Serve = Callable[..., ToolServers]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Make ToolServers that are closed after the test."""
    made: list[ToolServers] = []

    def make(*items: ToolServer | Tool[..., Any]) -> ToolServers:
        made.append(ToolServers(items))
        return made[-1]

    yield make
    for servers in made:
        await servers.aclose()


@tool
async def greet(who: str, times: int = 1) -> str:
    """Greets"""
    return " ".join([f"hello {who}"] * times)


@tool(read_only=True)
def ro() -> dict[str, Any]:
    """Read-only"""
    return {"state": "fine"}


class Waiting:
    """A tool that waits until it is told to go on, and says what became of it."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.go = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.tool = tool("wait")(self._wait)

    async def _wait(self) -> str:
        self.started.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "waited"


class TestRecorded:
    @pytest.mark.parametrize("version", VERSIONS)
    async def test_every_message_of_a_real_session_is_answered(self, version: str, serve: Serve) -> None:
        servers = serve(ToolServer("mysdk", [greet, ro], version="3"))
        answers: dict[str, Any] = {}
        for entry in RECORDED:
            if entry["version"] != version:
                continue
            message = entry["request"]["message"]
            response = (await servers.handle(entry["request"]))["mcp_response"]
            assert response.get("id") == message.get("id")
            answers[message.get("params", {}).get("name") or message["method"]] = response["result"]
        assert answers["initialize"]["serverInfo"] == {"name": "mysdk", "version": "3"}
        assert answers["initialize"]["protocolVersion"] == "2025-11-25"
        assert answers["notifications/initialized"] == {}
        first, second = answers["tools/list"]["tools"]
        assert (first["name"], first["description"]) == ("greet", "Greets")
        assert first["inputSchema"] == greet.input_schema
        assert "annotations" not in first
        assert second["annotations"] == {"readOnlyHint": True}
        assert answers["greet"] == {"content": [{"type": "text", "text": "hello bob"}], "isError": False}
        assert answers["ro"]["structuredContent"] == {"state": "fine"}


class TestServers:
    def test_bare_tools_are_gathered_in_one_server(self) -> None:
        servers = ToolServers([greet, ToolServer("other", [ro]), ro])
        assert servers
        assert servers.names() == ["other", "handrail"]
        assert not ToolServers()
        assert ToolServers().names() == []

    def test_names_must_differ_and_fit(self) -> None:
        with pytest.raises(InvalidOptions, match="two tools named 'greet'"):
            ToolServer("x", [greet, tool("greet")(ro.function)])
        with pytest.raises(InvalidOptions, match="two servers named 'handrail'"):
            ToolServers([ToolServer("handrail", []), greet])
        with pytest.raises(InvalidOptions, match="cannot name a server"):
            ToolServer("my server", [])

    def test_a_function_that_is_no_tool_is_refused(self) -> None:
        with pytest.raises(InvalidOptions, match="@tool"):
            ToolServers([greet.function])  # type: ignore[list-item]

    async def test_an_unknown_server_is_an_error(self, serve: Serve) -> None:
        servers = serve(greet)
        response = await Peer(servers, "elsewhere").request("tools/list")
        assert "handrail" in response["error"]["message"]
        for body in ({}, {"server_name": ["odd"], "message": {}}, {"server_name": "handrail", "message": 1}):
            assert "error" in (await servers.handle(body))["mcp_response"]

    async def test_what_is_no_json_rpc_is_an_error(self, serve: Serve) -> None:
        peer = await Peer(serve(greet)).start()
        for message in ({}, {"id": 1, "method": 7}, {"jsonrpc": "2.0"}):
            assert (await peer.send(message))["error"]["code"] == -32600

    async def test_other_methods_are_answered_by_the_package(self, serve: Serve) -> None:
        peer = await Peer(serve(greet)).start()
        assert (await peer.request("ping"))["result"] == {}
        assert (await peer.request("resources/list"))["error"]["code"] == -32601
        assert (await peer.request("tools/call", name="absent"))["error"]["code"] == -32602

    async def test_an_older_protocol_is_spoken_if_the_cli_asks_for_it(self, serve: Serve) -> None:
        response = await Peer(serve(greet)).request("initialize", **{**HANDSHAKE, "protocolVersion": "2024-11-05"})
        assert response["result"]["protocolVersion"] == "2024-11-05"

    async def test_a_second_handshake_starts_over(self, serve: Serve) -> None:
        servers = serve(greet)
        for _ in range(2):
            peer = await Peer(servers).start()
            assert "result" in await peer.request("tools/list")


class TestCalls:
    async def test_arguments_that_do_not_fit_are_told_to_the_model(self, serve: Serve) -> None:
        peer = await Peer(serve(greet)).start()
        result = await peer.call("greet", who=3)
        assert result["isError"]
        assert "Invalid arguments" in result["content"][0]["text"]
        assert "$.who" in result["content"][0]["text"]

    async def test_an_exception_is_told_to_the_model(self, serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
        @tool
        async def breaks() -> str:
            raise ValueError("bad thing")

        @tool
        def breaks_in_silence() -> str:
            raise RuntimeError

        @tool
        async def gives_up() -> str:
            raise asyncio.CancelledError

        @tool
        def opaque() -> object:
            return object()

        @tool
        def half_a_block() -> dict[str, Any]:
            return {"type": "image", "data": 1}

        items = (breaks, breaks_in_silence, gives_up, opaque, half_a_block)
        peer = await Peer(serve(*items)).start()
        texts = []
        for item in items:
            result = await peer.call(item.name)
            assert result["isError"]
            texts.append(result["content"][0]["text"])
        assert texts[:3] == ["ValueError: bad thing", "RuntimeError", "CancelledError"]
        assert "'breaks' failed" in caplog.text

    async def test_results_of_every_kind(self, serve: Serve) -> None:
        @tool
        async def picture() -> list[Any]:
            return ["look", image_block(b"GIF89a")]

        @tool
        async def own() -> CallToolResult:
            return CallToolResult(content=[TextContent(type="text", text="mine")], is_error=True)

        @tool
        async def nothing() -> None: ...

        peer = await Peer(serve(picture, own, nothing)).start()
        assert [block["type"] for block in (await peer.call("picture"))["content"]] == ["text", "image"]
        assert await peer.call("own") == {"content": [{"type": "text", "text": "mine"}], "isError": True}
        assert (await peer.call("nothing"))["content"] == []

    async def test_a_slow_tool_holds_up_nobody(self, serve: Serve) -> None:
        waiting = Waiting()
        peer = await Peer(serve(greet, waiting.tool)).start()
        slow = asyncio.create_task(peer.call("wait"))
        await waiting.started.wait()
        assert (await peer.call("greet", who="bob", times=2))["content"][0]["text"] == "hello bob hello bob"
        assert not slow.done()
        waiting.go.set()
        assert (await slow)["content"][0]["text"] == "waited"

    async def test_calls_run_side_by_side_and_answers_find_their_callers(self, serve: Serve) -> None:
        everyone = asyncio.Barrier(50)

        @tool
        async def meet(number: int) -> int:
            await everyone.wait()
            return number

        peer = await Peer(serve(meet)).start()
        results = await asyncio.gather(*(peer.call("meet", number=number) for number in range(50)))
        assert [result["content"][0]["text"] for result in results] == [str(number) for number in range(50)]

    async def test_equal_ids_of_a_reconnected_cli_are_not_confused(self, serve: Serve) -> None:
        waiting = Waiting()
        servers = serve(greet, waiting.tool)
        peer = await Peer(servers).start()
        old = asyncio.create_task(peer.call("wait", 7))
        await waiting.started.wait()
        again = await Peer(servers).start()
        assert (await again.call("greet", 7, who="bob"))["content"][0]["text"] == "hello bob"
        waiting.go.set()
        assert (await old)["content"][0]["text"] == "waited"


class TestCancellation:
    async def test_cancelling_the_control_request_cancels_the_tool(self, serve: Serve) -> None:
        waiting = Waiting()
        peer = await Peer(serve(waiting.tool)).start()
        call = asyncio.create_task(peer.call("wait"))
        await waiting.started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await waiting.cancelled.wait()
        assert (await peer.request("ping"))["result"] == {}

    @pytest.mark.parametrize("request_id", [7, "seven"])
    async def test_the_clis_own_notice_cancels_the_tool_and_the_call_is_answered(
        self, request_id: int | str, serve: Serve
    ) -> None:
        waiting = Waiting()
        peer = await Peer(serve(waiting.tool)).start()
        call = asyncio.create_task(peer.request("tools/call", request_id, name="wait", arguments={}))
        await waiting.started.wait()
        assert "error" not in await peer.notify("notifications/cancelled", requestId=request_id, reason="AbortError")
        assert "cancelled" in (await call)["error"]["message"]
        await waiting.cancelled.wait()

    async def test_a_notice_about_nothing_is_harmless(self, serve: Serve) -> None:
        peer = await Peer(serve(greet)).start()
        for params in ({"requestId": 99}, {"requestId": [1]}, {}):
            assert (await peer.notify("notifications/cancelled", **params))["result"] == {}
        assert (await peer.call("greet", who="bob"))["isError"] is False


class TestClosing:
    async def test_closing_cancels_what_runs_and_answers_it(self, serve: Serve) -> None:
        waiting = Waiting()
        servers = serve(waiting.tool)
        peer = await Peer(servers).start()
        call = asyncio.create_task(peer.request("tools/call", name="wait", arguments={}))
        await waiting.started.wait()
        await servers.aclose()
        assert waiting.cancelled.is_set()
        assert "error" in await call
        assert "closed" in (await peer.request("ping"))["error"]["message"]
        await servers.aclose()

    async def test_servers_nobody_spoke_to_cost_nothing(self) -> None:
        before = asyncio.all_tasks()
        servers = ToolServers([greet])
        assert asyncio.all_tasks() == before
        await servers.aclose()

    async def test_one_task_per_server_and_none_after_closing(self, serve: Serve) -> None:
        before = asyncio.all_tasks()
        servers = serve(ToolServer("one", [greet]), ToolServer("two", [ro]))
        for name in servers.names():
            await Peer(servers, name).start()
        names = sorted(task.get_name() for task in asyncio.all_tasks() - before if "handrail" in task.get_name())
        assert names == ["handrail MCP server one", "handrail MCP server two"]
        await servers.aclose()
        assert asyncio.all_tasks() == before


class TestReadyMade:
    async def test_a_high_level_server(self, serve: Serve) -> None:
        server = MCPServer("anything")

        @server.tool()
        async def shout(text: str, context: Context[Any]) -> str:
            await context.report_progress(1, 2)
            return text.upper()

        peer = await Peer(serve(ToolServer.from_server("ready", server)), "ready").start()
        listed = (await peer.request("tools/list"))["result"]["tools"]
        assert [item["name"] for item in listed] == ["shout"]
        arguments: dict[str, Any] = {"name": "shout", "arguments": {"text": "hey"}, "_meta": {"progressToken": 1}}
        result = (await peer.request("tools/call", **arguments))["result"]
        assert result["content"][0]["text"] == "HEY"

    async def test_a_low_level_server_with_a_life_of_its_own(self, serve: Serve) -> None:
        events: list[str] = []

        @asynccontextmanager
        async def life(server: Server[str]) -> AsyncIterator[str]:
            events.append("up")
            yield "state"
            events.append("down")

        async def call(context: Any, params: Any) -> CallToolResult:
            return CallToolResult(content=[TextContent(type="text", text=context.lifespan_context)])

        servers = serve(ToolServer.from_server("low", Server("low", lifespan=life, on_call_tool=call)))
        peer = await Peer(servers, "low").start()
        assert (await peer.call("any"))["content"][0]["text"] == "state"
        assert events == ["up"]
        await servers.aclose()
        assert events == ["up", "down"]

    async def test_a_server_that_cannot_start_says_so_and_is_tried_again(
        self, serve: Serve, caplog: pytest.LogCaptureFixture
    ) -> None:
        attempts: list[str] = []

        @asynccontextmanager
        async def life(server: Server[str]) -> AsyncIterator[str]:
            attempts.append("up")
            if len(attempts) == 1:
                raise OSError("no disk")
            yield "state"

        peer = Peer(serve(ToolServer.from_server("low", Server("low", lifespan=life))), "low")
        assert "OSError" in (await peer.request("initialize", **HANDSHAKE))["error"]["message"]
        assert "no disk" in caplog.text
        assert "result" in await peer.request("initialize", **HANDSHAKE)

    async def test_a_server_that_asks_the_cli_for_something_is_not_left_waiting(self, serve: Serve) -> None:
        async def call(context: Any, params: Any) -> CallToolResult:
            await context.session.send_ping()
            raise AssertionError("nobody answers pings here")

        servers = serve(ToolServer.from_server("asks", Server("asks", on_call_tool=call)))
        peer = await Peer(servers, "asks").start()
        response = await peer.request("tools/call", name="any", arguments={})
        assert "does not answer ping" in response["error"]["message"]

    def test_anything_else_is_refused(self) -> None:
        with pytest.raises(InvalidOptions, match="str is neither"):
            ToolServer.from_server("x", "server")  # type: ignore[arg-type]


class TestPackage:
    def test_it_is_not_imported_before_it_is_needed(self) -> None:
        program = """
import sys
from handrail.sessions.mcp import ToolServers
from handrail.sessions.tools import tool
ToolServers([tool("x")(lambda: None)])
assert not {"mcp", "anyio", "pydantic"} & set(sys.modules)
"""
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

    @pytest.mark.parametrize("found", [None, "1.30.0"])
    def test_its_absence_is_told_with_the_remedy(self, found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        def version(name: str) -> str:
            if found is None:
                raise importlib.metadata.PackageNotFoundError(name)
            return found

        monkeypatch.setattr(importlib.metadata, "version", version)
        with pytest.raises(InvalidOptions, match=r"pip install 'handrail\[mcp\]'"):
            ToolServers([greet])
        assert not ToolServers()
