"""The commands beside a session of the real Claude Code, whose model is scripted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.events.model import AskOpened, Completed
from handrail.places import Places
from handrail.protocol.options import Options
from handrail.sessions.manager import Manager
from handrail.testing import Reply, ScriptedModel, ToolUse, claude_cli, cli_slot, isolated_env

from .support import MARIA, Home, until

pytestmark = [pytest.mark.real_cli, pytest.mark.slow]

GREETING = {"command": "echo hello > greeting.txt", "description": "Greet"}
SCRIPT = [
    Reply("Let me see.", ToolUse("Bash", GREETING)),
    "I wrote a greeting.",
    "And that was all.",
    "In another way.",
]


async def test_a_session_from_its_first_ask_to_its_fork(home: Home) -> None:
    cli = claude_cli()
    async with ScriptedModel(SCRIPT) as model, cli_slot():
        env = isolated_env(Path(home.env["HOME"]), model)
        async with Manager.local(Places.of_user(home.env), env=env) as manager:
            session = await manager.start(Options(cwd=home.project, cli_path=str(cli.path), use_api_billing=True))
            await session.send("Greet me.", actor=MARIA)
            ask = await until(session, AskOpened)
            assert isinstance(ask, AskOpened)
            listed = await home.process("asks")
            assert "Bash echo hello > greeting.txt" in listed.stdout, listed
            answered = await home.process("answer", ask.ask_id[:8], "allow")
            assert answered.returncode == 0, answered.stderr
            completed = await until(session, Completed)
            assert isinstance(completed, Completed)
            assert completed.answer == "I wrote a greeting."
            assert (home.project / "greeting.txt").read_text() == "hello\n"
        told = (await home.process("show", session.id)).stdout
        for expected in ("Greet me.", "Let me see.", "echo hello > greeting.txt", "✓ allowed by ", "✓ done"):
            assert expected in told
        sent = await home.process("send", session.id, "Is that all?", **_own(env, home))
        assert (sent.returncode, sent.stdout) == (0, "And that was all.\n"), sent
        forked = await home.process("fork", session.id, "Otherwise?", "--json", **_own(env, home))
        assert forked.returncode == 0, forked.stderr
        ends = [event for event in map(json.loads, forked.stdout.splitlines()) if event["type"] == "completed"]
        assert [event["answer"] for event in ends] == ["In another way."]
        rows = json.loads((await home.process("ls", "--json")).stdout)
        assert {row["forked_from"] for row in rows} == {None, session.id}
        assert len({row["cli_session_id"] for row in rows}) == 2


def _own(env: dict[str, str], home: Home) -> dict[str, str]:
    """What a command's process needs so that the CLI it starts talks to the scripted model."""
    return {name: value for name, value in env.items() if name not in home.env}
