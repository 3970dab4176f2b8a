"""The lives of control requests and of asks, as transition tables: nothing else may change their state.

Ours:    WAITING ── answer ──▶ ANSWERED        a second answer changes nothing (2.1.37 sends two)
            ├────── expire ──▶ EXPIRED         a late answer changes nothing
            ├────── withdraw ▶ WITHDRAWN       we told the CLI that we no longer want an answer
            └────── lose ────▶ LOST            the CLI is gone

Theirs:  PENDING ── respond ─▶ ANSWERED        the CLI may still cancel it: too late, and harmless
            ├────── cancel ──▶ CANCELLED       the CLI no longer wants an answer
            └────── lose ────▶ LOST

Asks:    PENDING ── decide ──▶ DECIDED ── send ──▶ SENT
            ▲ ◀──── withdraw ──┤               the decision could not be recorded: nobody has decided
            ├────── cancel ────┴▶ CANCELLED    the CLI no longer wants an answer, not even one that is on its way
            ├────── expire ────▶ EXPIRED       nobody answered in time, and the CLI is told just that
            └────── lose ──────▶ LOST          the CLI is gone, with the decision if there was one
"""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

__all__ = ["ASKS", "OURS", "THEIRS", "AskState", "Move", "Ours", "Theirs", "next_state"]


class Ours(Enum):
    """States of a request that we made of the CLI."""

    WAITING = "waiting"
    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    LOST = "lost"


class Theirs(Enum):
    """States of a request that the CLI made of us."""

    PENDING = "pending"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    LOST = "lost"


class AskState(Enum):
    """States of an ask. Only a pending one can be answered."""

    PENDING = "pending"
    DECIDED = "decided"
    SENT = "sent"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    LOST = "lost"


class Move(Enum):
    """What can happen to a request or to an ask."""

    ANSWER = "answer"
    EXPIRE = "expire"
    WITHDRAW = "withdraw"
    RESPOND = "respond"
    CANCEL = "cancel"
    LOSE = "lose"
    DECIDE = "decide"
    SEND = "send"


OURS: dict[Ours, dict[Move, Ours]] = {
    Ours.WAITING: {
        Move.ANSWER: Ours.ANSWERED,
        Move.EXPIRE: Ours.EXPIRED,
        Move.WITHDRAW: Ours.WITHDRAWN,
        Move.LOSE: Ours.LOST,
    },
    Ours.ANSWERED: {Move.ANSWER: Ours.ANSWERED},
    Ours.EXPIRED: {Move.ANSWER: Ours.EXPIRED},
    Ours.WITHDRAWN: {Move.ANSWER: Ours.WITHDRAWN},
    Ours.LOST: {},
}

THEIRS: dict[Theirs, dict[Move, Theirs]] = {
    Theirs.PENDING: {
        Move.RESPOND: Theirs.ANSWERED,
        Move.CANCEL: Theirs.CANCELLED,
        Move.LOSE: Theirs.LOST,
    },
    Theirs.ANSWERED: {Move.CANCEL: Theirs.ANSWERED},
    Theirs.CANCELLED: {Move.CANCEL: Theirs.CANCELLED},
    Theirs.LOST: {},
}

ASKS: dict[AskState, dict[Move, AskState]] = {
    AskState.PENDING: {
        Move.DECIDE: AskState.DECIDED,
        Move.CANCEL: AskState.CANCELLED,
        Move.EXPIRE: AskState.EXPIRED,
        Move.LOSE: AskState.LOST,
    },
    AskState.DECIDED: {
        Move.SEND: AskState.SENT,
        Move.WITHDRAW: AskState.PENDING,
        Move.CANCEL: AskState.CANCELLED,
        Move.LOSE: AskState.LOST,
    },
    AskState.SENT: {},
    AskState.CANCELLED: {},
    AskState.EXPIRED: {},
    AskState.LOST: {},
}

State = TypeVar("State", Ours, Theirs, AskState)


def next_state(table: dict[State, dict[Move, State]], state: State, move: Move) -> State | None:
    """The state after `move`, or None if the move is not allowed in `state`."""
    return table[state].get(move)
