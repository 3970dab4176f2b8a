"""What a hub says of a request that it refused, told from what others say who answer in its place."""

from __future__ import annotations

import msgspec

__all__ = ["Told", "told_by"]


class Told(msgspec.Struct, frozen=True):
    """Why a hub refused something, as a `code` and in words. Both are empty if it was no hub that answered."""

    code: str = ""
    detail: str = ""


def told_by(body: bytes) -> Told:
    """What the body of an answer says. Proxies that want a login or miss their hub answer with pages of their own."""
    try:
        return msgspec.json.decode(body, type=Told)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Told()
