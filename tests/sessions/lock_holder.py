"""A program that takes locks and starts something under them: `lock_holder.py MODE DIRECTORY`.

It locks s1 and c1, starts what the mode says (a child, a fork, or a CLI that is deaf to everything and has a child of
its own), follows to c2, and then says the pids of its supervisor and of what it started.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time

from handrail.sessions.owning.locks import Holder, SessionLock
from handrail.transports.stdio import StdioTransport
from handrail.transports.supervisor import shared_supervisor

DEAF_CLI = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
server = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
print(os.getpid(), server.pid, flush=True)
time.sleep(600)
"""


class Receiver:
    def __init__(self) -> None:
        self.pids: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.pids.set_result(data.decode())

    def connection_lost(self, exit_code: int | None) -> None:
        pass


async def start(mode: str, lock: SessionLock) -> str:
    if mode == "child":
        return str(subprocess.Popen(["sleep", "600"], close_fds=False, stdout=subprocess.DEVNULL).pid)  # noqa: ASYNC220
    if mode == "fork":
        return str(fork(lock))
    receiver = Receiver()
    command = [sys.executable, "-I", "-S", "-c", DEAF_CLI]
    transport = StdioTransport(command, env={}, holds=lock.fds, supervise=mode != "unsupervised")
    await transport.open(receiver)
    lock.kept_by(transport.hold)
    return await receiver.pids


def fork(lock: SessionLock) -> int:
    pid = os.fork()
    if pid == 0:
        lock.release()  # must not free it for the parent
        os.close(1)
        time.sleep(600)
    return pid


async def main(mode: str, directory: str) -> None:
    lock = await SessionLock.take(directory, ["s1", "c1"], holder=Holder(os.getpid()))
    started = await start(mode, lock)
    await lock.follow("c2")
    print(shared_supervisor().pid or 0, started, flush=True)
    await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
