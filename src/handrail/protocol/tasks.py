"""Background tasks: what still runs after a turn has ended, as the frames tell it."""

from __future__ import annotations

from handrail.protocol.frames import BackgroundTasksChanged, Frame, TaskNotification, TaskStarted, User

__all__ = ["TASK_FRAMES", "BackgroundTasks"]

TASK_FRAMES: frozenset[type[Frame]] = frozenset({BackgroundTasksChanged, TaskStarted, TaskNotification, User})


SHORT_OUTPUT = 4096
"""The output of a tool that stops a task is short; longer ones are not worth decoding to find out."""


class BackgroundTasks:
    """The background tasks that run at one point of a stream of frames: id → description."""

    def __init__(self) -> None:
        self.running: dict[str, str] = {}

    def receive(self, frame: Frame) -> None:
        """Follow the stream. Newer CLIs send the whole list; older ones a start and an end of each."""
        match frame:
            case BackgroundTasksChanged(tasks=tasks):
                self.running = {task.task_id: task.description or "" for task in tasks}
            case TaskStarted() if _goes_on(frame):
                self.running[frame.task_id] = frame.description
            case TaskNotification(task_id=task_id):
                self.running.pop(task_id, None)
            case User() if self.running:
                self._on_tool_result(frame)

    def _on_tool_result(self, frame: User) -> None:
        """Older CLIs say only in the stopping tool's output that a task was stopped."""
        if len(bytes(frame.tool_use_result_json)) > SHORT_OUTPUT:
            return
        match frame.tool_use_result:
            case {"task_id": str(task_id), "message": str(message)} if message.startswith("Successfully stopped"):
                self.running.pop(task_id, None)


def _goes_on(task: TaskStarted) -> bool:
    """Whether a task outlives its turn. Where the CLI does not say, agents that do are announced with their prompt."""
    if task.is_backgrounded is not None:
        return task.is_backgrounded
    return task.task_type == "local_bash" or (task.task_type == "local_agent" and task.prompt is not None)
