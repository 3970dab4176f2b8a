"""Run a CLI on pipes: bytes in, bytes out, and nothing of it left behind.

The pipes are driven straight from the event loop: no stream objects, no task per session, one read per
wake-up. So an idle session costs almost nothing, and a busy one does not starve the others.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from handrail.errors import ClientClosed, LaunchError, LocalProtocolError
from handrail.transports.child import ChildProcess
from handrail.transports.exit_watch import watch_exit
from handrail.transports.process_tree import (
    Ending,
    ProcessTree,
    carry_out,
    end_tree,
    marked_environment,
    new_marker,
)
from handrail.transports.scanner import shared_scanner
from handrail.transports.spawn import spawn
from handrail.transports.supervisor import shared_supervisor

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from handrail.transports.base import Receiver
    from handrail.transports.exit_watch import ExitWatch

__all__ = ["StdioTransport"]

_REAP_PATIENCE = 5.0

_log = logging.getLogger("handrail.transport")


class StdioTransport:
    """One CLI process on three pipes. Implements `handrail.transports.base.Transport`.

    `close()` ends standard input and waits `eof_grace` seconds for the process to leave by itself, then sends
    SIGTERM to it and to everything it started, waits `term_grace` seconds, and sends SIGKILL. What an exited
    process left running gets the same SIGTERM and SIGKILL. With `supervise`, so does all of it if this Python
    process dies before it can call `close()`.

    `env` is the whole environment of the process; nothing is inherited. `holds` are descriptors that are to stay open
    for as long as anything of the process may live, whatever becomes of this one: locks, as a rule.
    """

    watch_exit: ExitWatch = staticmethod(watch_exit)

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | os.PathLike[str] | None = None,
        eof_grace: float = 5.0,
        term_grace: float = 5.0,
        stderr_tail_bytes: int = 16384,
        supervise: bool = True,
        holds: Sequence[int] = (),
    ) -> None:
        self._argv = argv
        self._env = env
        self._cwd = cwd
        self._eof_grace = eof_grace
        self._term_grace = term_grace
        self._stderr_tail_bytes = stderr_tail_bytes
        self._holds = list(holds)
        self._supervisor = shared_supervisor() if supervise else None
        self._scanner = shared_scanner()
        self.marker = new_marker()
        """What everything that the process starts carries in its environment."""
        self._tree = ProcessTree((self.marker,))
        self._child: ChildProcess | None = None
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self._child.running else None

    @property
    def stderr_tail(self) -> str:
        return "" if self._child is None else self._child.stderr.text

    @property
    def write_buffer_size(self) -> int:
        """How many bytes are queued because the process has not read them yet."""
        return 0 if self._child is None else self._child.input.size

    async def open(self, receiver: Receiver) -> None:
        if self._closed:
            raise ClientClosed("this transport was closed: make a new one")
        if self._child is not None:
            raise LocalProtocolError("this transport is already open")
        try:
            self._watch_over()
            self._child = self._start(receiver)
        except BaseException:
            self._stop_watching_over()
            raise
        self._env = {}  # only the start needed it, and it is the largest part of an idle session
        self._tree.led_by(self._child.pid)
        self._child.when_exited(lambda: self._tree.leader_ended(self._scanner.processes.now()))

    def hold(self, descriptor: int) -> None:
        """Keep one more descriptor open from now on. A process that runs already leaves that to the supervisor."""
        self._holds.append(descriptor)
        if self._supervisor is not None:
            self._supervisor.hold(self.marker, descriptor)

    def write(self, data: bytes) -> None:
        self._opened().input.write(data)

    async def drain(self) -> None:
        await self._opened().input.drain()

    def close_input(self) -> None:
        self._opened().input.end()

    async def close(self) -> None:
        self._closed = True
        if self._child is None:
            return
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._end(self._child))
        await _see_through(self._closing)

    def _opened(self) -> ChildProcess:
        if self._child is None:
            raise ClientClosed("this transport is not open")
        return self._child

    def _start(self, receiver: Receiver) -> ChildProcess:
        environment = marked_environment(self._env, self.marker)
        process = spawn(self._argv, env=environment, cwd=self._cwd, holds=self._holds)
        try:
            return ChildProcess(process, receiver, watch=self.watch_exit, stderr_tail_bytes=self._stderr_tail_bytes)
        except BaseException:
            with process:
                process.kill()
            raise

    def _watch_over(self) -> None:
        """Before the process exists, so that there is no moment at which our death would leave it alone."""
        if self._supervisor is None:
            return
        try:
            self._supervisor.register(self.marker, self._holds)
        except OSError as error:
            raise LaunchError(f"the CLI cannot be watched over: {error.strerror}; raise `ulimit -n`") from error

    def _stop_watching_over(self) -> None:
        if self._supervisor is not None:
            self._supervisor.unregister(self.marker)

    async def _end(self, child: ChildProcess) -> None:
        try:
            await self._end_in_order(child)
        except BaseException:
            # As a rule, the end of the event loop has cancelled this task: there will be no other chance.
            self._end_at_once(child)
            raise
        finally:
            child.abandon()
            self._tree.reap_adopted()
            self._stop_watching_over()

    async def _end_in_order(self, child: ChildProcess) -> None:
        try:
            if child.running:
                # Parents can still be followed now; once they have gone, a child that left the session and
                # dropped the marker could not be found any more.
                self._tree.members(await self._scanner.table())
                child.input.end()
                await child.wait(self._eof_grace)
            await self._end_tree()
        except OSError as error:
            _log.warning("the processes of %d cannot be listed, so some may stay: %s", child.pid, error)
        child.kill_group()
        await child.wait(_REAP_PATIENCE)

    async def _end_tree(self) -> None:
        clock = asyncio.get_running_loop().time
        ending = Ending(self._tree, term_grace=self._term_grace)
        pause: float | None = 0.0
        while pause is not None:
            await asyncio.sleep(pause)
            step = ending.step(await self._scanner.table(), clock())
            carry_out(step, self._scanner.processes, self._tree)
            pause = step.pause
        if ending.survivors:
            _log.warning("processes that cannot be ended: %s", [process.pid for process in ending.survivors])

    def _end_at_once(self, child: ChildProcess) -> None:
        try:
            end_tree(self._scanner.processes, self._tree, term_grace=0.0)
        except OSError as error:
            _log.warning("the processes of %d cannot be listed, so some may stay: %s", child.pid, error)
        child.kill_group()
        child.reap_now(_REAP_PATIENCE)


async def _see_through(task: asyncio.Task[None]) -> None:
    """Wait for a task to finish even if the waiter is cancelled; then let the cancellation go on."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()
