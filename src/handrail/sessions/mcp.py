"""In-process MCP servers: answers the CLI's `mcp_message` requests with tools and servers of this process.

The protocol (handshake, versions, dispatch, cancellation) is left to the official `mcp` package. It is imported
when the first message for a server arrives, in a thread, because that takes about a second.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from handrail.errors import HandrailError, InvalidOptions
from handrail.protocol.launch import sdk_mcp_servers
from handrail.protocol.options import Options
from handrail.sessions.tools import Tool, check_name, result_body

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream
    from mcp.server.lowlevel import Server
    from mcp.server.mcpserver import MCPServer
    from mcp.shared.message import SessionMessage
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult

__all__ = ["PassedOnServer", "ToolServer", "ToolServers", "servers_among"]

logger = logging.getLogger("handrail.tools")

NamedT = TypeVar("NamedT", "ToolServer", Tool[..., Any])

DEFAULT_SERVER = "handrail"
"""The server that bare tools are gathered in."""

CLOSING_GRACE = 5.0
"""How long a server may take to clean up before it is cancelled."""

INVALID_REQUEST = -32600
NOT_FOUND = -32601
INVALID_PARAMS = -32602
UNAVAILABLE = -32000

ACKNOWLEDGED = {"jsonrpc": "2.0", "result": {}}
"""The CLI waits for an answer to notifications too; this one has no id that could be taken for another's."""


class ToolServer:
    """Tools under a name: rules and asks call them `mcp__NAME__TOOL`."""

    def __init__(self, name: str, tools: Sequence[Tool[..., Any]], *, version: str = "1") -> None:
        check_name("server", name)
        _require_package()
        self.name = name
        self._make: Callable[[], Server[Any]] = partial(_server_of, name, version, _by_name("tool", tools))

    @classmethod
    def from_server(cls, name: str, server: Server[Any] | MCPServer[Any]) -> Self:
        """Serve a ready-made server of the `mcp` package, high-level (`MCPServer`) or low-level (`Server`)."""
        # The package has no public way to run an MCPServer over streams of one's own.
        lowlevel: Any = getattr(server, "_lowlevel_server", server)
        if not hasattr(lowlevel, "create_initialization_options"):
            raise InvalidOptions(f"{type(server).__name__} is neither an MCPServer nor a low-level Server of mcp 2.x")
        made = cls(name, ())
        made._make = lambda: lowlevel
        return made


class PassedOnServer(ToolServer):
    """A server of another process, to which everything that the CLI says is passed on as it is.

    `pass_on` takes a message and gives the answer; None for one that needs none. It raises `HandrailError` if nobody
    answers: then the CLI, and through it Claude, is told that.
    """

    def __init__(self, name: str, pass_on: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]) -> None:
        check_name("server", name)
        self.name = name  # the package is needed where the server is, not here
        self._pass_on = pass_on

    async def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to a message of the CLI's."""
        try:
            return await self._pass_on(message) or ACKNOWLEDGED
        except HandrailError as error:
            return _nobody_there(message, str(error))


