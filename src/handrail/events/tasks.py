"""Subagents and work in the background, as the CLI tells of them.

Versions differ in how much they tell: the oldest only that a task began, newer ones its progress and its end, the
newest also a list of what runs in the background. Here each task has one start and one end whatever was told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from handrail.events.model import Task
from handrail.protocol.frames import (
    BackgroundTasksChanged,
    TaskNotification,
    TaskProgress,
    TaskStarted,
    TaskUpdated,
)

__all__ = ["Tasks"]

ENDED = frozenset({"completed", "failed", "stopped", "killed", "cancelled"})


@dataclass(slots=True)
class _OpenTask:
    id: str
    title: str = ""
    kind: str = ""
    background: bool | None = None
    tool_use_id: str | None = None
    parent: str | None = None
    status: str = "running"


class Tasks:
    """The tasks that run."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenTask] = {}

    def started(self, frame: TaskStarted, inside: str | None) -> list[Task]:
        """A task begins; `inside` is the action of the subagent that began it."""
        known = frame.task_id in self._open
        task = self._task(frame.task_id)
        task.title = frame.description or task.title
        task.kind = frame.task_type or task.kind
        task.tool_use_id = frame.tool_use_id or task.tool_use_id
        task.parent = frame.parent_task_id or self._of_action(inside)
        task.background = frame.is_backgrounded if frame.is_backgrounded is not None else task.background
        detail = _known(frame, ("run_id", "subagent_type", "spawn_depth", "workflow_name", "prompt", "ambient"))
        return [_told(task, "updated" if known else "started", detail=detail)]

    def progressed(self, frame: TaskProgress) -> list[Task]:
        """A task goes on."""
        known = frame.task_id in self._open
        task = self._task(frame.task_id)
        task.tool_use_id = frame.tool_use_id or task.tool_use_id
        detail = _known(frame, ("run_id", "subagent_type", "last_tool_name", "usage", "description"))
        summary = frame.summary or frame.description
        return [_told(task, "updated" if known else "started", detail=detail, summary=summary)]

    def updated(self, frame: TaskUpdated) -> list[Task]:
        """Something of a task changed. Its end is told by a notification, which says more."""
        patch = frame.patch or {}
        status = _text(patch, "status")
        known = frame.task_id in self._open
        late = not known and status in ENDED
        task = _OpenTask(frame.task_id) if late else self._task(frame.task_id)
        task.status = status or task.status
        task.title = _text(patch, "description") or task.title
        if isinstance(patch.get("is_backgrounded"), bool):
            task.background = patch["is_backgrounded"]
        return [_told(task, "updated" if known or late else "started", detail=patch, summary=_text(patch, "error"))]

    def notified(self, frame: TaskNotification) -> list[Task]:
        """A task is over."""
        task = self._task(frame.task_id)
        task.tool_use_id = frame.tool_use_id or task.tool_use_id
        task.status = frame.status or "completed"
        detail = _known(frame, ("run_id", "reason", "output_file", "usage", "resource_links", "ambient"))
        return [self._end(task, ok=task.status == "completed", detail=detail, summary=frame.summary or "")]

    def listed(self, frame: BackgroundTasksChanged) -> list[Task]:
        """What runs in the background now, all of it."""
        told: list[Task] = []
        for item in frame.tasks:
            known = item.task_id in self._open
            task = self._task(item.task_id)
            changed = not known or task.background is not True
            task.background = True
            task.title = task.title or item.description or ""
            task.kind = task.kind or item.task_type or ""
            task.parent = task.parent or item.parent_task_id
            if changed:
                told.append(_told(task, "updated" if known else "started", detail=_known(item, ("subagent_type",))))
        running = {item.task_id for item in frame.tasks}
        gone = [task for task in self._open.values() if task.background and task.id not in running]
        return told + [self._end(task, ok=_went_well(task)) for task in gone]

    def answered(self, tool_use_id: str, *, ok: bool, goes_on: bool) -> list[Task]:
        """The call that began a task has its result: the task is over too, unless it goes on in the background."""
        told: list[Task] = []
        for task in [task for task in self._open.values() if task.tool_use_id == tool_use_id]:
            if goes_on and task.background is None:
                task.background = True
                told.append(_told(task, "updated"))
            elif not goes_on and task.background is not True:
                task.status = "completed" if ok else "failed"
                told.append(self._end(task, ok=ok))
        return told

    def stop(self, task_id: str) -> list[Task]:
        """The oldest CLIs say only in the stopping tool's output that a task was stopped."""
        task = self._open.get(task_id)
        if task is None:
            return []
        task.status = "stopped"
        return [self._end(task, ok=False)]

    def cut(self, why: str) -> list[Task]:
        """The process is gone, and every task with it."""
        told = []
        for task in list(self._open.values()):
            ok = _went_well(task)
            if task.status not in ENDED:
                task.status = "lost"
            told.append(self._end(task, ok=ok or False, detail={"reason": why}))
        return told

    def _task(self, task_id: str) -> _OpenTask:
        return self._open.setdefault(task_id, _OpenTask(task_id))

    def _of_action(self, tool_use_id: str | None) -> str | None:
        """The task that an action began."""
        if tool_use_id is None:
            return None
        return next((task.id for task in self._open.values() if task.tool_use_id == tool_use_id), None)

    def _end(
        self, task: _OpenTask, *, ok: bool | None, detail: dict[str, Any] | None = None, summary: str = ""
    ) -> Task:
        del self._open[task.id]
        return _told(task, "completed", ok=ok, detail=detail, summary=summary)


def _told(
    task: _OpenTask, phase: Any, *, ok: bool | None = None, detail: dict[str, Any] | None = None, summary: str = ""
) -> Task:
    return Task(
        id=task.id,
        phase=phase,
        title=task.title,
        kind=task.kind,
        status=task.status,
        ok=ok,
        background=task.background,
        tool_use_id=task.tool_use_id,
        parent=task.parent,
        summary=summary,
        detail=detail or {},
    )


def _went_well(task: _OpenTask) -> bool | None:
    return task.status == "completed" if task.status in ENDED else None


def _known(frame: msgspec.Struct, names: tuple[str, ...]) -> dict[str, Any]:
    """Those of a frame's fields that say something."""
    fields = {name: getattr(frame, name) for name in names}
    return {name: msgspec.to_builtins(value) for name, value in fields.items() if value not in (None, "")}


def _text(patch: dict[str, Any], name: str) -> str:
    value = patch.get(name)
    return value if isinstance(value, str) else ""
