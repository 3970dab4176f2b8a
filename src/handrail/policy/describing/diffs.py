"""Unified diffs that are right and come in bounded time, whatever the texts are.

Lines end at newlines and nowhere else. Equal lines at both ends are set aside; the lines that occur once in each text
are the first anchors; between them the shortest script of changes is sought within a budget of steps. Where that runs
out, all lines of the stretch are removed and all added: longer than need be, and still exactly right.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from handrail.protocol.descriptions import Hunk

__all__ = ["NO_NEWLINE", "Block", "changed_blocks", "hunks_of", "split_lines", "unified_hunks"]

NO_NEWLINE = "\\ No newline at end of file"
CONTEXT = 3
STEPS = 400_000


@dataclass(frozen=True, slots=True)
class Block:
    """The lines `old_start:old_end` of one text become the lines `new_start:new_end` of the other."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their newlines; the last one may have none."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def unified_hunks(before: str, after: str, *, context: int = CONTEXT) -> tuple[Hunk, ...]:
    """What changes from `before` to `after`."""
    old, new = split_lines(before), split_lines(after)
    return hunks_of(old, new, changed_blocks(old, new), context=context)


# ---------------------------------------------------------------- which lines change


def changed_blocks(old: Sequence[str], new: Sequence[str], *, steps: int = STEPS) -> list[Block]:
    """The stretches in which two texts differ, in order, none touching the next."""
    budget = _Budget(steps)
    numbers: dict[str, int] = {}
    a = [numbers.setdefault(line, len(numbers)) for line in old]
    b = [numbers.setdefault(line, len(numbers)) for line in new]
    blocks: list[Block] = []
    for stretch in _between_anchors(a, b, _trimmed(a, b, Block(0, len(a), 0, len(b)))):
        blocks.extend(_blocks_in(a, b, stretch, budget))
    return _joined(blocks)


@dataclass(slots=True)
class _Budget:
    left: int

    def spend(self, steps: int) -> bool:
        """Whether there was enough left."""
        self.left -= steps
        return self.left >= 0


