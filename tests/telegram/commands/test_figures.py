"""What is used, how things are, and sessions as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from handrail import Hub
from handrail.remote.errors import HubUnreachable
from handrail.server.hub import ClaudeStatus
from handrail.store.base import UsageRow
from handrail.telegram.commands.figures import by_model
from handrail.telegram.commands.parsing import CommandLine
from handrail.telegram.commands.words import age, directory, shortened
from handrail.testing import simulated as sim

from .support import ANN, BOB, EVE, bench, eventually, idle

slow = pytest.mark.slow
"""Many of them would take long together; the first ones tell whether anything works."""

HOSTILE = "a\u202eb\x07 <b>&amp; `x` *y* \U0001f600" + "z" * 200


@slow
async def test_usage_is_a_small_table(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann, eve = it.chat(ANN), it.chat(EVE)
        assert await eve.write("/usage") == "Today\nNothing was used."
        await ann.write("/new hello")
        session = await ann.session()
        await idle(session)

        async def counted() -> bool:
            return "out" in await eve.write("/usage")

        await eventually(counted)
        table = eve.last.text
        assert [entity.kind for entity in table.entities] == ["bold", "pre"]
        heading, row = table.text.split("\n")[1:3]
        assert heading.split() == ["model", "in", "out", "cost"]
        assert len(row.split()) == 4
        assert eve.buttons == ["The last 7 days", "The last 30 days"]
        week = await eve.press("The last 7")
        assert "day" in week
        assert eve.buttons == ["Today", "The last 30 days"]
        assert "Write /usage today" in await eve.write("/usage year")


def test_many_models_are_summed_up() -> None:
    rows = [UsageRow(model=f"model-{number}", input_tokens=1000, cost_usd=number) for number in range(12)]
    lines = by_model(rows).splitlines()
    assert len(lines) == 1 + 8 + 2
    assert lines[-2].split() == ["others", "4.0k", "0", "$6.00"]
    assert lines[-1].split() == ["all", "12k", "0", "$66.00"]
    assert len({len(line) for line in lines}) == 1


@slow
async def test_a_session_is_sent_as_a_file(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        ann, eve = it.chat(ANN), it.chat(EVE)
        await ann.write(f"/new {HOSTILE}")
        session = await ann.session()
        await idle(session)
        assert "As which file is" in await ann.write("/export")
        assert ann.buttons == ["markdown", "html", "jsonl"]
        await ann.press("markdown")
        assert ann.last.attachment is not None
        assert ann.last.attachment.name == f"session-{session.id[:8]}.md"
        assert b"You said" in ann.last.attachment.data
        assert len(ann.shown) == 2
        await eve.write(f"/export jsonl {session.id[:8]}")
        assert eve.last.attachment is not None
        assert eve.last.attachment.name.endswith(".jsonl")
        assert "\u202e" not in eve.last.text.text


async def test_health_says_what_is_wrong(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        eve = it.chat(EVE)
        around = it.served.hub.surroundings
        around.status = ClaudeStatus(found=True, version="2.1.325", logged_in=True)  # type: ignore[attr-defined]
        it.report.started_at = 1000.0
        now = 1000.0 + 3 * 3600
        it.now = lambda: now
        said = await eve.write("/health")
        assert "✓ Claude Code 2.1.325" in said
        assert "✓ up 3 h, by polling" in said
        assert "✓ everything is sent" in said
        around.status = ClaudeStatus(found=False)  # type: ignore[attr-defined]
        it.report = replace(it.report, last_error=HOSTILE, last_error_at=now - 60, waiting=3, hub_connected=False)
        said = await eve.write("/health")
        assert "✗ Claude Code was not found" in said
        assert "✗ cannot reach the hub" in said
        assert "3 messages to send" in said
        assert "Last trouble, 1 min ago: a<U+202E>b" in said


async def test_a_hub_that_is_away_is_said_by_health_and_waited_for_by_others(tmp_path: Path) -> None:
    async with bench(tmp_path) as it:
        eve = it.chat(EVE)
        away = Hub("http://127.0.0.1:9", "token", patience=0.0)
        try:
            context = replace(eve.context(1), hub=away)
            await it.commands.run(context, CommandLine("health"))
            await eve.deliver()
            assert "✗ there is no hub at http://127.0.0.1:9" in eve.last.text.text
            assert "Bridge" in eve.last.text.text
            with pytest.raises(HubUnreachable):
                await it.commands.run(replace(context, message_id=2), CommandLine("sessions"))
        finally:
            await away.close()


@slow
async def test_status_says_what_the_chat_is_about(tmp_path: Path) -> None:
    asks = sim.turn(sim.tool("Bash", {"command": "make"}, output="built"), "Built.")
    async with bench(tmp_path, asks) as it:
        ann, bob = it.chat(ANN), it.chat(BOB)
        assert "No session yet" in await bob.write("/status")
        await ann.write("/planmode auto")
        await ann.write("/verbose on")
        await ann.write(f"/new {HOSTILE}")
        session = await ann.session()
        await eventually(session.asks)
        said = await ann.write("/status")
        assert "⏸ needs you" in said
        assert "1 ask waiting for you" in said
        assert "Plan mode: auto, plan first, then go on by itself (not the CLI's own mode auto)" in said
        assert "All steps are shown" in said
        assert f"claude --resume {(await session.row()).cli_session_id}" in said.splitlines()
        assert "\u202e" not in said
        assert ann.sessions_of[ann.last_id] == session.id


def test_words_are_short() -> None:
    assert [age(seconds) for seconds in (0, 1, 59, 60, 7200, 86400 * 3, 86400 * 800)] == [
        *("0 s", "1 s", "59 s", "1 min", "2 h", "3 d", "2 y"),
    ]
    assert directory("/home/me/projects/shop") == "…/projects/shop"
    assert directory("/srv/shop") == "/srv/shop"
    assert shortened("x" * 50, 10) == "x" * 9 + "…"
