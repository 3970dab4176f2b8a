"""What a tool call is called: its kind, its title, and the files that it changes.

Tools come and go with versions. One that the table does not know is a `tool` with its own name as title; its whole
input is in the action's detail, so nothing depends on the table being complete.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from handrail.events.model import ActionKind

__all__ = ["TOOLS", "Call", "Tool", "changes_made", "describe_call"]

PATHS = ("file_path", "path", "notebook_path")
TITLE_LENGTH = 2_000


class Tool(NamedTuple):
    """How calls of a tool are shown: `label`, then the first of the input's `fields` that has a text."""

    kind: ActionKind
    label: str = ""
    fields: tuple[str, ...] = ()


class Call(NamedTuple):
    """A tool call in words."""

    kind: ActionKind
    title: str
    changes: tuple[dict[str, str], ...] = ()


TOOLS: dict[str, Tool] = {
    "Bash": Tool("command", fields=("command",)),
    "Shell": Tool("command", fields=("command",)),
    "PowerShell": Tool("command", fields=("command",)),
    "BashOutput": Tool("tool", "Output of", ("bash_id", "shell_id", "task_id")),
    "TaskOutput": Tool("tool", "Output of", ("task_id",)),
    "AgentOutputTool": Tool("tool", "Output of", ("agentId", "task_id")),
    "KillShell": Tool("command", "KillShell", ("shell_id", "task_id")),
    "KillBash": Tool("command", "KillBash", ("shell_id", "task_id")),
    "TaskStop": Tool("command", "TaskStop", ("task_id", "shell_id")),
    "Monitor": Tool("command", "Monitor", ("description", "command")),
    "Write": Tool("file_change", fields=PATHS),
    "Edit": Tool("file_change", fields=PATHS),
    "MultiEdit": Tool("file_change", fields=PATHS),
    "NotebookEdit": Tool("file_change", fields=("notebook_path", *PATHS)),
    "Read": Tool("tool", "Read", PATHS),
    "NotebookRead": Tool("tool", "Read", ("notebook_path", *PATHS)),
    "LS": Tool("tool", "LS", PATHS),
    "Glob": Tool("tool", "Glob", ("pattern",)),
    "Grep": Tool("tool", "Grep", ("pattern",)),
    "LSP": Tool("tool", "LSP", ("operation",)),
    "WebSearch": Tool("web_search", fields=("query",)),
    "web_search": Tool("web_search", fields=("query",)),
    "WebFetch": Tool("web_search", fields=("url",)),
    "web_fetch": Tool("web_search", fields=("url",)),
    "Task": Tool("subagent", fields=("description", "subagent_type")),
    "Agent": Tool("subagent", fields=("description", "subagent_type")),
    "SendMessage": Tool("tool", "Message to", ("to", "recipient")),
    "ListAgents": Tool("tool", "List agents"),
    "Workflow": Tool("tool", "Workflow", ("name", "description")),
    "TodoWrite": Tool("note", "update todos"),
    "TodoRead": Tool("note", "read todos"),
    "TaskCreate": Tool("note", "create task", ("subject", "description")),
    "TaskUpdate": Tool("note", "update task", ("taskId", "task_id")),
    "TaskGet": Tool("note", "read task", ("taskId", "task_id")),
    "TaskList": Tool("note", "list tasks"),
    "AskUserQuestion": Tool("note", "ask user"),
    "EnterPlanMode": Tool("tool", "Enter plan mode"),
    "ExitPlanMode": Tool("tool", "Present the plan"),
    "EnterWorktree": Tool("tool", "Enter worktree", ("name", "path")),
    "ExitWorktree": Tool("tool", "Leave worktree", ("action",)),
    "Skill": Tool("tool", "Skill", ("skill", "command")),
    "SlashCommand": Tool("tool", fields=("command",)),
    "ToolSearch": Tool("tool", "Search tools:", ("query",)),
    "ListMcpResourcesTool": Tool("tool", "List MCP resources", ("server",)),
    "ReadMcpResourceTool": Tool("tool", "Read MCP resource", ("uri",)),
    "StructuredOutput": Tool("tool", "Structured output"),
    "CronCreate": Tool("tool", "Schedule", ("cron", "prompt")),
    "CronDelete": Tool("tool", "Remove from the schedule", ("id",)),
    "CronList": Tool("tool", "List the schedule"),
    "ScheduleWakeup": Tool("tool", "Schedule a wake-up", ("reason",)),
    "ReportFindings": Tool("note", "report findings", ("summary", "title")),
}


def describe_call(name: str, call_input: Any) -> Call:
    """The kind and the title of a call, and what it changes as far as its input says."""
    given = call_input if isinstance(call_input, dict) else {}
    tool = TOOLS.get(name) or _other_tool(name)
    title = " ".join(part for part in (tool.label, _first_text(given, tool.fields)) if part)
    changes = _changes(given) if tool.kind == "file_change" else ()
    return Call(tool.kind, (title or name or "tool")[:TITLE_LENGTH], changes)


def changes_made(changes: tuple[dict[str, str], ...], result: Any) -> tuple[dict[str, str], ...]:
    """The changes of a call whose structured `result` is known: only that says whether a file was new."""
    if not isinstance(result, dict) or not changes:
        return changes
    created = result.get("type") == "create"
    path = result.get("filePath")
    where = path if isinstance(path, str) and path else changes[0]["path"]
    kind = "add" if created else changes[0]["kind"] if result.get("type") is None else "update"
    return ({"path": where, "kind": kind},)


def _changes(given: dict[str, Any]) -> tuple[dict[str, str], ...]:
    path = _first_text(given, ("notebook_path", *PATHS))
    if not path:
        return ()
    creates = given.get("create") is True or given.get("old_string") == ""
    return ({"path": path, "kind": "add" if creates else "update"},)


def _other_tool(name: str) -> Tool:
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        return Tool("tool", f"{server}: {tool}" if tool else name)
    return Tool("tool", name)


def _first_text(given: dict[str, Any], fields: tuple[str, ...]) -> str:
    return next((value for name in fields if isinstance(value := given.get(name), str) and value), "")
