"""The real CLI on a host, used from a chat of the hub's own bot, over a line that is cut and a host that restarts."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.model_request import ModelRequest
from handrail.testing.replies import Reply, ToolUse

from ..telegram.hosts.support import Fleet, fleet

LOST = "Resume and allow exactly this once"


@asynccontextmanager
async def real_fleet(cli: ClaudeCLI, directory: Path, *script: Any) -> AsyncIterator[Fleet]:
    home = directory / "home"
    home.mkdir()
    claude = f'[claude]\ncli_path = "{cli.path}"\nuse_api_billing = true\n'
    async with (
        ScriptedModel(list(script)) as model,
        cli_slot(),
        fleet(directory, of_host=claude, env=isolated_env(home, model), serves_bot=True) as made,
    ):
        await made.asks(f"/project box:{made.project}", "This chat works in")
        yield made


async def test_a_host_is_used_from_the_phone(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    project = tmp_path / "box" / "project"
    once = ToolUse("Bash", {"command": "echo once >> made.txt", "description": "Append a line"})
    again = ToolUse("Bash", {"command": "echo again >> made.txt", "description": "Append another line"})

    def report(request: ModelRequest) -> Reply:
        (outbox,) = set(re.findall(r"\.handrail-outbox/\w+", request.system))
        return Reply(ToolUse("Write", {"file_path": str(project / outbox / "report.md"), "content": "# Report"}))

    def once_more(request: ModelRequest) -> Reply:
        """Claude Code may ask the model once more before it is ended: that it then gets no answer is not the point."""
        wanted = "allows exactly that call" in json.dumps(request.messages[-1])
        return Reply(again) if wanted else Reply("It is made again.")

    script = [once, "It is **made**.", report, "Here it is.", again, *[once_more] * 3]
    async with real_fleet(newest_cli, tmp_path, *script) as here:
        await here.say("Make it.")
        await here.card("echo once >> made.txt")
        await here.cut_off()
        assert await here.press("echo once >> made.txt", "Allow") == "Approved"
        await here.mend()
        await here.hears("It is made.")
        assert (project / "made.txt").read_text() == "once\n"

        await here.say("Send me a report.")
        await here.press("report.md", "Allow")
        assert (await here.hears("report.md · 8 bytes")).document == b"# Report"

        await here.say("Make it again.")
        await here.card("echo again >> made.txt")
        await here.restart_host()
        lost = await here.offered(LOST)
        await lost.press(LOST, by=here.ann)
        await here.hears("It is made again.")
        assert (project / "made.txt").read_text() == "once\nagain\n"
        assert not here.count("not taken up")
