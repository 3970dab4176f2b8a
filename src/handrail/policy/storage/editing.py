"""Changes policy files on disk: whole or not at all, and one change at a time among processes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from handrail.errors import InvalidPolicy
from handrail.places import Places, project_policy_file
from handrail.policy.editing import added_rules, without_rule
from handrail.policy.storage.json_file import locked
from handrail.policy.storage.loading import behind_a_link, read_policy_bytes
from handrail.policy.storage.trust_store import TrustStore
from handrail.policy.trust import digest_of
from handrail.policy.verdict import Behavior
from handrail.whole_files import write_whole

__all__ = ["PolicyEditor"]

FOR_EVERYBODY = 0o644


class PolicyEditor:
    """Adds rules to the policy for all projects, or to that of the project at `project`, and takes them out.

    A project's file that was trusted stays trusted: whoever changes it here decides what it says.
    """

    def __init__(self, places: Places) -> None:
        self._places = places

    def add(self, rule: str, behavior: Behavior, *, project: str | None = None) -> None:
        """Write a rule down. One that is malformed, or stands in a file that is, is an error."""
        self._change(project, lambda before, path: added_rules(before, [rule], path, behavior))

    def remove(self, rule: str, behavior: Behavior, *, project: str | None = None) -> None:
        """Take a rule out. One that does not stand there is an error."""
        self._change(project, lambda before, path: without_rule(before, rule, path, behavior))

    def _change(self, project: str | None, change: Callable[[str, str], str]) -> None:
        path = self._places.policy_file if project is None else project_policy_file(project)
        if project is not None and behind_a_link(path):
            raise InvalidPolicy(f"{path} is a symbolic link: change the file that it leads to")
        with locked(self._places.policy_file):
            before = read_policy_bytes(path) or b""
            after = change(before.decode(), path).encode()
            _write(os.path.realpath(path), after)
            if project is not None:
                self._keep_trust(path, before, after)

    def _keep_trust(self, path: str, before: bytes, after: bytes) -> None:
        trust = TrustStore(self._places.trust_file)
        if trust.entries().get(path) == digest_of(before):
            trust.trust(path, digest_of(after))


def _write(path: str, data: bytes) -> None:
    """In place of what was there, with its permissions: a project's policy is read by others too."""
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else FOR_EVERYBODY
    try:
        write_whole(path, data)
        os.chmod(path, mode)
    except OSError as error:
        raise InvalidPolicy(f"{path} cannot be written: {error.strerror}") from error
