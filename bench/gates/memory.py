"""How much memory this process uses. Where there is no /proc, only the highest use of its whole life is known."""

from __future__ import annotations

import gc
import resource
import sys
import tracemalloc
from pathlib import Path

__all__ = ["Peak", "allocated_bytes", "resident_bytes"]

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")
RESET_PEAK = "5"


class Peak:
    """The highest use of memory since this was made, and how much more that is than at first."""

    def __init__(self) -> None:
        gc.collect()
        self._resettable = STATUS.exists()
        if self._resettable:
            CLEAR_REFS.write_text(RESET_PEAK)
        self._before = resident_bytes()

    def total(self) -> int:
        return _status("VmHWM") if self._resettable else _highest_ever()

    def rise(self) -> int:
        return self.total() - self._before


def resident_bytes() -> int:
    return _status("VmRSS") if STATUS.exists() else _highest_ever()


def allocated_bytes() -> int:
    """What Python holds, as `tracemalloc` has traced it: resident pages would also tell what was free before."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _status(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


def _highest_ever() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
