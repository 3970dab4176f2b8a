"""What the sessions of one process are held to: what was asked of each, beside what is asked of all.

Every session becomes live through here, whoever starts it and by whichever way.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from handrail.places import Places
from handrail.policy.storage.loading import Asked, PolicySource, load_policy
from handrail.protocol.options import Options
from handrail.sessions.launching import SessionSettings, decode_settings, worktree_origin
from handrail.store.base import SessionRow

__all__ = ["HouseRules"]


class _Noting(Protocol):
    def __call__(self, text: str, *, warning: bool = False) -> None: ...


class HouseRules:
    """The policies of one household. Owned by it."""

    def __init__(self, places: Places) -> None:
        self.standing: Asked | None = None
        """What is asked of every session, beside what is asked of it itself."""
        self._places = places

    def remembered(self, row: SessionRow) -> SessionSettings:
        """How a session is run that was there before.

        One that a program once started without a policy is held to that of this process: the program may not be here.
        """
        settings = decode_settings(row.settings)
        if settings.policy is not None or settings.fixed_policy or self.standing is None:
            return settings
        return msgspec.structs.replace(settings, policy=Asked())

    def source(self, settings: SessionSettings, options: Options, note: _Noting) -> PolicySource | None:
        """The policy for a session that becomes live; None for one that has none."""
        if settings.policy is None:
            return None
        return PolicySource(
            str(options.cwd),
            self._places,
            self._asked(settings.policy),
            copy_of=worktree_origin(settings.worktree),
            on_error=lambda error: note(f"the policy cannot be reloaded, the last one holds: {error}", warning=True),
            on_change=lambda loaded: note("the policy has changed, and holds from now on"),
        )

    def started_elsewhere(self, row: SessionRow) -> Options:
        """How the CLI of a session is to be started that somebody starts elsewhere: its settings say of the policy what
        they can, as those of a CLI that is started here do."""
        settings = self.remembered(row)
        if settings.policy is None:
            return settings.options
        from handrail.sessions.enforcement import with_settings

        loaded = load_policy(str(settings.options.cwd), self._places, self._asked(settings.policy))
        return with_settings(settings.options, loaded.policy)

    def _asked(self, of_the_session: Asked) -> Asked:
        return of_the_session if self.standing is None else of_the_session.beside(self.standing)
