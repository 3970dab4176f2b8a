"""Starts a CLI that dials in, where the options ask for that instead of pipes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from handrail.protocol.dialling import dialling_command_line, dialling_environment
from handrail.protocol.options import Options
from handrail.transports.base import PassingOn, Receiver, Transport
from handrail.transports.versions import check_dials

if TYPE_CHECKING:
    from handrail.sessions.cli_process import Launch
    from handrail.transports.ingress.transport import Surroundings

__all__ = ["dialled"]


def dialled(
    options: Options, cli: Sequence[str], *, env: Mapping[str, str], launch: Launch, around: Surroundings
) -> Transport:
    """The transport of a CLI that `launch` starts with the address and the token of a listener of its own."""
    from handrail.transports.ingress.dialled import DialledTransport  # WebSockets cost a session nothing otherwise

    def start(url: str, token: str) -> Transport:
        argv = dialling_command_line(options, cli, url)
        if options.access_token_by == "environment":  # noqa: S105  where it is, not what it is
            extra = dialling_environment(options, token=token)
            return launch(argv, env={**env, **extra}, cwd=options.cwd)
        descriptor = _readable_once(token)
        extra = dialling_environment(options, descriptor=descriptor)
        return _ClosingAfterStart(launch(argv, env={**env, **extra}, cwd=options.cwd, holds=(descriptor,)), descriptor)

    return DialledTransport(start, check=lambda: check_dials(cli, env), around=around)


def _readable_once(token: str) -> int:
    """A descriptor from which `token` can be read, by whoever inherits it, and once."""
    reading, writing = os.pipe()
    try:
        os.write(writing, token.encode())
    finally:
        os.close(writing)
    return reading


class _ClosingAfterStart(PassingOn):
    """A process that has inherited a descriptor: our own copy of it is closed as soon as it runs."""

    def __init__(self, process: Transport, descriptor: int) -> None:
        super().__init__(process)
        self._descriptor = descriptor

    async def open(self, receiver: Receiver) -> None:
        try:
            await super().open(receiver)
        finally:
            os.close(self._descriptor)
