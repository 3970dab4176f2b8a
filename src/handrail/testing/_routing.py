"""Which script a request belongs to: the main one, a named conversation's, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import Reply, Script, ScriptEntry, ToolUse

__all__ = ["MAIN", "Conversation", "Router"]

MAIN, _SIDE, _SUBAGENT = "main", "side", "subagent"
_SUBAGENT_TOOLS = ("Agent", "Task")


@dataclass(frozen=True, slots=True)
class Conversation:
    """A script for the requests that `when` picks out."""

    replies: Iterable[ScriptEntry]
    when: Callable[[ModelRequest], bool]


class Router:
    """Decides which script a request belongs to."""

    def __init__(
        self,
        main: Iterable[ScriptEntry],
        conversations: Mapping[str, Iterable[ScriptEntry] | Conversation],
        is_side: Callable[[ModelRequest], bool],
    ) -> None:
        if taken := {MAIN, _SIDE, _SUBAGENT} & conversations.keys():
            raise ValueError(f"conversations cannot be named {', '.join(sorted(taken))}: choose another name")
        self._is_side = is_side
        self._scripts = {MAIN: Script(main)}
        self._chosen: list[tuple[str, Callable[[ModelRequest], bool]]] = []
        self._marked: list[str] = []
        self._given_prompts: set[object] = set()
        for name, conversation in conversations.items():
            self._add(name, conversation)

    def _add(self, name: str, conversation: Iterable[ScriptEntry] | Conversation) -> None:
        if isinstance(conversation, Conversation):
            self._chosen.append((name, conversation.when))
            self._scripts[name] = Script(conversation.replies)
        else:
            self._marked.append(name)
            self._scripts[name] = Script(conversation)

    def script(self, conversation: str) -> Script:
        try:
            return self._scripts[conversation]
        except KeyError:
            known = ", ".join(map(repr, self._scripts))
            raise ValueError(f"no script is named {conversation!r}; there are {known}") from None

    def route(self, request: ModelRequest) -> tuple[str, Script | None]:
        """The conversation's name, and its script if it has one."""
        name = self._name(request)
        return name, self._scripts.get(name)

    def _name(self, request: ModelRequest) -> str:
        for name, when in self._chosen:
            if when(request):
                return name
        if self._is_side(request):
            return _SIDE
        for marker in self._marked:
            if marker in request.prompt:
                return marker
        return _SUBAGENT if self._is_subagent(request) else MAIN

    def _is_subagent(self, request: ModelRequest) -> bool:
        return request.agent_id is not None or request.prompt in self._given_prompts

    def expect_subagents(self, reply: Reply) -> None:
        """Remember the prompts given to subagents: older CLIs do not say which requests are a subagent's."""
        for block in reply.blocks:
            if isinstance(block, ToolUse) and block.name in _SUBAGENT_TOOLS:
                self._given_prompts.add(block.input.get("prompt"))
