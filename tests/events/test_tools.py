"""The names of tools, as titles for people."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.events.tools import TOOLS, describe_call

CASES: list[tuple[str, Any, str, str]] = [
    ("Bash", {"command": "ls\npwd", "description": "list"}, "command", "ls\npwd"),
    ("Shell", {"command": "ls"}, "command", "ls"),
    ("Bash", {}, "command", "Bash"),
    ("BashOutput", {"bash_id": "b1"}, "tool", "Output of b1"),
    ("TaskOutput", {"task_id": "x"}, "tool", "Output of x"),
    ("KillShell", {"shell_id": "b1"}, "command", "KillShell b1"),
    ("KillShell", {}, "command", "KillShell"),
    ("Write", {"file_path": "/p/a"}, "file_change", "/p/a"),
    ("Edit", {"path": "/p/a"}, "file_change", "/p/a"),
    ("MultiEdit", {"file_path": "/p/a"}, "file_change", "/p/a"),
    ("NotebookEdit", {"notebook_path": "/p/a.ipynb"}, "file_change", "/p/a.ipynb"),
    ("Read", {"file_path": "/p/a"}, "tool", "Read /p/a"),
    ("Glob", {"pattern": "*.py"}, "tool", "Glob *.py"),
    ("Grep", {"pattern": "TODO"}, "tool", "Grep TODO"),
    ("WebSearch", {"query": "stairs"}, "web_search", "stairs"),
    ("WebFetch", {"url": "https://x.test"}, "web_search", "https://x.test"),
    ("Task", {"description": "look", "prompt": "p"}, "subagent", "look"),
    ("Agent", {}, "subagent", "Agent"),
    ("TodoWrite", {"todos": []}, "note", "update todos"),
    ("TaskCreate", {"subject": "paint"}, "note", "create task paint"),
    ("TaskUpdate", {"taskId": "3", "status": "done"}, "note", "update task 3"),
    ("AskUserQuestion", {"questions": []}, "note", "ask user"),
    ("ExitPlanMode", {"plan": "x"}, "tool", "Present the plan"),
    ("EnterPlanMode", {}, "tool", "Enter plan mode"),
    ("Skill", {"skill": "pdf"}, "tool", "Skill pdf"),
    ("LSP", {"operation": "hover"}, "tool", "LSP hover"),
    ("ToolSearch", {"query": "mail"}, "tool", "Search tools: mail"),
    ("Monitor", {"command": "tail -f log"}, "command", "Monitor tail -f log"),
    ("mcp__mail__send", {"to": "x"}, "tool", "mail: send"),
    ("mcp__odd", {}, "tool", "mcp__odd"),
    ("Teleport", {"where": "home"}, "tool", "Teleport"),
    ("", None, "tool", "tool"),
    ("Bash", "not an object", "command", "Bash"),
    ("Read", {"file_path": 7}, "tool", "Read"),
]


@pytest.mark.parametrize(("name", "given", "kind", "title"), CASES, ids=[f"{case[0]}-{case[3]}" for case in CASES])
def test_titles(name: str, given: Any, kind: str, title: str) -> None:
    call = describe_call(name, given)
    assert (call.kind, call.title) == (kind, title)


def test_changes() -> None:
    assert describe_call("Write", {"file_path": "/a"}).changes == ({"path": "/a", "kind": "update"},)
    assert describe_call("Write", {"path": "/a", "create": True}).changes == ({"path": "/a", "kind": "add"},)
    assert describe_call("Edit", {"file_path": "/a", "old_string": ""}).changes == ({"path": "/a", "kind": "add"},)
    assert describe_call("Write", {}).changes == ()
    assert describe_call("Read", {"file_path": "/a"}).changes == ()


def test_every_tool_has_a_title_without_input() -> None:
    for name in TOOLS:
        assert describe_call(name, {}).title
