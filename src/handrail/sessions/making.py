"""Makes the sessions of this machine: a row in the store, a worktree if one is wanted, and then its CLI."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import msgspec

from handrail.errors import HandrailError, InvalidOptions, LaunchError, ProcessError, SessionBusy, StoreError
from handrail.policy.policy import Policy
from handrail.protocol.options import Options
from handrail.sessions.beginning import Beginning, begun
from handrail.sessions.git import GitError
from handrail.sessions.household import Household
from handrail.sessions.launching import SessionSettings, encode_settings, for_fork, for_new
from handrail.sessions.sitting import Attachments
from handrail.store.base import SessionRow, Store

__all__ = ["Maker"]


class Maker:
    """Makes sessions of one household. `worktrees` is the directory in which theirs are kept."""

    def __init__(self, store: Store, house: Household, *, worktrees: str) -> None:
        self._store = store
        self._house = house
        self._worktrees = worktrees

    async def begin(self, beginning: Beginning, attachments: Attachments, policy: Policy | None) -> None:
        """Make a session live: a new one, or the one that this request has made already."""
        _check_is_new(beginning.settings.options)
        if not await self._begin_once(beginning, attachments, policy):
            await self._house.resume(beginning.id, attachments, {}, policy=policy)

    async def _begin_once(self, beginning: Beginning, attachments: Attachments, policy: Policy | None) -> bool:
        """Make a session live that was not there before; False if it was."""
        async with self._house.while_starting(beginning.id):
            if await begun(self._store, beginning.id, beginning.request) is not None:
                return False
            try:
                await self._begin_anew(beginning, attachments, policy)
            except (StoreError, SessionBusy, GitError):
                # Another process may have been faster, with the same request.
                if await begun(self._store, beginning.id, beginning.request) is None:
                    raise
                return False
        return True

    async def _begin_anew(self, beginning: Beginning, attachments: Attachments, policy: Policy | None) -> None:
        settings = msgspec.structs.replace(beginning.settings, request=beginning.request)
        if beginning.worktree is not None:
            settings = await self._in_worktree(settings, beginning.worktree)
        cli_session_id = settings.options.session_id or str(uuid4())
        try:
            row = await self.create(settings, id=beginning.id, title=beginning.title, cli_session_id=cli_session_id)
        except StoreError:
            await self._remove_worktree(settings)
            raise
        options = for_new(settings.options, cli_session_id)
        async with self._or_never_there(row.id, settings):
            await self._house.sit(row, options, settings, why="new", attachments=attachments, policy=policy)

    async def fork(self, parent: SessionRow, settings: SessionSettings, *, title: str) -> str:
        """Make a session live that is a copy of another's conversation; returns its id."""
        conversation = str(parent.cli_session_id)
        settings = msgspec.structs.replace(settings, forks=conversation, request="")
        title = title or f"{parent.title} (fork)".strip()
        row = await self.create(settings, title=title, forked_from=parent.id, cli_session_id=None)
        options = for_fork(settings.options, conversation)
        async with self._house.while_starting(row.id), self._or_never_there(row.id):
            await self._house.sit(row, options, settings, why="fork", attachments=Attachments())
        return row.id

    async def create(
        self,
        settings: SessionSettings,
        *,
        title: str,
        cli_session_id: str | None,
        id: str = "",
        forked_from: str | None = None,
        status: str = "idle",
    ) -> SessionRow:
        """Add a session that has no CLI yet."""
        now = time.time()
        row = SessionRow(
            id=id or uuid4().hex,
            cwd=str(settings.options.cwd),
            created_at=now,
            updated_at=now,
            title=title,
            cli_session_id=cli_session_id,
            forked_from=forked_from,
            status=status,
            settings=encode_settings(settings),
        )
        await self._store.create_session(row)
        return row

    @asynccontextmanager
    async def _or_never_there(self, session_id: str, made: SessionSettings | None = None) -> AsyncGenerator[None, None]:
        """A session whose CLI does not even start was never there, unless somebody has sent it something.

        Nor was the worktree that was `made` for it. Its start is held meanwhile, so that nobody else begins it.
        """
        try:
            yield
        except (LaunchError, ProcessError):
            with suppress(HandrailError):
                if not await self._store.messages(session_id) and await self._house.discard(session_id) and made:
                    await self._remove_worktree(made)
            raise

    async def _in_worktree(self, settings: SessionSettings, name: str) -> SessionSettings:
        from handrail.sessions.worktrees import create_worktree

        worktree = await create_worktree(str(settings.options.cwd), name=name, directory=self._worktrees)
        options = msgspec.structs.replace(settings.options, cwd=worktree.cwd)
        return msgspec.structs.replace(settings, options=options, worktree=msgspec.to_builtins(worktree))

    async def _remove_worktree(self, settings: SessionSettings) -> None:
        """Nothing will ever work in the worktree: the same start again is to find its name free."""
        from handrail.sessions.worktrees import Worktree, remove_worktree

        if settings.worktree is not None:
            with suppress(GitError):  # somebody has found it, and works there
                await remove_worktree(msgspec.convert(settings.worktree, Worktree))


def _check_is_new(options: Options) -> None:
    if options.resume is not None or options.continue_conversation:
        raise InvalidOptions("a new session resumes nothing: use Manager.resume, or Manager.adopt for one of the CLI's")
