"""Rules on skills, and which skills the CLI runs unasked."""

from __future__ import annotations

import posixpath
import re

from handrail.policy.calls.base import Call, by_field, by_name, by_rule
from handrail.policy.verdict import Behavior, Verdict

__all__ = ["judge_skill"]

_HARMLESS_KEYS = {
    "name",
    "description",
    "model",
    "effort",
    "context",
    "agent",
    "version",
    "license",
    "metadata",
    "argument-hint",
    "when_to_use",
    "user-invocable",
    "disable-model-invocation",
}
"""What a skill may say about itself and still run unasked; one with tools or hooks of its own is asked about."""

_LARGEST = 1_000_000


def judge_skill(call: Call) -> Verdict:
    """The verdict on a Skill call."""
    name = (call.text("skill") or "").removeprefix("/")
    return (
        by_name(call, "deny")
        or by_field(call, "deny")
        or _by_skill(call, "deny", name)
        or by_name(call, "ask")
        or by_field(call, "ask")
        or _by_skill(call, "ask", name)
        or _unasked(call, name)
        or _by_skill(call, "allow", name)
        or by_name(call, "allow")
        or Verdict("ask", f"no rule covers the skill {name or 'of this call, which names none'}")
    )


def _by_skill(call: Call, behavior: Behavior, name: str) -> Verdict | None:
    for rule in call.rules.of(behavior):
        if rule.tool == "Skill" and not rule.is_whole_tool and name and _is_meant(rule.spec or "", name, behavior):
            return by_rule(behavior, rule, f"the skill {name}")
    return None


def _is_meant(spec: str, name: str, behavior: Behavior) -> bool:
    if behavior != "allow":
        spec = spec.removeprefix("skill:")
    spec = spec.removeprefix("/")
    prefix = spec.removesuffix(":*")
    return name.startswith(prefix) if prefix and prefix != spec else name == spec


def _unasked(call: Call, name: str) -> Verdict | None:
    if call.situation.mode == "bypassPermissions":
        return Verdict("allow", "the mode is bypassPermissions")
    if re.fullmatch(r"[\w-]+", name) and _is_harmless(call, name):
        return Verdict("allow", f"the skill {name} brings no tools or hooks of its own, so Claude Code runs it unasked")
    return None


def _is_harmless(call: Call, name: str) -> bool:
    situation = call.situation
    places = [posixpath.join(root, ".claude/skills", name, "SKILL.md") for root in (situation.cwd, situation.home)]
    found = [text for text in (situation.files.read(place, _LARGEST) for place in places) if text is not None]
    return bool(found) and all(_says_only_harmless_things(text) for text in found)


def _says_only_harmless_things(text: bytes) -> bool:
    """Whether there is a front matter, of single lines, with known keys only; anything less plain is for a person."""
    front_matter = re.match(r"---\r?\n(.*?)\r?\n---\r?\n", text.decode("utf-8", "replace"), re.DOTALL)
    if front_matter is None:
        return False
    keys = [re.match(r"([\w-]+):(?:\s|\Z)", line) for line in front_matter[1].splitlines()]
    return all(key is not None and key[1] in _HARMLESS_KEYS for key in keys)
