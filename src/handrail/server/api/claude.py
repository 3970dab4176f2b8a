"""What Claude Code says of itself: models, commands, MCP servers, and how full the context is."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from handrail.errors import HandrailError, HostAway
from handrail.protocol.control import ContextUsage, Initialized, McpServers, ModelInfo
from handrail.protocol.lenient import convert
from handrail.server.api.hosts import host_id_of
from handrail.server.calls import Call, Nothing, Query
from handrail.server.hub import Hub
from handrail.sessions.session import Session
from handrail.store.base import SessionFilter

__all__ = ["commands", "context", "mcp", "models"]

logger = logging.getLogger("handrail.server")

KindT = TypeVar("KindT")

ALIASES: Final = (
    ModelInfo(value="default", display_name="Default", description="What Claude Code recommends"),
    ModelInfo(value="opus", display_name="Opus", description="For complex work"),
    ModelInfo(value="sonnet", display_name="Sonnet", description="For everyday work"),
    ModelInfo(value="haiku", display_name="Haiku", description="For quick answers"),
)
"""The names that every version of Claude Code takes, for while none runs that could be asked."""


class ModelQuery(Query, frozen=True):
    """Whose models."""

    session: Annotated[str, Meta(max_length=100, description="A session; unset: any that runs.")] | None = None
    host: Annotated[str, Meta(max_length=100, description="Any that runs on this host; empty: on the hub's.")] = ""


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be chosen by its `value`."""

    value: str
    name: str
    description: str = ""
    efforts: tuple[str, ...] = ()


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """The models; `live` says whether a Claude Code that runs named them."""

    items: list[Model]
    current: str | None
    live: bool


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command, without the slash."""

    name: str
    description: str = ""
    argument_hint: str = ""


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """The slash commands of a session."""

    items: list[Command]


class McpTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of an MCP server."""

    name: str
    description: str = ""


class McpServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server. How it is started is left out: that may hold secrets."""

    name: str
    status: str
    enabled: bool
    error: str | None = None
    scope: str | None = None
    transport: str | None = None
    tools: tuple[McpTool, ...] = ()


class McpList(msgspec.Struct, frozen=True, kw_only=True):
    """The MCP servers of a session."""

    items: list[McpServer]


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What takes so many tokens of the context."""

    name: str
    tokens: int


class ContextShown(msgspec.Struct, frozen=True, kw_only=True):
    """How full the context is, and of what."""

    total_tokens: int
    max_tokens: int
    percentage: float
    model: str
    categories: list[Share]
    auto_compact_threshold: int | None


async def models(hub: Hub, call: Call[None, ModelQuery]) -> Models:
    """The models that can be chosen: those that a running Claude Code names, else those that every version knows."""
    wanted = call.query.session
    if wanted is not None:
        row = await hub.session(wanted).row()
        found = await _models_of(hub.session(row.id)) if row.owner else None
        return _models(found or ALIASES, current=row.model or None, live=found is not None)
    host = host_id_of(hub, call.query.host)
    if host and hub.hosts.where(host).host_state == "away":
        return _models(ALIASES, current=None, live=False)
    for row in await hub.store.list_sessions(SessionFilter(archived=None, host=host), limit=20):
        if row.owner and (found := await _models_of(hub.session(row.id))):
            return _models(found, current=None, live=True)
    return _models(ALIASES, current=None, live=False)


def _models(found: tuple[ModelInfo, ...], *, current: str | None, live: bool) -> Models:
    items = [
        Model(
            value=each.value,
            name=each.display_name or each.value,
            description=each.description,
            efforts=tuple(each.supported_effort_levels),
        )
        for each in found
    ]
    return Models(items=items, current=current, live=live)


async def _models_of(session: Session) -> tuple[ModelInfo, ...] | None:
    """What a session's Claude Code offers; nothing if it is on its way out, or does not say."""
    try:
        info = _typed(await session.control("initialize"), Initialized)
    except HandrailError as error:
        logger.info("the models of session %s are not known: %s", session.id[:8], error)
        return None
    return info.models or None


async def commands(hub: Hub, call: Call[None, Nothing]) -> Commands:
    """The slash commands of a session; of one that does not run, or cannot be reached, those that it had."""
    session = hub.session(call.id)
    await session.row()
    if await session.is_live():
        with suppress(HostAway):
            info = _typed(await session.control("initialize"), Initialized)
            listed = [
                Command(name=each.name, description=each.description, argument_hint=each.argument_hint)
                for each in info.commands
            ]
            if listed:
                return Commands(items=listed)
    return Commands(items=[Command(name=name) for name in (await session.view()).meta.slash_commands])


async def mcp(hub: Hub, call: Call[None, Nothing]) -> McpList:
    """The MCP servers of a session that runs: whether they are connected, and their tools."""
    session = hub.session(call.id)
    await session.row()
    found = _typed(await session.control("mcp_status"), McpServers)
    return McpList(
        items=[
            McpServer(
                name=server.name,
                status=server.status,
                enabled=server.status != "disabled",
                error=server.error,
                scope=server.scope,
                transport=server.transport,
                tools=tuple(McpTool(name=tool.name, description=tool.description or "") for tool in server.tools),
            )
            for server in found.mcp_servers
        ]
    )


async def context(hub: Hub, call: Call[None, Nothing]) -> ContextShown:
    """How full the context of a session that runs is, and what takes how much of it."""
    session = hub.session(call.id)
    await session.row()
    usage = _typed(await session.control("get_context_usage"), ContextUsage)
    return ContextShown(
        total_tokens=usage.total_tokens,
        max_tokens=usage.max_tokens,
        percentage=usage.percentage,
        model=usage.model,
        categories=[Share(name=each.name, tokens=each.tokens) for each in usage.categories],
        auto_compact_threshold=usage.auto_compact_threshold,
    )


def _typed(reply: dict[str, Any], kind: type[KindT]) -> KindT:
    """An answer of Claude Code's, as far as it has the expected shape."""
    return convert(reply, kind)[0]
