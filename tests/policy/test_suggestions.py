"""What the CLI's suggestions mean, in words."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.policy.describing.suggestions import describe_suggestion


@pytest.mark.parametrize(
    ("suggestion", "words"),
    [
        (
            {"type": "addRules", "rules": [{"toolName": "Read"}], "behavior": "allow", "destination": "session"},
            "allow Read, for this session",
        ),
        (
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "git *"}, {"toolName": "Read"}],
                "behavior": "deny",
                "destination": "userSettings",
            },
            "deny Bash(git *), Read, saved in ~/.claude/settings.json, for all your projects",
        ),
        (
            {"type": "replaceRules", "rules": [], "behavior": "allow", "destination": "projectSettings"},
            "allow only , in place of what was there, saved in .claude/settings.json, which the project shares",
        ),
        (
            {"type": "removeRules", "rules": [{"toolName": "X"}], "behavior": "ask", "destination": "localSettings"},
            "remove the rule to ask X, saved in .claude/settings.local.json",
        ),
        (
            {"type": "addDirectories", "directories": ["/a", "/b"], "destination": "session"},
            "work in /a, /b too, for this session",
        ),
        (
            {"type": "removeDirectories", "directories": ["/a"], "destination": "session"},
            "no longer work in /a, for this session",
        ),
        (
            {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
            "ALLOW EVERYTHING without asking, for this session",
        ),
        ({"type": "setMode", "mode": "new", "destination": "session"}, "switch to the mode new, for this session"),
        ({"type": "novelty", "x": 1}, '{"type": "novelty", "x": 1}'),
        (
            {"type": "setMode", "mode": "plan", "destination": "moon"},
            '{"type": "setMode", "mode": "plan", "destination": "moon"}',
        ),
    ],
)
def test_suggestions_in_words(suggestion: dict[str, Any], words: str) -> None:
    assert describe_suggestion(suggestion) == words


def test_a_rule_cannot_hide_anything() -> None:
    rule = {"toolName": "Bash", "ruleContent": "ls\u202e\n\x1b[8m rm"}
    words = describe_suggestion({"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"})
    assert words == "allow Bash(ls<U+202E> ⏎ <U+001B>[8m rm), for this session"