class ToolServers:
    """The in-process servers of one session, and the tasks that run them: one per server, from its first message on."""

    def __init__(self, servers: Sequence[ToolServer | Tool[..., Any]] = ()) -> None:
        bare = [item for item in servers if isinstance(item, Tool)]
        named = [item for item in servers if isinstance(item, ToolServer)]
        for item in servers:
            if not isinstance(item, Tool | ToolServer):
                raise InvalidOptions(f"{item!r} is no tool: decorate the function with @tool")
        if bare:
            named.append(ToolServer(DEFAULT_SERVER, bare))
        self._servers = _by_name("server", named)
        self._running: dict[str, _Running] = {}
        self._loaded = False
        self._closed = False

    def __bool__(self) -> bool:
        return bool(self._servers)

    def names(self) -> list[str]:
        """The names to register with the CLI."""
        return list(self._servers)

    async def handle(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the body of an `mcp_message` request. Cancelling this cancels the tool that runs for it."""
        message = body.get("message")
        if not isinstance(message, dict):
            return {"mcp_response": _error(None, INVALID_REQUEST, "the message is no JSON object")}
        return {"mcp_response": await self._answer(body.get("server_name"), message)}

    async def aclose(self) -> None:
        """End all servers. What they still had to answer is answered with an error."""
        self._closed = True
        running = list(self._running.values())
        self._running.clear()
        await asyncio.gather(*(server.close() for server in running))

    async def _answer(self, name: Any, message: dict[str, Any]) -> dict[str, Any]:
        request_id = message.get("id")
        server = self._servers.get(name) if isinstance(name, str) else None
        if server is None:
            known = ", ".join(self._servers) or "none"
            return _error(request_id, NOT_FOUND, f"there is no server {name!r} here (there is: {known})")
        if isinstance(server, PassedOnServer):
            return await server.answer(message)
        await self._load_package()
        if self._closed:
            return _error(request_id, UNAVAILABLE, "the session is closed")
        running = self._run(server)
        try:
            if "method" in message and isinstance(request_id, str | int):
                return await running.request(request_id, message)
            running.notify(message)
        except ValueError:
            return _error(request_id, INVALID_REQUEST, "the message is neither a request nor a notification")
        return ACKNOWLEDGED

    def _run(self, server: ToolServer) -> _Running:
        running = self._running.get(server.name)
        if running is None or running.ended:
            running = self._running[server.name] = _Running(server.name, server._make())
        return running

    async def _load_package(self) -> None:
        if not self._loaded:
            await asyncio.to_thread(importlib.import_module, "mcp.server.lowlevel")
            self._loaded = True


class _Running:
    """A server at work: messages go in through a stream, and its answers find who waits for them.

    Requests get numbers of our own on the way in: the CLI starts its ids anew when it reconnects, and an old
    request that still runs must not be confused with a new one.
    """

    def __init__(self, name: str, server: Server[Any]) -> None:
        import anyio

        self._name = name
        self._numbers = itertools.count(1)
        self._current: dict[str | int, int] = {}
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._inbox, inbox = anyio.create_memory_object_stream[Any](math.inf)
        self._task = asyncio.create_task(self._serve(server, inbox), name=f"handrail MCP server {name}")

    @property
    def ended(self) -> bool:
        """Whether the server has stopped, by itself or with `close`."""
        return self._task.done()

    async def request(self, request_id: str | int, message: Mapping[str, Any]) -> dict[str, Any]:
        """Pass a request to the server and wait for its answer. Raises ValueError if it is no JSON-RPC."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._post({**message, "id": number})
            self._current[request_id] = number
            return {**await answer, "id": request_id}
        except asyncio.CancelledError:
            self._post(_cancellation(number))
            raise
        finally:
            del self._waiting[number]
            if self._current.get(request_id) == number:
                del self._current[request_id]

    def notify(self, message: Mapping[str, Any]) -> None:
        """Pass a notification to the server. Raises ValueError if it is no JSON-RPC."""
        if message.get("method") == "notifications/cancelled":
            self._cancel(message)
        else:
            self._post(message)

    async def close(self) -> None:
        """Let the server clean up, and end it."""
        self._inbox.close()
        try:
            await asyncio.wait([self._task], timeout=CLOSING_GRACE)
        finally:
            self._task.cancel()
        await asyncio.wait([self._task])

    def _cancel(self, message: Mapping[str, Any]) -> None:
        match message.get("params"):
            case {"requestId": str() | int() as request_id} if request_id in self._current:
                number = self._current[request_id]
                self._post(_cancellation(number))
                # MCP leaves a cancelled request unanswered, but the control request that carried it needs an answer.
                self._settle(number, _error(None, UNAVAILABLE, "the request was cancelled"))

    def _post(self, message: Mapping[str, Any]) -> None:
        from anyio import BrokenResourceError, ClosedResourceError
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        item = SessionMessage(jsonrpc_message_adapter.validate_python(message))
        try:
            self._inbox.send_nowait(item)
        except (BrokenResourceError, ClosedResourceError):
            logger.debug("the MCP server %r has ended and takes no more messages", self._name)

    async def _serve(self, server: Server[Any], inbox: MemoryObjectReceiveStream[Any]) -> None:
        why = "the server has ended"
        try:
            with inbox:
                await server.run(inbox, _Outbox(self._deliver), server.create_initialization_options())
        except Exception as error:  # A server's own code may raise anything; who waits for it is told.
            logger.warning("the MCP server %r failed", self._name, exc_info=error)
            why = f"the server failed: {type(error).__name__}"
        finally:
            self._inbox.close()
            for number in list(self._waiting):
                self._settle(number, _error(None, UNAVAILABLE, why))

    def _deliver(self, item: SessionMessage) -> None:
        from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

        message = item.message
        match message:
            case JSONRPCResponse(id=int(number), result=result):
                self._settle(number, {"jsonrpc": "2.0", "result": result})
            case JSONRPCError(id=int(number), error=error):
                detail = error.model_dump(by_alias=True, mode="json", exclude_none=True)
                self._settle(number, {"jsonrpc": "2.0", "error": detail})
            case JSONRPCRequest():
                # The CLI offers in-process servers nothing to ask for; without an answer the tool would hang.
                self._post(_error(message.id, NOT_FOUND, f"Claude Code does not answer {message.method} here"))
            case _:
                logger.debug("the MCP server %r said what nobody waits for: %s", self._name, message)

    def _settle(self, number: int, answer: dict[str, Any]) -> None:
        waiting = self._waiting.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)


