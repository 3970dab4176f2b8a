"""Content blocks and messages: what an `assistant` or a `user` frame carries.

Every union here is open: `Unknown` stands for a block type nobody modelled, with its JSON kept. Nothing but the
discriminator is required, because versions differ in what they send.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "Block",
    "CodeExecutionToolResult",
    "ContainerUpload",
    "Document",
    "Fallback",
    "Image",
    "McpToolResult",
    "McpToolUse",
    "Message",
    "RedactedThinking",
    "SearchResult",
    "ServerToolUse",
    "Source",
    "Text",
    "Thinking",
    "ToolReference",
    "ToolResult",
    "ToolUse",
    "Unknown",
    "Usage",
    "WebFetchToolResult",
    "WebSearchToolResult",
]

UNKNOWN_TAG = "(unknown)"


class Value(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """Part of a frame. Treat it as read-only: the frame's raw line is the truth."""


class Tagged(Value, tag_field="type"):
    """A part whose kind the wire names in `type`."""

    @property
    def type(self) -> str:
        return str(self.__struct_config__.tag)


class Unknown(Tagged, tag=UNKNOWN_TAG):
    """A block, delta or stream event of a type that this version of Handrail does not model: `data` is its JSON."""

    data: dict[str, Any] = msgspec.field(default_factory=dict, name="(data)")

    @property
    def type(self) -> str:
        return str(self.data.get("type", ""))


class Source(Value):
    """Where the bytes of an image or a document come from."""

    type: str = ""
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    content: Any = None


class Text(Tagged, tag="text"):
    text: str = ""
    citations: tuple[dict[str, Any], ...] | None = None
    cache_control: dict[str, Any] | None = None


class Thinking(Tagged, tag="thinking"):
    thinking: str = ""
    signature: str | None = None
    budget_tokens: int | None = None


class RedactedThinking(Tagged, tag="redacted_thinking"):
    data: str = ""


class ToolUse(Tagged, tag="tool_use"):
    id: str = ""
    name: str = ""
    input: Any = None
    caller: dict[str, Any] | None = None


class ServerToolUse(Tagged, tag="server_tool_use"):
    id: str = ""
    name: str = ""
    input: Any = None


class McpToolUse(Tagged, tag="mcp_tool_use"):
    id: str = ""
    name: str = ""
    server_name: str | None = None
    input: Any = None


class Image(Tagged, tag="image"):
    source: Source | None = None


class Document(Tagged, tag="document"):
    source: Source | None = None
    title: str | None = None
    context: str | None = None
    citations: dict[str, Any] | None = None
    cache_control: dict[str, Any] | None = None


class SearchResult(Tagged, tag="search_result"):
    source: str | None = None
    title: str | None = None
    content: Any = None


class ToolReference(Tagged, tag="tool_reference"):
    tool_name: str = ""


class ContainerUpload(Tagged, tag="container_upload"):
    file_id: str = ""


class Fallback(Tagged, tag="fallback"):
    """The model that answered is not the one that was asked."""

    from_model: Any = msgspec.field(default=None, name="from")
    to_model: Any = msgspec.field(default=None, name="to")


class WebSearchToolResult(Tagged, tag="web_search_tool_result"):
    tool_use_id: str = ""
    content: Any = None


class WebFetchToolResult(Tagged, tag="web_fetch_tool_result"):
    tool_use_id: str = ""
    content: Any = None


class CodeExecutionToolResult(Tagged, tag="code_execution_tool_result"):
    tool_use_id: str = ""
    content: Any = None


class McpToolResult(Tagged, tag="mcp_tool_result"):
    tool_use_id: str = ""
    is_error: bool | None = None
    content: Any = None


ResultPart = Text | Image | Document | SearchResult | ToolReference | Unknown


class ToolResult(Tagged, tag="tool_result"):
    tool_use_id: str = ""
    content: str | tuple[ResultPart, ...] | None = None
    is_error: bool | None = None
    cache_control: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The result's text; parts that are not text are left out."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if isinstance(part, Text))


Block = (
    Text
    | Thinking
    | RedactedThinking
    | ToolUse
    | ToolResult
    | ServerToolUse
    | McpToolUse
    | Image
    | Document
    | SearchResult
    | ToolReference
    | ContainerUpload
    | Fallback
    | WebSearchToolResult
    | WebFetchToolResult
    | CodeExecutionToolResult
    | McpToolResult
    | Unknown
)


class Usage(Value):
    """Tokens of one API message, or of a whole turn. What is not modelled here is in the frame's `data`."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    service_tier: str | None = None
    cache_creation: dict[str, Any] | None = None
    server_tool_use: dict[str, Any] | None = None
    output_tokens_details: dict[str, Any] | None = None


class Message(Value):
    """An API message. `content` is a plain string only in what a host or a user wrote."""

    role: str = ""
    content: str | tuple[Block, ...] = ()
    id: str | None = None
    type: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The content as blocks, also where the wire had a plain string."""
        return (Text(text=self.content),) if isinstance(self.content, str) else self.content

    @property
    def text(self) -> str:
        """All text blocks, joined."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))
