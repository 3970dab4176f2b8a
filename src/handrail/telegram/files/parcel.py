"""A message with files that has arrived, but is not yet where Claude works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from handrail.store.base import SessionRow
from handrail.telegram.files.incoming import path_blocks

__all__ = ["Parcel", "Said", "unpacked"]


@dataclass(frozen=True)
class Parcel:
    """What goes into the message itself, and the files that are put beside the session's work.

    Where that is, is known once there is a session: a worktree is made with it.
    """

    blocks: Sequence[dict[str, Any]]
    files: Sequence[Callable[[SessionRow], Awaitable[str]]]
    """Each puts a file where a session works, and says its path from there. Done twice, it is the same file."""

    async def content(self, row: SessionRow) -> list[dict[str, Any]]:
        """What the session is sent. Raises `UnusableFile` if a file could not be put there."""
        return [*self.blocks, *path_blocks([await put(row) for put in self.files])]


Said: TypeAlias = str | Sequence[dict[str, Any]] | Parcel
"""What somebody says to Claude."""


async def unpacked(said: Said, row: SessionRow) -> str | Sequence[dict[str, Any]]:
    """What a session is sent of it."""
    return await said.content(row) if isinstance(said, Parcel) else said
