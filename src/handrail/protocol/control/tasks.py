"""Background tasks and queued messages: their output, and their end."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.protocol.control.base import Acknowledged, Payload, Request

__all__ = [
    "AsyncMessageCancelled",
    "BackgroundTasks",
    "CancelAsyncMessage",
    "GetTaskOutput",
    "StopTask",
    "TaskOutput",
    "TasksBackgrounded",
]


class StopTask(Request[Acknowledged], tag="stop_task"):
    since = "2.1.52"
    task_id: str


class TasksBackgrounded(Payload):
    backgrounded: bool | None = None


class BackgroundTasks(Request[TasksBackgrounded], tag="background_tasks"):
    since = "2.1.197"
    tool_use_id: str | UnsetType = UNSET


class TaskOutput(Payload):
    output: str = ""
    total_bytes: int = 0
    truncated: bool = False


class GetTaskOutput(Request[TaskOutput], tag="get_task_output"):
    since = "2.1.325"
    task_id: str


class AsyncMessageCancelled(Payload):
    cancelled: bool = False


class CancelAsyncMessage(Request[AsyncMessageCancelled], tag="cancel_async_message"):
    since = "2.1.120"
    message_uuid: str
