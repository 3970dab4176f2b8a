"""The methods of the Bot API, by name."""

from __future__ import annotations

from typing import NamedTuple

from handrail.testing.telegram.methods import account, asking, changing, chats, sending
from handrail.testing.telegram.methods.calling import Call, Method

__all__ = ["METHODS", "Call", "Method", "NamedMethod"]


class NamedMethod(NamedTuple):
    """A method and its name as the documentation writes it."""

    name: str
    run: Method


METHODS: dict[str, NamedMethod] = {
    name.lower(): NamedMethod(name, method)
    for group in (account.METHODS, sending.METHODS, changing.METHODS, asking.METHODS, chats.METHODS)
    for name, method in group.items()
}
"""Found by name in lower case: the real server does not look at the case either."""
