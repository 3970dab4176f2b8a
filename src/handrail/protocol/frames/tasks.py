"""Frames of type `system` that follow background tasks and subagents."""

from __future__ import annotations

from typing import Any

from handrail.protocol.blocks import Value
from handrail.protocol.frames.base import System

__all__ = [
    "BackgroundTask",
    "BackgroundTasksChanged",
    "TaskNotification",
    "TaskProgress",
    "TaskStarted",
    "TaskUpdated",
    "TaskUsage",
]


class TaskUsage(Value):
    total_tokens: int | None = None
    tool_uses: int | None = None
    duration_ms: float | None = None


class TaskStarted(System, tag="task_started"):
    task_id: str = ""
    run_id: str | None = None
    tool_use_id: str | None = None
    description: str = ""
    subagent_type: str | None = None
    is_backgrounded: bool | None = None
    spawn_depth: int | None = None
    parent_task_id: str | None = None
    task_type: str | None = None
    workflow_name: str | None = None
    prompt: str | None = None
    skip_transcript: bool | None = None
    ambient: bool | None = None


class TaskProgress(System, tag="task_progress"):
    task_id: str = ""
    run_id: str | None = None
    tool_use_id: str | None = None
    description: str = ""
    subagent_type: str | None = None
    usage: TaskUsage | None = None
    last_tool_name: str | None = None
    summary: str | None = None


class TaskUpdated(System, tag="task_updated"):
    task_id: str = ""
    run_id: str | None = None
    patch: dict[str, Any] | None = None


class TaskNotification(System, tag="task_notification"):
    task_id: str = ""
    run_id: str | None = None
    tool_use_id: str | None = None
    status: str = ""
    reason: str | None = None
    output_file: str | None = None
    summary: str | None = None
    usage: TaskUsage | None = None
    resource_links: Any = None
    skip_transcript: bool | None = None
    ambient: bool | None = None


class BackgroundTask(Value):
    task_id: str = ""
    run_id: str | None = None
    task_type: str | None = None
    subagent_type: str | None = None
    description: str | None = None
    parent_task_id: str | None = None
    ambient: bool | None = None


class BackgroundTasksChanged(System, tag="background_tasks_changed"):
    tasks: tuple[BackgroundTask, ...] = ()
