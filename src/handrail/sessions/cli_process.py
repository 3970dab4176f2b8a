"""The process behind a client: how it is started, who listens in on it, and how it ended."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from handrail.errors import ProcessExited
from handrail.protocol.environment import child_environment
from handrail.protocol.launch import command_line
from handrail.protocol.options import Options
from handrail.transports.base import Transport
from handrail.transports.discovery import find_cli
from handrail.transports.recorder import RecordingTransport, WireLog
from handrail.transports.redact import Redactor, is_secret_name
from handrail.transports.tapped import TappedTransport

if TYPE_CHECKING:
    from handrail.transports.ingress.transport import Surroundings

__all__ = ["Launch", "Wiring", "exit_error"]

logger = logging.getLogger("handrail.wire")


class Launch(Protocol):
    """Makes the transport that starts a CLI process, which inherits the descriptors that it `holds`."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | os.PathLike[str] | None,
        holds: Sequence[int] = (),
    ) -> Transport: ...


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """How one client reaches its CLI."""

    options: Options
    given: Transport | None
    """The transport to use; without one a process is started."""
    launch: Launch
    around: Surroundings | None
    """For a process that is to dial in."""
    on_write: Callable[[bytes], None] | None
    """Hears of all that is written."""
    record: str | os.PathLike[str] | None
    """Where both directions are recorded."""

    def transport(self, launch_options: Callable[[], Options]) -> Transport:
        """The transport to open. `launch_options` gives those that a process is started with."""
        return self._listened_to(self.given or self._process(launch_options))

    def _process(self, launch_options: Callable[[], Options]) -> Transport:
        location = find_cli(self.options.cli_path)
        options = launch_options()
        env = child_environment(self.options, os.environ)
        if options.transport == "stdio":
            return self.launch(command_line(options, location.argv), env=env, cwd=options.cwd)
        from handrail.sessions.dialling import dialled
        from handrail.transports.ingress.transport import Surroundings

        around = self.around or Surroundings()
        return dialled(options, location.argv, env=env, launch=self.launch, around=around)

    def _listened_to(self, transport: Transport) -> Transport:
        if self.on_write is not None:
            transport = TappedTransport(transport, on_write=self.on_write)
        redactor = Redactor(value for name, value in self.options.env.items() if is_secret_name(name))
        if logger.isEnabledFor(logging.DEBUG):
            transport = RecordingTransport(transport, WireLog(logger, redactor=redactor))
        if self.record is not None:
            transport = RecordingTransport(transport, self.record, redact=redactor)
        return transport


def exit_error(exit_code: int | None, *, last_error: str | None, stderr_tail: str) -> ProcessExited:
    """What to tell those who still waited for a CLI: how it ended, and what it said last."""
    parts = [f"Claude Code {_how_it_ended(exit_code)}"]
    if last_error:
        parts.append(f"its last result was an error: {last_error}")
    tail = stderr_tail.strip()
    if tail:
        parts.append(f"its standard error ends with:\n{tail}")
    return ProcessExited("; ".join(parts), exit_code=exit_code, stderr_tail=tail)


def _how_it_ended(exit_code: int | None) -> str:
    if exit_code is None:
        return "ended"
    return f"exited with code {exit_code}" if exit_code >= 0 else f"was killed by signal {-exit_code}"
