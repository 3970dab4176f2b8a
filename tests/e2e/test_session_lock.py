"""The lock of a session: the CLI itself holds it, and nothing that the CLI starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from handrail.protocol.launch import Options
from handrail.sessions.owning.locks import SessionLock
from handrail.testing.model import ScriptedModel
from handrail.testing.replies import ToolUse

from .support import LoggedTransport, World, bash, eventually
from .test_mcp import PROBE, connected
from .test_processes import read_pid


class LockedWorld(World):
    """Its CLI is started under a lock."""

    lock: SessionLock

    def _transport(self, model: ScriptedModel, options: Options) -> LoggedTransport:
        transport = super()._transport(model, options)
        for descriptor in self.lock.fds:
            transport.hold(descriptor)
        return transport


def has_open(pid: int, path: str) -> bool:
    path = os.path.realpath(path)
    if sys.platform == "linux":
        return any(os.path.realpath(link) == path for link in Path(f"/proc/{pid}/fd").glob("*"))
    return path in subprocess.run(["lsof", "-p", str(pid)], capture_output=True, text=True, check=False).stdout


async def test_the_cli_holds_the_lock_and_neither_shells_nor_mcp_servers_do(world: World, tmp_path: Path) -> None:
    script = [
        ToolUse("mcp__probe__process_id", {}),
        bash("echo $$ > pid; sleep 600; echo over", run_in_background=True),
        "It runs.",
    ]
    options = Options(mcp_servers={"probe": PROBE}, allowed_tools=["mcp__probe", "Bash"])
    (tmp_path / "again").mkdir()
    locked = LockedWorld(world.cli, tmp_path / "again")
    locked.lock = await SessionLock.take(str(tmp_path / "locks"), ["s1"])
    file = str(tmp_path / "locks" / "s1.lock")
    async with locked.live(script, options=options) as live:
        await connected(live)
        await live.client.run("Start it")
        server = int("".join(filter(str.isdigit, await live.tool_result_text(1))))
        command = await eventually(lambda: read_pid(locked.cwd / "pid"))
        assert live.client.pid is not None
        assert [has_open(pid, file) for pid in (live.client.pid, server, command)] == [True, False, False]
    locked.lock.release()
