"""What options become is what the real CLI understands: no flag is unknown to it, and prompts arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from handrail.protocol.launch import Options, command_line, print_command_line
from handrail.protocol.options.since import FIELD_SINCE
from handrail.testing.cli_cache import ClaudeCLI
from handrail.testing.cli_sandbox import cli_slot, isolated_env
from handrail.testing.model import ScriptedModel
from handrail.testing.replies import ToolUse

from .support import DEADLINE, World, version_of

NEW = "11111111-2222-4333-8444-555555555555"
OLD = "99999999-2222-4333-8444-555555555555"

FLAGS: dict[str, Any] = {
    "model": "sonnet",
    "fallback_model": "haiku",
    "effort": "low",
    "thinking": {"type": "adaptive"},
    "betas": ["context-1m-2025-08-07"],
    "max_turns": 3,
    "max_budget_usd": 1.5,
    "task_budget": {"total": 50_000},
    "allowed_tools": ["Read", "Bash(git log, *)"],
    "disallowed_tools": ["WebFetch"],
    "tools": ["Bash", "Read"],
    "add_dirs": ["."],
    "allow_dangerously_skip_permissions": True,
    "session_id": NEW,
    "no_session_persistence": True,
    "include_partial_messages": True,
    "include_hook_events": True,
    "replay_user_messages": True,
    "session_mirror": True,
    "settings": {"cleanupPeriodDays": 10},
    "setting_sources": ["user"],
    "mcp_servers": {},
    "strict_mcp_config": True,
    "plugins": ["."],
}
"""Every option that is a flag on the control channel, but for those that need a conversation to resume."""

RESUMING: dict[str, Any] = {"resume": OLD, "resume_at": NEW, "resume_drops_turn": NEW, "fork_session": True}


def known_to(cli: ClaudeCLI, options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if FIELD_SINCE.get(name, (0,)) <= version_of(cli)}


async def start(argv: Sequence[str], env: dict[str, str], cwd: Path) -> tuple[int | None, str, str]:
    """Run a CLI that is told nothing on its standard input, to its end."""
    async with cli_slot():
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            output, errors = await asyncio.wait_for(process.communicate(), DEADLINE)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise
    return process.returncode, output.decode(), errors.decode()


async def start_with(cli: ClaudeCLI, home: Path, **options: Any) -> tuple[int | None, str]:
    # Nothing listens there; a CLI that is sent nothing asks nothing.
    nobody = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1"}
    code, _, errors = await start(command_line(Options(**options), cli.argv), isolated_env(home, extra=nobody), home)
    return code, errors


async def test_the_cli_knows_every_flag(cli: ClaudeCLI, tmp_path: Path) -> None:
    assert await start_with(cli, tmp_path, **known_to(cli, FLAGS)) == (0, "")


async def test_the_cli_knows_every_flag_about_resuming(cli: ClaudeCLI, tmp_path: Path) -> None:
    code, errors = await start_with(cli, tmp_path, **known_to(cli, RESUMING))
    assert code == 1
    assert "unknown option" not in errors


async def test_the_cli_knows_the_flags_that_exclude_others(cli: ClaudeCLI, tmp_path: Path) -> None:
    for options in (
        {"continue_conversation": True},
        {"dangerously_skip_permissions": True},
        {"max_thinking_tokens": 1024},
        {"system_prompt": {"type": "file", "path": __file__}},
        {"tools": [], "setting_sources": []},
    ):
        assert await start_with(cli, tmp_path, **options) == (0, ""), options


async def test_a_flag_is_unknown_to_a_version_that_we_say_is_too_old(cli: ClaudeCLI, tmp_path: Path) -> None:
    too_new = {**FLAGS, **RESUMING}.keys() - known_to(cli, {**FLAGS, **RESUMING}).keys()
    for name in too_new:
        needed = {key: RESUMING[key] for key in ("resume", "resume_at")} if name in RESUMING else {}
        code, errors = await start_with(cli, tmp_path, **needed, **{name: {**FLAGS, **RESUMING}[name]})
        assert code == 1, name
        assert "unknown option" in errors, name


@pytest.mark.parametrize("prompt", ["What is 2 + 2?", "--help me", "-p", "--"])
async def test_a_printed_prompt_reaches_the_model_whatever_it_begins_with(world: World, prompt: str) -> None:
    options = world.complete(Options(append_system_prompt="--version", title="-v" if _has_title(world.cli) else None))
    async with ScriptedModel(["Four."]) as model:
        argv = print_command_line(options, world.cli.argv, prompt)
        code, output, errors = await start(argv, world.environment(model, options), world.cwd)
        (request,) = model.requests_in("main")
    assert (code, errors) == (0, "")
    assert '"result":"Four."' in output
    assert request.prompt == prompt
    assert "--version" in request.system


def _has_title(cli: ClaudeCLI) -> bool:
    return version_of(cli) >= FIELD_SINCE["title"]


async def test_what_initialize_carries_reaches_the_model(world: World) -> None:
    options = Options(
        system_prompt="You are MARK-SYSTEM.",
        append_system_prompt="And MARK-APPENDED.",
        agents={"mark-agent": {"description": "Marks things", "prompt": "Mark."}},
        output_format={"type": "json_schema", "schema": {"type": "object", "properties": {"n": {"type": "number"}}}},
    )
    async with world.live([ToolUse("StructuredOutput", {"n": 4}), "Four.", "Four."], options=options) as live:
        result = await live.client.run("What is 2 + 2?")
        request = live.model.requests_in("main")[0]
    assert result.structured_output == {"n": 4}
    assert "MARK-SYSTEM" in request.system
    assert "MARK-APPENDED" in request.system
    assert "mark-agent" in str(request.body)
