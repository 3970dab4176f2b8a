"""Messages to the CLI: which frames are echoes of ours, and what became of each."""

from __future__ import annotations

from typing import Any

from handrail.events.model import Prompt
from handrail.events.runs import Runs
from handrail.protocol.frames import CommandLifecycle, User
from handrail.protocol.turns import DROPPED_STATES

__all__ = ["Messages"]


class Messages:
    """The messages that were written to one process. `told`: each is news, since nobody else tells of it."""

    def __init__(self, runs: Runs, *, prefix: str, told: bool) -> None:
        self._runs = runs
        self._prefix = prefix
        self._told = told
        self._count = 0
        self._without_uuid: dict[str, Any] = {}
        self._begun: set[str] = set()

    def sent(self, frame: User) -> list[Prompt]:
        """We wrote a message."""
        self._count += 1
        name = f"{self._prefix}.{self._count}"
        uuid = frame.uuid or name
        news = self._runs.expect(uuid)
        if not self._told:
            return []
        message = frame.data.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if not news:  # the CLI runs a message once
            return [Prompt(uuid=name, state="dropped", content=content, reason=f"sent under a known uuid: {uuid}")]
        if frame.uuid is None:
            self._without_uuid[uuid] = frame.message.content
        return [Prompt(uuid=uuid, content=content)]

    def echo(self, frame: User) -> list[Prompt] | None:
        """The CLI repeats a message, which then has begun; None if it is not one of ours."""
        uuid = frame.uuid or ""
        if not self._runs.is_known(uuid):
            same = (name for name, content in self._without_uuid.items() if content == frame.message.content)
            found = next(same, None)
            if found is None:
                return None
            del self._without_uuid[found]
            uuid = found
        return self.begin(uuid)

    def lifecycle(self, frame: CommandLifecycle) -> list[Prompt]:
        """The CLI says what becomes of a message."""
        uuid = frame.command_uuid
        if frame.state == "started":
            return self.begin(uuid)
        if frame.state == "queued":
            self._runs.queue(uuid)
        elif frame.state in DROPPED_STATES and uuid not in self._begun and self._runs.drop(uuid):
            # Once begun, a message has a result of its own, however that ends.
            return [Prompt(uuid=uuid, state="dropped")]
        return []

    def named(self, uuids: tuple[str, ...]) -> list[Prompt]:
        """The CLI says which messages it answers."""
        return [told for uuid in uuids if self._runs.is_known(uuid) for told in self.begin(uuid)]

    def begin(self, uuid: str) -> list[Prompt]:
        """The CLI begins with a message."""
        self._runs.take(uuid)
        if uuid in self._begun:
            return []
        self._begun.add(uuid)
        return [Prompt(uuid=uuid, state="started")]