class _Outbox:
    """The write stream a server is given: what it sends is delivered at once."""

    def __init__(self, deliver: Callable[[SessionMessage], None]) -> None:
        self._deliver = deliver

    async def send(self, item: SessionMessage, /) -> None:
        self._deliver(item)

    async def aclose(self) -> None:
        """Nothing is held open."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def servers_among(options: Options) -> Iterator[ToolServer]:
    """The in-process servers of `mcp_servers`, as claude-agent-sdk gives them: `{"type": "sdk", "instance": …}`."""
    for name, config in sdk_mcp_servers(options).items():
        instance = config.get("instance") if isinstance(config, Mapping) else getattr(config, "instance", None)
        if instance is None:
            raise InvalidOptions(
                f"mcp_servers[{name!r}] is of type sdk but has no `instance`: pass tools=[…] to connect"
            )
        yield ToolServer.from_server(name, instance)


def _server_of(name: str, version: str, tools: Mapping[str, Tool[..., Any]]) -> Server[Any]:
    """A server of the `mcp` package that offers `tools`."""
    from mcp import MCPError
    from mcp.server.lowlevel import Server
    from mcp.types import ListToolsResult

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult.model_validate({"tools": [_description(item) for item in tools.values()]})

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        chosen = tools.get(params.name)
        if chosen is None:
            raise MCPError(code=INVALID_PARAMS, message=f"there is no tool {params.name!r}")
        return await _call(chosen, params.arguments or {})

    return Server(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)


def _description(item: Tool[..., Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": item.name,
        "description": item.description,
        "inputSchema": item.input_schema,
    }
    if item.annotations:
        described["annotations"] = dict(item.annotations)
    return described


async def _call(chosen: Tool[..., Any], arguments: Mapping[str, Any]) -> CallToolResult:
    """Run a tool. Whatever goes wrong in it is told to the model, so that the session goes on."""
    from mcp.types import CallToolResult

    try:
        given = chosen.checked(arguments)
    except msgspec.ValidationError as error:
        return _failure(f"Invalid arguments: {error}")
    try:
        value = await chosen.run(given)
        return value if isinstance(value, CallToolResult) else CallToolResult.model_validate(result_body(value))
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        return _broken(chosen, error)
    except Exception as error:  # noqa: BLE001  (a tool may raise anything)
        return _broken(chosen, error)


def _is_cancelled() -> bool:
    """Whether the running task is being cancelled; if not, a CancelledError comes from what it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _broken(chosen: Tool[..., Any], error: BaseException) -> CallToolResult:
    logger.warning("the tool %r failed", chosen.name, exc_info=error)
    return _failure(": ".join(filter(None, [type(error).__name__, str(error)])))


def _failure(text: str) -> CallToolResult:
    from mcp.types import CallToolResult

    return CallToolResult.model_validate({"content": [_text(text)], "isError": True})


def _error(request_id: Any, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


def _nobody_there(message: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A call gets a result, which Claude reads, and goes on; anything else an error."""
    request_id = message.get("id")
    if message.get("method") != "tools/call":
        return _error(request_id, UNAVAILABLE, text)
    return {"jsonrpc": "2.0", "id": request_id, "result": {"content": [_text(text)], "isError": True}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _cancellation(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


def _by_name(kind: str, items: Sequence[NamedT]) -> dict[str, NamedT]:
    found: dict[str, NamedT] = {}
    for item in items:
        if found.setdefault(item.name, item) is not item:
            raise InvalidOptions(f"there are two {kind}s named {item.name!r}: their names must differ")
    return found


def _require_package() -> None:
    from importlib.metadata import PackageNotFoundError  # slow to import, and only needed here
    from importlib.metadata import version as installed

    try:
        version = installed("mcp")
    except PackageNotFoundError:
        raise InvalidOptions("tools need the mcp package: pip install 'handrail[mcp]'") from None
    if version.split(".")[0] != "2":
        raise InvalidOptions(f"tools need mcp 2.x, but {version} is installed: pip install 'handrail[mcp]'")
