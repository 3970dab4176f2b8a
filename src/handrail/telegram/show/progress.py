"""What goes on in a session, as the one message that changes while it works.

It is made anew every second for every session that somebody follows: it looks at the end of the timeline only, at as
much of it as is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from handrail.events.view import ActionItem, Item, LiveBlock, RunItem, SessionView, TaskItem
from handrail.telegram.show.amounts import context, cost, count, duration, elapsed, moment
from handrail.telegram.show.answers import items_of
from handrail.telegram.show.calls import DONE, FAILED, RUNNING, call_essence, call_line, call_name, is_call
from handrail.telegram.show.streamed import streamed as being_written
from handrail.telegram.text.rich import RichText, bold, code, italic, joined, plain
from handrail.telegram.text.safe import isolated, line
from handrail.telegram.text.splitting import left_out

__all__ = ["LONGEST_PROGRESS", "doing", "progress", "summary"]

LONGEST_PROGRESS = 1_500
LONGEST_TAIL = 500
DEEPEST_SHOWN = 3
STARTING = "starting Claude Code"
WAITING = "waiting for Claude"

_LOOKED_AT = 400
"""So many entries of the timeline are looked at, from its end."""
_LOOKS: Mapping[str, tuple[str, str]] = {
    "Read": ("read", "reads"),
    "NotebookRead": ("read", "reads"),
    "Glob": ("search", "searches"),
    "Grep": ("search", "searches"),
    "LS": ("listing", "listings"),
}
"""Calls that change nothing: several in a row are one line."""


@dataclass(frozen=True, slots=True)
class _Amount:
    """How much is shown."""

    done: int
    running: int
    tasks: int
    fold: bool


_BRIEF = _Amount(done=4, running=4, tasks=4, fold=True)
_VERBOSE = _Amount(done=10, running=6, tasks=6, fold=False)


def progress(
    view: SessionView, *, now: float, verbose: bool, title: str = "", streamed: bool = False, away: str = ""
) -> RichText:
    """What runs now and what was done last; `streamed`: also the end of what Claude is writing.

    `away` is the host that it runs on, if nothing is heard of that now.
    """
    amount = _VERBOSE if verbose else _BRIEF
    blocks: list[RichText] = [
        _head(view, now, title),
        _lines([*_done(view, now, amount), *_running(view, now, amount)]),
        _lines(_tasks(view, now, amount)),
        _lines([*_unheard(away), *_troubles(view, now)]),
    ]
    if verbose and (thought := _thought(view)):
        blocks.append(italic(thought))
    if streamed:
        blocks.append(being_written(view, LONGEST_TAIL))
    return left_out(joined([block for block in blocks if block], "\n\n"), LONGEST_PROGRESS)


def summary(run: RunItem, view: SessionView, *, title: str = "") -> RichText:
    """One line in place of the progress, once a run is over."""
    named = [plain(isolated(line(title, 80)))] if title else []
    sign = f"{DONE} done" if run.ok else "■ interrupted" if run.interrupted else f"{FAILED} failed"
    calls = sum(is_call(item) for item in items_of(run, view))
    took = [duration(run.duration_ms)] if run.duration_ms else []
    return joined([*named, " · ".join([sign, *([count(calls, "call")] if calls else []), *took])], "\n")


def _lines(lines: Iterable[RichText]) -> RichText:
    return joined(lines, "\n")


# ---------------------------------------------------------------- the head


def _head(view: SessionView, now: float, title: str) -> RichText:
    named = isolated(line(title, 80))
    parts = [doing(view), *_used(view, now)]
    status = joined([bold(f"{_sign(view)} {parts[0]}"), *parts[1:]], " · ")
    return joined([plain(named), status], "\n") if named else status


def _sign(view: SessionView) -> str:
    return "⏸" if view.asks else RUNNING


def doing(view: SessionView) -> str:
    """What a session does, in a word or two."""
    if view.asks:
        return "waits for an answer" if len(view.asks) == 1 else f"waits for {len(view.asks)} answers"
    if view.run is None:
        return "in the background" if _tasks_to_show(view) else "idle" if view.runs else STARTING
    if view.compacting:
        return "compacting the conversation"
    if view.retry:
        return "retrying"
    calls = sum(item.parent is None for item in view.now.values())
    if calls:
        return "working" if calls == 1 else f"working, {count(calls, 'call')}"
    return _writing(view.live.values())


def _writing(blocks: Iterable[LiveBlock]) -> str:
    kinds = [block.kind for block in blocks if block.parent is None]
    if not kinds:
        return WAITING
    return {"text": "writing", "thinking": "thinking"}.get(kinds[-1], "preparing a call")


def _used(view: SessionView, now: float) -> Iterator[str]:
    if view.run is not None:
        yield elapsed(now - view.run.started_at) if view.run.started_at else elapsed(0)
    if view.context_tokens:
        yield context(view.context_tokens, view.context_window)
    if view.cost_usd:
        yield cost(view.cost_usd)


# ---------------------------------------------------------------- calls


def _done(view: SessionView, now: float, amount: _Amount) -> list[RichText]:
    """The last calls that are over, the oldest first; looks in a row are one line."""
    lines: list[RichText] = []
    looks: list[ActionItem] = []
    for item in _calls_backwards(view):
        if item.phase != "completed":
            continue
        if amount.fold and _is_look(item):
            looks.append(item)
            continue
        lines += [*_folded(looks, view.cwd, now), call_line(item, view.cwd, now)]
        looks = []
        if len(lines) >= amount.done:
            break
    lines += _folded(looks, view.cwd, now)
    return lines[: amount.done][::-1]


def _calls_backwards(view: SessionView) -> Iterator[ActionItem]:
    """The calls of the last run, the last first; those of subagents are shown with these."""
    number = view.runs[-1].number if view.runs else None
    for item in islice(reversed(view.items), _LOOKED_AT):
        if item.run is not None and item.run != number:
            return
        if isinstance(item, ActionItem) and is_call(item):
            yield item


def _is_look(item: ActionItem) -> bool:
    return item.detail.get("tool_name") in _LOOKS and item.ok is not False


def _folded(looks: Sequence[ActionItem], cwd: str, now: float) -> list[RichText]:
    """Reads and searches in a row (the last first) as one line."""
    if len(looks) < 2:
        return [call_line(item, cwd, now) for item in looks]
    nouns = Counter(_LOOKS[str(item.detail["tool_name"])] for item in reversed(looks))
    said = ", ".join(f"{number} {one if number == 1 else many}" for (one, many), number in nouns.items())
    last = call_essence(looks[0], cwd, 40)
    return [joined([f"{DONE} ", bold(said), " … ", code(last)] if last else [f"{DONE} ", bold(said)])]


def _running(view: SessionView, now: float, amount: _Amount) -> list[RichText]:
    calls = [item for item in view.now.values() if item.parent is None and is_call(item)]
    lines: list[RichText] = []
    for item in calls[: amount.running]:
        lines.append(call_line(item, view.cwd, now))
        if item.children:
            lines += _inside(item, view.cwd, now)
    return lines + _and_more(len(calls) - amount.running)


def _inside(item: ActionItem, cwd: str, now: float) -> list[RichText]:
    """What a subagent does: its last call, and how many there were."""
    calls = [child for child in item.children if isinstance(child, ActionItem) and is_call(child)]
    if not calls:
        return []
    counted = f" · {count(len(calls), 'call')}" if len(calls) > 1 else ""
    return [joined(["    ", call_line(calls[-1], cwd, now), counted])]


def _and_more(number: int) -> list[RichText]:
    return [plain(f"… and {number} more")] if number > 0 else []


# ---------------------------------------------------------------- subagents and the background


def _tasks_to_show(view: SessionView) -> list[TaskItem]:
    """What runs beside the calls that are shown: a subagent may be known as a task before it is known whose."""
    shown = {item.title for item in view.now.values() if item.kind == "subagent"}
    return [
        task
        for task in view.running_tasks
        if not task.detail.get("ambient") and task.tool_use_id not in view.now and task.title not in shown
    ]


def _tasks(view: SessionView, now: float, amount: _Amount) -> list[RichText]:
    tasks = _tasks_to_show(view)
    lines = [_task_line(task, view, now) for task in tasks[: amount.tasks]]
    return lines + _and_more(len(tasks) - amount.tasks)


def _task_line(task: TaskItem, view: SessionView, now: float) -> RichText:
    where = "in the background: " if task.background else ""
    named = isolated(line(task.title or "a task", 72))
    said = [f"{RUNNING} {where}{named}"]
    if latest := _latest(task, view):
        said.append(latest)
    if task.started_at:
        said.append(elapsed(now - task.started_at))
    return plain("    " * _depth(task, view.tasks) + " · ".join(said))


def _depth(task: TaskItem, tasks: Mapping[str, TaskItem]) -> int:
    """How many tasks it is inside of."""
    depth = 0
    while depth < DEEPEST_SHOWN and task.parent is not None and task.parent in tasks:
        task = tasks[task.parent]
        depth += 1
    return depth


def _latest(task: TaskItem, view: SessionView) -> str:
    """What a task did last, as far as is known."""
    call = view.actions.get(task.tool_use_id or "")
    children: Iterable[Item] = reversed(call.children) if call is not None else ()
    for child in islice(children, 8):
        if isinstance(child, ActionItem) and is_call(child):
            essence = call_essence(child, view.cwd, 40)
            return f"{call_name(child)} {essence}".strip()
    return isolated(line(task.summary, 60)) if task.summary else ""


# ---------------------------------------------------------------- what is in the way


def _unheard(away: str) -> Iterator[RichText]:
    if away:
        named = isolated(line(away, 40))
        yield plain(f"⚠ {named} is not connected: this is the last that was heard. What runs there goes on.")


def _troubles(view: SessionView, now: float) -> Iterator[RichText]:
    if view.retry:
        yield plain(f"⚠ the API failed ({line(view.retry, 120)}): trying again")
    for limit in view.rate_limits.values():
        if limit.status in ("", "allowed") or (limit.resets_at is not None and limit.resets_at <= now):
            continue
        used = f", {limit.utilization:.0%} used" if limit.utilization is not None else ""
        resets = f", resets at {moment(limit.resets_at, now)}" if limit.resets_at else ""
        kind = f" ({line(limit.limit_type.replace('_', ' '), 40)})" if limit.limit_type else ""
        words = "is reached" if limit.status == "rejected" else "is near"
        yield plain(f"⚠ the rate limit{kind} {words}{used}{resets}")


def _thought(view: SessionView) -> str:
    """The end of what Claude is thinking."""
    blocks = [block for block in view.live.values() if block.kind == "thinking" and block.parent is None]
    if not blocks:
        return ""
    text = " ".join(blocks[-1].text[-400:].split())
    return line(f"…{text[-200:]}" if len(text) > 200 else text, 240)
