"""A hub in a process of its own, which can be killed and comes back on the same port."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import isolated_env
from handrail.testing.model import ScriptedModel

__all__ = ["HubProcess", "hub_process"]

LINK = re.compile(rb"(http://127\.0\.0\.1:(\d+))/#login=\S+")
PATIENCE = 60.0


@dataclass
class HubProcess:
    """`handrail serve` for a user whose directories are all in one place."""

    home: Path
    """Where sessions work, too."""
    env: dict[str, str]
    port: int = 0
    link: str = ""
    url: str = ""
    process: Process | None = field(default=None, repr=False)

    async def start(self) -> None:
        """Start it, the first time on any port, and then on the same."""
        words = ["serve", "--no-browser", "--port", str(self.port)]
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "handrail", *words, env=self.env, cwd=self.home, stdout=PIPE, stderr=STDOUT
        )
        async with asyncio.timeout(PATIENCE):
            found = await self._announced(self.process)
        self.link, self.url, self.port = found[0].decode(), found[1].decode(), int(found[2])

    async def kill(self) -> None:
        """End it as a power cut would."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()

    async def _announced(self, process: Process) -> re.Match[bytes]:
        assert process.stdout is not None
        printed = b""
        while (found := LINK.search(printed)) is None:
            line = await process.stdout.readline()
            assert line, printed.decode()
            printed += line
        return found


@asynccontextmanager
async def hub_process(cli: ClaudeCLI, directory: Path, model: ScriptedModel) -> AsyncIterator[HubProcess]:
    """A hub on the real CLI with this model. It is killed in the end, if it still runs."""
    home = directory / "home"
    home.mkdir()
    places = {f"HANDRAIL_{name}_DIR": str(directory / name.lower()) for name in ("CONFIG", "STATE", "CACHE", "RUNTIME")}
    settings = {"HANDRAIL_CLAUDE_CLI_PATH": str(cli.path), "HANDRAIL_CLAUDE_USE_API_BILLING": "true"}
    hub = HubProcess(home, {**isolated_env(home, model), **places, **settings})
    await hub.start()
    try:
        yield hub
    finally:
        await hub.kill()
