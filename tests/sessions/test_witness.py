"""What Claude Code's own transcript proves of calls: only what was certainly let happen counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.sessions.owning import witness
from handrail.sessions.owning.witness import ends_of

SESSION = "5f0c4a5e-0000-4000-8000-000000000000"
ALLOWED = {"permissionDecision": {"decision": "accept", "source": "user_temporary"}}
REFUSED = {"permissionDecision": {"decision": "reject", "source": "config"}, "toolDenialKind": "permission-rule"}


def result(call: str, *, error: bool | None = None, **fields: Any) -> dict[str, Any]:
    block = {
        "type": "tool_result",
        "tool_use_id": call,
        "content": "x",
        **({} if error is None else {"is_error": error}),
    }
    return {"type": "user", "message": {"role": "user", "content": [block]}, **fields}


def write(home: Path, *lines: Any) -> dict[str, str]:
    project = home / ".claude" / "projects" / "-work"
    project.mkdir(parents=True)
    texts = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines]
    (project / f"{SESSION}.jsonl").write_text("\n".join(texts))
    return {"HOME": str(home)}


@pytest.mark.parametrize(
    ("line", "proved"),
    [
        (result("c1"), {"c1": True}),
        (result("c1", error=False), {"c1": True}),
        (result("c1", error=True, **ALLOWED), {"c1": False}),
        (result("c1", error=True), {}),
        (result("c1", error=True, **REFUSED), {}),
        (result("another"), {}),
        ({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": ["c1"]}]}}, {}),
        ({"type": "user", "message": {"content": 'not a "tool_result" of c1'}}, {}),
        ('{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1"', {}),
        ('["tool_result"]', {}),
        ({"type": "user", "message": {"content": ["tool_result", None, {"type": "tool_result"}]}}, {}),
    ],
)
def test_what_a_line_proves(line: Any, proved: dict[str, bool], tmp_path: Path) -> None:
    environ = write(tmp_path, {"type": "assistant"}, line)
    assert ends_of({"c1"}, SESSION, environ=environ) == proved


def test_without_a_transcript_nothing_is_proved(tmp_path: Path) -> None:
    assert ends_of({"c1"}, SESSION, environ={"HOME": str(tmp_path)}) == {}
    assert ends_of({"c1"}, None, environ=write(tmp_path, result("c1"))) == {}
    assert ends_of((), SESSION, environ={"HOME": str(tmp_path)}) == {}


def test_the_configured_directory_is_where_it_is(tmp_path: Path) -> None:
    write(tmp_path, result("c1"))
    environ = {"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    assert ends_of({"c1"}, SESSION, environ=environ) == {"c1": True}


def test_only_the_end_of_a_long_one_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = write(tmp_path, result("c1"), {"type": "assistant", "filler": "x" * 1000}, result("c2"))
    monkeypatch.setattr(witness, "LATEST", 500)
    assert ends_of({"c1", "c2"}, SESSION, environ=environ) == {"c2": True}
