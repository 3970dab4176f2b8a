"""Numbers as people read them, in the words of the terminal: durations, costs, tokens, moments."""

from __future__ import annotations

import time

from handrail.rendering.amounts import count
from handrail.wording import context, tokens

__all__ = ["context", "cost", "count", "duration", "elapsed", "moment", "tokens", "waiting_time"]

_MINUTE = 60
_HOUR = 3600
_DAY = 24 * _HOUR
_STEPS = ((_MINUTE, 5), (10 * _MINUTE, 15))
"""How exact the time is that something has taken so far: each change of it is an edit of a message."""


def duration(milliseconds: float) -> str:
    """How long something took."""
    seconds = milliseconds / 1000
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours} h {minutes} min"


def elapsed(seconds: float) -> str:
    """How long something has been going on, the less exact the longer it is."""
    whole = max(0, int(seconds))
    for below, step in _STEPS:
        if whole < below:
            whole -= whole % step
            return f"{whole} s" if whole < _MINUTE else f"{whole // _MINUTE}:{whole % _MINUTE:02}"
    return waiting_time(whole)


def waiting_time(seconds: float) -> str:
    """`42 min`, `2 h 10 min`, `3 d 4 h`."""
    minutes = max(1, int(seconds) // _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, _MINUTE)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def cost(dollars: float) -> str:
    """What something cost."""
    return f"${dollars:.4f}" if 0 < dollars < 0.01 else f"${dollars:.2f}"


def moment(at: float, now: float) -> str:
    """`14:03`, with the day if it is not today's, in the time of the machine that runs the bridge."""
    then = time.localtime(at)
    today = time.localtime(now)
    clock = time.strftime("%H:%M", then)
    return (
        clock
        if (then.tm_year, then.tm_yday) == (today.tm_year, today.tm_yday)
        else time.strftime("%b %-d, ", then) + clock
    )
