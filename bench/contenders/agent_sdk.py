"""claude-agent-sdk, through its public interface."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    StreamEvent,
    ToolPermissionContext,
    UserMessage,
)

from bench.contenders import Tally

LONGEST_LINE = 256 * 1024 * 1024
"""Its default, 1 MiB, ends the session at the first longer line."""


@asynccontextmanager
async def session(cli: str) -> AsyncIterator[SdkSession]:
    async with connected(cli) as client:
        yield SdkSession(client)


@asynccontextmanager
async def connected(cli: str) -> AsyncIterator[ClaudeSDKClient]:
    options = ClaudeAgentOptions(
        cli_path=cli, include_partial_messages=True, can_use_tool=allow, max_buffer_size=LONGEST_LINE
    )
    async with ClaudeSDKClient(options) as client:
        yield client


async def allow(tool: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
    return PermissionResultAllow()


class SdkSession:
    def __init__(self, client: ClaudeSDKClient) -> None:
        self._client = client

    async def consume(self, tally: Tally, look: str) -> None:
        await self._client.query("go")
        if look == "count":
            async for _ in self._client.receive_response():
                tally.frames += 1
        else:
            async for message in self._client.receive_response():
                tally.frames += 1
                read_content(message)


def read_content(message: object) -> object:
    """What a program that shows the conversation looks at."""
    if isinstance(message, StreamEvent):
        return message.event.get("delta")
    if isinstance(message, AssistantMessage | UserMessage) and not isinstance(message.content, str):
        return [type(block) for block in message.content]
    return None
