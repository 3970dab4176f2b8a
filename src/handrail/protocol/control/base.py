"""What the whole table shares: the base of every struct and request, and the words that several of them use."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, dataclass_transform, get_args

import msgspec
from msgspec import field

__all__ = [
    "PERMISSION_MODES",
    "SLOW",
    "Acknowledged",
    "DecisionClassification",
    "Effort",
    "ElicitationAction",
    "ElicitationMode",
    "Payload",
    "PermissionMode",
    "Request",
    "RuleBehavior",
    "RuleDestination",
    "Sender",
    "SessionState",
]


ReplyT_co = TypeVar("ReplyT_co", covariant=True)

Sender: TypeAlias = Literal["host", "cli", "either"]

PermissionMode: TypeAlias = Literal[
    "default",
    "acceptEdits",
    "plan",
    "auto",
    "dontAsk",
    "bypassPermissions",
    "delegate",  # gone by 2.1.52
]
PERMISSION_MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)

RuleBehavior: TypeAlias = Literal["allow", "deny", "ask"]
RuleDestination: TypeAlias = Literal["userSettings", "projectSettings", "localSettings", "session", "cliArg"]
DecisionClassification: TypeAlias = Literal["user_temporary", "user_permanent", "user_reject"]
Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
ElicitationMode: TypeAlias = Literal["form", "url"]
ElicitationAction: TypeAlias = Literal["accept", "decline", "cancel"]
SessionState: TypeAlias = Literal["idle", "running", "requires_action"]

SLOW = 60.0
"""The deadline of what may have to start a process or touch many files: initialize, MCP, rewind."""


class _KeywordOnly(msgspec.StructMeta):
    """Makes every struct keyword-only, which msgspec does not inherit: the order of fields is no contract."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> Any:
        return super().__new__(mcls, name, bases, namespace, kw_only=True, **config)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Payload(msgspec.Struct, frozen=True, omit_defaults=True, metaclass=_KeywordOnly):
    """An object inside a control frame."""


class Request(Payload, Generic[ReplyT_co], tag_field="subtype"):
    """The `request` of a control frame, answered with a `ReplyT_co`."""

    sender: ClassVar[Sender] = "host"
    reply: ClassVar[type[Payload]]
    """What the answer's `response` is."""
    timeout: ClassVar[float] = 30.0
    """Seconds to wait for the CLI's answer unless the caller says otherwise."""
    since: ClassVar[str | None] = "2.1.37"
    """The oldest CLI seen to know this request, of 2.1.37, .52, .62, .120, .197 and .325; None: none of them."""

    def __init_subclass__(cls) -> None:
        (base,) = cls.__dict__["__orig_bases__"]
        (cls.reply,) = get_args(base)

    @property
    def subtype(self) -> str:
        return str(self.__struct_config__.tag)


class Acknowledged(Payload):
    """An empty answer: it was done."""
