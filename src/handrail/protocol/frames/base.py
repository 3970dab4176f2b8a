"""What every frame is, those of type `system` included, and what a line becomes that no struct fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from handrail.protocol.blocks import UNKNOWN_TAG, Value
from handrail.protocol.lenient import plain_object

__all__ = [
    "Frame",
    "Malformed",
    "System",
    "UnknownFrame",
    "encode",
]

NO_LINES: tuple[bytes, ...] = ()


class Frame(Value, tag_field="type", eq=False):
    """One message on the wire."""

    uuid: str | None = None
    session_id: str | None = None

    # Where the frame came from. These are struct fields only because msgspec structs have no other slots; their wire
    # names cannot occur, and the codec sets them after decoding.
    line_source: Sequence[bytes] = msgspec.field(default=NO_LINES, name="(line source)")
    line_index: int = msgspec.field(default=0, name="(line index)")
    problems: tuple[str, ...] = msgspec.field(default=(), name="(problems)")

    @property
    def type(self) -> str:
        """The wire's `type`."""
        return str(self.__struct_config__.tag)

    @property
    def raw(self) -> bytes:
        """The line as it was on the wire, without its newline; for a frame made here, as it would be."""
        if self.line_source is NO_LINES:
            return _encode_value(self)
        return self.line_source[self.line_index]

    @property
    def data(self) -> dict[str, Any]:
        """The whole line as plain JSON values."""
        return plain_object(self.raw)

    @property
    def extra(self) -> dict[str, Any]:
        """The fields of this line that the struct does not model."""
        modelled = {"type", "subtype", *self.__struct_encode_fields__}
        return {name: value for name, value in self.data.items() if name not in modelled}

    @property
    def degraded(self) -> bool:
        """Whether some field had an unexpected type; `problems` says which."""
        return bool(self.problems)


class System(Frame, tag_field="subtype"):
    """A `system` frame: `subtype` names its kind."""

    @property
    def type(self) -> str:
        return "system"

    @property
    def subtype(self) -> str:
        return str(self.__struct_config__.tag)


def encode(frame: Frame) -> bytes:
    """The frame as a line, without newline. A received frame gives back the JSON it came from."""
    return frame.raw


def _encode_value(frame: Frame) -> bytes:
    """JSON of a frame made on this side. Unknown parts go out as the JSON they hold."""
    body = _restore_unknown(msgspec.json.decode(msgspec.json.encode(frame)))
    if isinstance(frame, System):
        body = {"type": "system", **body}
    return msgspec.json.encode(body)


def _restore_unknown(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get("type") == UNKNOWN_TAG:
            return value.get("(data)", {})
        return {name: _restore_unknown(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_restore_unknown(item) for item in value]
    return value


class UnknownFrame(Frame, tag=UNKNOWN_TAG):
    """A frame of a type or subtype that this version of Handrail does not model. `data` has everything."""

    unknown_type: str = msgspec.field(default="", name="(type)")
    subtype: str | None = msgspec.field(default=None, name="(subtype)")

    @property
    def type(self) -> str:
        return self.unknown_type

    @property
    def extra(self) -> dict[str, Any]:
        return {name: value for name, value in self.data.items() if name not in {"type", "subtype"}}


class Malformed(Frame, tag="(malformed)"):
    """A line that is no JSON object, or longer than the limit. The stream goes on behind it.

    `kind` is what was wrong; `reason` says it in words; `raw` is the line, or its beginning if it was too long.
    """

    kind: Literal["not_json", "not_an_object", "no_type", "too_long", "too_deep"] = msgspec.field(
        default="not_json", name="(kind)"
    )
    reason: str = msgspec.field(default="", name="(reason)")
    size: int = msgspec.field(default=0, name="(size)")

    @property
    def type(self) -> str:
        return "malformed"

    @property
    def data(self) -> dict[str, Any]:
        return {}
