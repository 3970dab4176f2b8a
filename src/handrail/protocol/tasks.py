"""Background tasks: what still runs after a turn has ended, as the frames tell it."""

from __future__ import annotations

from handrail.protocol.frames import BackgroundTasksChanged, Frame, TaskNotification, TaskStarted

__all__ = ["TASK_FRAMES", "BackgroundTasks"]

TASK_FRAMES: frozenset[type[Frame]] = frozenset({BackgroundTasksChanged, TaskStarted, TaskNotification})


class BackgroundTasks:
    """The background tasks that run at one point of a stream of frames: id → description."""

    def __init__(self) -> None:
        self.running: dict[str, str] = {}

    def receive(self, frame: Frame) -> None:
        """Follow the stream. Newer CLIs send the whole list; older ones a start and an end of each."""
        match frame:
            case BackgroundTasksChanged(tasks=tasks):
                self.running = {task.task_id: task.description or "" for task in tasks}
            case TaskStarted() if frame.is_backgrounded or frame.task_type == "local_bash":
                self.running[frame.task_id] = frame.description
            case TaskNotification(task_id=task_id):
                self.running.pop(task_id, None)
