"""Compares what a CLI was seen to do with what is recorded of the versions next to it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from handrail.testing.probing.behaviours import Behaviour, Need, Seen
from handrail.testing.probing.matrix import Matrix, neighbours, version_key

__all__ = ["Compared", "Comparison", "Status", "Verdict", "came_and_went", "compare"]

Verdict: TypeAlias = Literal["same", "more", "like", "new", "unseen", "unrecorded"]
"""As in a neighbouring version; that and more names in a list; as in another version; never seen before; could not be
seen; or there is nothing to compare with."""

Status: TypeAlias = Literal["fine", "changed", "broken"]
"""All is as expected; something is other than recorded, but what Handrail needs works; something it needs does not."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One behaviour of this CLI, beside what is recorded."""

    name: str
    need: Need
    works: bool | None
    words: str
    verdict: Verdict
    like: str = ""
    """The recorded version that does the same; empty if there is none."""
    before: str = ""
    """What the nearest recorded version does, where that is something else."""
    worse: bool = False
    """Whether it works in the nearest recorded version, and not here."""
    otherwise: str = ""
    """What fails in Handrail, where it does not work."""
    is_list: bool = False
    """Whether `words` and `before` are lists of names."""

    @property
    def is_broken(self) -> bool:
        """Whether Handrail cannot be used as it should be with this CLI, because of this."""
        return self.need == "breaks" and not self.works

    @property
    def is_changed(self) -> bool:
        """Whether somebody should look at this."""
        return self.worse or self.verdict in ("like", "new") or self.works is None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A CLI beside the versions that are nearest to it."""

    version: str
    against: tuple[str, ...]
    items: tuple[Compared, ...]

    @property
    def status(self) -> Status:
        """The whole in a word."""
        if any(item.is_broken for item in self.items):
            return "broken"
        return "changed" if any(item.is_changed for item in self.items) else "fine"


def compare(
    version: tuple[int, ...], seen: Mapping[str, Seen], matrix: Matrix, behaviours: Mapping[str, Behaviour]
) -> Comparison:
    """What is other in this CLI than in the recorded versions next to it."""
    against = neighbours(version, matrix)
    items = [_compared(behaviours[name], what, against, matrix) for name, what in seen.items()]
    return Comparison(version=".".join(map(str, version)), against=tuple(against), items=tuple(items))


def _compared(behaviour: Behaviour, seen: Seen, against: Sequence[str], matrix: Matrix) -> Compared:
    near = {version: matrix[version][behaviour.name] for version in against if behaviour.name in matrix[version]}
    verdict, like = _verdict(behaviour, seen, near, matrix)
    newest = list(near.values())[-1] if near else None
    return Compared(
        name=behaviour.name,
        need=behaviour.need,
        works=seen.works,
        words=seen.words,
        verdict=verdict,
        like=like,
        before=newest.words if newest is not None and verdict != "same" else "",
        worse=not seen.works and any(each.works for each in near.values()),
        otherwise="" if seen.works else behaviour.otherwise,
        is_list=behaviour.is_list,
    )


def _verdict(behaviour: Behaviour, seen: Seen, near: Mapping[str, Seen], matrix: Matrix) -> tuple[Verdict, str]:
    if seen.works is None:
        return "unseen", ""
    if same := [version for version, each in near.items() if each == seen]:
        return "same", same[-1]
    if not near:
        return "unrecorded", ""
    if behaviour.is_list and (less := [version for version, each in near.items() if _only_adds(each, seen)]):
        return "more", less[-1]
    if alike := [version for version, recorded in matrix.items() if recorded.get(behaviour.name) == seen]:
        return "like", max(alike, key=version_key)
    return "new", ""


def _only_adds(before: Seen, now: Seen) -> bool:
    return before.works == now.works and _names(before.words) < _names(now.words)


def _names(words: str) -> set[str]:
    return {name for name in words.split(", ") if name != "nothing"}


def came_and_went(before: str, now: str) -> tuple[list[str], list[str]]:
    """Of a behaviour that is a list: the names that are new, and those that are gone."""
    return sorted(_names(now) - _names(before)), sorted(_names(before) - _names(now))
