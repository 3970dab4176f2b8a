"""Errors as records: what went wrong in one process is raised in another, on whichever machine, as what it was."""

from __future__ import annotations

import msgspec

from handrail import errors
from handrail.errors import HandrailError

__all__ = ["ErrorRecord", "error_of", "record_of"]


class ErrorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An exception: its class by name, its message, and what else it carries."""

    kind: str
    message: str
    fields: dict[str, str | int | float | bool | None] = {}


def record_of(
    error: BaseException, *, where: str = "the other side", otherwise: type[HandrailError] = errors.HostError
) -> ErrorRecord:
    """An exception as a record. One that is not Handrail's own becomes an `otherwise` that names it and `where`."""
    if not isinstance(error, HandrailError):
        return ErrorRecord(kind=otherwise.__name__, message=f"{where} failed: {type(error).__name__}: {error}")
    return ErrorRecord(kind=_public_name(type(error)), message=str(error), fields=_plain_fields(error))


def error_of(record: ErrorRecord) -> HandrailError:
    """The exception that a record describes; a class that this version does not know becomes the base of all."""
    kind: type[HandrailError] = getattr(errors, record.kind) if record.kind in errors.__all__ else HandrailError
    # Not through __init__: some classes compose their message, and here it is composed already.
    error = kind.__new__(kind, record.message)
    vars(error).update(record.fields)
    return error


def _public_name(kind: type[BaseException]) -> str:
    return next(base.__name__ for base in kind.__mro__ if base.__name__ in errors.__all__)


def _plain_fields(error: BaseException) -> dict[str, str | int | float | bool | None]:
    plain = (str, int, float, bool, type(None))
    return {name: value for name, value in vars(error).items() if isinstance(value, plain)}
