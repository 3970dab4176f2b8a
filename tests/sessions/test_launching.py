"""What is remembered of a session: enough to start it again, and no secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.policy.storage.loading import Asked
from handrail.protocol.launch import command_line
from handrail.protocol.options import Options
from handrail.sessions.launching import (
    SessionSettings,
    decode_settings,
    encode_settings,
    for_fork,
    for_new,
    for_resume,
)

FULL = SessionSettings(
    options=Options(
        cwd=Path("/work"),
        cli_path=Path("/bin/claude"),
        env={"LANG": "C"},
        model="opus",
        permission_mode="plan",
        allowed_tools=("Read", "Bash(ls:*)"),
        add_dirs=[Path("/data")],
        append_system_prompt="Be brief.",
        max_turns=5,
        use_api_billing=True,
        mcp_servers={"files": {"command": "serve", "args": ["x"]}},
        extra_args={"ide": None},
    ),
    policy=Asked(profile="careful", allow=("Bash(ls:*)",), expire_after=60.0),
    budget=2.5,
    worktree={"path": "/projects/tree"},
)


def argv_of(options: Options) -> list[str]:
    return command_line(options, ["claude"])


def test_settings_come_back_as_they_were() -> None:
    again = decode_settings(encode_settings(FULL))
    assert (again.policy, again.budget, again.worktree) == (FULL.policy, FULL.budget, FULL.worktree)
    assert argv_of(again.options) == argv_of(FULL.options)
    assert (again.options.cwd, again.options.env) == ("/work", {"LANG": "C"})
    assert encode_settings(again) == encode_settings(FULL)


def test_without_anything_special() -> None:
    assert decode_settings(encode_settings(SessionSettings())) == SessionSettings()
    assert decode_settings(b"{}") == SessionSettings()


ID, OTHER_ID = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "12")
SECRET = "sk-very-secret"
WEB = {"type": "http", "url": "https://mcp.example"}
HELPER = {"description": "helps", "prompt": "Help."}


@pytest.mark.parametrize(
    "options",
    [
        Options(env={"ANTHROPIC_API_KEY": SECRET, "LANG": "C"}),
        Options(env={"GITHUB_TOKEN": SECRET}),
        Options(mcp_servers={"git": {"command": "git-mcp", "env": {"GITHUB_TOKEN": SECRET, "LANG": "C"}}}),
        Options(
            mcp_servers={"web": {"type": "http", "url": "https://x", "headers": {"Authorization": f"Bearer {SECRET}"}}}
        ),
        Options(mcp_servers={"web": {**WEB, "headers": {"Authorization": f"Bearer {SECRET}"}}}),
        Options(mcp_servers={"web": {**WEB, "headers": {"X-Api-Key": SECRET}}}),
        Options(settings={"env": {"DB_PASSWORD": SECRET}, "model": "opus"}),
        Options(agents={"helper": {**HELPER, "mcpServers": [{"git": {"command": "x", "env": {"API_KEY": SECRET}}}]}}),
    ],
)
def test_secrets_stay_out(options: Options) -> None:
    stored = encode_settings(SessionSettings(options=options))
    assert SECRET.encode() not in stored
    assert decode_settings(stored)


def test_what_is_no_secret_stays() -> None:
    server = {"command": "git-mcp", "args": ["--token-file", "x"], "env": {"LANG": "C", "GITHUB_TOKEN": "t"}}
    options = Options(mcp_servers={"git": server}, settings={"env": {"LANG": "C"}, "permissions": {"allow": ["Read"]}})
    again = decode_settings(encode_settings(SessionSettings(options=options))).options
    assert again.mcp_servers == {"git": {**server, "env": {"LANG": "C"}}}
    assert again.settings == options.settings


def test_servers_inside_a_process_cannot_be_written_down() -> None:
    servers: dict[str, Any] = {"sdk": {"type": "sdk", "name": "x"}, "other": {"command": "serve"}}
    again = decode_settings(encode_settings(SessionSettings(options=Options(mcp_servers=servers))))
    assert again.options.mcp_servers == {"other": {"command": "serve"}}


def test_what_was_for_one_launch_only_is_not_kept() -> None:
    options = Options(resume="abc", fork_session=True, model="opus")
    again = decode_settings(encode_settings(SessionSettings(options=options)))
    assert again.options == Options(model="opus")


def test_an_option_of_a_newer_version_is_left_out() -> None:
    stored = msgspec.json.encode({"options": {"model": "opus", "hologram": True}, "mood": "good"})
    assert decode_settings(stored) == SessionSettings(options=Options(model="opus"))


def test_how_a_conversation_is_begun_resumed_and_forked() -> None:
    options = Options(model="opus", continue_conversation=True)
    new, resumed, forked = for_new(options, ID), for_resume(options, ID), for_fork(options, ID)
    assert (new.session_id, new.resume, new.fork_session) == (ID, None, False)
    assert (resumed.session_id, resumed.resume, resumed.fork_session) == (None, ID, False)
    assert (forked.session_id, forked.resume, forked.fork_session) == (None, ID, True)
    for each in (new, resumed, forked):
        assert each.model == "opus"
        assert each.include_partial_messages
        assert not each.continue_conversation


def test_an_id_that_was_asked_for_is_kept() -> None:
    assert for_new(Options(session_id=ID), OTHER_ID).session_id == ID
