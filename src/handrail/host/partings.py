"""Why there is no connection to the hub, in words, and whether it is worth trying again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from websockets.exceptions import ConnectionClosed, InvalidStatus

from handrail.link.problems import told_by

__all__ = ["Closing", "Parting", "cut_off", "turned_away"]

NOT_A_HUB = frozenset({401, 403, 404, 405, 421})
"""What is answered at an address where no hub takes hosts, or not under this name."""
UNKNOWN_KEY = "not_authenticated"
"""How a hub says so. Whatever else answers 401 in front of it, such as a proxy that wants a login, knows no keys."""


class Closing(IntEnum):
    """Why the hub, or the host, closes a connection."""

    NOT_UNDERSTOOD = 4400
    REVOKED = 4401
    CONFLICT = 4409
    OTHER_VERSION = 4426


@dataclass(frozen=True)
class Parting:
    """Why there is no connection. A `hopeless` one need not be tried again soon; a `final` one never."""

    text: str
    hopeless: bool = False
    final: bool = False


def turned_away(hub: str, error: InvalidStatus) -> Parting:
    """The hub, or whatever answers in its place, did not open a connection."""
    status, told = error.response.status_code, told_by(bytes(error.response.body or b""))
    if told.code == UNKNOWN_KEY:
        return _unknown(hub)
    if status in NOT_A_HUB:
        words = told.detail or f"it answered with {status}; check the address, and the hub's version"
        return Parting(f"what answers at {hub} takes no hosts: {words}", hopeless=True)
    return Parting(f"{hub} answered with {status}" + (f": {told.detail}" if told.detail else ""))


def cut_off(hub: str, name: str, error: ConnectionClosed, *, is_new: bool) -> Parting:
    """The connection ended. Only a host that `is_new` gives up over something that may pass: others have sessions."""
    code, reason = (error.rcvd.code, error.rcvd.reason) if error.rcvd is not None else (0, "")
    match code:
        case Closing.REVOKED:
            return _unknown(hub)
        case Closing.CONFLICT:
            words = f"another agent is connected with the key of {name}: end that one, or enrol this machine anew"
            return Parting(words, hopeless=True, final=is_new)
        case Closing.OTHER_VERSION:
            words = f"the hub does not work with this version of Handrail ({reason}): upgrade the older one"
            return Parting(words, hopeless=True, final=is_new)
        case Closing.NOT_UNDERSTOOD:
            return Parting(f"the hub did not understand this host: {reason}", hopeless=True)
    return Parting("the connection was lost" + (f": {reason}" if reason else ""))


def _unknown(hub: str) -> Parting:
    return Parting(
        f"the hub at {hub} does not know this host any more: enrol it again with a new code "
        "(`handrail host enrol` on the hub)",
        final=True,
    )
