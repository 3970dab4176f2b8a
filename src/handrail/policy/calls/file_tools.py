"""Verdicts on the tools that read, search and edit files."""

from __future__ import annotations

import posixpath
import re

from handrail.policy.calls.base import Call, by_field, by_name, by_rule
from handrail.policy.rules.paths import Action, absolute_path, inside_project, leaves_through_link, path_rule
from handrail.policy.rules.protected import is_protected
from handrail.policy.verdict import Behavior, Verdict

__all__ = ["EDITING", "SEARCHING", "judge_edit", "judge_read", "judge_search"]

EDITING = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
"""The tools that edit a file, and the field that names it."""

SEARCHING = {"Glob", "Grep", "LS"}

_MEANS_DIFFERENT_THINGS = re.compile(
    r"""
      \A(?://|\\\\)               # the share of another machine
    | [\x00-\x1f\x7f]             # control characters
    | ~\d                         # a short name of Windows
    | (?<=[^/.])\.+(?:/|\Z)       # a name that ends in dots
    | (?<![^/])\.{3,}(?:/|\Z)     # a name of nothing but dots
    """,
    re.VERBOSE,
)

_BYPASSED = Verdict("allow", "the mode is bypassPermissions")
_OUTSIDE = "is outside the working directory, and no rule allows it"


def judge_read(call: Call) -> Verdict:
    """The verdict on reading a file."""
    return _judge_reading(call, _usable(call.text("file_path")))


def judge_search(call: Call) -> Verdict:
    """The verdict on listing or searching files."""
    return _judge_reading(call, _usable(_search_root(call)))


def _judge_reading(call: Call, path: str | None) -> Verdict:
    if path is None:
        return _without_path(call)
    return (
        by_name(call, "deny")
        or by_field(call, "deny")
        or _by_path(call, "deny", "read", path)
        or by_name(call, "ask")
        or by_field(call, "ask")
        or _by_path(call, "ask", "read", path)
        or _read_unasked(call, path)
        or _by_path(call, "allow", "read", path)
        or _readable_because_editable(call, path)
        or _bare(call)
        or Verdict("ask", f"{path} {_OUTSIDE}")
    )


def judge_edit(call: Call) -> Verdict:
    """The verdict on editing a file."""
    path = _usable(call.text(EDITING[call.tool]))
    if path is None:
        return _without_path(call)
    return (
        by_name(call, "deny")
        or by_field(call, "deny")
        or _by_path(call, "deny", "edit", path)
        or _unreadable(call, path)
        or _link(call, path)
        or by_name(call, "ask")
        or by_field(call, "ask")
        or _by_path(call, "ask", "edit", path)
        or _by_mode(call, path)
        or _by_path(call, "allow", "edit", path)
        or _allowed_whole(call, path)
        or Verdict("ask", f"{path} {_OUTSIDE}" if _is_outside(call, path) else f"no rule allows editing {path}")
    )


def _usable(path: str | None) -> str | None:
    """The path, unless there is none or systems read it differently."""
    return path if path and not _MEANS_DIFFERENT_THINGS.search(path) else None


def _without_path(call: Call) -> Verdict:
    """Whatever the path is, only a rule on every call can speak of it, and not in its favour."""
    return by_name(call, "deny") or by_field(call, "deny") or Verdict("ask", "the call names no file plainly")


def _search_root(call: Call) -> str | None:
    """The directory that is searched, as the path or the fixed part of the pattern says."""
    path = call.input.get("path")
    if path is not None and not isinstance(path, str):
        return None
    root = path or call.situation.cwd
    pattern = call.text("pattern") if call.tool == "Glob" else None
    if pattern is None or not _leads_elsewhere(pattern):
        return root
    fixed = re.split(r"[*?\[{]", pattern, maxsplit=1)[0]
    base = fixed if fixed == pattern else posixpath.dirname(fixed)
    return posixpath.join(root, base) if not base.startswith("~") else base


def _leads_elsewhere(pattern: str) -> bool:
    return pattern.startswith(("/", "~")) or ".." in pattern.split("/")


def _by_path(call: Call, behavior: Behavior, action: Action, path: str) -> Verdict | None:
    rule = path_rule(call.rules, behavior, action, path, call.situation)
    return by_rule(behavior, rule, path) if rule else None


def _read_unasked(call: Call, path: str) -> Verdict | None:
    if call.situation.mode == "bypassPermissions":
        return _BYPASSED
    if inside_project(path, call.situation):
        return Verdict("allow", "reading inside the working directory is allowed without a rule")
    return None


def _readable_because_editable(call: Call, path: str) -> Verdict | None:
    """A rule that allows editing a file allows reading it, unless it could not allow the edit."""
    return None if _is_protected(call, path) else _by_path(call, "allow", "edit", path)


def _unreadable(call: Call, path: str) -> Verdict | None:
    """What may not be read may not be edited either."""
    for rule in call.rules.deny:
        if rule.is_whole_tool and rule.tool == "Read":
            return by_rule("deny", rule, "every file, and what may not be read may not be edited")
    return _by_path(call, "deny", "read", path)


def _link(call: Call, path: str) -> Verdict | None:
    if call.situation.files.is_link(absolute_path(path, call.situation)):
        return Verdict("deny", f"{path} is a symbolic link; Claude Code edits only the file itself, under its own name")
    return None


def _by_mode(call: Call, path: str) -> Verdict | None:
    """What the mode says where no deny or ask rule does, and what is protected in every mode but one."""
    mode = call.situation.mode
    if mode == "plan":
        return Verdict("ask", "in plan mode every edit is asked about")
    if mode == "bypassPermissions":
        return _BYPASSED
    if _is_protected(call, path):
        return Verdict("ask", f"{path} can change what runs next, so no rule allows editing it")
    if mode == "acceptEdits" and not _is_outside(call, path):
        return Verdict("allow", "the mode acceptEdits allows edits inside the working directory")
    return None


def _is_protected(call: Call, path: str) -> bool:
    absolute = absolute_path(path, call.situation)
    return is_protected(absolute) or is_protected(call.situation.files.resolve(absolute))


def _allowed_whole(call: Call, path: str) -> Verdict | None:
    """A bare allow rule reaches every path as it is written; `(*)` only the project."""
    if leaves_through_link(path, call.situation):
        return None
    if not _is_outside(call, path):
        return by_name(call, "allow")
    return _bare(call)


def _bare(call: Call) -> Verdict | None:
    for rule in call.rules.allow:
        if rule.tool == call.tool and rule.spec is None:
            return by_rule("allow", rule, f"every {call.tool} call")
    return None


def _is_outside(call: Call, path: str) -> bool:
    return not inside_project(path, call.situation)
