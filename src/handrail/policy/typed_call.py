"""A tool call as people type it: `Bash(git push)`, `Edit src/x.py`, or a name and JSON."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from handrail.errors import PolicyError

__all__ = ["call_words", "parse_call"]

_MAIN_FIELD: Mapping[str, str] = {
    "Agent": "subagent_type",
    "Bash": "command",
    "Edit": "file_path",
    "Glob": "pattern",
    "Grep": "pattern",
    "LS": "path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
    "PowerShell": "command",
    "Read": "file_path",
    "Skill": "skill",
    "Task": "subagent_type",
    "WebFetch": "url",
    "WebSearch": "query",
    "Write": "file_path",
}
_PATHS = frozenset({"file_path", "notebook_path", "path"})
_CALL = re.compile(r"([\w.-]+)\((.*)\)", re.DOTALL)
_NAME = re.compile(r"[\w.-]+")


def parse_call(call: str, argument: str | None, given: str | None, cwd: str) -> tuple[str, dict[str, Any]]:
    """The tool and its input."""
    whole = _CALL.fullmatch(call.strip())
    tool = whole[1] if whole else call.strip()
    if not _NAME.fullmatch(tool):
        raise PolicyError(f"{call!r} is not a call: write 'Bash(git push)', or a tool and what it is given")
    if sum((whole is not None, argument is not None, given is not None)) > 1:
        raise PolicyError("say once what the tool is given: in parentheses, as a second word, or as JSON (--input)")
    if given is not None:
        return tool, _from_json(given)
    value = whole[2] if whole else argument
    return tool, {} if value is None else _from_text(tool, value, cwd)


def call_words(tool: str, given: Mapping[str, Any]) -> str:
    """What a tool is given, in short: the field that says most, or all of it as JSON."""
    value = given.get(_MAIN_FIELD.get(tool, ""))
    return value if isinstance(value, str) else json.dumps(given, ensure_ascii=False)


def _from_json(given: str) -> dict[str, Any]:
    try:
        value = json.loads(given)
    except ValueError as error:
        raise PolicyError(f"the input is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise PolicyError('the input must be a JSON object, such as {"command": "git push"}')
    return value


def _from_text(tool: str, value: str, cwd: str) -> dict[str, Any]:
    field = _MAIN_FIELD.get(tool)
    if field is None:
        raise PolicyError(f"it is not known which field of {tool} {value!r} is: give its whole input as JSON (--input)")
    if field in _PATHS and not value.startswith("~"):
        value = posixpath.normpath(posixpath.join(cwd, value))
    return {field: value}
