"""What goes wrong between a program and a hub, and has no error of its own without one."""

from __future__ import annotations

from handrail import errors

__all__ = ["HubError", "HubUnreachable"]


class HubError(errors.HandrailError):
    """The hub refused, for a reason that has no error of its own here: `code` is the problem's."""

    def __init__(self, message: str, *, code: str, status: int) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class HubUnreachable(errors.HandrailError):
    """There is no hub, or it does not answer."""
