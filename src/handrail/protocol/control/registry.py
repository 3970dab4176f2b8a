"""Every request and every hook event by its name on the wire, read off the classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

from handrail.protocol.control import (
    context,
    conversation,
    dialogs,
    files,
    hook_inputs,
    hook_outputs,
    mcp,
    permissions,
    plugins,
    prompt_tool,
    session,
    settings,
    tasks,
)
from handrail.protocol.control.base import Payload, Request
from handrail.protocol.control.hook_inputs import HookInput

__all__ = ["CLI_REQUESTS", "HOOK_EVENTS", "HOST_REQUESTS"]

PayloadT = TypeVar("PayloadT", bound=Payload)

TOPICS = (
    permissions,
    hook_inputs,
    hook_outputs,
    conversation,
    settings,
    session,
    context,
    tasks,
    files,
    mcp,
    dialogs,
    plugins,
    prompt_tool,
)
"""The modules of the table, in the order in which they are read."""


def _structs_of(topic: ModuleType) -> Iterator[type[Payload]]:
    for name, value in vars(topic).items():
        if isinstance(value, type) and value.__module__ == topic.__name__ and not name.startswith("_"):
            yield value


_STRUCTS = [struct for topic in TOPICS for struct in _structs_of(topic)]


def structs(kind: type[PayloadT]) -> list[type[PayloadT]]:
    """The public structs of a kind, in the order of the table."""
    return [struct for struct in _STRUCTS if issubclass(struct, kind) and struct is not kind]


def _by_tag(structs: Iterable[type[PayloadT]]) -> Mapping[str, type[PayloadT]]:
    return MappingProxyType({str(struct.__struct_config__.tag): struct for struct in structs})


_REQUESTS: list[type[Request[Any]]] = structs(Request)

HOST_REQUESTS = _by_tag(request for request in _REQUESTS if request.sender != "cli")
"""Every request the host can send, by subtype."""

CLI_REQUESTS = _by_tag(request for request in _REQUESTS if request.sender != "host")
"""Every request the CLI can send, by subtype. A subtype that is not here is still owed an answer: an error."""

HOOK_EVENTS = _by_tag(structs(HookInput))
"""What each hook event's `input` decodes to. Newer CLIs have more events."""
