"""How much a viewer may be sent before it says that it took it in."""

from __future__ import annotations

from collections import deque

__all__ = ["Credit"]

BYTES = 1024 * 1024
MESSAGES = 2_000


class Credit:
    """What was sent and not acknowledged. While that is too much, nothing that is in the journal is sent.

    The last message may go beyond the limit: otherwise one that is larger than it could never be sent.
    """

    def __init__(self, *, bytes: int | None = None, messages: int | None = None) -> None:
        self._bytes = BYTES if bytes is None else bytes
        self._messages = MESSAGES if messages is None else messages
        self._sent: dict[str, deque[tuple[int, int]]] = {}
        self._acknowledged: dict[str, int] = {}
        self._size = 0
        self._count = 0

    @property
    def is_left(self) -> bool:
        return self._size < self._bytes and self._count < self._messages

    @property
    def unacknowledged(self) -> tuple[int, int]:
        """Bytes and messages."""
        return self._size, self._count

    def spend(self, session_id: str, seq: int, size: int) -> None:
        """A message was sent that takes a viewer to event number `seq` of a session.

        One that takes it nowhere, because only the state changed, will not be acknowledged by itself.
        """
        if seq <= self._acknowledged.get(session_id, 0):
            return
        self._sent.setdefault(session_id, deque()).append((seq, size))
        self._size += size
        self._count += 1

    def acknowledge(self, session_id: str, seq: int) -> None:
        """Everything up to event number `seq` of a session was taken in."""
        self._acknowledged[session_id] = max(seq, self._acknowledged.get(session_id, 0))
        sent = self._sent.get(session_id)
        while sent and sent[0][0] <= seq:
            self._size -= sent.popleft()[1]
            self._count -= 1

    def forget(self, session_id: str) -> None:
        """The session is not followed any more: what was sent of it needs no acknowledgement."""
        self._acknowledged.pop(session_id, None)
        for _, size in self._sent.pop(session_id, ()):
            self._size -= size
            self._count -= 1
