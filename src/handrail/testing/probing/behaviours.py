"""What a probe looks at: behaviours by name, what depends on each, and what was seen of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from handrail.testing.probing.stage import Stage

__all__ = ["Behaviour", "Need", "Play", "Scenario", "Seen"]

Need: TypeAlias = Literal["breaks", "degrades"]
"""What becomes of Handrail where a behaviour is not there: it cannot be used as it should, or it can do less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """Something that a CLI does, and that Handrail counts on."""

    name: str
    """`topic: what`."""
    need: Need
    otherwise: str
    """What fails in Handrail where it is not so, for people."""
    copes: str = ""
    """What Handrail does about the versions that differ, where it does something."""
    is_list: bool = False
    """Whether the outcome is a list of names, so that a change is told by what came and what went."""

    @property
    def topic(self) -> str:
        """What it is about, in a word or two."""
        return self.name.partition(": ")[0]

    @property
    def what(self) -> str:
        """Its name within the topic."""
        return self.name.partition(": ")[2]


class Seen(msgspec.Struct, frozen=True):
    """What a CLI was seen to do. `works` says whether that is good enough for Handrail; None: it could not be seen."""

    works: bool | None
    words: str


Play: TypeAlias = "Callable[[Stage], Awaitable[None]]"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Some behaviours that are looked at together, with one CLI or a few in one scratch world."""

    name: str
    behaviours: tuple[Behaviour, ...]
    play: Play
