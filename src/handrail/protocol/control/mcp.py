"""MCP servers: their state, calls of their tools, and messages to those that live in the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from handrail.protocol.control.base import SLOW, Acknowledged, Payload, Request

__all__ = [
    "McpCall",
    "McpCallResult",
    "McpMessage",
    "McpReadResource",
    "McpReconnect",
    "McpReply",
    "McpResource",
    "McpResourceContent",
    "McpServerInfo",
    "McpServerStatus",
    "McpServers",
    "McpServersSet",
    "McpSetServers",
    "McpStaging",
    "McpStatus",
    "McpToggle",
    "McpTool",
    "McpToolAnnotations",
    "StagedInput",
    "StagedOutput",
]


class McpServerInfo(Payload):
    name: str = ""
    version: str = ""


class McpToolAnnotations(Payload, rename="camel"):
    read_only: bool | None = None
    destructive: bool | None = None
    open_world: bool | None = None


class McpTool(Payload):
    name: str = ""
    description: str | None = None
    annotations: McpToolAnnotations | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class McpServerStatus(Payload, rename="camel"):
    name: str = ""
    status: Literal["connected", "failed", "needs-auth", "pending", "disabled", "connecting"] | str = ""
    server_info: McpServerInfo | None = None
    error: str | None = None
    config: dict[str, Any] | None = None
    transport: str | None = None
    scope: str | None = None
    source: str | None = None
    tools: tuple[McpTool, ...] = ()


class McpServers(Payload, rename="camel"):
    mcp_servers: tuple[McpServerStatus, ...] = ()


class McpStatus(Request[McpServers], tag="mcp_status"):
    timeout = SLOW
    live_reply: bool | UnsetType = field(default=UNSET, name="liveReply")


class McpServersSet(Payload):
    """A server that failed is in `added` and in `errors`."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    errors: dict[str, str] = field(default_factory=dict)


class McpSetServers(Request[McpServersSet], tag="mcp_set_servers"):
    """Replaces the whole dynamic set: a server that lives in the host is removed too, unless `servers` names it."""

    timeout = SLOW
    servers: Mapping[str, Any]
    hint: str | UnsetType = UNSET
    denied_tools: Sequence[str] | UnsetType = UNSET


class McpReconnect(Request[Acknowledged], tag="mcp_reconnect"):
    timeout = SLOW
    server_name: str = field(name="serverName")


class McpToggle(Request[Acknowledged], tag="mcp_toggle"):
    timeout = SLOW
    server_name: str = field(name="serverName")
    enabled: bool


class StagedInput(Payload):
    name: str
    lane_path: str


class StagedOutput(Payload):
    name: str
    lane_path: str
    if_match: str | UnsetType = UNSET


class McpStaging(Payload):
    ok: bool = False
    outputs: tuple[Any, ...] = ()
    inputs_used: tuple[Any, ...] = ()
    error_code: str | None = None
    detail: str | None = None
    retryable: bool | None = None
    refusal_limit: bool = False


class McpCallResult(Payload):
    content: Any = None
    structured_content: dict[str, Any] | None = field(default=None, name="structuredContent")
    meta: dict[str, Any] | None = field(default=None, name="_meta")
    staging: McpStaging | None = None


class McpCall(Request[McpCallResult], tag="mcp_call"):
    """`tool` is the full name, `mcp__server__tool`. With `check_permissions` the CLI asks `can_use_tool` first."""

    timeout = SLOW
    since = "2.1.120"
    tool: str
    arguments: Mapping[str, Any] | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    timeout_ms: float | UnsetType = UNSET
    result_not_for_model: bool | UnsetType = UNSET
    check_permissions: bool | UnsetType = UNSET
    input_files: Sequence[StagedInput] | UnsetType = UNSET
    output_files: Sequence[StagedOutput] | UnsetType = UNSET


class McpResourceContent(Payload):
    uri: str = ""
    mime_type: str | None = field(default=None, name="mimeType")
    text: str | None = None
    blob: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class McpResource(Payload):
    contents: tuple[McpResourceContent, ...] = ()


class McpReadResource(Request[McpResource], tag="mcp_read_resource"):
    """Only `ui://` resources are served this way."""

    timeout = SLOW
    since = "2.1.325"
    server_name: str = field(name="serverName")
    uri: str


class McpReply(Payload):
    """To the CLI, the JSON-RPC response; notifications want one too."""

    mcp_response: Any = None


class McpMessage(Request[McpReply], tag="mcp_message"):
    """A JSON-RPC message to or from an MCP server that lives in the host."""

    sender = "either"
    timeout = SLOW
    server_name: str = ""
    message: Any = None
