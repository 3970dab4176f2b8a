"""Options become exactly the flags, `initialize` fields and variables that docs/reference/options.md says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.errors import InvalidOptions
from handrail.protocol.environment import WITHHELD_NAMES, WITHHELD_PREFIXES, child_environment
from handrail.protocol.launch import (
    LONGEST_ARGUMENT,
    Effort,
    Options,
    PermissionMode,
    command_line,
    initialize_fields,
    print_command_line,
    sdk_mcp_servers,
)
from handrail.protocol.options import FLAGS_TAKEN
from handrail.protocol.options.since import FIELD_SINCE, too_new_for

FIELDS = tuple(each.name for each in msgspec.structs.fields(Options))
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"

CONTROL = ["claude", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"]
PRINT = ["claude", "-p", "--output-format", "stream-json", "--verbose"]
ASKED = ["--permission-prompt-tool", "stdio", "--permission-mode", "default"]
SCHEMA = {"type": "object", "properties": {"n": {"type": "number"}}}
AGENT = {"description": "Reviews code", "prompt": "You review code."}
SESSION = "0b6f5d9e-3a52-4c55-9f0e-0a6f1c1f7a11"
MESSAGE = "7a1f5d9e-3a52-4c55-9f0e-0a6f1c1f7a22"


def argv(**options: Any) -> list[str]:
    """The flags on the control channel beyond those that are always there."""
    line = command_line(Options(**options), ["claude"])
    assert line[:6] == CONTROL
    return line[6:]


def flags(**options: Any) -> list[str]:
    """Like `argv`, without what decides about permissions."""
    line = argv(**options)
    assert line[:4] == ASKED
    return line[4:]


def print_flags(**options: Any) -> list[str]:
    line = print_command_line(Options(**options), ["claude"], "hello")
    assert line[:5] == PRINT
    assert line[5:7] == ["--permission-mode", "default"]
    assert line[-2:] == ["--", "hello"]
    return line[7:-2]


# ---------------------------------------------------------------- each option


@dataclass(frozen=True)
class Case:
    """One way to use an option (`also` holds what it needs beside it), and what it becomes."""

    option: str
    value: Any
    flags: list[str] = field(default_factory=list)
    initialize: dict[str, Any] = field(default_factory=dict)
    printed: list[str] | None = None
    """The flags for printing, where they differ from `flags`."""
    also: dict[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        return {**self.also, self.option: self.value}


def in_process(value: str) -> Any:
    """An MCP server that is an object rather than a configuration."""
    return type("Server", (), {"type": "sdk", "label": value})()


CASES = [
    Case("model", "claude-opus-5", ["--model=claude-opus-5"]),
    Case("fallback_model", "haiku,sonnet", ["--fallback-model=haiku,sonnet"]),
    *(Case("effort", level, [f"--effort={level}"]) for level in get_args(Effort)),
    Case("thinking", {"type": "adaptive"}, ["--thinking=adaptive"]),
    Case("thinking", {"type": "disabled"}, ["--thinking=disabled"]),
    Case("thinking", {"type": "enabled", "budget_tokens": 4096}, ["--max-thinking-tokens=4096"]),
    Case(
        "thinking",
        {"type": "adaptive", "display": "summarized"},
        ["--thinking=adaptive", "--thinking-display=summarized"],
    ),
    Case("max_thinking_tokens", 0, ["--max-thinking-tokens=0"]),
    Case("betas", ["context-1m-2025-08-07", "other"], ["--betas=context-1m-2025-08-07,other"]),
    Case("max_turns", 3, ["--max-turns=3"]),
    Case("max_budget_usd", 1.5, ["--max-budget-usd=1.5"]),
    Case("task_budget", {"total": 50_000}, ["--task-budget=50000"]),
    Case(
        "output_format",
        {"type": "json_schema", "schema": SCHEMA},
        initialize={"jsonSchema": SCHEMA},
        printed=[f"--json-schema={msgspec.json.encode(SCHEMA).decode()}"],
    ),
    Case("system_prompt", "Be brief.", [], {"systemPrompt": "Be brief."}, ["--system-prompt=Be brief."]),
    Case("system_prompt", "", [], {"systemPrompt": ""}, ["--system-prompt="]),
    Case("system_prompt", {"type": "preset", "preset": "claude_code"}),
    Case(
        "system_prompt",
        {"type": "preset", "preset": "claude_code", "append": "Be brief.", "exclude_dynamic_sections": True},
        [],
        {"appendSystemPrompt": "Be brief.", "excludeDynamicSections": True},
        ["--append-system-prompt=Be brief.", "--exclude-dynamic-system-prompt-sections"],
    ),
    Case(
        "system_prompt",
        {"type": "custom", "prompt": "Be brief.", "snapshot": False},
        [],
        {"systemPrompt": "Be brief.", "systemPromptSnapshot": False},
        ["--system-prompt=Be brief.", "--system-prompt-snapshot=off"],
    ),
    Case("system_prompt", {"type": "file", "path": Path("/p/prompt.md")}, ["--system-prompt-file=/p/prompt.md"]),
    Case("append_system_prompt", "-x", [], {"appendSystemPrompt": "-x"}, ["--append-system-prompt=-x"]),
    Case(
        "agents",
        {"reviewer": AGENT},
        [],
        {"agents": {"reviewer": AGENT}},
        [f"--agents={msgspec.json.encode({'reviewer': AGENT}).decode()}"],
    ),
    Case("skills", "all", ["--allowedTools=Skill"]),
    Case("permission_prompt_tool_name", "stdio"),
    Case("allowed_tools", ["Read", "Bash(git log, *)"], ["--allowedTools=Read,Bash(git log, *)"]),
    Case("disallowed_tools", ("WebFetch", "Bash"), ["--disallowedTools=WebFetch,Bash"]),
    Case("tools", ["Bash", "Edit"], ["--tools=Bash,Edit"]),
    Case("tools", [], ["--tools="]),
    Case("tools", {"type": "preset", "preset": "claude_code"}, ["--tools=default"]),
    Case("add_dirs", ["/a", Path("/b")], ["--add-dir=/a", "--add-dir=/b"]),
    Case("sandbox", {"enabled": True}, ['--settings={"sandbox":{"enabled":true}}']),
    Case(
        "sandbox",
        {"enabled": True},
        ['--settings={"model":"opus","sandbox":{"enabled":true}}'],
        also={"settings": {"model": "opus"}},
    ),
    Case("allow_dangerously_skip_permissions", True, ["--allow-dangerously-skip-permissions"]),
    Case("continue_conversation", True, ["--continue"]),
    Case("resume", "-r", ["--resume=-r"]),
    Case("resume_at", MESSAGE, [f"--resume={SESSION}", f"--resume-session-at={MESSAGE}"], also={"resume": SESSION}),
    Case(
        "resume_drops_turn",
        SESSION,
        [f"--resume={SESSION}", f"--resume-session-at={MESSAGE}", f"--resume-drops-turn={SESSION}"],
        also={"resume": SESSION, "resume_at": MESSAGE},
    ),
    Case("fork_session", True, ["--continue", "--fork-session"], also={"continue_conversation": True}),
    Case("session_id", SESSION, [f"--session-id={SESSION}"]),
    Case("title", "Nightly", [], {"title": "Nightly"}, ["--name=Nightly"]),
    Case("no_session_persistence", True, ["--no-session-persistence"]),
    Case("include_partial_messages", True, ["--include-partial-messages"]),
    Case("include_hook_events", True, ["--include-hook-events"]),
    Case("forward_subagent_text", True, [], {"forwardSubagentText": True}, ["--forward-subagent-text"]),
    Case("prompt_suggestions", True, [], {"promptSuggestions": True}, ["--prompt-suggestions=true"]),
    Case("session_mirror", True, ["--session-mirror"]),
    Case("settings", "/p/settings.json", ["--settings=/p/settings.json"]),
    Case("settings", Path("/p/settings.json"), ["--settings=/p/settings.json"]),
    Case("settings", {"model": "opus"}, ['--settings={"model":"opus"}']),
    Case("setting_sources", ["user", "local"], ["--setting-sources=user,local"]),
    Case("setting_sources", [], ["--setting-sources="]),
    Case("mcp_servers", "/p/mcp.json", ["--mcp-config=/p/mcp.json"]),
    Case(
        "mcp_servers",
        {"files": {"command": "serve", "args": []}},
        ['--mcp-config={"mcpServers":{"files":{"command":"serve","args":[]}}}'],
    ),
    Case("strict_mcp_config", True, ["--strict-mcp-config"]),
    Case("plugins", ["/a", {"type": "local", "path": "/b"}], ["--plugin-dir=/a", "--plugin-dir=/b"]),
    Case("extra_args", {"debug": None, "debug-file": "-x"}, ["--debug", "--debug-file=-x"]),
    # These leave no trace in the arguments.
    Case("cwd", "/somewhere"),
    Case("cli_path", "/opt/claude"),
    Case("env", {"A": "1"}),
    Case("client_app", "my-app/1.0"),
    Case("use_api_billing", True),
    Case("enable_file_checkpointing", True),
    Case("access_token_by", "environment"),
    Case("runner_version", "build-box/3"),
    Case("remote_session_id", "session_01"),
    Case("container_id", "c-17"),
]

ONLY_ON_THE_CHANNEL = [
    Case("skills", ["pdf", "plug:in"], ["--allowedTools=Skill(pdf),Skill(plug:in)"], {"skills": ["pdf", "plug:in"]}),
    Case("skills", [], [], {"skills": []}),
    Case("append_subagent_system_prompt", "Hurry.", [], {"appendSubagentSystemPrompt": "Hurry."}),
    Case("plan_mode_instructions", "Plan well.", [], {"planModeInstructions": "Plan well."}),
    Case("agent_progress_summaries", True, [], {"agentProgressSummaries": True}),
    Case("replay_user_messages", True, ["--replay-user-messages"]),
    Case("extra_initialize", {"toolAliases": {"a": "b"}}, [], {"toolAliases": {"a": "b"}}),
    Case("mcp_servers", {"mine": {"type": "sdk", "name": "mine", "instance": object()}}),
    Case("mcp_servers", {"mine": in_process("mine")}),
    # Where it connects to is known only when it is started: see `handrail.protocol.dialling`.
    Case("transport", "websocket"),
    Case("transport", "hybrid"),
]
DECIDES_ABOUT_PERMISSIONS = {"permission_mode", "dangerously_skip_permissions"}


def label(case: Case) -> str:
    return case.option


@pytest.mark.parametrize("case", [*CASES, *ONLY_ON_THE_CHANNEL], ids=label)
def test_an_option_becomes_these_flags_and_these_fields_and_no_others(case: Case) -> None:
    assert flags(**case.options) == case.flags
    assert initialize_fields(Options(**case.options)) == case.initialize


@pytest.mark.parametrize("case", CASES, ids=label)
def test_an_option_becomes_these_flags_for_printing(case: Case) -> None:
    assert print_flags(**case.options) == (case.flags if case.printed is None else case.printed)


@pytest.mark.parametrize("case", ONLY_ON_THE_CHANNEL, ids=label)
def test_printing_refuses_what_only_the_control_channel_can_do(case: Case) -> None:
    with pytest.raises(InvalidOptions, match=rf"{case.option}.* control channel: use connect\(\)"):
        print_command_line(Options(**case.options), ["claude"], "hello")


def test_every_option_has_a_case() -> None:
    assert {case.option for case in [*CASES, *ONLY_ON_THE_CHANNEL]} | DECIDES_ABOUT_PERMISSIONS == set(FIELDS)


def test_options_that_are_left_out_produce_nothing() -> None:
    assert command_line(Options(), ["node", "cli.js"]) == ["node", "cli.js", *CONTROL[1:], *ASKED]
    assert initialize_fields(Options()) == {}


def test_options_are_keyword_only_and_frozen() -> None:
    with pytest.raises(TypeError):
        Options("/somewhere")  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Options().model = "opus"  # type: ignore[misc]


def test_a_changed_copy_is_checked_too() -> None:
    with pytest.raises(InvalidOptions, match="max_turns"):
        msgspec.structs.replace(Options(), max_turns=0)


def test_an_external_server_beside_one_in_this_process_is_configured_alone() -> None:
    mine = in_process("mine")
    options = Options(mcp_servers={"mine": mine, "files": {"command": "serve"}})
    assert command_line(options, ["claude"])[-1] == '--mcp-config={"mcpServers":{"files":{"command":"serve"}}}'
    assert sdk_mcp_servers(options) == {"mine": mine}
    assert sdk_mcp_servers(Options(mcp_servers="/p/mcp.json")) == {}


def test_a_skill_that_is_allowed_already_is_not_allowed_twice() -> None:
    assert flags(skills=["pdf"], allowed_tools=["Skill(pdf)"]) == ["--allowedTools=Skill(pdf)"]


def test_agents_may_be_dataclasses() -> None:
    @dataclass
    class AgentDefinition:
        description: str
        prompt: str
        model: str | None = None

    agents = {"reviewer": AgentDefinition(**AGENT)}
    assert initialize_fields(Options(agents=agents)) == {"agents": {"reviewer": AGENT}}


def test_extra_initialize_fields_win_over_those_of_other_options() -> None:
    assert initialize_fields(Options(title="a", extra_initialize={"title": "b"})) == {"title": "b"}


# ---------------------------------------------------------------- permissions


@pytest.mark.parametrize("mode", get_args(PermissionMode))
def test_the_permission_mode_is_always_passed(mode: PermissionMode) -> None:
    assert argv(permission_mode=mode) == ["--permission-prompt-tool", "stdio", "--permission-mode", mode]


def test_another_permission_tool_or_none_takes_the_place_of_stdio() -> None:
    assert argv(permission_prompt_tool_name="mcp__a__ask")[:2] == ["--permission-prompt-tool", "mcp__a__ask"]
    assert argv(permission_prompt_tool_name=None) == ["--permission-mode", "default"]


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_skipping_permissions_starts_in_the_mode_that_does(mode: PermissionMode) -> None:
    line = argv(dangerously_skip_permissions=True, permission_mode=mode)
    assert line[2:] == ["--permission-mode", "bypassPermissions", "--dangerously-skip-permissions"]


@pytest.mark.parametrize("mode", ["acceptEdits", "plan", "dontAsk", "auto"])
def test_skipping_permissions_contradicts_a_mode_that_does_not(mode: PermissionMode) -> None:
    with pytest.raises(InvalidOptions, match=f"not in {mode}: leave permission_mode out"):
        Options(dangerously_skip_permissions=True, permission_mode=mode)


def test_permission_to_skip_permissions_later_leaves_the_mode_alone() -> None:
    line = argv(allow_dangerously_skip_permissions=True, permission_mode="plan")
    assert line[2:] == ["--permission-mode", "plan", "--allow-dangerously-skip-permissions"]


# ---------------------------------------------------------------- refusals

CONTRADICTIONS = {
    "leave out resume": {"continue_conversation": True, "resume": SESSION},
    "set resume or continue_conversation": {"fork_session": True},
    "set fork_session": {"session_id": SESSION, "resume": MESSAGE},
    "or leave session_id out": {"session_id": SESSION, "continue_conversation": True},
    "resume_at needs resume": {"resume_at": MESSAGE, "continue_conversation": True},
    "resume_drops_turn needs resume_at": {"resume_drops_turn": MESSAGE, "resume": SESSION},
    "another model": {"model": "opus", "fallback_model": "opus"},
    "leave max_thinking_tokens out": {"thinking": {"type": "adaptive"}, "max_thinking_tokens": 1},
    "leave one out": {
        "append_system_prompt": "a",
        "system_prompt": {"type": "preset", "preset": "claude_code", "append": "b"},
    },
    "give settings as a mapping": {"sandbox": {}, "settings": "/p/settings.json"},
    "'sandbox'] say the same twice": {"sandbox": {}, "settings": {"sandbox": {}}},
}

WRONG_VALUES: list[tuple[str, Any, str]] = [
    ("allowed_tools", "Bash", "must be a list of tools and rules, not str"),
    ("allowed_tools", ["Bash", 1], r"allowed_tools\[1\] must be a string"),
    ("allowed_tools", [""], "is empty"),
    ("disallowed_tools", ["Bash(rm", "WebFetch"], r"opens a parenthesis and does not close it: 'Bash\(rm'"),
    ("session_id", "nope", "must be a UUID"),
    ("session_id", f"{SESSION}\n", "must be a UUID"),
    ("permission_mode", "tool", "must be one of default, acceptEdits"),
    ("permission_mode", None, "must be one of"),
    ("permission_prompt_tool_name", "--print", "must be the name of a tool"),
    ("effort", "enormous", "must be one of low, medium, high, xhigh, max"),
    ("max_turns", 0, "at least 1"),
    ("max_turns", True, "whole number, not bool"),
    ("max_turns", "3", "whole number, not str"),
    ("max_budget_usd", -1, "more than 0"),
    ("max_budget_usd", float("nan"), "more than 0"),
    ("max_budget_usd", float("inf"), "more than 0"),
    ("max_thinking_tokens", -1, "at least 0"),
    ("task_budget", {}, "needs 'total'"),
    ("task_budget", {"total": 0}, "at least 1"),
    ("resume", "", "is empty: give a value, or leave resume out"),
    ("model", "a\0b", "NUL"),
    ("model", "\ud800", "surrogate"),
    ("model", b"opus", "must be a string, not bytes"),
    ("setting_sources", ["managed"], "must be one of user, project, local"),
    ("setting_sources", "user", "must be a list"),
    ("skills", "pdf", "must be a list"),
    ("skills", ["a)b"], "exact name of a skill"),
    ("skills", ["*"], 'skills="all"'),
    ("skills", [" a"], "exact name"),
    ("skills", ["/a"], "exact name"),
    ("tools", "Bash", "must be a list"),
    ("tools", {"type": "preset", "preset": "other"}, "claude_code"),
    ("system_prompt", {"type": "preset"}, "needs 'preset'"),
    ("system_prompt", {"type": "preset", "preset": "other"}, "claude_code"),
    ("system_prompt", {"type": "custom"}, "needs 'prompt'"),
    ("system_prompt", {"type": "file"}, "needs 'path'"),
    ("system_prompt", {"type": "poem"}, "one of preset, custom, file"),
    ("system_prompt", {"type": "custom", "prompt": "a", "append": "b"}, "has no 'append'"),
    ("thinking", {"type": "enabled"}, "needs 'budget_tokens'"),
    ("thinking", {"type": "deep"}, "one of adaptive, enabled, disabled"),
    ("thinking", {"type": "adaptive", "display": "all"}, "summarized"),
    ("thinking", {"type": "disabled", "display": "omitted"}, "it takes nothing else"),
    ("output_format", {"type": "object"}, "json_schema"),
    ("output_format", {"type": "json_schema"}, "needs 'schema'"),
    ("output_format", {"type": "json_schema", "schema": {"a": object()}}, "cannot be written as JSON"),
    ("agents", {"a": {"prompt": "p"}}, "needs 'description'"),
    ("agents", {"a": object()}, "cannot be written as JSON"),
    ("agents", {"a": "p"}, "must be a mapping"),
    ("mcp_servers", {"a": "serve"}, "must be a mapping"),
    ("mcp_servers", {1: {}}, "must be a string"),
    ("mcp_servers", ["a"], "must be a mapping"),
    ("plugins", [{"type": "git", "path": "a"}], "one of local"),
    ("plugins", [{"type": "local"}], "needs 'path'"),
    ("settings", {"a": {1, object()}}, "cannot be written as JSON"),
    ("env", {"A": 1}, r"env\['A'\] must be a string"),
    ("env", {"A=B": "1"}, "equals sign"),
    ("env", {"": "1"}, "is empty"),
    ("extra_args", {"--debug": None}, "without dashes"),
    ("extra_args", {"debug=x": None}, "without dashes"),
    ("extra_args", {"model": "opus"}, "set model instead"),
    ("extra_args", {"output-format": "text"}, "Handrail sets it"),
    ("extra_args", {"debug": 1}, "must be a string"),
    ("extra_initialize", {"hooks": {}}, "pass hooks and tools to connect"),
    ("extra_args", {"sdk-url": "ws://h"}, "set transport instead"),
    ("transport", "carrier pigeon", "must be one of stdio, websocket, hybrid"),
    ("access_token_by", "argument", "must be one of descriptor, environment"),
    ("runner_version", "1\r\nX-Other: 2", "printable ASCII"),
    ("container_id", "größe", "printable ASCII"),
    ("remote_session_id", "", "is empty"),
    ("cwd", "", "is empty"),
    ("add_dirs", "/a", "must be a list of paths"),
]


@pytest.mark.parametrize(("advice", "options"), CONTRADICTIONS.items(), ids=lambda value: None)
def test_contradictions_are_refused_with_advice(advice: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptions, match=re.escape(advice)):
        Options(**options)


@pytest.mark.parametrize(("option", "value", "message"), WRONG_VALUES)
def test_a_wrong_value_is_refused_by_name(option: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidOptions, match=message) as refused:
        Options(**{option: value})
    assert option in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("option", FIELDS)
def test_a_value_of_no_known_type_is_refused_for_every_option(option: str) -> None:
    with pytest.raises(InvalidOptions, match=option):
        Options(**{option: object()})


def test_a_fork_may_be_given_its_id() -> None:
    assert f"--session-id={SESSION}" in argv(resume=MESSAGE, fork_session=True, session_id=SESSION)


def test_every_flag_with_an_option_is_closed_to_extra_args() -> None:
    emitted = {
        name for case in [*CASES, *ONLY_ON_THE_CHANNEL] if case.option != "extra_args"
        for each in [*case.flags, *(case.printed or [])] for name in [each.removeprefix("--").partition("=")[0]]
    }  # fmt: skip
    assert emitted <= set(FLAGS_TAKEN)


@pytest.mark.parametrize("cli", ["claude", []])
def test_the_cli_must_be_a_list_of_arguments(cli: Any) -> None:
    with pytest.raises(InvalidOptions, match="list of arguments"):
        command_line(Options(), cli)


def test_an_argument_too_long_for_the_system_is_refused_with_its_name() -> None:
    room = LONGEST_ARGUMENT - len("--settings=")
    assert len(flags(settings="x" * room)[0]) == LONGEST_ARGUMENT
    with pytest.raises(InvalidOptions, match=r"--settings is .* write it to a file"):
        flags(settings="é" * room)
    with pytest.raises(InvalidOptions, match=r"the prompt is .* use the control channel"):
        print_command_line(Options(), ["claude"], "x" * (LONGEST_ARGUMENT + 1))


def test_a_system_prompt_may_be_longer_than_an_argument() -> None:
    assert flags(system_prompt="x" * (LONGEST_ARGUMENT + 1)) == []


# ---------------------------------------------------------------- printing


def test_a_prompt_that_starts_with_a_dash_stays_a_prompt() -> None:
    line = print_command_line(Options(model="opus"), ["claude"], "--help me")
    assert line == [*PRINT, "--permission-mode", "default", "--model=opus", "--", "--help me"]


def test_printing_asks_an_mcp_tool_but_not_a_channel_that_is_not_there() -> None:
    line = print_command_line(Options(permission_prompt_tool_name="mcp__a__ask"), ["claude"], "hello")
    assert line[5:7] == ["--permission-prompt-tool", "mcp__a__ask"]


@pytest.mark.parametrize("prompt", ["", None, "a\0b"])
def test_printing_needs_a_prompt(prompt: Any) -> None:
    with pytest.raises(InvalidOptions, match="the prompt"):
        print_command_line(Options(), ["claude"], prompt)


# ---------------------------------------------------------------- environment

STATE = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1", "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}

WITHHELD = [
    "AI_AGENT", "ANTHROPIC_API_KEY", "BUN_OPTIONS", "CLAUDECODE", "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_REMOTE",
    "CLAUDE_CODE_REMOTE_SESSION_ID", "CLAUDE_CODE_SESSION_ACCESS_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CLAUDE_EFFORT", "CLAUDE_PID", "CLAUDE_PROJECT_DIR",
    "HANDRAIL_TOKEN", "HANDRAIL_ANYTHING", "NODE_OPTIONS", "NODE_CHANNEL_FD",
]  # fmt: skip
KEPT = [
    "PATH", "HOME", "PWD", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS",
    "HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "IS_SANDBOX",
]  # fmt: skip


@pytest.mark.parametrize("name", WITHHELD)
def test_a_variable_the_cli_must_not_inherit_is_withheld(name: str) -> None:
    assert child_environment(Options(), {name: "x"}) == STATE


@pytest.mark.parametrize("name", KEPT)
def test_a_variable_that_configures_the_cli_is_inherited(name: str) -> None:
    assert child_environment(Options(), {name: "x"}) == {name: "x", **STATE}


@pytest.mark.parametrize("name", WITHHELD)
def test_env_is_added_after_stripping(name: str) -> None:
    assert child_environment(Options(env={name: "mine"}), {name: "theirs"})[name] == "mine"


def test_env_wins_over_what_handrail_sets() -> None:
    name = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"
    assert child_environment(Options(env={name: "0"}), {})[name] == "0"


def test_the_api_key_is_inherited_only_for_api_billing() -> None:
    inherited = {"ANTHROPIC_API_KEY": "key"}
    assert "ANTHROPIC_API_KEY" not in child_environment(Options(), inherited)
    assert child_environment(Options(use_api_billing=True), inherited)["ANTHROPIC_API_KEY"] == "key"


def test_options_that_become_variables() -> None:
    options = Options(
        enable_file_checkpointing=True,
        client_app="my-app/1.0",
        runner_version="r/1",
        remote_session_id="session_01",
        container_id="c-17",
    )
    assert child_environment(options, {"CLAUDE_CODE_CONTAINER_ID": "of the session around us"}) == {
        **STATE,
        "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true",
        "CLAUDE_AGENT_SDK_CLIENT_APP": "my-app/1.0",
        "CLAUDE_CODE_ENVIRONMENT_RUNNER_VERSION": "r/1",
        "CLAUDE_CODE_REMOTE_SESSION_ID": "session_01",
        "CLAUDE_CODE_CONTAINER_ID": "c-17",
    }


def test_the_old_working_directory_is_not_passed_on_as_the_new_one() -> None:
    assert child_environment(Options(cwd="/new"), {"PWD": "/old"})["PWD"] == "/new"
    assert "PWD" not in child_environment(Options(cwd="new"), {"PWD": "/old"})


def test_the_inherited_environment_is_left_as_it_is() -> None:
    inherited = {"CLAUDECODE": "1"}
    child_environment(Options(env={"A": "1"}), inherited)
    assert inherited == {"CLAUDECODE": "1"}


# ---------------------------------------------------------------- secrets


def test_options_show_what_was_set_but_no_secrets() -> None:
    options = Options(
        model="opus",
        env={"TOKEN": "hunter2"},
        mcp_servers={"files": {"env": {"KEY": "hunter2"}}},
        settings='{"apiKeyHelper": "hunter2"}',
        extra_args={"header": "hunter2"},
    )
    assert repr(options) == (
        "Options(env={'TOKEN': '…'}, extra_args={'header': '…'}, model='opus', "
        "settings='…', mcp_servers={'files': '…'})"
    )
    assert "hunter2" not in str(options.__rich_repr__())


def test_a_refusal_does_not_repeat_a_value_that_may_be_secret() -> None:
    with pytest.raises(InvalidOptions) as refused:
        Options(env={"TOKEN": b"hunter2"})  # type: ignore[dict-item]
    assert "hunter2" not in str(refused.value)


# ---------------------------------------------------------------- versions


def test_an_old_cli_is_told_apart_by_what_the_options_need() -> None:
    options = Options(effort="xhigh", title="Nightly", model="opus")
    assert too_new_for(options, (2, 1, 37)) == [
        "effort needs Claude Code 2.1.52 or newer",
        "title needs Claude Code 2.1.120 or newer",
        "effort='xhigh' needs Claude Code 2.1.120 or newer",
    ]
    assert too_new_for(options, (2, 1, 120)) == []
    assert too_new_for(Options(), (2, 1, 37)) == []


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({"permission_mode": "auto"}, "permission_mode='auto'"),
        ({"thinking": {"type": "adaptive", "display": "omitted"}}, "thinking['display']"),
        ({"system_prompt": {"type": "custom", "prompt": "", "snapshot": True}}, "system_prompt['snapshot']"),
        (
            {"system_prompt": {"type": "preset", "preset": "claude_code", "exclude_dynamic_sections": False}},
            "system_prompt['exclude_dynamic_sections']",
        ),
    ],
)
def test_a_value_can_need_a_newer_cli_than_its_option(options: dict[str, Any], needed: str) -> None:
    assert any(sentence.startswith(f"{needed} needs") for sentence in too_new_for(Options(**options), (2, 1, 62)))


# ---------------------------------------------------------------- any combination

nasty = st.one_of(
    st.sampled_from(["-", "--", "--print", "-p", "--model=x", "= --dangerously-skip-permissions", "a b", "\n--x", "'"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20),
)
paths = nasty | nasty.map(PurePath).filter(lambda path: "\0" not in str(path))
rules = nasty.filter(lambda rule: rule.rfind("(") <= rule.rfind(")"))
switches = st.booleans()


def sometimes(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


ANYTHING: dict[str, st.SearchStrategy[Any]] = {
    "model": sometimes(nasty.map(lambda text: "m" + text)),
    "fallback_model": sometimes(nasty.map(lambda text: "f" + text)),
    "effort": sometimes(st.sampled_from(get_args(Effort))),
    "betas": st.lists(nasty, max_size=2),
    "max_turns": sometimes(st.integers(1)),
    "max_budget_usd": sometimes(st.floats(0, exclude_min=True, allow_infinity=False)),
    "system_prompt": sometimes(nasty | paths.map(lambda path: {"type": "file", "path": path})),
    "append_system_prompt": sometimes(nasty),
    "agents": sometimes(st.dictionaries(nasty, st.just(AGENT), max_size=2)),
    "permission_prompt_tool_name": sometimes(nasty.filter(lambda name: not name.startswith("-"))),
    "allowed_tools": st.lists(rules, max_size=2),
    "disallowed_tools": st.lists(rules, max_size=2),
    "tools": sometimes(st.lists(nasty, max_size=2)),
    "add_dirs": st.lists(paths, max_size=2),
    "resume": sometimes(nasty),
    "title": sometimes(nasty),
    "settings": sometimes(paths | st.dictionaries(nasty, nasty, max_size=2)),
    "mcp_servers": paths | st.dictionaries(nasty, st.fixed_dictionaries({"command": nasty}), max_size=2),
    "plugins": st.lists(paths, max_size=2),
    "extra_args": st.dictionaries(st.sampled_from(["debug", "worktree", "agent"]), sometimes(nasty), max_size=2),
    "include_partial_messages": switches,
    "strict_mcp_config": switches,
    "no_session_persistence": switches,
}
combinations = st.fixed_dictionaries({}, optional=ANYTHING).map(lambda chosen: Options(**chosen))
KNOWN_FLAGS = {*FLAGS_TAKEN, "debug", "worktree", "agent"}


def is_a_flag_of_ours(argument: str) -> bool:
    name, _, _ = argument.removeprefix("--").partition("=")
    return argument.startswith("--") and name in KNOWN_FLAGS


@pytest.mark.slow
@given(combinations)
def test_no_value_ever_becomes_a_flag_of_its_own(options: Options) -> None:
    line = command_line(options, ["claude"])[len(CONTROL) :]
    if options.permission_prompt_tool_name is not None:
        assert line[:2] == ["--permission-prompt-tool", options.permission_prompt_tool_name]
        assert not line[1].startswith("-")
        line = line[2:]
    assert line[:2] == ["--permission-mode", options.permission_mode]
    assert all(is_a_flag_of_ours(argument) for argument in line[2:])
    assert not {"--print", "--dangerously-skip-permissions"} & set(line)


@pytest.mark.slow
@given(combinations, nasty)
def test_whatever_the_options_the_prompt_is_the_only_argument_after_the_flags(options: Options, prompt: str) -> None:
    line = print_command_line(options, ["claude"], prompt)
    end = line.index("--", len(PRINT))
    assert line[end:] == ["--", prompt]
    assert all(is_a_flag_of_ours(argument) for argument in line[line.index("--permission-mode") + 2 : end])


@pytest.mark.slow
@given(combinations)
def test_what_initialize_gets_can_always_be_written(options: Options) -> None:
    assert isinstance(json.loads(msgspec.json.encode(initialize_fields(options))), dict)


@given(st.dictionaries(st.sampled_from([*WITHHELD, *KEPT]), st.text(max_size=3)))
def test_nothing_withheld_ever_reaches_the_child(inherited: dict[str, str]) -> None:
    reached = set(child_environment(Options(), inherited))
    assert reached == {name for name in inherited if name in KEPT} | set(STATE)


# ---------------------------------------------------------------- documentation


def documented() -> dict[str, list[str]]:
    """The rows of the reference's tables, as cells, by the option in their first one."""
    rows = re.findall(r"^\| `\w+` \|.*$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {first.strip("`"): [first, *others] for first, *others in cells}


def test_the_reference_has_a_row_for_every_option_and_no_other() -> None:
    assert set(documented()) == set(FIELDS)


@pytest.mark.parametrize("option", FIELDS)
def test_the_reference_says_since_when_the_cli_knows_an_option(option: str) -> None:
    since = ".".join(map(str, FIELD_SINCE[option])) if option in FIELD_SINCE else "all"
    assert documented()[option][-1] == since


@pytest.mark.parametrize("case", [*CASES, *ONLY_ON_THE_CHANNEL], ids=label)
def test_the_reference_names_what_an_option_becomes(case: Case) -> None:
    becomes = documented()[case.option][-2]
    alone = [*case.flags, *(case.printed or [])] if not case.also and case.option != "extra_args" else []
    for name in {each.partition("=")[0] for each in alone} | set(case.initialize):
        assert f"`{name}`" in becomes or case.option == "extra_initialize"


def test_the_reference_names_every_variable_that_is_withheld() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    for name in [*WITHHELD_NAMES, *(f"{prefix}*" for prefix in WITHHELD_PREFIXES)]:
        assert f"`{name}`" in text
