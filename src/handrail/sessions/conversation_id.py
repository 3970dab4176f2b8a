"""Which of Claude Code's conversations a live session is: its id there may become another one, and the lock follows."""

from __future__ import annotations

from uuid import uuid4

from handrail.errors import SessionError
from handrail.events.model import SessionRekeyed
from handrail.sessions.journal import Journal
from handrail.sessions.owning.locks import SessionLock

__all__ = ["ConversationId"]

ANOTHER = "another one dialled in"


class ConversationId:
    """The CLI's own id of one session's conversation, which the journal has as well. Owned by the session's engine."""

    def __init__(self, known: str | None, journal: Journal, lock: SessionLock, *, dials_in: bool) -> None:
        """`known` is what it was when the session was left; with `dials_in` somebody else may start another one."""
        self._current = known
        self._journal = journal
        self._lock = lock
        self._dials_in = dials_in
        self._is_confirmed = False
        """Whether this CLI has said which conversation it has."""

    def heard(self, said: str) -> bool:
        """The CLI says which conversation it has; whether it is another one, which is to be locked."""
        is_first, self._is_confirmed = not self._is_confirmed, True
        if said == self._current:
            return False
        previous, self._current = self._current, said
        self._journal.add(session={"cli_session_id": said})
        if self._dials_in and previous is not None and is_first:
            self._journal.add([SessionRekeyed(resume=said, previous=previous, reason=ANOTHER)])
        return True

    async def lock(self, conversation: str) -> None:
        """Keep other processes from this conversation, too."""
        try:
            await self._lock.follow(conversation)
        except SessionError as error:
            held = f"another process holds the conversation that this one became: {error}"
            self._journal.remark(held, warning=True)

    async def begin_another(self) -> str:
        """Leave the conversation for one that knows nothing of it; returns the id that it is to have."""
        previous, another = self._current, str(uuid4())
        await self._lock.follow(another)
        self._current = another
        rekeyed = SessionRekeyed(resume=another, previous=previous, reason="fresh context")
        self._journal.add([rekeyed], session={"cli_session_id": another})
        return another

    def begin_anew(self) -> None:
        """The CLI does not know the conversation any more, and begins it from nothing, under the same id."""
        if self._current is not None:
            rekeyed = SessionRekeyed(resume=self._current, reason="nothing was kept")
            self._journal.add([rekeyed], session={"cli_session_id": self._current})
