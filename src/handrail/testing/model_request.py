"""What a scripted model was asked: one record per HTTP request, and what a test wants to know about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from handrail.testing.replies import Reply

__all__ = ["ModelRequest", "Outcome", "is_side_request", "is_summary_request"]

Outcome: TypeAlias = Literal["pending", "answered", "failed", "dropped", "disconnected"]

_REMINDER = "<system-reminder>"
_SIDE_QUESTION = "<system-reminder>This is a side question"
_SUMMARY_TASK = "Your task is to create a detailed summary"
_AGENT_PROMPTS = ("You are an interactive", "You are an agent")


@dataclass(eq=False, slots=True)
class ModelRequest:
    """One request as it arrived, and what became of it.

    `conversation` is `main`, `side` (the CLI's own small questions), `subagent` (one that no script names),
    or the name of a scripted conversation; None for anything but a message request. `index` is the reply's
    position in that script. `outcome` says how it ended: answered, failed (an error answer), dropped (a
    scripted loss of the connection), disconnected (the client left before the end), or pending.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: Any
    conversation: str | None = None
    reply: Reply | None = None
    index: int | None = None
    outcome: Outcome = "pending"

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, as it was sent."""
        return self._list("messages")

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self._field("model") or "")

    @property
    def streaming(self) -> bool:
        """Whether the client wants server-sent events."""
        return self._field("stream") is True

    @property
    def system(self) -> str:
        """The system prompt as one text."""
        return "\n".join(_texts(self._field("system")))

    @property
    def tools(self) -> list[str]:
        """The names of the tools on offer."""
        return [str(tool.get("name")) for tool in self._list("tools")]

    @property
    def prompt(self) -> str:
        """What the user (or the parent agent) said first, without the reminders that the CLI adds."""
        for message in self.messages:
            if message.get("role") == "user" and (text := _spoken(message)):
                return text
        return ""

    @property
    def last_text(self) -> str:
        """The text of the last user message, reminders included."""
        for message in reversed(self.messages):
            if message.get("role") == "user":
                return "\n".join(_texts(message.get("content")))
        return ""

    @property
    def tool_results(self) -> dict[str, dict[str, Any]]:
        """The results in the last message that has any, by `tool_use_id`."""
        for message in reversed(self.messages):
            if results := {block["tool_use_id"]: block for block in _blocks(message, "tool_result")}:
                return results
        return {}

    @property
    def agent_id(self) -> str | None:
        """The subagent that asks, where the CLI is new enough to say."""
        return self.headers.get("x-claude-code-agent-id")

    def _field(self, name: str) -> Any:
        return self.body.get(name) if isinstance(self.body, dict) else None

    def _list(self, name: str) -> list[dict[str, Any]]:
        """A field that should be a list of objects, as far as it is one."""
        items = self._field(name)
        return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def is_summary_request(request: ModelRequest) -> bool:
    """Whether the CLI asks for a summary, to compact a conversation."""
    return _SUMMARY_TASK in request.last_text


def is_side_request(request: ModelRequest) -> bool:
    """Whether this is one of the CLI's own questions: a title, a command's prefix, a page's gist, a summary …

    Such requests mostly offer no tools; but neither does an agent that was launched with none, and that one
    is told by its system prompt, or by `context_management`, which only agents ask for.
    """
    if is_summary_request(request) or request.last_text.startswith(_SIDE_QUESTION):
        return True
    if request.tools or "context_management" in request.body:
        return False
    return not any(prompt in request.system for prompt in _AGENT_PROMPTS)


def _spoken(message: Mapping[str, Any]) -> str:
    return "\n".join(text for text in _texts(message.get("content")) if not text.startswith(_REMINDER))


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    return [block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]


def _blocks(message: Mapping[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind:
            yield block
