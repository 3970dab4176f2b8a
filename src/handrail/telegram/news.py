"""What is new of a session and must be told in chats, gathered from its events as they come."""

from __future__ import annotations

from dataclasses import dataclass, field

from handrail.events import model as events
from handrail.events.view import AskItem, PromptItem, RunItem, SessionView

__all__ = ["News"]

UNDONE = frozenset({"dropped", "lost"})


@dataclass(slots=True)
class News:
    """What happened since it was told last. Each piece is kept with the number of its event, and as it stands now."""

    asks: dict[str, tuple[int, AskItem]] = field(default_factory=dict)
    runs: list[tuple[int, RunItem]] = field(default_factory=list)
    """Those that are over."""
    prompts: list[tuple[int, PromptItem]] = field(default_factory=list)
    """New ones."""
    undone: list[tuple[int, PromptItem]] = field(default_factory=list)
    """Messages that nobody will answer."""
    exits: list[events.ProcessExited] = field(default_factory=list)
    """Of processes that were not asked to go, and were in the middle of nothing."""
    strange_asks: list[tuple[int, str]] = field(default_factory=list)
    """Asks that are over and that the view knows nothing of."""

    def take(self, view: SessionView, event: events.Event) -> None:
        """An event that the view has taken in already."""
        match event:
            case events.AskOpened() | events.AskClosed():
                self._take_ask(view, event.seq, event.ask_id)
            case events.Completed() if view.runs:
                self.runs.append((event.seq, view.runs[-1]))
            case events.Prompt(content=content, uuid=uuid) if content is not None and uuid in view.prompts:
                self.prompts.append((event.seq, view.prompts[uuid]))
            case events.Prompt(state=state, uuid=uuid) if state in UNDONE and uuid in view.prompts:
                self.undone.append((event.seq, view.prompts[uuid]))
            case events.ProcessExited(expected=False) if not view.runs or view.runs[-1].ok is not False:
                self.exits.append(event)

    def _take_ask(self, view: SessionView, seq: int, ask_id: str) -> None:
        item = view.asks.get(ask_id) or view.closed_asks.get(ask_id)
        if item is not None:
            self.asks[ask_id] = (seq, item)
        else:
            self.strange_asks.append((seq, ask_id))

    def __bool__(self) -> bool:
        return bool(self.asks or self.runs or self.prompts or self.undone or self.exits or self.strange_asks)
