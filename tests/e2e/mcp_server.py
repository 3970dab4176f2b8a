"""A stdio MCP server for the tests: a tool that adds, one that asks the user, one that says which process it is."""

from __future__ import annotations

import os
from typing import Annotated

from mcp.server.mcpserver import Elicit, ElicitationResult, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("probe")


class Person(BaseModel):
    name: str
    age: int = 3


async def who() -> Elicit[Person]:
    # Works with every protocol version: newer clients are asked in the tool's result, not by a request of the server.
    return Elicit("Who are you?", Person)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def process_id() -> int:
    """The server's process id."""
    return os.getpid()


@server.tool()
async def greet(answer: Annotated[ElicitationResult[Person], Resolve(who)]) -> str:
    """Ask who is there, and greet them."""
    if answer.action != "accept":
        return f"Nobody: {answer.action}"
    return f"Hello {answer.data.name}, {answer.data.age}"


if __name__ == "__main__":
    server.run()
