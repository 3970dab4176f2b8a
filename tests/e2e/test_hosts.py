"""The real CLI on a host, steered through the real hub over a line that is cut while it waits for a person."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from handrail.protocol.options import Options
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.replies import ToolUse

from ..host.fleet import Fleet, hub_behind, identity_of, same_journal, says, says_there
from ..host.middle import middle
from ..host.support import eventually, made, running_host


async def test_a_permission_is_answered_across_a_cut(newest_cli: ClaudeCLI, tmp_path: Path) -> None:
    script: list[Any] = [ToolUse("Bash", {"command": "mkdir made-here"}), "It is there.", "Still here."]
    async with (
        ScriptedModel(script) as model,
        cli_slot(),
        middle() as line,
        hub_behind(line, tmp_path / "hub") as served,
    ):
        env = {**dict.fromkeys(os.environ, ""), **isolated_env(made(tmp_path / "home"), model)}
        own = Options(cli_path=str(newest_cli.path), env=env, use_api_billing=True, include_partial_messages=True)
        key = (await identity_of(served, line)).key
        async with running_host(made(tmp_path / "host"), line.url, key=key, defaults=own) as host:
            await host.told("connected")
            fleet = Fleet(served, host, line)
            session = await fleet.start(prompt="make a directory")
            (ask,) = await eventually(lambda: served.manager.session(session).asks())
            line.cut()
            assert await host.manager.session(session).is_live()
            line.lead_to(served.url)
            answer = {"answer": {"type": "allow"}, "digest": ask.digest}
            await fleet.post(f"/api/asks/{session}/{ask.id}/answer", **answer)
            await eventually(lambda: says(served, session, "It is there."))
            assert (host.projects / "made-here").is_dir()

            await fleet.post(f"/api/sessions/{session}/messages", content="and now?")
            line.cut()
            await eventually(lambda: says_there(host, session, "Still here."))
            line.lead_to(served.url)
            await eventually(lambda: says(served, session, "Still here."))
            await eventually(lambda: same_journal(served.manager.store, host.manager.store, session))
