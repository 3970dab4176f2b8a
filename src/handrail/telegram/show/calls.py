"""A tool call on one line: its name, what it is about, how it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from handrail.events.view import ActionItem
from handrail.telegram.show.amounts import elapsed
from handrail.telegram.text.rich import RichText, bold, code, joined
from handrail.telegram.text.safe import isolated, line, path_line

__all__ = ["DONE", "FAILED", "RUNNING", "call_essence", "call_line", "call_name", "is_call", "said_of_failure"]

RUNNING, DONE, FAILED = "▸", "✓", "✗"

LONGEST_ESSENCE = 72
LONGEST_REMARK = 60
SLOW_SECONDS = 5
_TITLES: Mapping[str, str] = {"AskUserQuestion": "Question", "EnterPlanMode": "Plan mode", "ExitPlanMode": "Plan"}
_ABOUT: Mapping[str, str] = {"ExitPlanMode": "ready for review", "EnterPlanMode": "", "AskUserQuestion": ""}
_ABOUT_A_PATH = frozenset({"LS", "NotebookRead", "Read"})
_HOOK_PREFIX = re.compile(r"^PreToolUse:\S+ hook error: ")
_MOST_PATCH_LINES = 10_000
_ENOUGH = 2_000
"""So many characters of an output are looked at for its first line."""


def is_call(item: object) -> bool:
    """Whether an entry of the timeline is a call, and not a remark of the CLI: some calls are notes too."""
    if not isinstance(item, ActionItem):
        return False
    return "tool_name" in item.detail or item.kind not in ("note", "warning", "telemetry")


def call_line(item: ActionItem, cwd: str, now: float) -> RichText:
    """The call, how it stands, and what came of it in a few words."""
    parts: list[RichText | str] = [f"{_mark(item)} ", bold(call_name(item))]
    if essence := call_essence(item, cwd):
        parts += [" ", code(essence)]
    if remark := " · ".join(_remarks(item, now)):
        parts.append(f" · {remark}")
    return joined(parts)


def call_name(item: ActionItem) -> str:
    """A tool's name; for an MCP server's tool, whose it is."""
    name = str(item.detail.get("tool_name") or "")
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        return line(f"{server} · {tool}" if tool else server, 48)
    return _TITLES.get(name) or line(name or item.kind, 48)


def call_essence(item: ActionItem, cwd: str, limit: int = LONGEST_ESSENCE) -> str:
    """What a call is about, without the tool's name and without where the project is."""
    name = str(item.detail.get("tool_name") or "")
    if name in _ABOUT:
        return _ABOUT[name]
    title = item.title.removeprefix(f"{name} ") if name else item.title
    if title == name or title == _mcp_title(name):
        return ""
    shown = path_line if item.kind == "file_change" or name in _ABOUT_A_PATH else line
    return isolated(shown(_inside(title, cwd), limit))


def said_of_failure(item: ActionItem, limit: int = LONGEST_REMARK) -> str:
    """Why a call failed, as far as the first line of its output says."""
    output = str(item.detail.get("reason") or _first_text(item.detail.get("content")))[:_ENOUGH]
    text = _HOOK_PREFIX.sub("", output).replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    first = next((each for each in text.splitlines() if each.strip()), "failed")
    return isolated(line(first, limit))


def _mark(item: ActionItem) -> str:
    if item.phase != "completed":
        return RUNNING
    return FAILED if item.ok is False else DONE


def _remarks(item: ActionItem, now: float) -> Iterable[str]:
    if item.phase != "completed":
        seconds = now - item.at if item.at else 0.0
        return [elapsed(seconds)] if seconds >= SLOW_SECONDS else []
    if item.ok is False:
        return [said_of_failure(item)]
    took = (item.ended_at or item.at) - item.at
    return [each for each in (_changed(item), elapsed(took) if took >= SLOW_SECONDS else "") if each]


def _changed(item: ActionItem) -> str:
    """`+6 −2`, where the CLI told what a call changed."""
    result = item.detail.get("tool_use_result")
    patch = result.get("structuredPatch") if isinstance(result, Mapping) else None
    if not isinstance(patch, list) or not patch:
        return ""
    added = removed = 0
    for text in islice(_patch_lines(patch), _MOST_PATCH_LINES):
        added += text.startswith("+")
        removed += text.startswith("-")
    return f"+{added} −{removed}"


def _patch_lines(patch: Iterable[Any]) -> Iterable[str]:
    for hunk in patch:
        lines = hunk.get("lines") if isinstance(hunk, Mapping) else None
        yield from (text for text in lines or () if isinstance(text, str))


def _inside(title: str, cwd: str) -> str:
    return title[:_ENOUGH].replace(f"{cwd.rstrip('/')}/", "") if len(cwd) > 1 else title


def _mcp_title(name: str) -> str:
    server, _, tool = name.removeprefix("mcp__").partition("__")
    return f"{server}: {tool}"


def _first_text(content: Any) -> str:
    """The first text in a result, which may be very long."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list | tuple) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, Mapping))
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")
