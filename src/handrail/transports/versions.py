"""Ask a CLI for its version before it is started for something that only some versions do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from handrail.errors import DialRefused
from handrail.protocol.dialling import refusal_of_version
from handrail.transports.discovery import Version, parse_version

__all__ = ["check_dials", "cli_version"]

SECONDS = 30.0
"""How long a CLI may take to say its version: it is a matter of a second, unless the machine is busy."""


async def check_dials(cli: Sequence[str], env: Mapping[str, str]) -> None:
    """Raise `DialRefused` for a CLI whose version connects to no server of ours.

    One that does not tell its version is given the benefit of the doubt: it says itself what it refuses.
    """
    version = await cli_version(cli, env)
    if version is not None and (why := refusal_of_version(version)) is not None:
        raise DialRefused(why)


async def cli_version(cli: Sequence[str], env: Mapping[str, str]) -> Version | None:
    """What `claude --version` says; None if it cannot be run, or says something else."""
    try:
        process = await asyncio.create_subprocess_exec(
            *cli,
            "--version",
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        await _end(process)
    return parse_version(said.decode(errors="replace"))


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
