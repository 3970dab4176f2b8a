"""What goes wrong on demand: lost connections, lost answers, refusals, slowness, updates that come twice."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from handrail.testing.telegram.api_errors import ApiError

__all__ = ["Faults"]


@dataclass(slots=True)
class _Fault:
    kind: str
    methods: frozenset[str]
    """In lower case; empty for every method."""
    left: int
    error: ApiError | None = None
    seconds: float = 0

    def concerns(self, method: str) -> bool:
        return self.left > 0 and (not self.methods or method.lower() in self.methods)


class Faults:
    """The faults that are still to happen. Each is used up by the calls that it hits."""

    def __init__(self) -> None:
        self._faults: list[_Fault] = []
        self._repeats = 0

    def drop_connections(self, times: int = 1, *, methods: Collection[str] = ()) -> None:
        """Break the connection of the next calls, before anything is done."""
        self._faults.append(_Fault("drop", _names(methods), times))

    def accept_then_drop(self, method: str, times: int = 1) -> None:
        """Do what the call asks, and break the connection instead of answering."""
        self._faults.append(_Fault("lose", _names([method]), times))

    def fail(
        self, method: str, status: int, description: str, times: int = 1, *, retry_after: int | None = None
    ) -> None:
        """Refuse the next calls of a method with these words, without doing anything."""
        parameters = {} if retry_after is None else {"retry_after": retry_after}
        self._faults.append(_Fault("fail", _names([method]), times, ApiError(status, description, parameters)))

    def delay(self, method: str, seconds: float, times: int = 1) -> None:
        """Take this long before the next calls of a method are looked at."""
        self._faults.append(_Fault("delay", _names([method]), times, seconds=seconds))

    def repeat_updates(self, times: int = 1) -> None:
        """Deliver what was delivered last once more, in each of the next answers of getUpdates (or to the webhook)."""
        self._repeats += times

    def clear(self) -> None:
        """No more faults."""
        self._faults.clear()
        self._repeats = 0

    # What the server asks

    def takes_drop(self, method: str) -> bool:
        """Whether this call's connection is to break before it is looked at."""
        return self._take("drop", method) is not None

    def takes_loss(self, method: str) -> bool:
        """Whether this call's answer is to be lost."""
        return self._take("lose", method) is not None

    def takes_failure(self, method: str) -> ApiError | None:
        """The refusal that this call gets."""
        fault = self._take("fail", method)
        return fault.error if fault else None

    def takes_delay(self, method: str) -> float:
        """How long this call is held up."""
        fault = self._take("delay", method)
        return fault.seconds if fault else 0

    def takes_repeat(self) -> bool:
        """Whether updates are to be delivered again."""
        if self._repeats == 0:
            return False
        self._repeats -= 1
        return True

    def _take(self, kind: str, method: str) -> _Fault | None:
        for fault in self._faults:
            if fault.kind == kind and fault.concerns(method):
                fault.left -= 1
                return fault
        return None


def _names(methods: Collection[str]) -> frozenset[str]:
    return frozenset(method.lower() for method in methods)
