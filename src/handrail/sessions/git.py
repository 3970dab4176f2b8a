"""Runs git for Handrail: without a shell, without a prompt, without hooks, and never for longer than it may take."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from handrail.errors import SessionError
from handrail.policy.describing.visible import one_line

__all__ = ["GitError", "GitOutput", "run_git"]

_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
_OF_ANOTHER_REPOSITORY = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
"""What git sets for the programs it starts: inside of a hook, they would lead to that hook's repository."""
_TIME_TO_CLEAN_UP = 5.0


class GitError(SessionError):
    """Git did not do what it was asked for."""


class GitOutput(msgspec.Struct, frozen=True):
    """What git said."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def value(self) -> str:
        """The one line that it printed."""
        return self.stdout.removesuffix("\n")

    @property
    def complaint(self) -> str:
        """Why it failed, in git's words, on one line."""
        return one_line(self.stderr).removeprefix("fatal: ") or f"git ended with exit code {self.exit_code}"


async def run_git(
    directory: str, *arguments: str, timeout: float, environ: Mapping[str, str] | None = None
) -> GitOutput:
    """Run git in `directory`. Raises `GitError` if there is no git, or it takes longer than `timeout` seconds."""
    try:
        process = await _started(directory, arguments, _environment(os.environ if environ is None else environ))
    except FileNotFoundError:
        raise GitError(_why_not_started(directory)) from None
    except OSError as error:
        raise GitError(f"git cannot be run in {directory}: {error.strerror}") from None
    try:
        async with asyncio.timeout(timeout):
            stdout, stderr = await process.communicate()
    except TimeoutError:
        raise GitError(f"git {arguments[0]} took longer than {timeout:g} s in {directory}, and was ended") from None
    finally:
        await _end(process)
    return GitOutput(process.returncode or 0, os.fsdecode(stdout), stderr.decode("utf-8", "replace"))


async def _started(directory: str, arguments: tuple[str, ...], environ: dict[str, str]) -> asyncio.subprocess.Process:
    """Git, running. Whoever is cancelled meanwhile leaves nothing behind: asyncio ends git, not what git started."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            "git",
            *_NO_HOOKS,
            *arguments,
            cwd=directory,
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _end(await starting)
        raise


def _why_not_started(directory: str) -> str:
    if not os.path.isdir(directory):
        return f"there is no directory {directory}"
    return "git is not installed, or not on the PATH; worktrees need it"


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, in which git asks nothing and speaks English."""
    kept = {name: value for name, value in environ.items() if name not in _OF_ANOTHER_REPOSITORY}
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "SSH_ASKPASS": "true",
        "GIT_SSH_COMMAND": f"{kept.get('GIT_SSH_COMMAND', 'ssh')} -oBatchMode=yes",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }


async def _end(process: asyncio.subprocess.Process) -> None:
    """End git, if it still runs, and give it the time to take away what it has half made."""
    if process.returncode is not None:
        return
    _signal(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(_TIME_TO_CLEAN_UP):
            await process.communicate()
    except TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.communicate()


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    """To all that git started, too: its filters and fetches."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
