"""The control table against the documented fields, against recorded traffic, and against its own page in the docs."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from functools import reduce
from operator import or_
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_args

import msgspec
import pytest
from msgspec import UNSET, inspect

from handrail.protocol import control as c
from handrail.protocol import lenient
from handrail.protocol.blocks import Unknown
from handrail.protocol.control.registry import structs

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "control"

FIELDS: dict[str, dict[str, Any]] = json.loads((FIXTURES / "fields.json").read_text())
KNOWN: dict[str, list[str]] = json.loads((FIXTURES / "known.json").read_text())
EXCHANGES = [json.loads(line) for line in (FIXTURES / "exchanges.jsonl").read_text().splitlines()]

REGISTRIES = {"host": c.HOST_REQUESTS, "cli": c.CLI_REQUESTS}
REQUESTS = {*c.HOST_REQUESTS.values(), *c.CLI_REQUESTS.values()}
PUBLISHED = {value for value in vars(c).values() if isinstance(value, type) and issubclass(value, c.Payload)}


def wire(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def reply_type(request: type[c.Request[Any]]) -> Any:
    return reduce(or_, request.reply.__subclasses__() or [request.reply])


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


# ---------------------------------------------------------------------------------------------------------------------
# The documented table


def test_the_package_publishes_every_struct_of_its_modules() -> None:
    assert set(structs(c.Payload)) == PUBLISHED - {c.Payload, c.Request, c.Acknowledged}


def assert_modelled(documented: dict[str, Any], struct: type[msgspec.Struct], where: str) -> None:
    info = cast(inspect.StructType, inspect.type_info(struct))
    modelled = {field.encode_name: field for field in info.fields}
    assert documented.keys() <= modelled.keys(), where
    for name, facts in documented.items():
        kinds = list(kinds_in(modelled[name].type))
        if "words" in facts:
            known = {word for kind in kinds if isinstance(kind, inspect.LiteralType) for word in kind.values}
            assert known.issuperset(facts["words"]), f"{where}.{name}"
        if "fields" in facts:
            (inner,) = [kind.cls for kind in kinds if isinstance(kind, inspect.StructType)]
            assert_modelled(facts["fields"], inner, f"{where}.{name}")


def kinds_in(kind: inspect.Type) -> Iterator[inspect.Type]:
    """A type and what it is made of, but not what is inside its structs."""
    yield kind
    parts = [getattr(kind, "item_type", None), getattr(kind, "value_type", None), *getattr(kind, "types", ())]
    for part in filter(None, parts):
        yield from kinds_in(part)


@pytest.mark.parametrize("subtype", FIELDS)
def test_every_documented_subtype_and_field_is_in_the_table(subtype: str) -> None:
    row = FIELDS[subtype]
    sender = {"host → CLI": "host", "CLI → host": "cli", "either → either": "either"}[row["direction"]]
    request = REGISTRIES["cli" if sender == "cli" else "host"][subtype]
    assert request.sender == sender
    assert_modelled(row["request"], request, subtype)
    if isinstance(row["reply"], str):
        assert request.reply.__name__ == row["reply"]
    else:
        assert_modelled(row["reply"], request.reply, f"{subtype} reply")


def test_structs_are_named_after_their_subtypes() -> None:
    for subtype, request in c.HOST_REQUESTS.items():
        assert request.__name__ == subtype.title().replace("_", "")


def test_mcp_messages_go_both_ways() -> None:
    assert c.HOST_REQUESTS["mcp_message"] is c.CLI_REQUESTS["mcp_message"] is c.McpMessage


def test_the_registries_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        c.HOST_REQUESTS["new"] = c.SetModel  # type: ignore[index]


def test_what_may_start_a_process_has_a_longer_deadline() -> None:
    slow = {"initialize", "rewind_files", *(subtype for subtype in c.HOST_REQUESTS if subtype.startswith("mcp_"))}
    for subtype, request in c.HOST_REQUESTS.items():
        assert request.timeout == (60.0 if subtype in slow else 30.0), subtype


def test_since_is_what_the_clis_were_seen_to_know() -> None:
    for subtype, request in c.HOST_REQUESTS.items():
        knew = [cli for cli in sorted(KNOWN, key=version) if subtype in KNOWN[cli]]
        assert request.since == (knew[0] if knew else None), subtype


# ---------------------------------------------------------------------------------------------------------------------
# Recorded traffic


def lost_fields(sent: Any, kept: Any, path: str = "") -> Iterator[str]:
    """Where `kept` lacks something of `sent`; what equals an empty default may be left out."""
    if isinstance(sent, dict) and isinstance(kept, dict):
        for key, value in sent.items():
            if key in kept:
                yield from lost_fields(value, kept[key], f"{path}.{key}")
            elif value not in (None, False, 0, "", [], {}):
                yield f"{path}.{key}"
    elif isinstance(sent, list) and isinstance(kept, list):
        for n, (one, other) in enumerate(zip(sent, kept, strict=True)):
            yield from lost_fields(one, other, f"{path}[{n}]")
    elif sent != kept:
        yield path


@pytest.mark.slow
def test_recorded_requests_and_replies_decode_and_lose_nothing(subtests: pytest.Subtests) -> None:
    for exchange in EXCHANGES:
        with subtests.test(f"{exchange['version']}-{exchange['request']['subtype']}"):
            assert_nothing_is_lost(exchange)


def assert_nothing_is_lost(exchange: dict[str, Any]) -> None:
    request_type = REGISTRIES[exchange["sender"]][exchange["request"]["subtype"]]
    request = msgspec.convert(exchange["request"], request_type)
    assert not list(lost_fields(exchange["request"], wire(request)))
    if "response" in exchange:
        body = exchange["response"] or {}
        reply = msgspec.convert(body, reply_type(request_type))
        assert not list(lost_fields(body, wire(reply)))


def test_recorded_hook_inputs_decode_and_lose_nothing(subtests: pytest.Subtests) -> None:
    for exchange in EXCHANGES:
        if exchange["request"]["subtype"] == "hook_callback":
            event = exchange["request"]["input"]
            with subtests.test(f"{exchange['version']}-{event['hook_event_name']}"):
                typed = msgspec.convert(event, c.HOOK_EVENTS[event["hook_event_name"]])
                assert typed.session_id == event["session_id"]
                assert not list(lost_fields(event, wire(typed)))


def test_the_recordings_cover_nearly_every_request() -> None:
    answered = {exchange["request"]["subtype"] for exchange in EXCHANGES if "response" in exchange}
    never_answered = {"set_color", "get_task_output"}
    assert c.HOST_REQUESTS.keys() - answered == never_answered


def test_fields_from_the_future_are_ignored() -> None:
    for request in c.HOST_REQUESTS.values():
        assert msgspec.convert({"from_the_future": [1]}, request.reply) == request.reply()
    models = msgspec.convert({"models": [{"value": "opus", "from_the_future": 1}]}, c.Models)
    assert models.models == (c.ModelInfo(value="opus"),)


def test_only_discriminators_are_required_of_the_cli() -> None:
    for subtype, request in c.CLI_REQUESTS.items():
        assert msgspec.convert({"subtype": subtype}, request).subtype == subtype
    for request in c.HOST_REQUESTS.values():
        assert wire(msgspec.convert({}, request.reply)) == {}
    for event, struct in c.HOOK_EVENTS.items():
        assert wire(msgspec.convert({"hook_event_name": event}, struct)) == {"hook_event_name": event}


# ---------------------------------------------------------------------------------------------------------------------
# What we send


def test_null_and_absent_differ() -> None:
    assert wire(c.SetModel()) == {"subtype": "set_model"}
    assert wire(c.SetModel(model=None)) == {"subtype": "set_model", "model": None}
    assert wire(c.SetModel(model="opus")) == {"subtype": "set_model", "model": "opus"}


def test_wire_names_are_the_clis_own() -> None:
    hooks = {"PreToolUse": [c.HookMatcher(matcher="Bash", hook_callback_ids=["a"], timeout=5, on_failure="block")]}
    assert wire(c.Initialize(hooks=hooks, sdk_mcp_servers=("notes",))) == {
        "subtype": "initialize",
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["a"], "timeout": 5, "onFailure": "block"}]},
        "sdkMcpServers": ["notes"],
    }
    assert wire(c.McpToggle(server_name="notes", enabled=False)) == {
        "subtype": "mcp_toggle",
        "serverName": "notes",
        "enabled": False,
    }


def test_a_request_knows_its_subtype_deadline_and_reply() -> None:
    request = c.RewindFiles(user_message_id="u", dry_run=True)
    assert (request.subtype, request.timeout, request.reply) == ("rewind_files", 60.0, c.RewindResult)


def test_structs_take_keywords_only_and_do_not_change() -> None:
    with pytest.raises(TypeError):
        c.SetModel("opus")  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        c.SetModel(model="opus").model = "haiku"  # type: ignore[misc]
    with pytest.raises(TypeError):
        c.RenameSession()  # type: ignore[call-arg]


def test_permission_answers() -> None:
    rule = c.Rule(tool_name="Bash", rule_content="git:*")
    allow = c.PermissionAllow(
        updated_input={"command": "git status"},
        updated_permissions=(
            c.AddRules(rules=[rule], behavior="allow", destination="session"),
            c.ReplaceRules(rules=[], behavior="deny", destination="localSettings"),
            c.SetMode(mode="acceptEdits", destination="session"),
            c.RemoveDirectories(directories=["/home/dev"], destination="session"),
        ),
        tool_use_id="toolu_1",
    )
    assert wire(allow) == {
        "behavior": "allow",
        "updatedInput": {"command": "git status"},
        "updatedPermissions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "git:*"}],
                "behavior": "allow",
                "destination": "session",
            },
            {"type": "replaceRules", "rules": [], "behavior": "deny", "destination": "localSettings"},
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            {"type": "removeDirectories", "directories": ["/home/dev"], "destination": "session"},
        ],
        "toolUseID": "toolu_1",
    }
    assert wire(c.PermissionDeny(message="")) == {"behavior": "deny", "message": ""}
    assert wire(c.PermissionDeny(message="no", interrupt=True)) == {
        "behavior": "deny",
        "message": "no",
        "interrupt": True,
    }


def test_hook_answers() -> None:
    assert wire(c.HookOutput()) == {}
    assert wire(c.HookOutput(async_=True, async_timeout=5)) == {"async": True, "asyncTimeout": 5}
    assert wire(c.HookOutput(continue_=False, stop_reason="enough")) == {"continue": False, "stopReason": "enough"}
    assert wire(c.HookOutput(hook_specific_output=c.PreToolUseOutput(permission_decision="deny"))) == {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    }
    decision = c.PermissionRequestOutput(decision=c.PermissionDeny(message="no"))
    assert wire(c.HookOutput(hook_specific_output=decision)) == {
        "hookSpecificOutput": {
            "hookEventName": "PermissionRequest",
            "decision": {"behavior": "deny", "message": "no"},
        }
    }
    assert wire(c.PostToolUseOutput(updated_mcp_tool_output=None)) == {
        "hookEventName": "PostToolUse",
        "updatedMCPToolOutput": None,
    }


def test_every_hook_answer_belongs_to_a_hook_event() -> None:
    assert {output.__struct_config__.tag for output in get_args(c.HookSpecificOutput)} <= c.HOOK_EVENTS.keys()


def test_elicitation_and_dialog_answers() -> None:
    assert wire(c.ElicitationReply(action="accept", content={"name": "Ada"})) == {
        "action": "accept",
        "content": {"name": "Ada"},
    }
    assert wire(c.DialogReply(behavior="cancelled")) == {"behavior": "cancelled"}
    assert wire(c.DialogReply(behavior="completed", result=None)) == {"behavior": "completed", "result": None}


def test_permission_modes() -> None:
    assert {"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"} < {*c.PERMISSION_MODES}


# ---------------------------------------------------------------------------------------------------------------------
# Older forms, and newer ones


def test_the_older_handshake() -> None:
    request = {"subtype": "initialize", "protocolVersion": "1.0", "features": []}
    assert msgspec.convert(request, c.HOST_REQUESTS["initialize"]).protocol_version == "1.0"
    assert c.CLI_REQUESTS["initialize"].reply is c.Acknowledged


def test_the_older_hook_callback_has_a_name_and_data() -> None:
    request = {"subtype": "hook_callback", "hook_name": "pre-commit", "hook_data": {}}
    callback = msgspec.convert(request, c.HookCallback)
    assert (callback.callback_id, callback.hook_name, callback.hook_data) == (None, "pre-commit", {})


def test_the_older_interrupt_notice_is_acknowledged() -> None:
    notice = msgspec.convert({"subtype": "sdk_control_interrupt"}, c.CLI_REQUESTS["sdk_control_interrupt"])
    assert notice.reply is c.Acknowledged


def test_the_permission_prompt_tool() -> None:
    asked = {"type": "control_request", "request_id": "req_1", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    assert wire(msgspec.convert(asked, c.PromptToolRequest)) == asked
    reply = c.PromptToolReply(request_id="req_1", approved=False, denial_message="Not allowed")
    assert wire(reply) == {
        "type": "control_response",
        "request_id": "req_1",
        "approved": False,
        "denial_message": "Not allowed",
    }


def test_words_nobody_knew_are_kept() -> None:
    status = msgspec.convert({"mcpServers": [{"name": "a", "status": "asleep"}]}, c.McpServers)
    assert status.mcp_servers[0].status == "asleep"


def test_a_permission_update_nobody_modelled_is_kept() -> None:
    known = {"type": "setMode", "mode": "plan", "destination": "session"}
    newer = {"type": "grantHost", "host": "example.org"}
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "permission_suggestions": [known, newer]}
    request, _ = lenient.convert(asked, c.CanUseTool)
    assert request.permission_suggestions == (c.SetMode(mode="plan", destination="session"), Unknown(data=newer))


def test_optional_fields_of_ours_are_unset_until_given() -> None:
    for request in c.HOST_REQUESTS.values():
        if request is not c.McpMessage:
            defaults = [field.default for field in msgspec.structs.fields(request) if not field.required]
            assert all(default is UNSET for default in defaults), request


# ---------------------------------------------------------------------------------------------------------------------
# The documentation


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_control", ROOT / "docs" / "generate_control.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_table_says(generator: ModuleType) -> None:
    written = generator.PAGE.read_text(encoding="utf-8")
    assert written == generator.page(), "run: python docs/generate_control.py"


def test_the_page_names_every_struct_and_field(generator: ModuleType) -> None:
    text = generator.page()
    for struct in PUBLISHED - {c.Payload, c.Request, c.PermissionResult}:
        assert f"`{struct.__name__}`" in text or f"### {struct.__name__}\n" in text, struct
    for request in REQUESTS:
        for field in msgspec.structs.fields(request):
            assert f"`{field.encode_name}`" in text, (request, field.name)
