"""What people allowed for good, on disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from handrail.policy.grants import Grant, Grants
from handrail.policy.storage.json_file import locked, read_json, write_json

__all__ = ["GrantStore"]


class GrantStore:
    """The grants that outlive a session, in a file that all of this user's sessions share."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> Grants:
        """What was granted so far. A damaged file is an error: nothing is allowed because of it."""
        return Grants(read_json(self.path, list[Grant], []))

    def update(self, updates: Sequence[Any], *, project: str, actor: str, at: float) -> Grants:
        """Take over what an answer changes for the project or the user, beside other processes that do the same."""
        with locked(self.path):
            before = self.read()
            after = before.updated(updates, project=project, actor=actor, at=at).of_scope("project", "user")
            if after != before:
                write_json(self.path, list(after))
        return after

    def revoke(self, unwanted: Iterable[Grant]) -> Grants:
        """Take grants back."""
        with locked(self.path):
            after = self.read().without(unwanted)
            write_json(self.path, list(after))
        return after