def _trimmed(a: list[int], b: list[int], within: Block) -> Block:
    """`within` without the equal lines at its ends."""
    start, new_start, end, new_end = within.old_start, within.new_start, within.old_end, within.new_end
    while start < end and new_start < new_end and a[start] == b[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and a[end - 1] == b[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    return Block(start, end, new_start, new_end)


def _between_anchors(a: list[int], b: list[int], within: Block) -> Iterator[Block]:
    start, new_start = within.old_start, within.new_start
    for old_anchor, new_anchor in _anchors(a, b, within):
        yield _trimmed(a, b, Block(start, old_anchor, new_start, new_anchor))
        start, new_start = old_anchor + 1, new_anchor + 1
    yield _trimmed(a, b, Block(start, within.old_end, new_start, within.new_end))


def _anchors(a: list[int], b: list[int], within: Block) -> list[tuple[int, int]]:
    """The most lines that occur exactly once in each text and in the same order in both."""
    old_counts = Counter(a[within.old_start : within.old_end])
    new_counts = Counter(b[within.new_start : within.new_end])
    places = {b[at]: at for at in range(within.new_start, within.new_end) if new_counts[b[at]] == 1}
    pairs = [
        (at, places[a[at]])
        for at in range(within.old_start, within.old_end)
        if old_counts[a[at]] == 1 and a[at] in places
    ]
    return _longest_rise(pairs)


def _longest_rise(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second members rise."""
    ends: list[int] = []
    last_of_length: list[int] = []
    previous: list[int] = []
    for index, (_, value) in enumerate(pairs):
        length = bisect_left(ends, value)
        previous.append(last_of_length[length - 1] if length else -1)
        ends[length : length + 1] = [value]
        last_of_length[length : length + 1] = [index]
    rise = []
    index = last_of_length[-1] if last_of_length else -1
    while index >= 0:
        rise.append(pairs[index])
        index = previous[index]
    return rise[::-1]


def _blocks_in(a: list[int], b: list[int], within: Block, budget: _Budget) -> list[Block]:
    if within.old_start == within.old_end and within.new_start == within.new_end:
        return []
    if within.old_start == within.old_end or within.new_start == within.new_end:
        return [within]
    kept = _kept_pairs(a[within.old_start : within.old_end], b[within.new_start : within.new_end], budget)
    if kept is None:
        return [within]
    blocks = []
    start, new_start = within.old_start, within.new_start
    for x, y in [*kept, (within.old_end - within.old_start, within.new_end - within.new_start)]:
        old_at, new_at = within.old_start + x, within.new_start + y
        if old_at > start or new_at > new_start:
            blocks.append(Block(start, old_at, new_start, new_at))
        start, new_start = old_at + 1, new_at + 1
    return blocks


def _kept_pairs(a: list[int], b: list[int], budget: _Budget) -> list[tuple[int, int]] | None:
    """The lines that the shortest script of changes keeps, as positions in both; None if the budget is spent.

    `reach[k]` is how far into `a` the best path with so many changes gets on the diagonal x - y = k (Myers, 1986).
    """
    reach = {1: 0}
    trace: list[dict[int, int]] = []
    for changes in range(len(a) + len(b) + 1):
        trace.append(dict(reach))
        if not budget.spend(2 * changes + 1):
            return None
        for k in range(-changes, changes + 1, 2):
            down = k == -changes or (k != changes and reach[k - 1] < reach[k + 1])
            x = start = reach[k + 1] if down else reach[k - 1] + 1
            while x < len(a) and x - k < len(b) and a[x] == b[x - k]:
                x += 1
            reach[k] = x
            if not budget.spend(x - start):
                return None
            if x >= len(a) and x - k >= len(b):
                return _walked_back(trace, len(a), len(b))
    return None


def _walked_back(trace: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    kept = []
    for changes in range(len(trace) - 1, -1, -1):
        reach = trace[changes]
        k = x - y
        down = k == -changes or (k != changes and reach[k - 1] < reach[k + 1])
        before = k + 1 if down else k - 1
        previous_x = reach[before]
        start = previous_x if down else previous_x + 1
        while x > start:
            x, y = x - 1, y - 1
            kept.append((x, y))
        x, y = previous_x, previous_x - before
    return kept[::-1]


def _joined(blocks: list[Block]) -> list[Block]:
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if last is not None and last.old_end == block.old_start and last.new_end == block.new_start:
            joined[-1] = Block(last.old_start, block.old_end, last.new_start, block.new_end)
        else:
            joined.append(block)
    return joined


# ---------------------------------------------------------------- hunks


def hunks_of(
    old: Sequence[str], new: Sequence[str], blocks: Sequence[Block], *, context: int = CONTEXT
) -> tuple[Hunk, ...]:
    """The hunks for `blocks`, each with some unchanged lines around it."""
    return tuple(_hunk(old, new, group, context) for group in _grouped(blocks, context))


def _grouped(blocks: Sequence[Block], context: int) -> Iterator[list[Block]]:
    group: list[Block] = []
    for block in blocks:
        if group and block.old_start - group[-1].old_end > 2 * context:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], group: list[Block], context: int) -> Hunk:
    first, last = group[0], group[-1]
    before = min(context, first.old_start)
    after = min(context, len(old) - last.old_end)
    lines: list[str] = []
    position = first.old_start - before
    for block in group:
        lines += _signed(" ", old[position : block.old_start])
        lines += _signed("-", old[block.old_start : block.old_end])
        lines += _signed("+", new[block.new_start : block.new_end])
        position = block.old_end
    lines += _signed(" ", old[position : position + after])
    old_count = last.old_end + after - (first.old_start - before)
    new_count = last.new_end + after - (first.new_start - before)
    return Hunk(
        old_start=_first_line(first.old_start - before, old_count),
        old_count=old_count,
        new_start=_first_line(first.new_start - before, new_count),
        new_count=new_count,
        lines=tuple(lines),
    )


def _first_line(index: int, count: int) -> int:
    """Lines count from 1; an empty stretch is named by the line before it."""
    return index + 1 if count else index


def _signed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield sign + line[:-1]
        else:
            yield sign + line
            yield NO_NEWLINE
