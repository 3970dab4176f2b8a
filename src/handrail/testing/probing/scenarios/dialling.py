"""A CLI that dials a server of ours: some versions connect, others refuse any but their vendor's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from handrail.protocol.launch import command_line
from handrail.protocol.options import Options
from handrail.testing.model import ScriptedModel
from handrail.testing.probing.behaviours import Behaviour, Scenario
from handrail.testing.probing.stage import Stage
from handrail.transports.stdio import StdioTransport

__all__ = ["DIALLING"]

DIALS = Behaviour(
    name="websocket: --sdk-url with a server of ours",
    need="degrades",
    otherwise="whether this CLI can connect to a hub by itself is not known before it is tried",
    copes="a CLI that refuses is run by `handrail host`, which speaks to it on its pipes and dials the hub",
)

REFUSED = "--sdk-url rejected"


class _Outcome:
    """Waits for the first of: a connection, or the end of the process."""

    def __init__(self) -> None:
        self.first: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def is_now(self, words: str) -> None:
        if not self.first.done():
            self.first.set_result(words)

    def data_received(self, data: bytes) -> None:
        """What it prints does not matter here."""

    def connection_lost(self, exit_code: int | None) -> None:
        self.is_now(f"ends with exit code {exit_code}")


async def play(stage: Stage) -> None:
    outcome = _Outcome()
    async with ScriptedModel() as model, _listening(outcome) as url:
        options = Options(cwd=stage.cwd, use_api_billing=True)
        argv = [*command_line(options, stage.argv), "--print", f"--sdk-url={url}"]
        transport = StdioTransport(argv, env=stage.environment(model, options), cwd=stage.cwd, eof_grace=0.1)
        await transport.open(outcome)
        try:
            async with asyncio.timeout(stage.patience):
                words = await outcome.first
        except TimeoutError:
            raise TimeoutError(f"neither a connection nor an end within {stage.patience:g} s") from None
        finally:
            await transport.close()
        refused = REFUSED in transport.stderr_tail
        stage.see(DIALS, refused or words == "connects", "refuses" if refused else words)


@asynccontextmanager
async def _listening(outcome: _Outcome) -> AsyncIterator[str]:
    """A server that takes note of the first request for a WebSocket, and hangs up."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if b"upgrade: websocket" in (await reader.readuntil(b"\r\n\r\n")).lower():
                outcome.is_now("connects")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass  # not a WebSocket
        finally:
            writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"ws://127.0.0.1:{port}/v1/session_ingress/ws/probe"


DIALLING = Scenario("websocket", (DIALS,), play)
