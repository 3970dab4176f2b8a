"""Rules added to a policy file, with everything a person wrote around them left as it is."""

from __future__ import annotations

from collections.abc import Iterable

import tomlkit
from tomlkit.items import Array

from handrail.policy.documents import parse_document

__all__ = ["added_rules"]


def added_rules(before: str, rules: Iterable[str], path: str) -> str:
    """The file's text with the rules in its `allow` list. A file that is not a policy is refused as it is."""
    parse_document(before.encode(), path)
    document = tomlkit.parse(before)
    listed = document.get("allow")
    if not isinstance(listed, Array):
        listed = tomlkit.array()
        document["allow"] = listed
    listed.multiline(True)
    for rule in rules:
        if rule not in listed:
            listed.append(rule)
    after = tomlkit.dumps(document)
    parse_document(after.encode(), path)
    return after
