"""Examples of requests, for the API's document. A test sends each of them through its decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["EXAMPLES"]

EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "sessions.create": {
        "short": {"cwd": "~/projects/shop", "prompt": "Fix the failing test."},
        "once, however often it is sent": {
            "id": "0b8e0f4e-58ab-4a6e-9c0c-3f1d6f1f7c11",
            "cwd": "~/projects/shop",
            "prompt": "Fix the failing test.",
        },
        "full": {
            "cwd": "~/projects/shop",
            "prompt": "Fix the failing test.",
            "title": "Tests",
            "model": "opus",
            "mode": "plan",
            "policy": "careful",
            "budget": 5,
            "worktree": "fix-tests",
        },
    },
    "sessions.change": {"rename": {"title": "Release 2.0"}, "archive": {"archived": True}},
    "messages.send": {"text": {"content": "Now run the linter too."}},
    "control.control": {
        "mode": {"subtype": "set_permission_mode", "fields": {"mode": "acceptEdits"}},
        "context": {"subtype": "get_context_usage"},
    },
    "control.rewind": {"look first": {"message_uuid": "7b0c4b8e-6f5b-4e5e-9f6a-2f3a0c9f1d11", "dry_run": True}},
    "asks.answer": {
        "allow": {"digest": "9f2c…", "answer": {"type": "allow"}},
        "deny": {"digest": "9f2c…", "answer": {"type": "deny", "message": "Use pnpm instead."}},
    },
    "policy.explain": {"a command": {"tool": "Bash", "input": {"command": "git push"}, "cwd": "~/projects/shop"}},
    "policy.check": {"rules": {"text": 'profile = "careful"\nallow = ["Bash(git status)"]\n'}},
    "policy.add_rule": {
        "for all projects": {"behavior": "allow", "rule": "Bash(git status)"},
        "for one": {"behavior": "deny", "rule": "Read(.env)", "scope": "project", "cwd": "~/projects/shop"},
    },
    "hosts.make_enrolment": {"a build machine": {"name": "build-box", "labels": ["linux", "large"]}},
    "hosts.enrol": {"with a code": {"code": "hre_…", "name": "build-box"}},
    "hosts.drain": {"before maintenance": {"on": True}, "afterwards": {"on": False}},
    "tokens.mint": {"a script": {"name": "nightly report", "role": "viewer", "days": 90}},
    "tokens.login_link": {"a phone": {"role": "approver", "name": "phone"}},
}
"""By route and by name."""
