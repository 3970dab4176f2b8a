"""What goes on in a session now, beside its rows; and which members of it changed since a viewer saw it last."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.events.view import PromptItem, SessionView, TaskItem
from handrail.server.live.timeline import Timeline
from handrail.server.summaries import HERE, Where, owner_of
from handrail.store.base import SessionRow

__all__ = ["StateLog", "state_of"]

ALWAYS = ("status", "run")
"""Members that are in every message: a page looks at them to see that a run is over."""
SHOWN_TASKS = 50
LONGEST_QUEUED = 2_000


class _Settings(msgspec.Struct):
    """What the page shows of how a session is run."""

    worktree: dict[str, Any] | None = None
    budget: float | None = None


def state_of(timeline: Timeline, session: SessionRow, where: Where = HERE) -> dict[str, Any]:
    """The state of a session: what its events say, and what only its row in the store says."""
    view = timeline.view
    settings = msgspec.json.decode(session.settings, type=_Settings)
    owner = owner_of(session)
    worktree = settings.worktree or {}
    return {
        "status": view.status,
        "title": session.title or view.title,
        "cwd": view.cwd or session.cwd,
        "model": view.model or session.model,
        "mode": view.mode,
        "cli_version": view.cli_version,
        "resume": view.resume or session.cli_session_id,
        "context": {"tokens": view.context_tokens, "window": view.context_window},
        "cost_usd": round(view.cost_usd, 6),
        "run": None if view.run is None else {"number": view.run.number, "started_at": view.run.started_at},
        "running": [{"key": str(item.seq), "title": item.title} for item in view.now.values()],
        "retry": view.retry,
        "compacting": view.compacting,
        "exited": view.exited,
        "live": owner is not None,
        "owner": owner,
        "archived": session.archived,
        "forked_from": session.forked_from,
        "queued": [_queued(item) for item in view.prompts.values() if _waits(item, view)],
        "tasks": _tasks(timeline),
        "rate_limits": [_limit(limit) for limit in view.rate_limits.values()],
        "mcp": [_server(server) for server in view.meta.mcp_servers],
        "slash_commands": list(view.meta.slash_commands),
        "asks": list(view.asks),
        "worktree": worktree.get("branch") or None,
        "budget": settings.budget,
        **where._asdict(),
    }


def _waits(item: PromptItem, view: SessionView) -> bool:
    """Whether Claude has not begun with a message: we keep it, or the CLI does, until what runs is over."""
    if item.state == "sent":
        return view.run is not None and item.at > view.run.started_at
    return item.state == "queued"


def _queued(item: PromptItem) -> dict[str, Any]:
    return {
        "uuid": item.uuid,
        "text": item.text[:LONGEST_QUEUED],
        "state": item.state,
        "at": item.at,
        "by": item.by,
    }


def _tasks(timeline: Timeline) -> list[dict[str, Any]]:
    """Those that run, and of the others the latest."""
    tasks = list(timeline.view.tasks.values())
    over = [task for task in tasks if task.phase == "completed"][-SHOWN_TASKS:]
    shown = {task.id for task in over}
    return [_task(task, timeline) for task in tasks if task.phase != "completed" or task.id in shown]


def _task(task: TaskItem, timeline: Timeline) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "kind": task.kind,
        "status": task.status,
        "phase": task.phase,
        "ok": task.ok,
        "background": task.background,
        "parent": task.parent,
        "row": timeline.row_of_action(task.tool_use_id),
        "summary": task.summary,
        "started_at": task.started_at,
        "ended_at": task.ended_at,
        "progress": task.detail,
    }


def _limit(limit: Any) -> dict[str, Any]:
    return {
        "type": limit.limit_type,
        "status": limit.status,
        "utilization": limit.utilization,
        "resets_at": limit.resets_at,
    }


def _server(server: dict[str, Any]) -> dict[str, Any]:
    return {"name": str(server.get("name", "")), "status": str(server.get("status", ""))}


class StateLog:
    """The state as it was last looked at, and at which version each member of it became what it is."""

    def __init__(self) -> None:
        self.version = 0
        """Grows with every look at which something was different."""
        self.state: dict[str, Any] = {}
        self._changed: dict[str, int] = {}

    def look(self, state: dict[str, Any]) -> None:
        """The state is this now."""
        different = [name for name, value in state.items() if name not in self.state or self.state[name] != value]
        if different:
            self.version += 1
            self._changed.update(dict.fromkeys(different, self.version))
            self.state = state

    def since(self, version: int) -> dict[str, Any]:
        """The members that changed after `version`, and those that are always told."""
        return {name: value for name, value in self.state.items() if self._changed[name] > version or name in ALWAYS}
