"""One row of the API's table, and how a request finds its way through it: decoded, checked, done, encoded.

A handler says everything in its signature:

    async def send(hub: Hub, call: Call[Message, Nothing]) -> Sent:
        '''Send a message to a session.'''

The types of the body, the query and the answer are those of the annotations; the document of the API is made from the
same.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from handrail.server.calls import Call, Document
from handrail.server.problems import Problem
from handrail.server.roles import Role

if TYPE_CHECKING:
    from handrail.server.hub import Hub

__all__ = ["Handler", "Reply", "Route", "Signature"]

logger = logging.getLogger("handrail.server")

Handler = Callable[["Hub", Call[Any, Any]], Awaitable[Any]]

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a handler takes and gives."""

    body: type[Any] | None
    query: type[msgspec.Struct]
    answer: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back."""

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Route:
    """An address of the API. `role` is the least that may call it; None: anybody, without a token."""

    method: str
    path: str
    handler: Handler
    role: Role | None
    tag: str
    status: int = 200
    """Of an answer that has content."""
    largest_body: int = 1024 * 1024
    reads: bool = False
    """Whether a POST changes nothing: it is not written to the audit log, and needs no idempotency key."""
    produces: tuple[str, ...] = (JSON,)

    @property
    def acts(self) -> bool:
        """Whether a call may change something."""
        return self.method != "GET" and not self.reads

    @property
    def name(self) -> str:
        """What the route is called in the audit log, in metrics and in the API's document."""
        return f"{self.handler.__module__.rpartition('.')[2]}.{self.handler.__name__}"

    @property
    def summary(self) -> str:
        return (self.handler.__doc__ or "").strip().partition("\n")[0]

    @cached_property
    def signature(self) -> Signature:
        """What the handler's annotations say."""
        hints = get_type_hints(self.handler)
        body, query = get_args(hints["call"])
        return Signature(None if body is type(None) else body, query, hints["return"])

    def decode_query(self, pairs: Mapping[str, list[str]]) -> msgspec.Struct:
        """The query's parameters. Raises `Problem`."""
        kind = self.signature.query
        several = {each.encode_name for each in msgspec.structs.fields(kind) if _takes_several(each.type)}
        values: dict[str, Any] = {}
        for name, given in pairs.items():
            if name not in several and len(given) > 1:
                raise Problem("invalid", f"the parameter {name!r} is there {len(given)} times: give it once")
            values[name] = given if name in several else given[0]
        try:
            decoded = msgspec.convert(values, kind, strict=False)
        except msgspec.ValidationError as error:
            raise Problem("invalid", f"in the address: {error}") from None
        for each in msgspec.structs.fields(kind):
            if each.encode_name in values and getattr(decoded, each.name) is None:
                raise Problem("invalid", f"the parameter {each.encode_name!r} has no value: leave it out")
        return decoded

    def decode_body(self, content_type: str, content: bytes) -> Any:
        """The request's body. Raises `Problem`."""
        kind = self.signature.body
        if kind is None:
            return None
        if not content:
            content = b"{}"
        elif content_type.partition(";")[0].strip().lower() != JSON:
            raise Problem("unsupported_media_type", f"send JSON, with the header Content-Type: {JSON}")
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.ValidationError as error:
            raise Problem("invalid", str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Problem("bad_request", f"the body is no JSON: {error}") from None

    def encode(self, answer: Any) -> Reply:
        """What the handler gave, as it is sent."""
        if answer is None:
            return Reply(204)
        if isinstance(answer, Document):
            return Reply(answer.status, answer.content, {"content-type": answer.media_type, **answer.headers})
        return Reply(self.status, msgspec.json.encode(answer), {"content-type": JSON})


def _takes_several(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return (get_origin(kind) or kind) in (list, tuple, set, frozenset)
