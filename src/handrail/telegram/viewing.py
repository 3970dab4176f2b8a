"""A followed session in memory: as much of it as its messages need, however long it is."""

from __future__ import annotations

from typing import Final

from handrail.events.view import ActionItem, AskItem, Item, SessionView, TextItem, ThinkingItem
from handrail.remote.reading import RemoteStore
from handrail.store.base import RunRow, SessionRow
from handrail.telegram.asks.desk import item_of

__all__ = ["opened_view", "trim", "turn_the_page"]

MOST_ITEMS: Final = 2_000
KEPT_ITEMS: Final = 1_000
"""How much of the timeline a run may have before its oldest part is dropped, and what is left of it then."""
WHOLE_ITEMS: Final = 50
"""How many of the latest entries are kept with everything that belongs to them."""
ESSENTIAL: Final = frozenset({"changes", "tool_name"})
"""What is kept of what an older tool call did."""


async def opened_view(store: RemoteStore, row: SessionRow, cursor: int) -> SessionView:
    """The session as it was when the run began that event number `cursor` belongs to: read on from `view.seq`."""
    runs = await store.runs(row.id)
    begun = [run for run in runs if run.started_seq <= cursor + 1]
    view = SessionView(seq=begun[-1].started_seq - 1 if begun else 0)
    view.title, view.cwd, view.model, view.resume = row.title, row.cwd, row.model, row.cli_session_id
    view.cost_usd = _cost_until(runs, view.seq)
    for ask in await store.asks(row.id, states=("pending",)):
        view.asks[ask.id] = item_of(ask)
    return view


def _cost_until(runs: list[RunRow], seq: int) -> float:
    return sum(run.cost_usd for run in runs if run.completed_seq is not None and run.completed_seq <= seq)


def turn_the_page(view: SessionView) -> None:
    """A run is over and was told of: what happened in it is not needed any more."""
    view.items = [item for item in view.items if _is_open(view, item)]
    view.actions = dict(view.now)
    view.prompts = {uuid: prompt for uuid, prompt in view.prompts.items() if prompt.state in ("queued", "sent")}
    view.closed_asks.clear()
    view.notices.clear()
    view.tasks = {task.id: task for task in view.running_tasks}
    view.runs = view.runs[-1:]


def trim(view: SessionView) -> None:
    """Drop the oldest part of a run that has become long."""
    if len(view.items) > MOST_ITEMS:
        old, view.items = view.items[:-KEPT_ITEMS], view.items[-KEPT_ITEMS:]
        view.items[:0] = [item for item in old if _is_open(view, item)]
        kept = {item.id for item in view.items if isinstance(item, ActionItem)}
        view.actions = {name: action for name, action in view.actions.items() if _belongs(action, view, kept)}
        view.notices = view.notices[-KEPT_ITEMS:]
    _slim(view.items)
    for action in view.now.values():
        _slim(action.children)
        if len(action.children) > MOST_ITEMS:
            del action.children[:-KEPT_ITEMS]


def _slim(items: list[Item]) -> None:
    """Whoever has become old keeps only what is still shown of it. Each is looked at once, as it gets old."""
    if len(items) <= WHOLE_ITEMS:
        return
    item = items[-WHOLE_ITEMS - 1]
    if isinstance(item, ActionItem) and item.phase == "completed":
        item.detail = {name: value for name, value in item.detail.items() if name in ESSENTIAL}
        item.children = [child for child in item.children if isinstance(child, ActionItem) and child.changes]
    elif isinstance(item, TextItem | ThinkingItem):
        item.text = ""


def _is_open(view: SessionView, item: Item) -> bool:
    if isinstance(item, AskItem):
        return item.outcome is None
    return isinstance(item, ActionItem) and item.id in view.now


def _belongs(action: ActionItem, view: SessionView, kept: set[str]) -> bool:
    """Whether it is shown, goes on, or happened inside one that goes on."""
    return action.id in kept or action.id in view.now or action.parent in view.now
