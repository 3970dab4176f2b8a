"""Hooks of the CLI's own settings, from their start to their end."""

from __future__ import annotations

from typing import TypeAlias

from handrail.events.model import Hook, Phase
from handrail.protocol.frames import Frame, HookProgress, HookResponse, HookStarted

__all__ = ["HookFrame", "Hooks"]

HookFrame: TypeAlias = HookStarted | HookProgress | HookResponse

PHASES: dict[type[Frame], Phase] = {HookStarted: "started", HookProgress: "updated", HookResponse: "completed"}
DETAIL = ("output", "stdout", "stderr", "exit_code", "outcome")


class Hooks:
    """The hooks that run."""

    def __init__(self) -> None:
        self._open: dict[str, HookFrame] = {}

    def receive(self, frame: HookFrame) -> list[Hook]:
        """What a frame says of a hook."""
        if isinstance(frame, HookResponse):
            self._open.pop(frame.hook_id, None)
        else:
            self._open[frame.hook_id] = frame
        data = frame.data
        detail = {name: data[name] for name in DETAIL if data.get(name) not in (None, "")}
        ok = _went_well(frame) if isinstance(frame, HookResponse) else None
        return [
            Hook(
                id=frame.hook_id,
                phase=PHASES[type(frame)],
                name=frame.hook_name,
                event=frame.hook_event,
                ok=ok,
                detail=detail,
            )
        ]

    def cut(self, why: str) -> list[Hook]:
        """The process is gone, and its hooks with it."""
        ended, self._open = self._open, {}
        return [
            Hook(
                id=name,
                phase="completed",
                name=frame.hook_name,
                event=frame.hook_event,
                ok=False,
                detail={"reason": why},
            )
            for name, frame in ended.items()
        ]


def _went_well(frame: HookResponse) -> bool:
    return frame.outcome == "success" if frame.outcome is not None else not frame.exit_code
