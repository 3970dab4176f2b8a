"""What is known of a session beside its conversation: its id, its mode, its model, whether it is being compacted."""

from __future__ import annotations

from typing import Any

from handrail.events.model import Compacting, Event, ModeChanged, ModelChanged, SessionRekeyed
from handrail.events.notices import note, warning
from handrail.protocol.frames import CompactBoundary, ConversationReset, Init, ModelRefusalFallback, Status

__all__ = ["Facts"]

FRAMING = frozenset({"type", "subtype", "uuid", "session_id", "content"})


class Facts:
    """The session as the CLI last told of it, and each change as an event."""

    def __init__(self, *, resume: str | None, fork: bool, mode: str | None, model: str | None) -> None:
        self.session_id = None if fork else resume
        """The CLI's id of the session."""
        self._resume = resume
        self._fork = fork
        self._mode = mode
        self._model = model
        self._reset = ""
        self._compacting = ""

    # ------------------------------------------------------------ identity

    def is_another(self, frame: Init) -> bool:
        """Whether the first `init` of a resumed session shows a session that nobody asked for."""
        return not self._fork and bool(self._resume) and frame.session_id not in (None, self._resume)

    def described(self, frame: Init, *, first: bool) -> list[Event]:
        """The CLI describes the session: it may be another one than before."""
        previous = self._resume if first and self._fork else self.session_id
        reason = self._reset or ("fork" if first and self._fork else "new session")
        self._reset = ""
        if frame.session_id is None:
            return []
        self.session_id = frame.session_id
        if previous is None or previous == frame.session_id:
            return []
        return [SessionRekeyed(resume=frame.session_id, previous=previous, reason=reason)]

    def reset(self, frame: ConversationReset) -> list[Event]:
        """The conversation begins anew. The next `init` shows what the session is called from now on."""
        self._reset = frame.trigger or "reset"
        words = f"The conversation was reset ({self._reset})"
        return [note(words, id=frame.uuid, trigger=frame.trigger, conversation_id=frame.new_conversation_id)]

    # ------------------------------------------------------------ mode and model

    def assume(self, mode: str, model: str) -> None:
        """What the start of a run says of a session of which nothing was known is no change."""
        self._mode = self._mode or mode
        self._model = self._model or model

    def mode_is(self, mode: str | None) -> list[Event]:
        if not mode or mode == self._mode:
            return []
        previous, self._mode = self._mode, mode
        return [ModeChanged(mode=mode, previous=previous)]

    def model_is(self, model: str | None, reason: str = "") -> list[Event]:
        """The model may have been asked for by a shorter name: that is no change."""
        if not model or model == self._model:
            return []
        previous, self._model = self._model, model
        if previous and previous in model:
            return []
        return [ModelChanged(model=model, previous=previous, reason=reason)]

    def refused(self, frame: ModelRefusalFallback) -> list[Event]:
        """A model refused, and another one goes on, or the first one again."""
        detail = {name: value for name, value in frame.data.items() if name not in FRAMING}
        told = warning(frame.content or "The model refused to answer", id=frame.uuid, refusal=detail)
        model = frame.original_model if frame.direction == "revert" else frame.fallback_model
        return [told, *self.model_is(model, "refusal")]

    # ------------------------------------------------------------ compaction

    def status(self, frame: Status) -> list[Event]:
        changed = self.mode_is(frame.permission_mode)
        if frame.status == "compacting":
            self._compacting = "started"
            changed.append(Compacting(phase="started"))
        if frame.compact_result == "failed":
            self._compacting = ""
            changed.append(Compacting(phase="failed", error=frame.compact_error))
        elif frame.compact_result is not None:
            self._compacting = "done"  # what it did is told with the boundary
        return changed

    def compacted(self, frame: CompactBoundary) -> list[Event]:
        self._compacting = ""
        told = frame.compact_metadata or {}
        trigger = told.get("trigger")
        return [
            Compacting(
                phase="completed",
                trigger=trigger if isinstance(trigger, str) else "",
                tokens_before=_count(told.get("pre_tokens")),
                tokens_after=_count(told.get("post_tokens")),
                detail=told,
            )
        ]

    def run_ended(self) -> list[Event]:
        """A compaction that was done without a word of what it did."""
        return self._end_compaction() if self._compacting == "done" else []

    def process_ended(self, why: str) -> list[Event]:
        return self._end_compaction(why) if self._compacting else []

    def _end_compaction(self, why: str = "") -> list[Event]:
        done, self._compacting = self._compacting == "done", ""
        return [Compacting(phase="completed") if done else Compacting(phase="failed", error=why)]


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
