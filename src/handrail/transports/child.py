"""One running child process: passes what it writes to a receiver, and notices its exit."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import subprocess
import sys
import termios
from typing import IO, TYPE_CHECKING

from handrail.transports.pipes import PipeWriter, StderrTail

if TYPE_CHECKING:
    from collections.abc import Callable

    from handrail.transports.base import Receiver
    from handrail.transports.exit_watch import ExitWatch

__all__ = ["ChildProcess"]

_READ_SIZE = 32768
"""Half of what a pipe holds: a session that writes without pause still has something to read when its turn comes
again, so fifty of them get equal shares, and the loop is never held up for long by one. Measured; 64 KB saves a
single session a few per cent."""
_EOF_PATIENCE = 5.0

_log = logging.getLogger("handrail.transport")


class ChildProcess:
    """Drives the pipes of a process that was just started, until it is gone.

    The receiver hears of the end once: when the process has exited, or a while after it closed its standard output
    if it does not exit then.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        receiver: Receiver,
        *,
        watch: ExitWatch,
        stderr_tail_bytes: int,
    ) -> None:
        assert process.stdin is not None  # noqa: S101 - all three are pipes
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._receiver = receiver
        self._eof_timer: asyncio.TimerHandle | None = None
        self._reported = False
        self._exited: asyncio.Future[int | None] = self._loop.create_future()
        self.input = PipeWriter(self._loop, process.stdin)
        self.stderr = StderrTail(process.pid, stderr_tail_bytes)
        self._stop_watching = watch(self._loop, process, self._on_exit)
        self._stdout = self._read_from(process.stdout, self._on_stdout)
        self._stderr = self._read_from(process.stderr, self._on_stderr)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return not self._exited.done()

    def when_exited(self, callback: Callable[[], None]) -> None:
        self._exited.add_done_callback(lambda _: callback())

    async def wait(self, timeout: float) -> None:
        """Wait until the process has exited and been reaped, or until the time is over."""
        await asyncio.wait((self._exited,), timeout=timeout)

    def kill_group(self) -> None:
        """SIGKILL to the process and its group. Its pid is its own for as long as it has not been reaped."""
        if self.running and self.pid > 1:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                return

    def reap_now(self, timeout: float) -> None:
        """Wait for the exit without the event loop: for when the loop is about to end."""
        if not self.running:
            return
        self._stop_watching()
        try:
            self._on_exit(self._process.wait(timeout))
        except subprocess.TimeoutExpired:
            self.abandon()

    def abandon(self) -> None:
        """Let go of a process whose exit did not come; does nothing once it has exited."""
        if self.running:
            _log.warning("the exit of process %d was not seen", self.pid)
            self._stop_watching()
            self._on_exit(self._process.poll())

    def _read_from(self, pipe: IO[bytes], on_readable: Callable[[], None]) -> IO[bytes]:
        os.set_blocking(pipe.fileno(), False)
        self._loop.add_reader(pipe.fileno(), on_readable)
        return pipe

    def _stop_reading(self, pipe: IO[bytes]) -> None:
        if not pipe.closed:
            self._loop.remove_reader(pipe.fileno())
            pipe.close()

    def _on_stdout(self) -> None:
        data = _read_some(self._stdout)
        if data:
            self._deliver(data)
        elif data is not None:
            self._on_stdout_end()

    def _on_stderr(self) -> None:
        data = _read_some(self._stderr)
        if data:
            self.stderr.feed(data)
        elif data is not None:
            self._stop_reading(self._stderr)

    def _on_stdout_end(self) -> None:
        self._stop_reading(self._stdout)
        self._eof_timer = self._loop.call_later(_EOF_PATIENCE, self._report, None)

    def _on_exit(self, exit_code: int | None) -> None:
        if self._eof_timer is not None:
            self._eof_timer.cancel()
        _read_rest(self._stdout, self._deliver)
        _read_rest(self._stderr, self.stderr.feed)
        self.input.close()
        self._stop_reading(self._stdout)
        self._stop_reading(self._stderr)
        self.stderr.end()
        self._exited.set_result(exit_code)
        self._report(exit_code)

    def _deliver(self, data: bytes) -> None:
        try:
            self._receiver.data_received(data)
        except Exception:  # noqa: BLE001 - a receiver's mistake must not end the reading
            _log.exception("a receiver failed on data from process %d", self.pid)

    def _report(self, exit_code: int | None) -> None:
        if self._reported:
            return
        self._reported = True
        try:
            self._receiver.connection_lost(exit_code)
        except Exception:  # noqa: BLE001 - nor must it keep us from cleaning up
            _log.exception("a receiver failed on the end of process %d", self.pid)


def _read_rest(pipe: IO[bytes], deliver: Callable[[bytes], None]) -> None:
    """Deliver what is in the pipe now.

    What an exited process wrote is all there. What its children may still write, without end, is not
    waited for.
    """
    remaining = 0 if pipe.closed else _bytes_waiting(pipe)
    while remaining > 0 and (data := _read_some(pipe)):
        remaining -= len(data)
        deliver(data)


def _read_some(pipe: IO[bytes]) -> bytes | None:
    """What is there now: nothing yet is None, the end is empty."""
    try:
        return os.read(pipe.fileno(), _READ_SIZE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _bytes_waiting(pipe: IO[bytes]) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
