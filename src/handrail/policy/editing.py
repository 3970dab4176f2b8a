"""Rules added to and taken out of a policy file, with everything a person wrote around them left as it is."""

from __future__ import annotations

from collections.abc import Iterable

import tomlkit
from tomlkit.items import Array

from handrail.errors import InvalidPolicy
from handrail.policy.documents import parse_document
from handrail.policy.verdict import Behavior

__all__ = ["added_rules", "without_rule"]


def added_rules(before: str, rules: Iterable[str], path: str, behavior: Behavior = "allow") -> str:
    """The file's text with the rules in the list of that behaviour. A file that is not a policy is refused as it is."""
    parse_document(before.encode(), path)
    document = tomlkit.parse(before)
    listed = document.get(behavior)
    if not isinstance(listed, Array):
        listed = tomlkit.array()
        document[behavior] = listed
    listed.multiline(True)
    for rule in rules:
        if rule not in listed:
            listed.append(rule)
    return _checked(tomlkit.dumps(document), path)


def without_rule(before: str, rule: str, path: str, behavior: Behavior) -> str:
    """The file's text without the rule. One that does not stand there is an error."""
    parse_document(before.encode(), path)
    document = tomlkit.parse(before)
    listed = document.get(behavior)
    if not isinstance(listed, Array) or rule not in listed:
        raise InvalidPolicy(f"{path} has no rule {rule} among those that {behavior}")
    while rule in listed:
        listed.remove(rule)
    return _checked(tomlkit.dumps(document), path)


def _checked(after: str, path: str) -> str:
    parse_document(after.encode(), path)
    return after
