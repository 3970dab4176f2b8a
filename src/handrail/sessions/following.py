"""Knowing when a turn is over for those who read its frames, who may be far behind the CLI."""

from __future__ import annotations

from handrail.protocol.frames import Frame, Result, SessionStateChanged
from handrail.protocol.tasks import BackgroundTasks
from handrail.sessions.turn import Turn

__all__ = ["Following"]


class Following:
    """Follows the frames of a client from the start of a turn to where nothing more of it is to come.

    That may be behind the turn's own result: background tasks that it left are followed to their end, of which the
    CLI takes notice in a turn of its own.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._tasks = BackgroundTasks()
        # The lines, not the frames: a frame that waited on disk was decoded again.
        self._results: set[bytes] = set()
        self._settled = False

    @property
    def background(self) -> tuple[str, ...]:
        """What runs in the background at this point of the frames, in words."""
        return tuple(name or "a task" for name in self._tasks.running.values())

    def receive(self, frame: Frame) -> None:
        """This frame was read."""
        self._tasks.receive(frame)
        if isinstance(frame, Result):
            self._results.add(frame.raw)
            self._settled = True
        if isinstance(frame, SessionStateChanged) and frame.state == "idle" and self._results:
            self._settled = True
        if self._tasks.running:
            self._settled = False

    def over(self, *, ignore_background: bool = False) -> bool:
        """Whether the turn's own result was read and nothing more is to come.

        Raises `MessageDropped` if there will be no result. If the CLI is gone, the frames say so, behind those that
        came before.
        """
        self._turn.raise_if_dropped()
        result = self._turn.result
        return result is not None and result.raw in self._results and (self._settled or ignore_background)
